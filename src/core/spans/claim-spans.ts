/**
 * Trace spans of one claim, from pending pods to a new node: batch, plan, creation of the claim, launch, registration,
 * initialization, and the binding of each pod. There is one trace for each claim.
 */
import { poolNameOfLabels } from "../../apis/hub/claim.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { attributesOf, SpanTree, type TraceSpan, traceIdOf } from "./span.ts";
import { type SeenMs, sharper, trueSinceMs } from "./times.ts";

/** One pass of the provisioner: it collects a batch of pods and plans it. Times are epoch milliseconds. */
export interface PassFacts {
  /** When the first pod of the batch arrived. */
  readonly openedMs: number;
  /** When planning began. */
  readonly closedMs: number;
  readonly plannedMs: number;
  readonly pods: number;
  readonly newClaims: number;
  readonly unplaced: number;
}

/** A pod for which the claim was planned. */
export interface PlannedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** When the pod was created, as RFC 3339. */
  readonly createdAt?: string | undefined;
  /** When and where the pod was bound. Absent: it is not bound. */
  readonly bound?: { readonly atMs: number; readonly nodeName: string };
  /** Whether the pod was deleted before it was bound. */
  readonly isGone?: true;
}

/** The facts from which the trace of one claim is made. */
export interface ClaimWay {
  /** The claim's last state. */
  readonly claim: NodeClaim;
  /** When this process saw the creation of the claim (`created`) and its conditions. */
  readonly seenMs: SeenMs;
  /** The pass that planned the claim. Absent: no pass of this process did. */
  readonly pass?: PassFacts;
  readonly pods: readonly PlannedPod[];
  /** The id of the command that launched the claim as a replacement. */
  readonly commandId?: string | undefined;
  readonly isGone: boolean;
  /** When the claim was last checked. */
  readonly nowMs: number;
}

/** The most pod spans in one trace. The root span has the number of all pods. */
const MOST_POD_SPANS = 50;

const STEPS = [
  ["Launched", "launch"],
  ["Registered", "register"],
  ["Initialized", "initialize"],
] as const;

/** Whether the trace is complete: the node is initialized and its pods are bound, or the claim is gone. */
export function isWayOver({ claim, pods, isGone }: ClaimWay): boolean {
  if (isGone) return true;
  const isUsable = condition(claim, "Initialized")?.status === "True";
  return isUsable && pods.every(({ bound, isGone: isLost }) => bound !== undefined || isLost);
}

/** The spans of the claim's trace: the root first, then its parts. */
export function claimSpans(facts: ClaimWay): readonly TraceSpan[] {
  const { claim, pods, commandId } = facts;
  const tree = new SpanTree(claim.metadata.uid ?? claim.metadata.name);
  const createdMs = addPass(tree, facts);
  const { problem, registeredMs } = addSteps(tree, facts, createdMs);
  for (const pod of pods.slice(0, MOST_POD_SPANS)) addPod(tree, pod, { ...facts, registeredMs });
  const labels = claim.metadata.labels ?? {};
  return tree.under({
    name: "provision node",
    attributes: attributesOf({
      "karpenter.nodeclaim.name": claim.metadata.name,
      "karpenter.nodeclaim.uid": claim.metadata.uid,
      "karpenter.nodepool.name": poolNameOfLabels(labels),
      "karpenter.command.id": commandId,
      "karpenter.pods": pods.length,
      "karpenter.pods.bound": pods.filter(({ bound }) => bound !== undefined).length,
      ...machineOf(claim),
    }),
    problem,
    links: commandId === undefined ? [] : [traceIdOf(commandId)],
  });
}

function machineOf({ metadata, status }: NodeClaim) {
  const labels = metadata.labels ?? {};
  return {
    "k8s.node.name": status?.nodeName,
    "host.type": labels["node.kubernetes.io/instance-type"],
    "cloud.availability_zone": labels["topology.kubernetes.io/zone"],
    "karpenter.capacity_type": labels["karpenter.sh/capacity-type"],
    "karpenter.provider_id": status?.providerID,
  };
}

/** Adds the spans of the pass. Returns when the claim was created. */
function addPass(tree: SpanTree, { claim, seenMs, pass, nowMs }: ClaimWay): number {
  const writtenMs = fromRfc3339(claim.metadata.creationTimestamp);
  const createdMs = sharper(writtenMs, seenMs["created"]) ?? pass?.plannedMs ?? nowMs;
  if (pass === undefined) return createdMs;
  const { openedMs, closedMs, plannedMs, pods, newClaims, unplaced } = pass;
  const attributes = { "karpenter.batch.pods": pods };
  tree.add("batch", { name: "batch", startMs: openedMs, endMs: closedMs, attributes });
  tree.add("plan", {
    name: "plan",
    startMs: closedMs,
    endMs: plannedMs,
    attributes: {
      ...attributes,
      "karpenter.plan.nodeclaims": newClaims,
      "karpenter.plan.unplaced": unplaced,
    },
  });
  const endMs = Math.max(plannedMs, createdMs);
  tree.add("claim", { name: "create claim", startMs: plannedMs, endMs });
  return endMs;
}

/**
 * Adds the spans of launch, registration and initialization. Each begins when the one before ended. The span of the
 * first stage that the claim has not reached says why.
 */
function addSteps(
  tree: SpanTree,
  { claim, seenMs, nowMs }: ClaimWay,
  createdMs: number,
): { readonly problem?: string; readonly registeredMs?: number } {
  let startMs = createdMs;
  let registeredMs: number | undefined;
  for (const [type, name] of STEPS) {
    const doneMs = trueSinceMs(claim, type, seenMs);
    if (doneMs === undefined) {
      const why = condition(claim, type)?.message ?? "";
      const problem = why === "" ? `the claim went before it was ${type.toLowerCase()}` : why;
      tree.add(name, { name, startMs, endMs: nowMs, problem });
      return { problem, ...(registeredMs === undefined ? {} : { registeredMs }) };
    }
    const endMs = Math.max(startMs, doneMs);
    tree.add(name, { name, startMs, endMs });
    if (type === "Registered") registeredMs = endMs;
    startMs = endMs;
  }
  return registeredMs === undefined ? {} : { registeredMs };
}

/** Adds the span in which the pod waited after the node had registered. */
function addPod(
  tree: SpanTree,
  { namespace, name, uid, createdAt, bound, isGone }: PlannedPod,
  { claim, nowMs, registeredMs }: ClaimWay & { readonly registeredMs: number | undefined },
): void {
  const endMs = bound?.atMs ?? nowMs;
  const createdMs = fromRfc3339(createdAt);
  const isElsewhere = bound !== undefined && bound.nodeName !== claim.status?.nodeName;
  const problem = isGone ? "the pod was deleted before it was bound" : "the pod was not bound";
  tree.add(`pod-${uid}`, {
    name: "bind pod",
    startMs: Math.min(registeredMs ?? endMs, endMs),
    endMs,
    attributes: attributesOf({
      "k8s.pod.name": name,
      "k8s.namespace.name": namespace,
      "k8s.pod.uid": uid,
      "k8s.node.name": bound?.nodeName,
      "karpenter.pod.as_planned": bound === undefined ? undefined : !isElsewhere,
      "karpenter.pod.pending_ms":
        createdMs === undefined ? undefined : Math.max(0, endMs - createdMs),
    }),
    ...(bound === undefined ? { problem } : {}),
  });
}
