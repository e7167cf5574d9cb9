/**
 * Finalizes a deleted claim. Its Nodes are deleted first (node.termination drains them), then the instance is
 * terminated. The finalizer is removed once the cloud no longer knows the instance.
 * upstream: pkg/controllers/nodeclaim/lifecycle/controller.go, finalize
 */
import type { Node } from "../../../apis/core/node.ts";
import { isReschedulable, isWaitingEviction } from "../../../apis/core/pod-predicates.ts";
import {
  CLAIM_KINDS,
  claimGeneration,
  claimKind,
  fromClaim,
  poolIdOfLabels,
} from "../../../apis/hub/claim.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import { condition, isTrue, withCondition } from "../../../apis/karpenter/conditions.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY,
  TERMINATION_FINALIZER,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339, toRfc3339 } from "../../../base/clock.ts";
import { parseDuration } from "../../../base/duration.ts";
import { instanceAct } from "../../../core/safety/acts.ts";
import { hasFinalizer, removeFinalizer } from "../../../kube/client/finalizer.ts";
import { tryEach } from "../../../kube/errors.ts";
import { AWAIT_CHANGE, type Outcome, requeueAfter } from "../../../kube/manager/controller.ts";
import { changeClaim, claimRequest, claimsByProviderId, isDeleting } from "../../claims.ts";
import { isDeletedNow } from "../../ending/deletions.ts";
import {
  deleteNode,
  deleteToDrain,
  endInstance,
  endLateLaunch,
  fateOf,
  isEnding,
  nodeDenied,
} from "../../ending/end-instance.ts";
import { HELD_RETRY_MS, tellHeld } from "../../ending/ended.ts";
import { holdWhileKindGoes } from "../../ending/kind-deleted.ts";
import {
  reschedulablePodsNow,
  standingNodes,
  standsFor,
  UntoldNodeError,
} from "../../ending/live-reads.ts";
import { withLostLaunch } from "../../ending/lost-launch.ts";
import { awaitEnd } from "../../ending/slow-end.ts";
import { earlierNow } from "../../ending/two-clocks.ts";
import { waitsForUntold } from "../../ending/untold-node.ts";
import { nodes, pods } from "../../mirrors.ts";
import { claimLog, nodeFields, poolLabel } from "../../words.ts";
import type { World } from "../../world.ts";
import { terminationGracePeriodExpiring } from "../events.ts";
import type { Memory } from "./step.ts";

/** Milliseconds until the next check whether the claim has an instance, or a Node that must be drained. */
const LOOK_AGAIN_MS = 5_000;

/**
 * Milliseconds after the start in which the cloud's list may lack an instance that another process has just launched.
 */
const LISTED_MS = 30_000;

/** Runs on each change of a claim that is being deleted, until its finalizer is removed. */
export async function finalize(world: World, stored: NodeClaim, memory: Memory): Promise<Outcome> {
  const uid = stored.metadata.uid ?? stored.metadata.name;
  // The instance of a claim whose status was not stored. It may become known to this process only later.
  const launched = (): NodeClaim | undefined => memory.launches.get(uid)?.launched;
  if (!hasFinalizer(stored, TERMINATION_FINALIZER)) return AWAIT_CHANGE;
  if (!(await isDeletedNow(world, claimKind(stored), stored))) return requeueAfter(HELD_RETRY_MS);
  if (await holdWhileKindGoes(world, stored)) return requeueAfter(HELD_RETRY_MS);
  const known = await withProviderId(world, stored, launched());
  const claim = await withUnknownLaunch(world, known, memory);
  if (claim === "unsure") return requeueAfter(LOOK_AGAIN_MS);
  const stamped = claim === undefined ? undefined : await stampDeadline(world, claim);
  if (stamped === undefined) return AWAIT_CHANGE;
  if (isAnothers(world, stamped)) {
    await removeFinalizer(
      world.kube,
      claimKind(stamped),
      fromClaim(stamped),
      TERMINATION_FINALIZER,
    );
    claimLog(world.log, "nodeclaim.lifecycle", stamped).warn(
      "let go of a claim whose instance belongs to another claim, too",
      { "provider-id": stamped.status?.providerID },
    );
    return AWAIT_CHANGE;
  }
  const draining = await drainNodes(world, stamped, memory);
  if (draining !== undefined) return draining;
  let ending = stamped;
  if (stamped.status?.providerID !== undefined) {
    const gone = await endInstance(world, stamped, [stamped]);
    const marked = await changeClaim(world, stamped, (one) => terminating(world, one));
    if (marked === undefined) return AWAIT_CHANGE;
    // Older API versions remove the finalizer as soon as the cloud has accepted the request.
    if (!gone && claimGeneration(marked) === "v1") return awaitEnd(world, marked, [marked]);
    // An instance that was booting may have joined after its termination was requested. No other code deletes its Node.
    if (gone) await deleteNodes(world, marked);
    ending = marked;
  }
  const kind = claimKind(ending);
  await removeFinalizer(world.kube, kind, fromClaim(ending), TERMINATION_FINALIZER);
  report(world, ending);
  await endLatecomer(world, ending, launched());
  return AWAIT_CHANGE;
}

function terminating(world: World, claim: NodeClaim): NodeClaim {
  return withCondition(claim, { type: "InstanceTerminating", status: "True" }, world.clock.now());
}

/** Stores the provider id on a claim that was deleted during its launch, so that its instance is terminated. */
async function withProviderId(
  world: World,
  claim: NodeClaim,
  launched: NodeClaim | undefined,
): Promise<NodeClaim | undefined> {
  const providerID = launched?.status?.providerID;
  if (claim.status?.providerID !== undefined || providerID === undefined) return claim;
  return changeClaim(world, claim, (one) => ({ ...one, status: { ...one.status, providerID } }));
}

/** Looks for an instance that an earlier process launched for the claim without storing its provider id. */
async function withUnknownLaunch(
  world: World,
  claim: NodeClaim | undefined,
  { begunHere, startedMs }: Memory,
): Promise<NodeClaim | "unsure" | undefined> {
  if (claim === undefined || claim.status?.providerID !== undefined) return claim;
  if (begunHere.has(claim.metadata.uid ?? claim.metadata.name)) return claim;
  const found = await withLostLaunch(world, claim);
  if (found === undefined || found === "unsure" || found.status?.providerID !== undefined)
    return found;
  const nowMs = world.clock.elapsedMs();
  return nowMs - (startedMs ?? nowMs) < LISTED_MS ? "unsure" : found;
}

/**
 * Whether another claim has the same instance, for example after a restore under another name. If so, the instance is
 * kept for that claim.
 */
function isAnothers(world: World, { metadata, status }: NodeClaim): boolean {
  if (!status?.providerID) return false;
  return claimsByProviderId(world, status.providerID).some(
    (other) => other.metadata.uid !== metadata.uid && !isDeleting(other),
  );
}

/** Terminates an instance that the cloud returned after the check above, while the claim still existed. */
async function endLatecomer(
  world: World,
  claim: NodeClaim,
  launched: NodeClaim | undefined,
): Promise<void> {
  const providerID = launched?.status?.providerID;
  if (claim.status?.providerID !== undefined || providerID === undefined) return;
  await endLateLaunch(world, { ...claim, status: { ...claim.status, providerID } });
}

/** Writes the deadline of the drain on the claim, once, from the claim's grace period. */
async function stampDeadline(world: World, claim: NodeClaim): Promise<NodeClaim | undefined> {
  const graceMs = parseDuration(claim.spec.terminationGracePeriod ?? "");
  const key = NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY;
  if (graceMs === undefined || claim.metadata.annotations?.[key] !== undefined) return claim;
  const deletedMs = fromRfc3339(claim.metadata.deletionTimestamp) ?? world.clock.now();
  const at = toRfc3339(deletedMs + graceMs);
  const annotated = await changeClaim(world, claim, (one) => ({
    ...one,
    metadata: { ...one.metadata, annotations: { ...one.metadata.annotations, [key]: at } },
  }));
  if (annotated !== undefined) {
    const noun = vocabulary(claimGeneration(claim)).claimNoun;
    claimLog(world.log, "nodeclaim.lifecycle", claim).info(`annotated ${noun}`, { [key]: at });
    world.events.publish(terminationGracePeriodExpiring(claim, at));
  }
  return annotated;
}

/** Deletes the claim's Nodes first, so that they are drained. Undefined: it is certain that the claim has no Node. */
async function drainNodes(
  world: World,
  claim: NodeClaim,
  memory: Memory,
): Promise<Outcome | undefined> {
  const { providerID, nodeName } = claim.status ?? {};
  if (providerID === undefined) {
    const isSeen = isTrue(claim, "Registered") && nodes(world).get(nodeName ?? "") !== undefined;
    return isSeen ? AWAIT_CHANGE : undefined;
  }
  const podsOn = (node: Node) => pods(world).byIndex("node", node.metadata.name);
  const mirrored = nodes(world)
    .byIndex("providerId", providerID)
    .filter((node) => isJoined(claim, node) || podsOn(node).some(isReschedulable));
  const [first] = mirrored;
  if (isHeldForStranger(world, claim, mirrored)) return requeueAfter(HELD_RETRY_MS);
  await tryEach(mirrored, (node) => deleteForClaim(world, node, claim));
  if (first !== undefined) {
    const { uid = claim.metadata.name } = claim.metadata;
    memory.leaving.set(keyOfClaim(claim), { uid, seenAs: first.metadata.name });
    // A Node without Karpenter's finalizer is gone at once. The local copy receives its removal shortly after. If the
    // Node stays as it was, for example after a restore of etcd, it is deleted again.
    return requeueAfter(HELD_RETRY_MS);
  }
  if (isEnding(world, providerID)) return undefined;
  const standing = await standingNow(world, claim, memory);
  if (standing === "unsure") return requeueAfter(HELD_RETRY_MS);
  const unseen: Node[] = [];
  for (const node of standing) {
    const isUsed =
      isJoined(claim, node) || (await reschedulablePodsNow(world, node.metadata.name)).length > 0;
    if (isUsed) unseen.push(node);
  }
  if (isHeldForStranger(world, claim, unseen)) return requeueAfter(HELD_RETRY_MS);
  await tryEach(unseen, (node) => deleteForClaim(world, node, claim));
  // Once the watch has delivered the deletion of the Node, it is drained like other Nodes.
  if (unseen.length > 0) return requeueAfter(LOOK_AGAIN_MS);
  return (await isHeldByPod(world, claim)) ? requeueAfter(HELD_RETRY_MS) : undefined;
}

/**
 * Whether a pod is on the claim's Node, which the API server does not have, while the instance runs. Somebody may have
 * deleted the Node by force in the middle of its drain, and its kubelet creates it again. Kubernetes deletes the pods
 * of a Node that stays away.
 */
async function isHeldByPod(world: World, claim: NodeClaim): Promise<boolean> {
  const { providerID = "", nodeName = "" } = claim.status ?? {};
  const deadline = claim.metadata.annotations?.[NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY];
  const nowMs = earlierNow(world);
  if (nowMs >= (fromRfc3339(deadline) ?? Number.POSITIVE_INFINITY)) return false;
  // The name may be that of another instance's Node by now.
  const named = nodes(world).get(nodeName);
  if (named?.spec?.providerID && !standsFor(named, providerID)) return false;
  const left = pods(world)
    .byIndex("node", nodeName)
    .find((pod) => isReschedulable(pod) && isWaitingEviction(pod, nowMs));
  // Pods of an instance that has ended do not run. Its Node is removed without a drain.
  if (left === undefined || (await fateOf(world, providerID)) === "ended") return false;
  const act = instanceAct("claimDeleted");
  tellHeld(world, { name: claim.metadata.name, act, doubt: nodeDenied(left) }, [claim, left]);
  return true;
}

function deleteForClaim(world: World, node: Node, claim: NodeClaim): Promise<void> {
  return deleteToDrain(world, node, { act: "claimDeleted", waiting: claim });
}

/**
 * Whether one of these Nodes does not belong to Karpenter. Then the claim waits, and an event on the claim and on that
 * Node says so. The Node of a registered claim always has Karpenter's marks, so somebody has changed the provider id in
 * the claim's status.
 */
function isHeldForStranger(world: World, claim: NodeClaim, standing: readonly Node[]): boolean {
  const stranger = standing.find((node) => !isKarpenters(node));
  if (stranger === undefined || !isTrue(claim, "Registered")) return false;
  const { name } = claim.metadata;
  const doubt = {
    code: "claimChanged",
    message: `Its status.providerID is that of Node ${stranger.metadata.name}, which is not Karpenter's. Set status.providerID right.`,
  } as const;
  const act = instanceAct("claimDeleted");
  tellHeld(world, { name, act, doubt }, [claim, stranger]);
  return true;
}

/** Whether the Node has any mark of Karpenter: the label of a pool, Karpenter's finalizer, or a claim as its owner. */
function isKarpenters(node: Node): boolean {
  const { labels, ownerReferences = [] } = node.metadata;
  return (
    poolIdOfLabels(labels) !== undefined ||
    hasFinalizer(node, TERMINATION_FINALIZER) ||
    ownerReferences.some((owner) => CLAIM_KINDS.some(({ kind }) => kind === owner.kind))
  );
}

/** The claim's Nodes on the API server. `unsure`: one of them has no provider id yet, and an event was published. */
async function standingNow(
  world: World,
  claim: NodeClaim,
  memory: Memory,
): Promise<readonly Node[] | "unsure"> {
  const { providerID: providerId, nodeName } = claim.status ?? {};
  try {
    return await standingNodes(world, {
      providerId,
      names: [nodeName],
      seenAs: seenAs(memory, claim),
      waitsForUntold: (node) => waitsForUntold(world, claim, node),
    });
  } catch (error) {
    if (error instanceof UntoldNodeError) return "unsure";
    throw error;
  }
}

/**
 * Whether the Node has registered for the claim, even if that was not stored on the claim. If so, pods may run there.
 */
function isJoined(claim: NodeClaim, node: Node): boolean {
  return isTrue(claim, "Registered") || hasFinalizer(node, TERMINATION_FINALIZER);
}

/** The name of the Node that this process drains for the claim. */
function seenAs({ leaving }: Memory, claim: NodeClaim): string | undefined {
  const known = leaving.get(keyOfClaim(claim));
  return known?.uid === claim.metadata.uid ? known?.seenAs : undefined;
}

function keyOfClaim(claim: NodeClaim): string {
  const { kind, name } = claimRequest(claim);
  return `${kind}/${name}`;
}

/** Deletes Nodes that joined although their instance is gone. */
async function deleteNodes(world: World, { status }: NodeClaim): Promise<void> {
  const left = nodes(world).byIndex("providerId", status?.providerID ?? "");
  await tryEach(
    left.filter((node) => !isDeleting(node)),
    (node) => deleteNode(world, node, { act: "claimDeleted" }),
  );
}

function report(world: World, claim: NodeClaim): void {
  const nowMs = world.clock.now();
  const nodepool = poolLabel(claim.metadata);
  const generation = claimGeneration(claim);
  const name = claim.status?.nodeName ?? "";
  const controller = generation === "v1" ? "nodeclaim.lifecycle" : "nodeclaim.termination";
  claimLog(world.log, controller, claim).info(`deleted ${vocabulary(generation).claimNoun}`, {
    "provider-id": claim.status?.providerID,
    ...nodeFields(generation, { metadata: { name } }),
  });
  const since = (time: string | undefined): number | undefined => {
    const ms = fromRfc3339(time);
    return ms === undefined ? undefined : Math.max(0, nowMs - ms) / 1_000;
  };
  const total = since(claim.metadata.deletionTimestamp);
  if (total !== undefined)
    world.metrics.observe("nodeclaims_termination_duration_seconds", { nodepool }, total);
  const instance = since(condition(claim, "InstanceTerminating")?.lastTransitionTime);
  if (instance !== undefined)
    world.metrics.observe(
      "nodeclaims_instance_termination_duration_seconds",
      { nodepool },
      instance,
    );
  world.metrics.count("nodeclaims_terminated_total", {
    nodepool,
    capacity_type: claim.metadata.labels?.[CAPACITY_TYPE_LABEL_KEY] ?? "",
    zone: claim.metadata.labels?.[TOPOLOGY_ZONE_LABEL_KEY] ?? "",
  });
}
