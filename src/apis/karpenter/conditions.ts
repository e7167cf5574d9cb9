/**
 * Status conditions: which of them decide `Ready`, when their times change, and their order. Functions never modify an
 * object: each returns the same object if nothing differs, otherwise a new one.
 * upstream: operatorpkg/status
 */
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { deepEqual } from "../../base/json.ts";
import type { Condition, KubeObject } from "../meta.ts";

/** The conditions that together decide `Ready`, by kind. Machines have the condition names of v1 here. */
const DEPENDENTS: Readonly<Record<string, readonly string[]>> = {
  NodeClaim: ["Launched", "Registered", "Initialized"],
  Machine: ["Launched", "Registered", "Initialized"],
  NodePool: ["ValidationSucceeded", "NodeClassReady"],
  EC2NodeClass: [
    "AMIsReady",
    "SubnetsReady",
    "SecurityGroupsReady",
    "InstanceProfileReady",
    "PlacementGroupReady",
    "CapacityReservationsReady",
    "ValidationSucceeded",
  ],
  KWOKNodeClass: [],
  NodeOverlay: ["ValidationSucceeded"],
};

const READY = "Ready";
const AWAITING_RECONCILIATION = "AwaitingReconciliation";
const AWAITING_MESSAGE = "object is awaiting reconciliation";

/** An object with conditions. */
export interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The new state of one condition. Its transition time changes only if `status` does. */
export interface ConditionChange {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** The reason. Absent: the type is used, because schemas require a reason. */
  readonly reason?: string;
  readonly message?: string;
}

function dependentsOf(kind: string | undefined): readonly string[] {
  return DEPENDENTS[kind ?? ""] ?? [];
}

/** The condition of that type. Undefined: the object has none. */
export function condition(object: KubeObject, type: string): Condition | undefined {
  for (const one of conditionsOf(object)) if (one.type === type) return one;
  return undefined;
}

/** Whether the condition exists with status True. */
export function isTrue(object: KubeObject, type: string): boolean {
  return condition(object, type)?.status === "True";
}

/**
 * Adds Ready and the conditions that decide it, as Unknown since the object's creation. `dependents`: these conditions;
 * absent: those of the object's kind.
 */
export function initializeConditions<T extends KubeObject>(
  object: T,
  nowMs: number,
  dependents: readonly string[] = dependentsOf(object.kind),
): T {
  let result = object;
  for (const type of [...dependents, READY]) {
    if (condition(result, type) !== undefined) continue;
    const fresh: Condition = {
      type,
      status: "Unknown",
      reason: AWAITING_RECONCILIATION,
      message: AWAITING_MESSAGE,
      lastTransitionTime: object.metadata.creationTimestamp ?? toRfc3339(nowMs),
      observedGeneration: object.metadata.generation ?? 0,
    };
    result = withConditions(result, ordered([...conditionsOf(result), fresh]));
  }
  return withRoot(result, nowMs, dependents);
}

/** Sets one condition and recomputes Ready. */
export function withCondition<T extends KubeObject>(
  object: T,
  change: ConditionChange,
  nowMs: number,
): T {
  const initialized = initializeConditions(object, nowMs);
  const changed = set(initialized, change, nowMs);
  return withRoot(changed, nowMs, dependentsOf(object.kind));
}

/** Sets one condition of an object without the condition `Ready`, such as a Provisioner. */
export function withLoneCondition<T extends KubeObject>(
  object: T,
  change: ConditionChange,
  nowMs: number,
): T {
  return set(object, change, nowMs);
}

/** Sets several conditions, in order. */
export function withConditionChanges<T extends KubeObject>(
  object: T,
  changes: readonly ConditionChange[],
  nowMs: number,
): T {
  return changes.reduce((result, change) => withCondition(result, change, nowMs), object);
}

/**
 * Replaces the message of a change by the one the object already has, if the two differ only in numbers (times, request
 * ids). A cloud may vary the text of the same failure, and each stored change causes another reconcile.
 */
export function inSteadyWords(object: KubeObject, change: ConditionChange): ConditionChange {
  const known = condition(object, change.type);
  if (known?.status !== change.status || known.reason !== change.reason) return change;
  const { message = "" } = known;
  const isSame = withoutNumbers(message) === withoutNumbers(change.message ?? "");
  return isSame ? { ...change, message } : change;
}

function withoutNumbers(text: string): string {
  return text.replaceAll(/\S*\d\S*/g, "");
}

/** Removes a condition. Conditions that Ready depends on are not removed. */
export function withoutCondition<T extends KubeObject>(object: T, type: string): T {
  if (type === READY || dependentsOf(object.kind).includes(type)) return object;
  if (condition(object, type) === undefined) return object;
  const rest = conditionsOf(object).filter((one) => one.type !== type);
  return withConditions(
    object,
    rest.toSorted((a, b) => (a.type < b.type ? -1 : 1)),
  );
}

function conditionsOf(object: KubeObject): readonly Condition[] {
  return (object as Conditioned).status?.conditions ?? [];
}

function withConditions<T extends KubeObject>(object: T, conditions: readonly Condition[]): T {
  return { ...object, status: { ...(object as Conditioned).status, conditions } };
}

function set<T extends KubeObject>(object: T, change: ConditionChange, nowMs: number): T {
  const before = condition(object, change.type);
  const sameStatus = before?.status === change.status && before.lastTransitionTime !== undefined;
  const after: Condition = {
    type: change.type,
    status: change.status,
    reason: change.reason ?? change.type,
    message: change.message ?? "",
    lastTransitionTime: sameStatus ? (before.lastTransitionTime as string) : toRfc3339(nowMs),
    observedGeneration: object.metadata.generation ?? 0,
  };
  if (deepEqual(before, after)) return object;
  // The deletion raised `metadata.generation`, and no controller will observe the other conditions again.
  const deleting = object.metadata.deletionTimestamp !== undefined;
  const others = conditionsOf(object)
    .filter((one) => one.type !== change.type)
    .map((one) =>
      deleting ? { ...one, observedGeneration: object.metadata.generation ?? 0 } : one,
    );
  return withConditions(object, ordered([...others, after]));
}

/** Sorts conditions by transition time. Equal ones keep their order, and Ready is last. */
function ordered(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.toSorted((a, b) => {
    if (a.type === READY || b.type === READY) return a.type === READY ? 1 : -1;
    return (fromRfc3339(a.lastTransitionTime) ?? 0) - (fromRfc3339(b.lastTransitionTime) ?? 0);
  });
}

function withRoot<T extends KubeObject>(
  object: T,
  nowMs: number,
  dependents: readonly string[],
): T {
  if (dependents.length === 0) return object;
  const generation = object.metadata.generation ?? 0;
  const unhappy = dependents
    .map((type) => condition(object, type))
    .filter((one): one is Condition => one !== undefined)
    .filter((one) => one.status !== "True" || one.observedGeneration !== generation)
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
  if (unhappy.length === 0 && dependents.every((type) => isTrue(object, type)))
    return set(object, { type: READY, status: "True" }, nowMs);
  const failed = unhappy.some(
    (one) => one.status === "False" && one.observedGeneration === generation,
  );
  const change: ConditionChange = {
    type: READY,
    status: failed ? "False" : "Unknown",
    reason: failed ? "UnhealthyDependents" : "ReconcilingDependents",
    message: unhappy.map((one) => `${one.type}=${one.status}`).join(", "),
  };
  return set(object, change, nowMs);
}
