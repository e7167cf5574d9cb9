/**
 * The rollout of a DaemonSet, as pure functions: which old pods may be deleted now, and on which nodes a new
 * pod may be created beside the old one (maxSurge).
 */
import type { DaemonSet } from "../../../apis/apps/kinds.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import { isAvailable, scaledValue } from "../controls.ts";

export const HASH_LABEL = "controller-revision-hash";

/** The next actions of a rollout. */
export interface DaemonSteps {
  readonly remove: readonly Pod[];
  /** Names of nodes that get a new pod in addition to the old one. */
  readonly create: readonly string[];
}

/** The pods of one node, without terminating and ended ones. */
interface OnNode {
  readonly node: string;
  readonly fresh: Pod | undefined;
  readonly old: Pod | undefined;
}

/** Whether new pods are created before old ones are deleted. */
export function surges(set: DaemonSet): boolean {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  return type !== "OnDelete" && scaledValue(rollingUpdate?.maxSurge, 100, "up") > 0;
}

/** The next actions. `wanted`: names of the nodes that should run the daemon. */
export function daemonSteps(
  set: DaemonSet,
  hash: string,
  wanted: readonly string[],
  byNode: ReadonlyMap<string, readonly Pod[]>,
  nowMs: number,
): DaemonSteps {
  if (set.spec.updateStrategy?.type === "OnDelete") return { remove: [], create: [] };
  const nodes = wanted.map((node) => onNode(node, byNode.get(node) ?? [], hash));
  const available = (pod: Pod): boolean => isAvailable(pod, set.spec.minReadySeconds, nowMs);
  const rolling = set.spec.updateStrategy?.rollingUpdate;
  if (surges(set)) {
    const allowed = scaledValue(rolling?.maxSurge, wanted.length, "up");
    return surgeSteps(nodes, allowed, available);
  }
  const allowed = Math.max(1, scaledValue(rolling?.maxUnavailable ?? 1, wanted.length, "up"));
  return { remove: replacements(nodes, allowed, available), create: [] };
}

function onNode(node: string, pods: readonly Pod[], hash: string): OnNode {
  const staying = pods.filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      status?.phase !== "Failed" &&
      status?.phase !== "Succeeded",
  );
  const isFresh = (pod: Pod): boolean => pod.metadata.labels?.[HASH_LABEL] === hash;
  return {
    node,
    fresh: staying.find(isFresh),
    old: staying.find((pod) => !isFresh(pod)),
  };
}

/** Old pods that may be deleted now: unavailable ones at once, others within maxUnavailable. */
function replacements(
  nodes: readonly OnNode[],
  allowed: number,
  available: (pod: Pod) => boolean,
): readonly Pod[] {
  const healthy: Pod[] = [];
  const broken: Pod[] = [];
  let unavailable = 0;
  for (const { fresh, old } of nodes) {
    const pod = fresh ?? old;
    if (pod === undefined || !available(pod)) unavailable++;
    if (fresh === undefined && old !== undefined) (available(old) ? healthy : broken).push(old);
  }
  return [...broken, ...healthy.slice(0, Math.max(0, allowed - unavailable))];
}

/** New pods beside old ones, within maxSurge. An old pod is deleted when the new one is available. */
function surgeSteps(
  nodes: readonly OnNode[],
  allowed: number,
  available: (pod: Pod) => boolean,
): DaemonSteps {
  const remove: Pod[] = [];
  const urgent: string[] = [];
  const candidates: string[] = [];
  let surging = 0;
  for (const { node, fresh, old } of nodes) {
    if (old === undefined) continue;
    if (fresh === undefined) (available(old) ? candidates : urgent).push(node);
    else if (available(fresh) || !isReady(old)) remove.push(old);
    else surging++;
  }
  const create = [...urgent, ...candidates.slice(0, Math.max(0, allowed - surging))];
  return { remove, create };
}
