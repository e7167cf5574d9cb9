/**
 * How long a claim may take: five minutes to launch, fifteen from then to register. A claim that is
 * late is given up, so that its pods are planned anew.
 * upstream: pkg/controllers/nodeclaim/lifecycle/liveness.go
 */
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";

export const LAUNCH_TIMEOUT_MS = 5 * 60_000;
export const REGISTRATION_TIMEOUT_MS = 15 * 60_000;

export type Liveness =
  | { readonly state: "alive"; readonly checkAfterMs: number | undefined }
  | { readonly state: "late"; readonly reason: "launch_timeout" | "registration_timeout" };

export function liveness(claim: NodeClaim, nowMs: number): Liveness {
  if (isTrue(claim, "Registered")) return { state: "alive", checkAfterMs: undefined };
  if (!isTrue(claim, "Launched")) {
    const leftMs = launchLeftMs(claim, nowMs);
    if (leftMs <= 0) return { state: "late", reason: "launch_timeout" };
    return { state: "alive", checkAfterMs: leftMs };
  }
  const leftMs = left(claim, "Registered", REGISTRATION_TIMEOUT_MS, nowMs);
  if (leftMs <= 0) return { state: "late", reason: "registration_timeout" };
  return { state: "alive", checkAfterMs: leftMs };
}

/** How long the claim's launch may still take; 0 or less: it is late. */
export function launchLeftMs(claim: NodeClaim, nowMs: number): number {
  return left(claim, "Launched", LAUNCH_TIMEOUT_MS, nowMs);
}

function left(claim: NodeClaim, type: string, timeoutMs: number, nowMs: number): number {
  const since =
    fromRfc3339(condition(claim, type)?.lastTransitionTime) ??
    fromRfc3339(claim.metadata.creationTimestamp) ??
    nowMs;
  return since + timeoutMs - nowMs;
}
