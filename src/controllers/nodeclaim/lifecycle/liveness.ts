/**
 * Step 4: gives up a claim that does not launch, register or (ours) initialize in time. The instance, if there is one,
 * ends with the claim; its pods are planned anew.
 * upstream: pkg/controllers/nodeclaim/lifecycle/liveness.go
 */
import { poolIdOfClaim } from "../../../apis/hub/claim.ts";
import { condition, isTrue } from "../../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { formatDuration } from "../../../base/duration.ts";
import {
  LAUNCH_TIMEOUT_MS,
  type LateReason,
  type Liveness,
  liveness,
  REGISTRATION_TIMEOUT_MS,
} from "../../../core/nodeclaim/liveness.ts";
import type { EventToPublish } from "../../../kube/events/events.ts";
import { AWAIT_CHANGE } from "../../../kube/manager/controller.ts";
import { deleteClaim } from "../../claims.ts";
import { nodes, pods } from "../../mirrors.ts";
import { poolById } from "../../pools.ts";
import { claimLog } from "../../words.ts";
import type { World } from "../../world.ts";
import { countDisrupted } from "../disrupted.ts";
import { initializationTimedOut, launchTimedOut, registrationTimedOut } from "../events.ts";
import { tellPool } from "./pool-health.ts";
import { done, type Memory, type StepResult } from "./step.ts";

export async function giveUpIfLate(
  world: World,
  claim: NodeClaim,
  memory: Memory,
): Promise<StepResult> {
  const { tracker } = memory;
  const verdict = verdictOn(world, claim, lookedForMs(world, claim, memory));
  if (verdict.state === "alive") return done(claim, { requeueAfterMs: verdict.checkAfterMs });
  const { reason } = verdict;
  await deleteClaim(world, claim);
  const timeout = formatDuration(timeoutMs(world, reason));
  world.events.publish(...eventsOf(world, claim, reason, timeout));
  claimLog(world.log, "nodeclaim.lifecycle", claim).info("terminating due to timeout", {
    timeout,
    reason,
    "provider-id": claim.status?.providerID,
  });
  countDisrupted(world, claim, reason);
  const ended = { claim, outcome: AWAIT_CHANGE, ended: true };
  // It did register, and its pool was told.
  if (reason === "initialization_timeout") return ended;
  const launched = condition(claim, "Launched");
  const failure =
    reason === "registration_timeout"
      ? { reason: "RegistrationFailed", message: "Failed to register node" }
      : { reason: launched?.reason ?? "LaunchFailed", message: launched?.message ?? "" };
  try {
    await tellPool(world, tracker, claim, failure);
  } catch (error) {
    // The claim is given up all the same.
    return { ...ended, error };
  }
  return ended;
}

/** By elapsed time: a clock that is set forward makes no node late. */
function lookedForMs({ clock }: World, claim: NodeClaim, { comingUp }: Memory): number {
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

function verdictOn(world: World, claim: NodeClaim, lookedForMs: number): Liveness {
  const { clock, settings } = world;
  const providerId = claim.status?.providerID;
  const joined = providerId === undefined ? [] : nodes(world).byIndex("providerId", providerId);
  return liveness({
    claim,
    nodes: joined,
    pods: joined.flatMap(({ metadata }) => pods(world).byIndex("node", metadata.name)),
    initializationTimeoutMs: settings.initializationTimeoutMs,
    lookedForMs,
    nowMs: clock.now(),
  });
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
