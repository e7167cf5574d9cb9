/**
 * Step 4: gives up a claim that does not launch or register in time. The instance, if there is one, ends
 * with the claim; its pods are planned anew.
 * upstream: pkg/controllers/nodeclaim/lifecycle/liveness.go
 */
import { condition } from "../../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { formatDuration } from "../../../base/duration.ts";
import {
  LAUNCH_TIMEOUT_MS,
  liveness,
  REGISTRATION_TIMEOUT_MS,
} from "../../../core/nodeclaim/liveness.ts";
import { AWAIT_CHANGE } from "../../../kube/manager/controller.ts";
import { deleteClaim } from "../../claims.ts";
import { claimLog } from "../../words.ts";
import type { World } from "../../world.ts";
import { countDisrupted } from "../disrupted.ts";
import { launchTimedOut, registrationTimedOut } from "../events.ts";
import { tellPool } from "./pool-health.ts";
import { done, type Memory, type StepResult } from "./step.ts";

export async function giveUpIfLate(
  world: World,
  claim: NodeClaim,
  { tracker }: Memory,
): Promise<StepResult> {
  const verdict = liveness(claim, world.clock.now());
  if (verdict.state === "alive") return done(claim, { requeueAfterMs: verdict.checkAfterMs });
  const timeoutMs =
    verdict.reason === "launch_timeout" ? LAUNCH_TIMEOUT_MS : REGISTRATION_TIMEOUT_MS;
  await deleteClaim(world, claim);
  const timeout = formatDuration(timeoutMs);
  const launched = condition(claim, "Launched");
  const isLaunched = verdict.reason === "registration_timeout";
  const why = launched?.message || launched?.reason || "";
  world.events.publish(
    isLaunched ? registrationTimedOut(claim, timeout) : launchTimedOut(claim, timeout, why),
  );
  claimLog(world.log, "nodeclaim.lifecycle", claim).info("terminating due to timeout", {
    timeout,
    reason: verdict.reason,
    "provider-id": claim.status?.providerID,
  });
  countDisrupted(world, claim, verdict.reason);
  const ended = { claim, outcome: AWAIT_CHANGE, ended: true };
  const failure = isLaunched
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
