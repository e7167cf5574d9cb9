/**
 * How long a claim may take to start: 5 minutes to launch, then until 15 minutes after its creation to register. After
 * that, the configured time to initialize, if no pod on its Node would need another node. A late claim is deleted, so
 * that its pods are planned again. The last limit is karpenter-ts only; upstream waits without limit.
 * upstream: pkg/controllers/nodeclaim/lifecycle/liveness.go
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import { NODE_INITIALIZED_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { isRebooting, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { rebootEndMs } from "../repair/reboots.ts";
import { isAnnotated } from "../state/do-not-disrupt.ts";
import { initialization } from "./initialized.ts";

/** How long after its creation a claim must be launched. upstream: pkg/controllers/nodeclaim/lifecycle/liveness.go. */
export const LAUNCH_TIMEOUT_MS = 5 * 60_000;
/**
 * How long after its creation a claim must be registered. upstream: pkg/controllers/nodeclaim/lifecycle/liveness.go.
 */
export const REGISTRATION_TIMEOUT_MS = 15 * 60_000;

/**
 * A late claim may be kept because of its pods. The reason may end without an event, for example when a pod ends. So
 * the claim is checked again after this time.
 */
const HELD_AGAIN_MS = 60_000;

/** The stage that took too long. */
export type LateReason = "launch_timeout" | "registration_timeout" | "initialization_timeout";

/** Whether the claim is in time. */
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
  /** The time limit for initialization, from registration on. 0: no limit. */
  readonly initializationTimeoutMs: number;
  /**
   * How long this process has watched claims. Time before that does not count against a node, because no process may
   * have checked it then. Undefined: another process decides, so the earliest possible deadline is returned.
   */
  readonly lookedForMs: number | undefined;
  readonly nowMs: number;
}

/** Whether the claim is late. A late claim is deleted, and its pods are planned again. */
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
  const { claim, nodes, initializationTimeoutMs: timeoutMs, nowMs } = input;
  if (isTrue(claim, "Registered")) {
    if (timeoutMs === 0 || isTrue(claim, "Initialized") || isRebooting(claim)) return undefined;
    // The Node is ready for pods, but the condition of the claim is not written yet.
    if (nodes.some((node) => isUsable(claim, node))) return undefined;
    const lookingMs = input.lookedForMs === undefined ? 0 : nowMs - input.lookedForMs;
    const atMs = Math.max(
      endOf(claim, "Registered", timeoutMs, nowMs),
      (rebootEndMs(claim) ?? 0) + timeoutMs,
      lookingMs + timeoutMs,
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
 * Why a late claim that was never initialized is kept: a pod on its Node, or a do-not-disrupt annotation. Undefined: it
 * is not kept.
 */
export function heldBy(
  { claim, nodes, pods }: Pick<LivenessInput, "claim" | "nodes" | "pods">,
  { reason }: Due,
): "pods" | "annotation" | undefined {
  if (reason !== "initialization_timeout") return undefined;
  if (pods.some(isReschedulable)) return "pods";
  const seen = nodes.length === 0 ? [undefined] : nodes;
  const isParked = seen.some((node) => isAnnotated(claim, node));
  return isParked ? "annotation" : undefined;
}

/** Milliseconds until the launch of the claim is late. 0 or less: it is late. */
export function launchLeftMs(claim: NodeClaim, nowMs: number): number {
  return endOf(claim, "Launched", LAUNCH_TIMEOUT_MS, nowMs) - nowMs;
}

function isUsable(claim: NodeClaim, node: Node): boolean {
  const wasOnce = node.metadata.labels?.[NODE_INITIALIZED_LABEL_KEY] === "true";
  return wasOnce || initialization(claim, node).ok;
}

function endOf(claim: NodeClaim, type: string, timeoutMs: number, nowMs: number): number {
  const since =
    fromRfc3339(condition(claim, type)?.lastTransitionTime) ??
    fromRfc3339(claim.metadata.creationTimestamp) ??
    nowMs;
  return since + timeoutMs;
}
