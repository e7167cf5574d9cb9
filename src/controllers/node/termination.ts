/**
 * The end of a node: closes it, drains it in tiers, waits for its volumes, ends the instance and takes
 * the finalizer off. Woken by the deletion of one of our Nodes, whoever asked for it. Moving a pod is the
 * eviction queue's work; what to move next and when is decided in core/termination.
 * upstream: pkg/controllers/node/termination/controller.go
 */
import { NODE, type Node } from "../../apis/core/node.ts";
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
import { createdAtMs, type Kind, type KubeObject } from "../../apis/meta.ts";
import { VOLUME_ATTACHMENT } from "../../apis/storage/kinds.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { cordonedForTermination, cordonTaint } from "../../core/state/cordon.ts";
import { type Drain, drain, mustDelete } from "../../core/termination/drain.ts";
import { blockingAttachments } from "../../core/termination/volumes.ts";
import { hasFinalizer, removeFinalizer } from "../../kube/client/finalizer.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
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
import { namedNodes } from "../ending/live-reads.ts";
import { earlierNow } from "../ending/two-clocks.ts";
import { nodes, pods, volumeAttachments, volumeClaims } from "../mirrors.ts";
import { HeldPods, surgeFirst } from "../surges.ts";
import { claimFields, nodeFields, poolLabel, speaksV05 } from "../words.ts";
import type { World } from "../world.ts";
import { awaitingVolumeDetachment, deadlineNear, failedDraining } from "./events.ts";
import type { EvictionQueue } from "./eviction-queue.ts";

const WAIT_MS = 1_000;
const INSTANCE_POLL_MS = 5_000;
/** v1: endpoints and load balancers need a moment to remove a node, even an empty one. */
const MIN_DRAIN_MS = 5_000;
/** Milliseconds until the next look at a Node with pods that the watch has not delivered yet. */
const UNSEEN_MS = 5_000;
/** A node that must be gone so soon waits for no turns. */
const SOON_MS = 10 * 60_000;
const UNTIL_DELETED = "Forceful Termination";

/** The queue that evicts pods, and the steering that says when. */
interface Parts {
  readonly queue: EvictionQueue;
  readonly steering: Pick<Steering, "mayLeave">;
  readonly held: HeldPods;
  /** UIDs of Nodes without a claim that may end. */
  readonly claimless: Set<string>;
}

/** One node on its way out, as each step sees it. */
interface Leaving {
  readonly node: Node;
  readonly claim: NodeClaim | undefined;
  readonly deadlineMs: number | undefined;
  /** Another Node that stays stands for the same machine. */
  readonly isTwin: boolean;
  readonly log: Logger;
  /** Conditions to write on the claim. Steps that end in the same moment are written together. */
  readonly marks: ConditionChange[];
}

/**
 * The finalizer of Nodes: taint, drain, wait for volumes, end the instance. upstream:
 * pkg/controllers/node/termination.
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
      // A drained pod may be the last one: do not wait for the poll.
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
 * Whether another Node that stays belongs to the same machine. Then this Node is drained, and the machine and its claim
 * stay. The mirror may lack the other Node, whose name is in the claim.
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

/** A Node without a claim is judged once. */
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
 * A node that is not Ready and whose instance has ended, as the cloud itself says: nothing is left to drain. One that
 * the cloud merely does not know may still run pods.
 */
async function hasLostItsInstance(world: World, node: Node): Promise<boolean> {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  const providerId = node.spec?.providerID;
  if (ready === "True" || providerId === undefined || providerId === "") return false;
  return (await fateOf(world, providerId)) === "ended";
}

async function close(world: World, { node, claim, log }: Leaving): Promise<Node | undefined> {
  const words = vocabulary(nodeGeneration(node, claim));
  const after = cordonedForTermination(node, words);
  const taint = cordonTaint(words);
  // A disruption command may have closed it before; it leaves the load balancers only now.
  const open = node.metadata.labels?.[EXCLUDE_BALANCERS_LABEL_KEY] === undefined;
  const closed = await patchObject(world.kube, NODE, node, after);
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

/** Undefined once nothing is waited for. */
async function drained(world: World, parts: Parts, leaving: Leaving): Promise<Outcome | undefined> {
  const { node, claim, deadlineMs = Number.POSITIVE_INFINITY, marks } = leaving;
  const nowMs = earlierNow(world);
  const plan = (of: readonly Pod[]) => drain({ nowMs, deadlineMs: leaving.deadlineMs, pods: of });
  const seen = plan(pods(world).byIndex("node", node.metadata.name));
  // Somebody may have opened the node since, and pods have come back.
  const isDrained = claim !== undefined && condition(claim, "Drained")?.status === "True";
  if (isDrained && (seen.waiting === 0 || isEnding(world, node.spec?.providerID ?? "")))
    return undefined;
  marks.push({ type: "Drained", status: "Unknown", reason: "Draining" });
  // Since when it has been drained is known only then.
  const marked = await writeMarks(world, leaving);
  if (seen.waiting > 0) {
    await moveInTurn(world, parts, leaving, { plan: seen, isListed: false });
    return requeueAfter(WAIT_MS);
  }
  if (marked !== undefined) {
    const leftMs = drainLeftMs(marked, earlierNow(world));
    if (leftMs > 0) return requeueAfter(leftMs);
  }
  const unseen = plan(await unseenPods(world, leaving));
  if (unseen.waiting > 0) {
    await moveInTurn(world, parts, leaving, { plan: unseen, isListed: true });
    return requeueAfter(Math.min(UNSEEN_MS, deadlineMs - nowMs));
  }
  if (marked !== undefined) marks.push({ type: "Drained", status: "True" });
  return undefined;
}

/**
 * What is left of the shortest time that a node stays after it is drained. A mark in the future was written before a
 * clock was set back; it counts as old.
 */
function drainLeftMs(marked: NodeClaim, nowMs: number): number {
  const sinceMs = fromRfc3339(condition(marked, "Drained")?.lastTransitionTime) ?? nowMs;
  return isV1(marked) && sinceMs - nowMs <= MIN_DRAIN_MS ? sinceMs + MIN_DRAIN_MS - nowMs : 0;
}

/** Hands those to the queue that go next, and whose turn it is. */
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
  // What a move without downtime may take counts from when they may go, however long those before them were held.
  for (const pod of [...plan.evict.filter((one) => !inTurn.includes(one)), ...plan.later])
    held.note(pod, nowMs, world.settings.surgeTimeoutMs);
  const evict = await surgeFirst(world, { node, deadlineMs, held }, inTurn);
  queue.add(node, evict, { deadlineMs, reason, isListed });
  const what = `${plan.waiting} pods are waiting to be evicted`;
  world.events.publish(failedDraining(node, what));
}

/**
 * Pods that run there though the mirror knows of none: the server is asked once before the node is ended, for what ran
 * on the machine is lost with it, and a stream may have been silent for a minute before it counts as broken. Upstream
 * goes by its cache alone: pkg/utils/node/node.go. From the cache of the server, which has pods by node: a list from
 * the store behind it reads all pods of the cluster, before Kubernetes 1.31. A Node without a claim has no place where it
 * is written down that it was drained: of such a one the server is asked each time, once a second while it waits for
 * volumes.
 */
async function unseenPods(
  world: World,
  { node, deadlineMs }: Pick<Leaving, "node" | "deadlineMs">,
): Promise<readonly Pod[]> {
  if (deadlineMs !== undefined && earlierNow(world) >= deadlineMs) return [];
  const fieldSelector = `spec.nodeName=${node.metadata.name}`;
  const { items } = await world.kube.list(POD, { fieldSelector, resourceVersion: "0" });
  return items;
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
  // Another Node may have joined since.
  if (instance === undefined || isTwin || (await hasTwin(world, node))) return undefined;
  const told = claim === undefined ? [node] : [node, claim];
  const gone = await endInstance(world, instance, told);
  marks.push({ type: "InstanceTerminating", status: "True" });
  // Older generations remove the finalizer as soon as the cloud has accepted the request.
  return gone || !isV1(instance) ? undefined : requeueAfter(INSTANCE_POLL_MS);
}

function isV1(claim: NodeClaim): boolean {
  return claimGeneration(claim) === "v1";
}

/** A node whose claim is gone still has an instance to end. */
function standIn(node: Node): NodeClaim | undefined {
  const providerID = node.spec?.providerID;
  if (providerID === undefined || providerID === "") return undefined;
  return {
    metadata: { name: node.metadata.name, labels: node.metadata.labels ?? {} },
    spec: { requirements: [], nodeClassRef: { group: "", kind: "", name: "" } },
    status: { providerID, nodeName: node.metadata.name },
  };
}

/** Does nothing for nodes without a claim. Resolves with the claim as stored. */
async function writeMarks(
  world: World,
  { node, claim, marks }: Leaving,
): Promise<NodeClaim | undefined> {
  const all = marks.splice(0);
  if (claim === undefined) return undefined;
  const nowMs = world.clock.now();
  // `claim` may be older than what an earlier step stored: always change the newest.
  const latest = readClaim(world, claimRequest(claim)) ?? claim;
  const written = await changeClaim(world, latest, (one) => withConditionChanges(one, all, nowMs));
  // Only after the write: a failed write runs this step again.
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
