/**
 * How long a claim may take to start. A claim that is late is deleted, so that its pods are planned again. The limits
 * are:
 * - 5 minutes until it is launched;
 * - 15 minutes until it is registered;
 * - after that, a configured time until it is initialized. This limit is karpenter-ts only. A claim is kept beyond it
 *   while pods on its Node would need another node.
 * upstream: pkg/controllers/nodeclaim/lifecycle/liveness.go
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import { NODE_INITIALIZED_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { isRebooting, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { ResourceSlice } from "../../apis/resource/kinds.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { rebootEndMs } from "../repair/reboots.ts";
import { isAnnotated } from "../state/do-not-disrupt.ts";
import { initialization } from "./initialized.ts";

/**
 * How long a claim may wait for its launch: from the time of its condition Launched, which is first written at its
 * creation.
 */
export const LAUNCH_TIMEOUT_MS = 5 * 60_000;
/**
 * How long a claim may wait for its registration: from the time of its condition Registered, which is first written at
 * its creation.
 */
export const REGISTRATION_TIMEOUT_MS = 15 * 60_000;

/**
 * A late claim is kept while pods run on its Node. These pods may end without an event for the claim. So the claim is
 * checked again after this time.
 */
const HELD_AGAIN_MS = 60_000;

/** The stage that took too long. */
export type LateReason = "launch_timeout" | "registration_timeout" | "initialization_timeout";

/** Whether the claim is in time. `checkAfterMs`: when to check it again. Undefined: when the claim changes. */
export type Liveness =
  | { readonly state: "alive"; readonly checkAfterMs: number | undefined }
  | { readonly state: "late"; readonly reason: LateReason };

/** The claim, its Nodes, their pods and the limits. */
export interface LivenessInput {
  readonly claim: NodeClaim;
  /** The Nodes with the claim's provider id. Normally there is none before the node joins, and one after that. */
  readonly nodes: readonly Node[];
  /** The pods that are bound to these nodes. */
  readonly pods: readonly Pod[];
  /** The ResourceSlices that DRA drivers have published. Undefined: devices are not checked. */
  readonly slices: readonly ResourceSlice[] | undefined;
  /** The time limit for initialization, from registration on. 0: no limit. */
  readonly initializationTimeoutMs: number;
  /**
   * How long this process has watched claims, in milliseconds. The limit for initialization begins with this watch,
   * because no process may have checked the claim before it. Undefined: the caller only wants the earliest possible
   * deadline, as `karpenter explain` does.
   */
  readonly watchedForMs: number | undefined;
  readonly nowMs: number;
}

/** Whether the claim is late and must be deleted, or when to check it again. */
export function liveness(input: LivenessInput): Liveness {
  const end = due(input);
  if (end === undefined) return { state: "alive", checkAfterMs: undefined };
  const leftMs = end.atMs - input.nowMs;
  if (leftMs > 0) return { state: "alive", checkAfterMs: leftMs };
  if (heldBy(input, end) !== undefined) return { state: "alive", checkAfterMs: HELD_AGAIN_MS };
  return { state: "late", reason: end.reason };
}

/** Why and when the claim will be deleted, if nothing changes. */
export interface Due {
  readonly reason: LateReason;
  readonly atMs: number;
}

/** The next deadline of the claim. Undefined: it has none. */
export function due(input: LivenessInput): Due | undefined {
  const { claim, nodes, slices, initializationTimeoutMs: timeoutMs, nowMs } = input;
  if (isTrue(claim, "Registered")) {
    if (timeoutMs === 0 || isTrue(claim, "Initialized") || isRebooting(claim)) return undefined;
    // The node is initialized, but the condition of the claim is not written yet.
    if (nodes.some((node) => isNodeInitialized(claim, node, slices))) return undefined;
    const watchedFromMs = input.watchedForMs === undefined ? 0 : nowMs - input.watchedForMs;
    const atMs = Math.max(
      endOf(claim, "Registered", timeoutMs, nowMs),
      (rebootEndMs(claim) ?? 0) + timeoutMs,
      watchedFromMs + timeoutMs,
    );
    return { reason: "initialization_timeout", atMs };
  }
  // A claim with a provider id is launched, even if its conditions were lost.
  if (!isTrue(claim, "Launched") && !claim.status?.providerID)
    return { reason: "launch_timeout", atMs: endOf(claim, "Launched", LAUNCH_TIMEOUT_MS, nowMs) };
  const atMs = endOf(claim, "Registered", REGISTRATION_TIMEOUT_MS, nowMs);
  return { reason: "registration_timeout", atMs };
}

/**
 * Why a late claim is kept. `pods`: pods on its Node would need another node. `annotation`: the claim or its Node has
 * do-not-disrupt. Undefined: it is not kept. Only the limit for initialization can be waived.
 */
export function heldBy(
  { claim, nodes, pods }: Pick<LivenessInput, "claim" | "nodes" | "pods">,
  { reason }: Due,
): "pods" | "annotation" | undefined {
  if (reason !== "initialization_timeout") return undefined;
  if (pods.some(isReschedulable)) return "pods";
  const seen = nodes.length === 0 ? [undefined] : nodes;
  const isProtected = seen.some((node) => isAnnotated(claim, node));
  return isProtected ? "annotation" : undefined;
}

/** Milliseconds until the launch of the claim is late. 0 or less: it is late. */
export function launchLeftMs(claim: NodeClaim, nowMs: number): number {
  return endOf(claim, "Launched", LAUNCH_TIMEOUT_MS, nowMs) - nowMs;
}

function isNodeInitialized(claim: NodeClaim, node: Node, slices: LivenessInput["slices"]): boolean {
  const wasInitialized = node.metadata.labels?.[NODE_INITIALIZED_LABEL_KEY] === "true";
  return wasInitialized || initialization(claim, node, slices).ok;
}

function endOf(claim: NodeClaim, type: string, timeoutMs: number, nowMs: number): number {
  const since =
    fromRfc3339(condition(claim, type)?.lastTransitionTime) ??
    fromRfc3339(claim.metadata.creationTimestamp) ??
    nowMs;
  return since + timeoutMs;
}
