/**
 * How long a claim may take: five minutes to launch, fifteen from then to register, and, while nothing runs on its
 * Node that would want another, as long as it is told to be usable. A claim that is late is given up, so that its pods
 * are planned anew. The last is ours: upstream waits for ever.
 * upstream: pkg/controllers/nodeclaim/lifecycle/liveness.go
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import { NODE_INITIALIZED_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { isAnnotated } from "../state/do-not-disrupt.ts";
import { initialization } from "./initialized.ts";

export const LAUNCH_TIMEOUT_MS = 5 * 60_000;
export const REGISTRATION_TIMEOUT_MS = 15 * 60_000;

/** What holds a late claim may vanish without a word, as pods do: it is looked at again. */
const HELD_AGAIN_MS = 60_000;

export type LateReason = "launch_timeout" | "registration_timeout" | "initialization_timeout";

export type Liveness =
  | { readonly state: "alive"; readonly checkAfterMs: number | undefined }
  | { readonly state: "late"; readonly reason: LateReason };

export interface LivenessInput {
  readonly claim: NodeClaim;
  /** With its provider id: one, once it has joined. */
  readonly nodes: readonly Node[];
  /** Bound to those. */
  readonly pods: readonly Pod[];
  /** From registration on; 0: for ever. */
  readonly initializationTimeoutMs: number;
  /**
   * For how long whoever gives claims up has looked at them: what nobody waited for while it was away, or upstream had it,
   * is not held against a node. Undefined: another process does, so that the end is the earliest there is.
   */
  readonly lookedForMs: number | undefined;
  readonly nowMs: number;
}

export function liveness(input: LivenessInput): Liveness {
  const end = due(input);
  if (end === undefined) return { state: "alive", checkAfterMs: undefined };
  const leftMs = end.atMs - input.nowMs;
  if (leftMs > 0) return { state: "alive", checkAfterMs: leftMs };
  if (heldBy(input, end) !== undefined) return { state: "alive", checkAfterMs: HELD_AGAIN_MS };
  return { state: "late", reason: end.reason };
}

/** What the claim is given up for, and when, if it stays as it is. */
export interface Due {
  readonly reason: LateReason;
  readonly atMs: number;
}

/** Undefined: it is not, whatever comes. */
export function due(input: LivenessInput): Due | undefined {
  const { claim, nodes, initializationTimeoutMs: timeoutMs, nowMs } = input;
  if (isTrue(claim, "Registered")) {
    if (timeoutMs === 0 || isTrue(claim, "Initialized")) return undefined;
    // What could not be written down yet is true all the same.
    if (nodes.some((node) => isUsable(claim, node))) return undefined;
    const lookingMs = input.lookedForMs === undefined ? 0 : nowMs - input.lookedForMs;
    const atMs = Math.max(endOf(claim, "Registered", timeoutMs, nowMs), lookingMs + timeoutMs);
    return { reason: "initialization_timeout", atMs };
  }
  if (!isTrue(claim, "Launched"))
    return { reason: "launch_timeout", atMs: endOf(claim, "Launched", LAUNCH_TIMEOUT_MS, nowMs) };
  const atMs = endOf(claim, "Registered", REGISTRATION_TIMEOUT_MS, nowMs);
  return { reason: "registration_timeout", atMs };
}

/** Pods that got onto a Node that never was usable decide what becomes of it, or whoever parked it to look into it. */
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

/** How long the claim's launch may still take; 0 or less: it is late. */
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
