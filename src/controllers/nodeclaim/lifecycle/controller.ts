/**
 * Takes each claim through its life: launch, registration, initialization, and deletion if one of them takes too long.
 * A deleted claim loses its Nodes, then its instance, then its finalizer. Reconciles after changes of the claim and of
 * its Node. node.termination drains the Nodes, and core/nodeclaim contains the decisions.
 * upstream: pkg/controllers/nodeclaim/lifecycle/controller.go
 */
import { NODE } from "../../../apis/core/node.ts";
import { claimKind, fromClaim, toClaim } from "../../../apis/hub/claim.ts";
import { initializeConditions, isTrue } from "../../../apis/karpenter/conditions.ts";
import { TERMINATION_FINALIZER } from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { RESOURCE_SLICE, type ResourceSlice } from "../../../apis/resource/kinds.ts";
import { ContestedChanges } from "../../../kube/client/contested-changes.ts";
import { addFinalizer, hasFinalizer } from "../../../kube/client/finalizer.ts";
import { collect, joined, NotStoredError } from "../../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  soonest,
  source,
} from "../../../kube/manager/controller.ts";
import {
  claimRequestsOfNode,
  claimSources,
  isDeleting,
  isManagedClaim,
  patchClaim,
  readClaim,
} from "../../claims.ts";
import { concurrency } from "../../concurrency.ts";
import { nodes } from "../../mirrors.ts";
import type { RegistrationTracker } from "../../registration-tracker.ts";
import { claimLog } from "../../words.ts";
import type { World } from "../../world.ts";
import { putBack } from "./changed-by-others.ts";
import { finalize } from "./finalize.ts";
import { initialize } from "./initialization.ts";
import { launch } from "./launch.ts";
import { giveUpIfLate } from "./liveness.ts";
import { register } from "./registration.ts";
import { done, type Memory, type StepResult } from "./step.ts";

/**
 * The controller that runs the steps of a claim in order and combines their results. upstream:
 * pkg/controllers/nodeclaim/lifecycle.
 */
export function lifecycle(world: World, tracker: RegistrationTracker): Controller {
  const memory: Memory = {
    launches: new Map(),
    asked: new Map(),
    begunHere: new Set(),
    leftBehind: undefined,
    taken: new Map(),
    startedMs: undefined,
    comingUp: new Map(),
    leaving: new Map(),
    contested: new ContestedChanges(world.clock),
    contestedLabels: new ContestedChanges(world.clock),
    tracker,
  };
  const ofNode = claimRequestsOfNode(world);
  const ofSlice = ({ spec, metadata: { ownerReferences = [] } }: ResourceSlice) => {
    const owner = ownerReferences.find(({ kind }) => kind === "Node")?.name;
    const node = nodes(world).get(spec.nodeName ?? owner ?? "");
    return node === undefined ? [] : ofNode(node, "updated", undefined);
  };
  return {
    name: "nodeclaim.lifecycle",
    watches: [
      ...claimSources(),
      source(NODE, ofNode),
      ...(world.settings.compileSelector === undefined ? [] : [source(RESOURCE_SLICE, ofSlice)]),
    ],
    concurrency: concurrency(world, 1_000, 5_000),
    reconcile: (request) => reconcile(world, memory, request),
  };
}

async function reconcile(world: World, memory: Memory, request: Request): Promise<Outcome> {
  memory.startedMs ??= world.clock.elapsedMs();
  const stored = readClaim(world, request);
  if (stored === undefined) memory.leaving.delete(`${request.kind}/${request.name}`);
  if (stored === undefined || !isManagedClaim(world, stored)) return AWAIT_CHANGE;
  const uid = stored.metadata.uid ?? stored.metadata.name;
  if (isDeleting(stored)) {
    memory.comingUp.delete(uid);
    const outcome = await finalize(world, stored, memory);
    if (outcome === AWAIT_CHANGE) memory.begunHere.delete(uid);
    return outcome;
  }
  const restMs = hasFinalizer(stored, TERMINATION_FINALIZER) ? 0 : restOf(world, stored, memory);
  if (restMs > 0) return requeueAfter(restMs);
  const before = await begun(world, stored, memory);
  if (before === undefined) return AWAIT_CHANGE;
  let claim = before;
  const outcomes: Outcome[] = [];
  const errors: unknown[] = [];
  const tell: (() => Promise<void> | void)[] = [];
  let ended = false;
  for (const step of [launch, register, initialize, giveUpIfLate]) {
    const result = await attempt(step, world, claim, memory);
    claim = result.claim;
    outcomes.push(result.outcome);
    if (result.error !== undefined) errors.push(result.error);
    if (result.stored !== undefined) tell.push(result.stored);
    ended = result.ended === true;
    if (ended) break;
  }
  let isStored = false;
  // A claim that this reconcile deleted gets no status. Finalizing uses the launch that is kept in memory.
  if (!ended)
    await collect(errors, async () => {
      const stored = await patchClaim(world, before, claim);
      if (stored !== undefined) checkStored(before, claim, stored);
      isStored = stored !== undefined;
    });
  if (isStored) for (const one of tell) await collect(errors, one);
  if (errors.length > 0) throw joined(errors);
  return isStored ? soonest(...outcomes) : AWAIT_CHANGE;
}

/** The conditions that the steps set, in their order. */
const STEPS = ["Launched", "Registered", "Initialized"] as const;

/** Throws if the stored claim lacks a step that the write has added. Nothing else would wake the claim again. */
function checkStored(before: NodeClaim, after: NodeClaim, stored: NodeClaim): void {
  const lost = STEPS.find(
    (type) => !isTrue(before, type) && isTrue(after, type) && !isTrue(stored, type),
  );
  if (lost !== undefined)
    throw new NotStoredError(`the condition ${lost} of ${after.metadata.name}`);
}

/**
 * Milliseconds until the finalizer may be added again. It is delayed because other programs may remove it each time.
 */
function restOf(world: World, claim: NodeClaim, { contested }: Memory): number {
  const { waitMs, times } = contested.next(claim);
  if (waitMs === 0 && times > 1)
    claimLog(world.log, "nodeclaim.lifecycle", claim).warn(
      "another program has taken the finalizer off, putting it on again",
      { finalizer: TERMINATION_FINALIZER, times },
    );
  return waitMs;
}

type Step = (world: World, claim: NodeClaim, memory: Memory) => Promise<StepResult>;

/**
 * Runs a step. After an error the later steps still run, and the results of earlier steps are stored. Without a stored
 * provider id, changes of the Node would not reconcile the claim.
 * upstream: pkg/controllers/nodeclaim/lifecycle/controller.go
 */
async function attempt(
  step: Step,
  world: World,
  claim: NodeClaim,
  memory: Memory,
): Promise<StepResult> {
  try {
    return await step(world, claim, memory);
  } catch (error) {
    return { ...done(claim), error };
  }
}

/**
 * Stores Karpenter's finalizer and the first conditions on the claim, before the first call to the cloud. Returns the
 * stored claim.
 */
async function begun(
  world: World,
  claim: NodeClaim,
  memory: Memory,
): Promise<NodeClaim | undefined> {
  const { begunHere } = memory;
  const kind = claimKind(claim);
  const native = fromClaim(claim);
  const after = await addFinalizer(world.kube, kind, native, TERMINATION_FINALIZER);
  if (after === undefined) return undefined;
  if (after !== native) begunHere.add(claim.metadata.uid ?? claim.metadata.name);
  const held = after === native ? claim : toClaim(after);
  const whole = putBack(world, held, memory);
  return patchClaim(world, held, initializeConditions(whole, world.clock.now()));
}
