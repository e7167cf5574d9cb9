/**
 * Step 4 of a claim's life: deletes a claim that does not launch, register or (karpenter-ts only) initialize in time.
 * Its instance, if there is one, is terminated, and its pods are planned again.
 * upstream: pkg/controllers/nodeclaim/lifecycle/liveness.go
 */
import type { Node } from "../../../apis/core/node.ts";
import { poolIdOfClaim } from "../../../apis/hub/claim.ts";
import { condition, isTrue } from "../../../apis/karpenter/conditions.ts";
import { REQUESTED_DRA_DRIVERS_ANNOTATION_KEY } from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { RESOURCE_SLICE, type ResourceSlice } from "../../../apis/resource/kinds.ts";
import { formatDuration } from "../../../base/duration.ts";
import {
  LAUNCH_TIMEOUT_MS,
  type LateReason,
  type Liveness,
  type LivenessInput,
  liveness,
  REGISTRATION_TIMEOUT_MS,
} from "../../../core/nodeclaim/liveness.ts";
import type { ClaimAct } from "../../../core/safety/acts.ts";
import type { EventToPublish } from "../../../kube/events/events.ts";
import { AWAIT_CHANGE } from "../../../kube/manager/controller.ts";
import { deleteClaim } from "../../ending/delete-claim.ts";
import { HELD_RETRY_MS } from "../../ending/ended.ts";
import { nodesStandingFor, reschedulablePodsNow } from "../../ending/live-reads.ts";
import { nodes, pods } from "../../mirrors.ts";
import { poolById } from "../../pools.ts";
import { claimLog } from "../../words.ts";
import type { World } from "../../world.ts";
import { countDisrupted } from "../disrupted.ts";
import { initializationTimedOut, launchTimedOut, registrationTimedOut } from "../events.ts";
import { publishedSlices } from "./initialization.ts";
import { tellPool } from "./pool-health.ts";
import { done, type Memory, type StepResult } from "./step.ts";

/** Deletes a claim that was not launched, registered or (karpenter-ts only) initialized in time. */
export async function giveUpIfLate(
  world: World,
  claim: NodeClaim,
  memory: Memory,
): Promise<StepResult> {
  const { tracker } = memory;
  const verdict = verdictOn(world, claim, watchedForMs(world, claim, memory));
  if (verdict.state === "alive") return done(claim, { requeueAfterMs: verdict.checkAfterMs });
  const { reason } = verdict;
  const ended = await deleteClaim(world, claim, ACT_OF[reason], {
    stillHolds: (live) => isStillLate(world, live, memory),
  });
  if (ended !== "ended") return done(claim, { requeueAfterMs: HELD_RETRY_MS });
  const timeout = formatDuration(timeoutMs(world, reason));
  world.events.publish(...eventsOf(world, claim, reason, timeout));
  claimLog(world.log, "nodeclaim.lifecycle", claim).info("terminating due to timeout", {
    timeout,
    reason,
    "provider-id": claim.status?.providerID,
  });
  countDisrupted(world, claim, reason);
  const result = { claim, outcome: AWAIT_CHANGE, ended: true };
  // The node registered, and that was already recorded for its pool.
  if (reason === "initialization_timeout") return result;
  const launched = condition(claim, "Launched");
  const failure =
    reason === "registration_timeout"
      ? { reason: "RegistrationFailed", message: "Failed to register node" }
      : { reason: launched?.reason ?? "LaunchFailed", message: launched?.message ?? "" };
  try {
    await tellPool(world, tracker, claim, failure);
  } catch (error) {
    // The claim is deleted in spite of this error, so the error is only returned.
    return { ...result, error };
  }
  return result;
}

const ACT_OF: Readonly<Record<LateReason, ClaimAct>> = {
  launch_timeout: "launchTimeout",
  registration_timeout: "registrationTimeout",
  initialization_timeout: "initializationTimeout",
};

/** Whether the claim is too late by what the API server has now: the claim, its Nodes and their pods. */
async function isStillLate(world: World, live: NodeClaim, memory: Memory): Promise<boolean> {
  const waitedMs = watchedForMs(world, live, memory);
  const suspected = verdictOn(world, live, waitedMs);
  if (suspected.state !== "late" || suspected.reason === "launch_timeout")
    return suspected.state === "late";
  const joined = await nodesStandingFor(world, live.status?.providerID);
  const isKnown = ({ metadata }: Node) => nodes(world).get(metadata.name) !== undefined;
  // A Node that registration has not handled yet may still register.
  if (!joined.every(isKnown)) return false;
  const lists = joined.map(({ metadata: { name } }) => reschedulablePodsNow(world, name));
  const listed = (await Promise.all(lists)).flat();
  // If pods run on a Node that could not be registered, the claim is kept, so that a user can repair the Node.
  if (suspected.reason === "registration_timeout") return listed.length === 0;
  const slices = await slicesNow(world, live);
  const input = { ...inputOf(world, live, waitedMs), nodes: joined, pods: listed, slices };
  return liveness(input).state === "late";
}

/** The ResourceSlices that the API server has now. Undefined: the claim waits for no devices, or they are ignored. */
async function slicesNow(
  { kube, settings }: World,
  { metadata: { annotations } }: NodeClaim,
): Promise<readonly ResourceSlice[] | undefined> {
  const awaitsDevices = (annotations?.[REQUESTED_DRA_DRIVERS_ANNOTATION_KEY] ?? "") !== "";
  if (settings.compileSelector === undefined || !awaitsDevices) return undefined;
  return (await kube.list(RESOURCE_SLICE)).items;
}

/**
 * Milliseconds since this process first saw the claim registered but not initialized. The wall clock is not used,
 * because setting it forward would make all nodes late.
 */
function watchedForMs({ clock }: World, claim: NodeClaim, { comingUp }: Memory): number {
  const uid = claim.metadata.uid ?? claim.metadata.name;
  if (!isTrue(claim, "Registered") || isTrue(claim, "Initialized")) {
    comingUp.delete(uid);
    return 0;
  }
  const nowMs = clock.elapsedMs();
  const sinceMs = comingUp.get(uid) ?? nowMs;
  comingUp.set(uid, sinceMs);
  return nowMs - sinceMs;
}

function verdictOn(world: World, claim: NodeClaim, watchedForMs: number): Liveness {
  return liveness(inputOf(world, claim, watchedForMs));
}

/** The facts that decide whether the claim is too late, read from the local copies. */
function inputOf(world: World, claim: NodeClaim, watchedForMs: number): LivenessInput {
  const joined = nodesOf(world, claim);
  return {
    claim,
    nodes: joined,
    pods: joined.flatMap(({ metadata }) => pods(world).byIndex("node", metadata.name)),
    slices: publishedSlices(world),
    initializationTimeoutMs: world.settings.initializationTimeoutMs,
    watchedForMs,
    nowMs: world.clock.now(),
  };
}

function nodesOf(world: World, { status }: NodeClaim): readonly Node[] {
  const providerId = status?.providerID;
  return providerId === undefined ? [] : nodes(world).byIndex("providerId", providerId);
}

function timeoutMs({ settings }: World, reason: LateReason): number {
  if (reason === "initialization_timeout") return settings.initializationTimeoutMs;
  return reason === "launch_timeout" ? LAUNCH_TIMEOUT_MS : REGISTRATION_TIMEOUT_MS;
}

function eventsOf(
  world: World,
  claim: NodeClaim,
  reason: LateReason,
  timeout: string,
): readonly EventToPublish[] {
  if (reason === "registration_timeout") return [registrationTimedOut(claim, timeout)];
  if (reason === "launch_timeout") {
    const launched = condition(claim, "Launched");
    return [launchTimedOut(claim, timeout, launched?.message || launched?.reason || "")];
  }
  const awaited = condition(claim, "Initialized");
  const why = [awaited?.reason, awaited?.message].filter(Boolean).join(": ");
  const stored = poolById(world, poolIdOfClaim(claim) ?? "");
  const pool = stored && { ...stored.native, kind: stored.kind.kind };
  return initializationTimedOut(claim, pool, timeout, why);
}
