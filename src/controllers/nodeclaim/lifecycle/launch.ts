/**
 * Step 1 of a claim's life: launches the instance while Launched is Unknown. The launch is remembered by the claim's
 * UID, so that no second instance is launched if the status could not be stored. If the cloud is out of capacity or the
 * class is not ready, the claim is deleted and its pods are planned again. After any other error the launch is tried
 * again, with the growing waits of the work queue, until the launch timeout (core/nodeclaim/liveness.ts).
 * upstream: pkg/controllers/nodeclaim/lifecycle/launch.go
 */

import { claimGeneration } from "../../../apis/hub/claim.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import {
  condition,
  inSteadyWords,
  isTrue,
  withCondition,
} from "../../../apis/karpenter/conditions.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  TERMINATION_FINALIZER,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { createdAtMs, type KubeObject } from "../../../apis/meta.ts";
import { errorText } from "../../../base/error-text.ts";
import {
  CreateError,
  InsufficientCapacityError,
  NodeClassNotReadyError,
} from "../../../core/cloudprovider/errors.ts";
import { launchLeftMs } from "../../../core/nodeclaim/liveness.ts";
import { CLOCKS_APART_MS } from "../../../core/safety/judge.ts";
import { hasFinalizer } from "../../../kube/client/finalizer.ts";
import { AWAIT_CHANGE, requeueAfter } from "../../../kube/manager/controller.ts";
import { claimRequest, claimsByProviderId, readClaim, storedClaim } from "../../claims.ts";
import { deleteClaim } from "../../ending/delete-claim.ts";
import { endLateLaunch } from "../../ending/end-instance.ts";
import { HELD_RETRY_MS } from "../../ending/ended.ts";
import { nodes } from "../../mirrors.ts";
import { claimLog, poolLabel, speaksV05 } from "../../words.ts";
import type { World } from "../../world.ts";
import { countDisrupted } from "../disrupted.ts";
import { insufficientCapacity } from "../events.ts";
import { heldAsChanged } from "./changed-by-others.ts";
import { takeLeftBehind } from "./left-behind.ts";
import { takeOwn } from "./own-node.ts";
import { done, type Memory, type StepResult } from "./step.ts";

/** Milliseconds for which a launched instance is remembered. By then its status is stored or the claim is gone. */
const REMEMBER_MS = 60 * 60_000;
/** The least time for a launch call, in milliseconds, even if the claim's timeout is near. */
const LEAST_WAIT_MS = 60_000;
const MESSAGE_LENGTH = 300;

/** Calls the cloud to launch an instance, once. The result is remembered until the status is written. */
export async function launch(world: World, claim: NodeClaim, memory: Memory): Promise<StepResult> {
  const cache = memory.launches;
  const uid = uidOf(claim);
  if (condition(claim, "Launched")?.status !== "Unknown") {
    // The launch is kept until then: if somebody clears the claim's status, no Node shows which instance is its own.
    if (isTrue(claim, "Registered")) cache.delete(uid);
    memory.begunHere.delete(uid);
    return done(claim);
  }
  let launched = cache.get(uid)?.launched;
  // A claim with a provider id was launched, even if its conditions were lost.
  if (launched === undefined && claim.status?.providerID)
    return done(withCondition(claim, { type: "Launched", status: "True" }, world.clock.now()));
  if (launched === undefined) {
    const changed = heldAsChanged(world, claim);
    if (changed !== undefined) return changed;
    if (!(await stillWaits(world, claim, memory))) return done(claim, requeueAfter(HELD_RETRY_MS));
    try {
      launched = await answerInTime(world, claim, memory);
    } catch (error) {
      return failed(world, claim, error);
    }
  }
  if (launched === undefined) {
    const message = "the cloud has not answered";
    const late = { type: "Launched", status: "Unknown", reason: "LaunchFailed", message } as const;
    return done(withCondition(claim, late, world.clock.now()));
  }
  const hydrated = withInstance(claim, launched);
  return done(withCondition(hydrated, { type: "Launched", status: "True" }, world.clock.now()));
}

/**
 * Whether the claim on the API server has no instance either. A watch that lags behind may deliver the claim as it was
 * before its launch. Then a second instance would be launched, and its Node would replace the first one's. The read is
 * not needed for claims that this process began and did not launch.
 */
async function stillWaits(world: World, claim: NodeClaim, memory: Memory): Promise<boolean> {
  const uid = uidOf(claim);
  if (memory.begunHere.has(uid) || memory.asked.has(uid)) return true;
  const live = await storedClaim(world, claim);
  if (live === undefined || uidOf(live) !== uid || live.status?.providerID) return false;
  return condition(live, "Launched")?.status === "Unknown";
}

/** Waits for the cloud's answer until the claim's launch timeout. Undefined: no answer came in time. */
async function answerInTime(
  world: World,
  claim: NodeClaim,
  memory: Memory,
): Promise<NodeClaim | undefined> {
  const { clock } = world;
  const asked = memory.asked.get(uidOf(claim));
  const asking = asked ?? ask(world, claim, memory);
  const leastMs = asked === undefined ? LEAST_WAIT_MS : 0;
  let ring = (): void => undefined;
  const over = new Promise<undefined>((resolve) => {
    ring = () => resolve(undefined);
  });
  const timer = clock.after(Math.max(leastMs, launchLeftMs(claim, clock.now())), ring);
  try {
    return await Promise.race([asking, over]);
  } finally {
    timer.cancel();
  }
}

/** Calls the cloud and remembers the instance, even if the reconcile no longer waits for the answer. */
function ask(world: World, claim: NodeClaim, memory: Memory): Promise<NodeClaim> {
  const { launches, asked } = memory;
  const uid = uidOf(claim);
  const asking = takeOwn(world, claim)
    .then((own) => own ?? takeLeftBehind(world, claim, memory))
    .then((taken) => taken ?? create(world, claim))
    .then((launched) => answered(world, claim, launched, launches))
    .finally(() => asked.delete(uid));
  asked.set(uid, asking);
  // The reconcile may have stopped waiting, and then no other code handles the error.
  asking.catch(() => undefined);
  return asking;
}

/**
 * Launches an instance. Rejects if the cloud's answer is false: it names an instance of another claim, or one whose
 * Node is older than the claim by more than API servers with different clocks explain. Karpenter would plan pods for a
 * node that it does not get, and then launch the next one.
 */
async function create(world: World, claim: NodeClaim): Promise<NodeClaim> {
  const launched = await world.cloud.create(claim);
  const { providerID = "" } = launched.status ?? {};
  const claims = claimsByProviderId(world, providerID);
  const owner =
    claims.find((one) => uidOf(one) !== uidOf(claim)) ??
    nodes(world)
      .byIndex("providerId", providerID)
      .find((node) => createdAtMs(node as KubeObject) + CLOCKS_APART_MS < createdAtMs(claim));
  if (owner === undefined) return launched;
  const message = `the cloud answered the launch with instance ${providerID}, which ${owner.metadata.name} has`;
  throw new CreateError(message, { reason: "LaunchFailed", message });
}

/**
 * Remembers the launched instance. Rejects if the claim no longer exists: then the instance is terminated, and must not
 * be used.
 */
async function answered(
  world: World,
  claim: NodeClaim,
  launched: NodeClaim,
  launches: Memory["launches"],
): Promise<NodeClaim> {
  const uid = uidOf(claim);
  const nowMs = world.clock.now();
  for (const [key, { untilMs }] of launches) if (untilMs <= nowMs) launches.delete(key);
  // The launch is stored before the claim is read, so that a claim finalized during the read finds its instance here.
  launches.set(uid, { launched, untilMs: nowMs + REMEMBER_MS });
  report(world, claim, launched);
  if (await isHeld(world, claim)) return launched;
  launches.delete(uid);
  await endLateLaunch(world, withInstance(claim, launched));
  throw new Error("the cloud answered when the claim was given up");
}

/**
 * Whether the claim exists with Karpenter's finalizer. If the local copy says no, the API server is read, because the
 * local copy may be outdated. If the API server does not answer, the instance is kept.
 */
async function isHeld(world: World, claim: NodeClaim): Promise<boolean> {
  const holds = (now: NodeClaim | undefined): boolean =>
    now !== undefined && uidOf(now) === uidOf(claim) && hasFinalizer(now, TERMINATION_FINALIZER);
  if (holds(readClaim(world, claimRequest(claim)))) return true;
  try {
    return holds(await storedClaim(world, claim));
  } catch {
    return true;
  }
}

function uidOf({ metadata }: NodeClaim): string {
  return metadata.uid ?? metadata.name;
}

function report(world: World, claim: NodeClaim, launched: NodeClaim): void {
  const { labels } = launched.metadata;
  const { providerID, nodeName = "", allocatable } = launched.status ?? {};
  const type = labels?.[INSTANCE_TYPE_LABEL_KEY];
  const zone = labels?.[TOPOLOGY_ZONE_LABEL_KEY];
  const capacityType = labels?.[CAPACITY_TYPE_LABEL_KEY];
  if (speaksV05(claim)) {
    const id = providerID?.slice(providerID.lastIndexOf("/") + 1);
    world.log
      .with({ controller: "provisioning" })
      .info(
        `Launched instance: ${id}, hostname: ${nodeName}, type: ${type}, zone: ${zone}, capacityType: ${capacityType}`,
        { provisioner: poolLabel(claim.metadata) },
      );
    return;
  }
  claimLog(world.log, "nodeclaim.lifecycle", claim).info(
    `launched ${vocabulary(claimGeneration(claim)).claimNoun}`,
    {
      "provider-id": providerID,
      "instance-type": type,
      zone,
      "capacity-type": capacityType,
      allocatable,
    },
  );
}

/**
 * Adds the fields of the instance to the claim. For equal keys, the claim's labels win over the instance's, but the
 * instance's annotations win over the claim's.
 */
function withInstance(claim: NodeClaim, launched: NodeClaim): NodeClaim {
  const { providerID, imageID, capacity, allocatable } = launched.status ?? {};
  return {
    ...claim,
    metadata: {
      ...claim.metadata,
      labels: { ...launched.metadata.labels, ...claim.metadata.labels },
      annotations: { ...claim.metadata.annotations, ...launched.metadata.annotations },
    },
    status: {
      ...claim.status,
      ...(providerID === undefined ? {} : { providerID }),
      ...(imageID === undefined ? {} : { imageID }),
      ...(capacity === undefined ? {} : { capacity }),
      ...(allocatable === undefined ? {} : { allocatable }),
    },
  };
}

async function failed(world: World, claim: NodeClaim, error: unknown): Promise<StepResult> {
  const log = claimLog(world.log, "nodeclaim.lifecycle", claim);
  const noun = vocabulary(claimGeneration(claim)).claimNoun;
  const text = errorText(error);
  if (error instanceof InsufficientCapacityError || error instanceof NodeClassNotReadyError) {
    const short = error instanceof InsufficientCapacityError;
    if (short) world.events.publish(insufficientCapacity(claim, cut(text)));
    log.error(`failed launching ${noun}`, { error: text });
    const ended = await deleteClaim(world, claim, "launchFailed", {
      stillHolds: ({ status }) => status?.providerID === undefined,
    });
    if (ended === "held" || ended === "changed") return done(claim, requeueAfter(HELD_RETRY_MS));
    countDisrupted(world, claim, short ? "insufficient_capacity" : "nodeclass_not_ready");
    return { claim, outcome: AWAIT_CHANGE, ended: true };
  }
  const reason = error instanceof CreateError ? error.conditionReason : "LaunchFailed";
  const message = error instanceof CreateError ? error.conditionMessage : text;
  const after = withCondition(
    claim,
    inSteadyWords(claim, { type: "Launched", status: "Unknown", reason, message: cut(message) }),
    world.clock.now(),
  );
  const wrapped = new Error(`launching ${noun}`, { cause: error });
  wrapped.name = "LaunchError";
  return { claim: after, outcome: AWAIT_CHANGE, error: wrapped };
}

function cut(text: string): string {
  return text.length > MESSAGE_LENGTH ? `${text.slice(0, MESSAGE_LENGTH)}...` : text;
}
