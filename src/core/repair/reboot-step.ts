/**
 * The next step of a reboot that node repair requested. The steps: cordon the node, drain it within a time limit,
 * request the reboot from the cloud, wait until the node has booted again and is Ready. If a step takes too long, the
 * reboot fails. All progress is stored on the claim and its Node, so another process can continue after a restart.
 * upstream: pkg/controllers/nodeclaim/reboot/controller.go
 */
import { isReadyNode, type Node } from "../../apis/core/node.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import {
  REBOOT_PRE_BOOT_ID_ANNOTATION_KEY,
  REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import { type NodeClaim, REBOOTING } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";

/**
 * A drain takes at least this long, because load balancers need some time to stop sending traffic to a node. A time
 * limit of 0 skips the drain.
 */
const MIN_DRAIN_MS = 5_000;
/**
 * The cloud must accept the reboot within this time. If the Node is deleted meanwhile, it must return within this time.
 */
const ISSUE_TIMEOUT_MS = 5 * 60_000;
/** After the cloud has accepted the reboot, the node must be Ready again within this time. */
const RECOVERY_TIMEOUT_MS = 20 * 60_000;
const DRAIN_POLL_MS = 1_000;
const RECOVERY_POLL_MS = 15_000;

/** How a reboot ended. The metric of reboots uses these values as a label. */
export type RebootResult = "succeeded" | "provider_error" | "recovery_timeout" | "invalid_request";

/** The facts that decide the next step. */
export interface RebootFacts {
  readonly claim: NodeClaim;
  /** The Node of the claim. Undefined: the Node is deleted, or was never seen. */
  readonly node: Node | undefined;
  /** How many pods of the node must still be evicted. */
  readonly podsToEvict: number;
  /** When this process first requested the reboot from the cloud. Undefined: it has not. */
  readonly askedMs: number | undefined;
  readonly nowMs: number;
}

/** What the controller of reboots does next. `afterMs`: milliseconds until it asks for the next step. */
export type RebootStep =
  | { readonly do: "end"; readonly result: RebootResult; readonly message: string }
  | { readonly do: "wait"; readonly afterMs: number }
  /**
   * Drain the node until `endMs` (undefined: until it is empty). Pods that are left then stay on the node during the
   * reboot.
   */
  | { readonly do: "drain"; readonly endMs: number | undefined; readonly afterMs: number }
  /**
   * Request the reboot from the cloud. Before that, write `preBootId`, the id of the current boot, on the claim: a
   * different id later shows that the node has booted again.
   */
  | { readonly do: "ask"; readonly preBootId: string }
  /** Record on the claim that the cloud has accepted the reboot. From then on the claim counts as not initialized. */
  | { readonly do: "note" }
  /** Uncordon the node, because it has booted again. */
  | { readonly do: "open"; readonly afterMs: number };

/** The next step for a claim that is being rebooted. */
export function rebootStep(facts: RebootFacts): RebootStep {
  return condition(facts.claim, REBOOTING)?.reason === "RebootIssued"
    ? recovery(facts)
    : request(facts);
}

/**
 * The time limit of the drain before the reboot, from the annotation of the claim. Undefined: no limit. `unreadable`:
 * the annotation is not a duration.
 */
export function rebootGraceMs({ metadata }: NodeClaim): number | undefined | "unreadable" {
  const text = metadata.annotations?.[REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY];
  if (text === undefined) return undefined;
  const graceMs = parseDuration(text);
  return graceMs === undefined || graceMs < 0 ? "unreadable" : graceMs;
}

/** When node repair requested the reboot, in epoch milliseconds. */
export function rebootRequestedMs(claim: NodeClaim): number {
  return fromRfc3339(condition(claim, REBOOTING)?.lastTransitionTime) ?? 0;
}

/** When the cloud accepted the reboot. Undefined: it has not yet. */
export function rebootIssuedMs(claim: NodeClaim): number | undefined {
  const found = condition(claim, "Initialized");
  return found?.reason === "Rebooting" ? fromRfc3339(found.lastTransitionTime) : undefined;
}

/** The id of the Node's current boot, as its kubelet reports it. */
function bootIdOf({ status }: Node): string {
  return status?.nodeInfo?.["bootID"] ?? "";
}

function request({ claim, node, podsToEvict, askedMs, nowMs }: RebootFacts): RebootStep {
  const graceMs = rebootGraceMs(claim);
  const key = REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY;
  if (graceMs === "unreadable") {
    const text = JSON.stringify(claim.metadata.annotations?.[key]);
    const message = `annotation ${key} is ${text}; write a duration such as 5m`;
    return { do: "end", result: "invalid_request", message };
  }
  const requestedMs = rebootRequestedMs(claim);
  if (node === undefined) {
    const leftMs = requestedMs + ISSUE_TIMEOUT_MS - nowMs;
    if (leftMs > 0) return { do: "wait", afterMs: Math.min(leftMs, RECOVERY_POLL_MS) };
    return { do: "end", result: "provider_error", message: "the Node is gone" };
  }
  const preBootId = claim.metadata.annotations?.[REBOOT_PRE_BOOT_ID_ANNOTATION_KEY];
  if (preBootId === undefined && graceMs !== 0) {
    const earliestMs = requestedMs + MIN_DRAIN_MS;
    const endMs = graceMs === undefined ? undefined : requestedMs + Math.max(graceMs, MIN_DRAIN_MS);
    const isOver = endMs !== undefined && nowMs >= endMs;
    if (nowMs < earliestMs || (podsToEvict > 0 && !isOver))
      return { do: "drain", endMs, afterMs: DRAIN_POLL_MS };
  }
  // The boot id differs from the recorded one, so the node has booted again. Another process requested the reboot and
  // stopped before it could record that.
  if (preBootId !== undefined && bootIdOf(node) !== preBootId) return { do: "note" };
  if (askedMs !== undefined && nowMs - askedMs >= ISSUE_TIMEOUT_MS) {
    const message = "the cloud did not take the reboot within 5m";
    return { do: "end", result: "provider_error", message };
  }
  const bootId = preBootId ?? bootIdOf(node);
  if (bootId !== "") return { do: "ask", preBootId: bootId };
  const message = "the Node reports no bootID, so a reboot would not be seen";
  return { do: "end", result: "provider_error", message };
}

function recovery({ claim, node, nowMs }: RebootFacts): RebootStep {
  const endMs = (rebootIssuedMs(claim) ?? rebootRequestedMs(claim)) + RECOVERY_TIMEOUT_MS;
  const preBootId = claim.metadata.annotations?.[REBOOT_PRE_BOOT_ID_ANNOTATION_KEY] ?? "";
  const isNewBoot = node !== undefined && bootIdOf(node) !== preBootId;
  if (isNewBoot && isReadyNode(node)) return { do: "end", result: "succeeded", message: "" };
  if (nowMs >= endMs) {
    const what = isNewBoot ? "did not become Ready" : "did not boot";
    const message = `the node ${what} within 20m after the cloud took the reboot`;
    return { do: "end", result: "recovery_timeout", message };
  }
  const afterMs = Math.min(RECOVERY_POLL_MS, endMs - nowMs);
  return isNewBoot ? { do: "open", afterMs } : { do: "wait", afterMs };
}
