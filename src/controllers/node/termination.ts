/**
 * Terminates a node: cordons it, drains it in tiers, waits for its volumes, terminates the instance, and removes the
 * finalizer. It starts when one of Karpenter's Nodes is deleted, whoever deletes it. The eviction queue evicts the
 * pods, and core/termination decides which pods are next.
 * upstream: pkg/controllers/node/termination/controller.go
 */
import { isReadyNode, NODE, type Node } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import {
  type ConditionChange,
  condition,
  withConditionChanges,
} from "../../apis/karpenter/conditions.ts";
import {
  EXCLUDE_BALANCERS_LABEL_KEY,
  NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY,
  TERMINATION_FINALIZER,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { createdAtMs, type Kind, type KubeObject, versionOf } from "../../apis/meta.ts";
import { VOLUME_ATTACHMENT } from "../../apis/storage/kinds.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { cordonedForTermination, cordonTaint, isCordoned } from "../../core/state/cordon.ts";
import { type Drain, drain, mustDelete } from "../../core/termination/drain.ts";
import { blockingAttachments } from "../../core/termination/volumes.ts";
import { hasFinalizer, removeFinalizer } from "../../kube/client/finalizer.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { NotStoredError } from "../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import {
  changeClaim,
  claimOfNode,
  claimRequest,
  claimsByProviderId,
  isDeleting,
  isManagedNode,
  nodeGeneration,
  readClaim,
} from "../claims.ts";
import { concurrency } from "../concurrency.ts";
import type { Steering } from "../disruption/steering.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { isDeletedNow } from "../ending/deletions.ts";
import { endInstance, fateOf, isEnding, mayEndClaimless } from "../ending/end-instance.ts";
import { HELD_RETRY_MS } from "../ending/ended.ts";
import { doubtIfLost, namedNodes } from "../ending/live-reads.ts";
import { awaitEnd } from "../ending/slow-end.ts";
import { earlierNow } from "../ending/two-clocks.ts";
import { nodes, pods, volumeAttachments, volumeClaims } from "../mirrors.ts";
import { HeldPods, surgeFirst } from "../surges.ts";
import { claimFields, nodeFields, poolLabel, speaksV05 } from "../words.ts";
import type { World } from "../world.ts";
import { awaitingVolumeDetachment, deadlineNear, failedDraining } from "./events.ts";
import type { EvictionQueue } from "./eviction-queue.ts";

const WAIT_MS = 1_000;
/** Milliseconds that endpoints and load balancers need to remove a node, even an empty one. Applies to v1 only. */
const MIN_DRAIN_MS = 5_000;
/** Milliseconds until the next check of a Node with pods that the local copy lacks. */
const UNSEEN_MS = 5_000;
/** If a node must be gone within this time, its pods do not wait for their turn. */
const SOON_MS = 10 * 60_000;
const UNTIL_DELETED = "Forceful Termination";

/** The eviction queue, and what decides when a pod may be evicted. */
interface Parts {
  readonly queue: EvictionQueue;
  readonly steering: Pick<Steering, "mayLeave">;
  readonly held: HeldPods;
  /** UIDs of Nodes without a claim whose termination was permitted. */
  readonly claimless: Set<string>;
}

/** A node that is being terminated, with the facts that each step needs. */
interface Leaving {
  readonly node: Node;
  readonly claim: NodeClaim | undefined;
  readonly deadlineMs: number | undefined;
  /** Whether another Node, which is not being deleted, belongs to the same instance. */
  readonly isTwin: boolean;
  readonly log: Logger;
  /** Conditions to write on the claim. Those of one reconcile are written together. */
  readonly marks: ConditionChange[];
}

/**
 * The controller that handles the finalizer of Nodes: taint, drain, wait for volumes, terminate the instance.
 * upstream: pkg/controllers/node/termination.
 */
export function termination(
  world: World,
  queue: EvictionQueue,
  steering: Pick<Steering, "mayLeave">,
): Controller {
  const parts: Parts = { queue, steering, held: new HeldPods(), claimless: new Set() };
  return {
    name: "node.termination",
    watches: [
      source(NODE, (node, event) =>
        event !== "removed" && isDeleting(node) ? [requestOf(node.metadata.name)] : [],
      ),
      // The removed pod may have been the last one, so the node is reconciled at once.
      source(POD, (pod, event) => {
        const name = pod.spec.nodeName;
        const node = event === "removed" && name !== undefined ? nodes(world).get(name) : undefined;
        return node !== undefined && isDeleting(node) ? [requestOf(node.metadata.name)] : [];
      }),
      source(VOLUME_ATTACHMENT, (attachment, event) => {
        const node = nodes(world).get(attachment.spec.nodeName);
        const detached = event === "removed" && node !== undefined && isDeleting(node);
        return detached ? [requestOf(node.metadata.name)] : [];
      }),
    ],
    concurrency: concurrency(world, 100, 5_000),
    reconcile: (request) => reconcile(world, parts, request),
  };
}

function requestOf(name: string): Request {
  return { kind: "Node", name };
}

async function reconcile(world: World, parts: Parts, request: Request): Promise<Outcome> {
  const stored = nodes(world).get(request.name);
  if (stored === undefined || !isDeleting(stored)) return AWAIT_CHANGE;
  if (!hasFinalizer(stored, TERMINATION_FINALIZER) || !isManagedNode(world, stored))
    return AWAIT_CHANGE;
  if (!(await isDeletedNow(world, NODE as Kind, stored))) return requeueAfter(HELD_RETRY_MS);
  const isTwin = await hasTwin(world, stored);
  const claim = isTwin ? undefined : claimOfNode(world, stored);
  if (claim !== undefined && !isDeleting(claim)) await deleteClaim(world, claim, "nodeDeleted");
  const leaving = { ...leavingNode(world, stored, claim), isTwin };
  if (await hasLostItsInstance(world, stored)) return release(world, parts, leaving);
  if (claim === undefined && !isTwin && !(await mayEnd(world, parts, stored)))
    return requeueAfter(HELD_RETRY_MS);
  if (leaving.deadlineMs !== undefined) {
    const at = claim?.metadata.annotations?.[NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY] ?? "";
    world.events.publish(deadlineNear(stored, at));
  }
  const node = await close(world, leaving);
  if (node === undefined) return AWAIT_CHANGE;
  const closed = { ...leaving, node };
  let outcome: Outcome | undefined;
  try {
    outcome =
      (await drained(world, parts, closed)) ??
      detached(world, closed) ??
      (await ended(world, closed));
  } finally {
    await writeMarks(world, closed);
  }
  return outcome ?? release(world, parts, closed);
}

/**
 * Whether another Node that is not being deleted belongs to the same instance. Then this Node is drained, but the
 * instance and its claim are kept. The local copy may lack the other Node, whose name is in the claim.
 */
async function hasTwin(world: World, node: Node): Promise<boolean> {
  const providerId = node.spec?.providerID;
  if (!providerId) return false;
  const isOther = (other: Node) => other.metadata.uid !== node.metadata.uid && !isDeleting(other);
  if (nodes(world).byIndex("providerId", providerId).some(isOther)) return true;
  const names = claimsByProviderId(world, providerId)
    .map(({ status }) => status?.nodeName)
    .filter((name) => name !== node.metadata.name);
  return (await namedNodes(world, providerId, names)).some(isOther);
}

/** Whether a Node without a claim may be terminated. A positive answer is remembered. */
async function mayEnd(world: World, { claimless }: Parts, node: Node): Promise<boolean> {
  const instance = standIn(node);
  const uid = node.metadata.uid ?? node.metadata.name;
  if (instance === undefined || claimless.has(uid)) return true;
  if (!(await mayEndClaimless(world, node, instance))) return false;
  claimless.add(uid);
  return true;
}

function leavingNode(
  world: World,
  node: Node,
  claim: NodeClaim | undefined,
): Omit<Leaving, "isTwin"> {
  const generation = nodeGeneration(node, claim);
  const log = world.log.with({
    controller: generation === "alpha" ? "termination" : "node.termination",
    ...nodeFields(generation, node),
    ...(claim === undefined || generation !== "v1" ? {} : claimFields(claim)),
  });
  const at = claim?.metadata.annotations?.[NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY];
  return { node, claim, deadlineMs: fromRfc3339(at), log, marks: [] };
}

/**
 * Whether the node is not Ready and the cloud confirms that its instance is terminated. Then nothing is left to drain.
 * If the cloud merely does not know the instance, pods may still run there.
 */
async function hasLostItsInstance(world: World, node: Node): Promise<boolean> {
  const providerId = node.spec?.providerID;
  if (isReadyNode(node) || providerId === undefined || providerId === "") return false;
  return (await fateOf(world, providerId)) === "ended";
}

async function close(
  world: World,
  { node, claim, deadlineMs, log }: Leaving,
): Promise<Node | undefined> {
  const words = vocabulary(nodeGeneration(node, claim));
  const after = cordonedForTermination(node, words);
  const taint = cordonTaint(words);
  // A disruption command may have cordoned the node before. Only now it is excluded from load balancers.
  const open = node.metadata.labels?.[EXCLUDE_BALANCERS_LABEL_KEY] === undefined;
  const closed = await patchObject(world.kube, NODE, node, after);
  if (closed !== undefined && !isCordoned(closed, words) && !isOver(world, deadlineMs)) {
    // Evicted pods would be bound to this node again, and evicted again.
    world.events.publish(failedDraining(node, "the API server does not store that it is cordoned"));
    throw new NotStoredError(`the cordon of Node ${node.metadata.name}`);
  }
  if (open && closed !== undefined) {
    if (taint === undefined) log.info(speaksV05(claim) ? "Cordoned node" : "cordoned node");
    else
      log.info("tainted node", {
        "taint.Key": taint.key,
        "taint.Value": taint.value ?? "",
        "taint.Effect": taint.effect,
      });
  }
  return closed;
}

/** Drains the node. Undefined: the drain is complete. */
async function drained(world: World, parts: Parts, leaving: Leaving): Promise<Outcome | undefined> {
  const { node, claim, deadlineMs = Number.POSITIVE_INFINITY, marks } = leaving;
  const nowMs = earlierNow(world);
  const plan = (of: readonly Pod[]) => drain({ nowMs, deadlineMs: leaving.deadlineMs, pods: of });
  const seen = plan(pods(world).byIndex("node", node.metadata.name));
  // A person may have uncordoned the node after the drain, so pods may run there again.
  const isDrained = claim !== undefined && condition(claim, "Drained")?.status === "True";
  if (isDrained && (seen.waiting === 0 || isEnding(world, node.spec?.providerID ?? "")))
    return undefined;
  marks.push({ type: "Drained", status: "Unknown", reason: "Draining" });
  // The stored condition shows since when the node has been draining.
  const marked = await writeMarks(world, leaving);
  if (seen.waiting > 0) {
    await moveInTurn(world, parts, leaving, { plan: seen, isListed: false });
    return requeueAfter(WAIT_MS);
  }
  if (marked !== undefined) {
    const leftMs = drainLeftMs(marked, earlierNow(world));
    if (leftMs > 0) return requeueAfter(leftMs);
  }
  const live = await unseenPods(world, leaving);
  const unseen = plan(live);
  if (unseen.waiting > 0) {
    doubtIfLost(world, live);
    await moveInTurn(world, parts, leaving, { plan: unseen, isListed: true });
    return requeueAfter(Math.min(UNSEEN_MS, deadlineMs - nowMs));
  }
  if (marked !== undefined) marks.push({ type: "Drained", status: "True" });
  return undefined;
}

/**
 * Milliseconds that are left of the minimum drain time. A condition with a time in the future was written before a
 * clock was set back, so it counts as old.
 */
function drainLeftMs(marked: NodeClaim, nowMs: number): number {
  const sinceMs = fromRfc3339(condition(marked, "Drained")?.lastTransitionTime) ?? nowMs;
  return isV1(marked) && sinceMs - nowMs <= MIN_DRAIN_MS ? sinceMs + MIN_DRAIN_MS - nowMs : 0;
}

/** Adds the next pods to the eviction queue, if it is their turn. */
async function moveInTurn(
  world: World,
  { queue, steering, held }: Parts,
  { node, claim, deadlineMs }: Leaving,
  { plan, isListed }: { readonly plan: Drain; readonly isListed: boolean },
): Promise<void> {
  const nowMs = earlierNow(world);
  const reason = (claim && condition(claim, "DisruptionReason")?.reason) || UNTIL_DELETED;
  const isSoon = deadlineMs !== undefined && deadlineMs - nowMs < SOON_MS;
  const isHurried = isSoon || (claim !== undefined && world.cloud.isTakenBack(claim));
  const mayLeave = (pod: Pod) => mustDelete(pod, deadlineMs, nowMs) || steering.mayLeave(pod);
  const inTurn = isHurried ? plan.evict : plan.evict.filter(mayLeave);
  // The time limit of a move without downtime starts when the pod may be evicted, not while it waits for others.
  for (const pod of [...plan.evict.filter((one) => !inTurn.includes(one)), ...plan.later])
    held.note(pod, nowMs, world.settings.surgeTimeoutMs);
  const what = `${plan.waiting} pods are waiting to be evicted`;
  world.events.publish(failedDraining(node, what));
  const evict = (now: readonly Pod[]) => queue.add(node, now, { deadlineMs, reason, isListed });
  await surgeFirst(world, { node, deadlineMs, held }, { pods: inTurn, evict });
}

/**
 * Pods that run on the node although the local copy has none. The API server is read once before the instance is
 * terminated, because a watch that delivers nothing counts as broken only after a minute. Upstream relies on its cache
 * (pkg/utils/node/node.go). The request uses the server's cache, which has pods by node. Before Kubernetes 1.31 a list
 * from the store reads all pods of the cluster. It is needed only where the cache is older than the last change of the
 * Node, so that a pod may have been bound since then. A Node without a claim has no condition that says that it was
 * drained. So for such a Node the server is read each second until its volumes are detached.
 */
async function unseenPods(
  world: World,
  { node, deadlineMs }: Pick<Leaving, "node" | "deadlineMs">,
): Promise<readonly Pod[]> {
  if (isOver(world, deadlineMs)) return [];
  const fieldSelector = `spec.nodeName=${node.metadata.name}`;
  const cached = await world.kube.list(POD, { fieldSelector, resourceVersion: "0" });
  if (versionOf(cached) >= versionOf(node.metadata)) return cached.items;
  return (await world.kube.list(POD, { fieldSelector })).items;
}

function isOver(world: World, deadlineMs: number | undefined): boolean {
  return deadlineMs !== undefined && earlierNow(world) >= deadlineMs;
}

function detached(world: World, { node, deadlineMs, marks }: Leaving): Outcome | undefined {
  const nowMs = earlierNow(world);
  const nodeName = node.metadata.name;
  const blocking = blockingAttachments({
    nowMs,
    nodeName,
    pods: pods(world).byIndex("node", nodeName),
    attachments: volumeAttachments(world).list(),
    claims: volumeClaims(world).list(),
  });
  if (blocking.length === 0) {
    marks.push({ type: "VolumesDetached", status: "True" });
    return undefined;
  }
  if (deadlineMs !== undefined && nowMs >= deadlineMs) {
    const reason = "TerminationGracePeriodElapsed";
    marks.push({ type: "VolumesDetached", status: "False", reason });
    return undefined;
  }
  const reason = "AwaitingVolumeDetachment";
  marks.push({ type: "VolumesDetached", status: "Unknown", reason });
  const names = blocking.map(({ metadata }) => metadata.name);
  world.events.publish(awaitingVolumeDetachment(node, names));
  return requeueAfter(WAIT_MS);
}

async function ended(
  world: World,
  { node, claim, isTwin, marks }: Leaving,
): Promise<Outcome | undefined> {
  const instance = claim ?? standIn(node);
  // Another Node may have joined in the meantime.
  if (instance === undefined || isTwin || (await hasTwin(world, node))) return undefined;
  const told = claim === undefined ? [node] : [node, claim];
  const gone = await endInstance(world, instance, told);
  marks.push({ type: "InstanceTerminating", status: "True" });
  // Older API versions remove the finalizer as soon as the cloud has accepted the request.
  return gone || !isV1(instance) ? undefined : awaitEnd(world, instance, told);
}

function isV1(claim: NodeClaim): boolean {
  return claimGeneration(claim) === "v1";
}

/** A claim made from the Node. It is used if the real claim is gone and the instance must still be terminated. */
function standIn(node: Node): NodeClaim | undefined {
  const providerID = node.spec?.providerID;
  if (providerID === undefined || providerID === "") return undefined;
  return {
    metadata: { name: node.metadata.name, labels: node.metadata.labels ?? {} },
    spec: { requirements: [], nodeClassRef: { group: "", kind: "", name: "" } },
    status: { providerID, nodeName: node.metadata.name },
  };
}

/** Writes the conditions. Does nothing for nodes without a claim. Resolves to the stored claim. */
async function writeMarks(
  world: World,
  { node, claim, marks }: Leaving,
): Promise<NodeClaim | undefined> {
  const all = marks.splice(0);
  if (claim === undefined) return undefined;
  const nowMs = world.clock.now();
  // `claim` may be older than what an earlier step stored, so the newest one is changed.
  const latest = readClaim(world, claimRequest(claim)) ?? claim;
  const written = await changeClaim(world, latest, (one) => withConditionChanges(one, all, nowMs));
  // The node is counted only after the write, because this step runs again if the write fails.
  if (all.some(({ type, status }) => type === "Drained" && status === "True"))
    world.metrics.count("nodes_drained_total", { nodepool: poolLabel(node.metadata) });
  return written;
}

async function release(
  world: World,
  { claimless }: Parts,
  { node, claim, log }: Leaving,
): Promise<Outcome> {
  claimless.delete(node.metadata.uid ?? node.metadata.name);
  await removeFinalizer(world.kube, NODE, node, TERMINATION_FINALIZER);
  log.info(speaksV05(claim) ? "Deleted node" : "deleted node");
  const nowMs = world.clock.now();
  const nodepool = poolLabel(node.metadata);
  const seconds = (sinceMs: number): number => Math.max(0, nowMs - sinceMs) / 1_000;
  const deletedMs = fromRfc3339(node.metadata.deletionTimestamp) ?? nowMs;
  world.metrics.observe("nodes_termination_duration_seconds", { nodepool }, seconds(deletedMs));
  const createdMs = createdAtMs(node as KubeObject);
  world.metrics.observe("nodes_lifetime_duration_seconds", { nodepool }, seconds(createdMs));
  const zone = node.metadata.labels?.[TOPOLOGY_ZONE_LABEL_KEY] ?? "";
  world.metrics.count("nodes_terminated_total", { nodepool, zone });
  return AWAIT_CHANGE;
}
