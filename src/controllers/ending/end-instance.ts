/**
 * The only code that calls the cloud to terminate an instance, as test/tidy checks. There are three reasons: its claim
 * is being deleted, it was launched too late for its claim, or no claim names it. core/safety/acts.ts defines what each
 * reason must prove.
 */

import { NODE, type Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import { CLUSTER_UID_KEY, TERMINATION_FINALIZER } from "../../apis/karpenter/labels.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { machineOf } from "../../apis/karpenter/provider-id.ts";
import { type Kind, type KubeObject, keyOf } from "../../apis/meta.ts";
import { errorText } from "../../base/error-text.ts";
import { NodeClaimNotFoundError } from "../../core/cloudprovider/errors.ts";
import { type InstanceAct, instanceAct } from "../../core/safety/acts.ts";
import { type Doubt, held, judge } from "../../core/safety/judge.ts";
import { originOf } from "../../core/safety/origin.ts";
import { addFinalizer, hasFinalizer } from "../../kube/client/finalizer.ts";
import { tryEach } from "../../kube/errors.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import { isDeleting, nodeGeneration, storedClaim } from "../claims.ts";
import { clusterUid } from "../cluster-uid.ts";
import { nodes, pods } from "../mirrors.ts";
import { claimLog } from "../words.ts";
import type { World } from "../world.ts";
import { keepBrakeCount, recallBrake } from "./brake-memory.ts";
import { deleteProven } from "./deletions.ts";
import { commonFacts, type Ended, tellHeld } from "./ended.ts";
import { doubtWithoutKind } from "./kind-deleted.ts";
import { nodesStandingFor, reschedulablePodsNow } from "./live-reads.ts";
import { Recent } from "./recent.ts";

/** Whether an instance exists in the cloud, or is terminated. `unknown`: the cloud does not know its id. */
export type Fate = "there" | "ended" | "unknown";

/**
 * Calls the cloud to terminate the instance of a claim, or of a Node, that is being deleted. Resolves to true once the
 * cloud no longer knows the instance. If the cloud refuses, an event is published on `objects`. These are the claim and
 * its Node, which exist until the instance is gone.
 */
export async function endInstance(
  world: Pick<World, "cloud" | "events" | "mirrors" | "clock">,
  claim: NodeClaim,
  objects: readonly KubeObject[],
): Promise<boolean> {
  try {
    await world.cloud.delete(claim);
    ending.note(world, claim.status?.providerID ?? "");
    return false;
  } catch (error) {
    if (error instanceof NodeClaimNotFoundError) return true;
    for (const event of failedTermination(objects, errorText(error))) world.events.publish(event);
    throw error;
  }
}

/**
 * Provider ids of instances whose termination this process has requested. A further check cannot save these instances.
 * After ten minutes an id is dropped, and the checks are made again.
 */
const ending = new Recent(10 * 60_000);

/** Whether this process has requested the termination of the instance. */
export function isEnding(world: Pick<World, "mirrors" | "clock">, providerId: string): boolean {
  return ending.has(world, providerId);
}

/** Milliseconds since this process first requested the termination of the instance. Undefined: it has not. */
export function endingForMs(
  world: Pick<World, "mirrors" | "clock">,
  providerId: string,
): number | undefined {
  return ending.notedForMs(world, providerId);
}

/**
 * Events that say that the termination failed. Upstream declares this reason but never publishes it:
 * pkg/events/reason.go
 */
export function failedTermination(
  objects: readonly KubeObject[],
  why: string,
): readonly EventToPublish[] {
  return objects.map((object) => ({
    object,
    type: "Warning",
    reason: "FailedTermination",
    message: `Failed to terminate instance, ${why}`,
    dedupeValues: [object.metadata.name],
  }));
}

/**
 * Asks the cloud for the instance by its id. Rejects after errors other than `not found`, because they prove nothing.
 */
export async function fateOf(world: Pick<World, "cloud">, providerId: string): Promise<Fate> {
  try {
    await world.cloud.get(providerId);
    return "there";
  } catch (error) {
    if (!(error instanceof NodeClaimNotFoundError)) throw error;
    return error.isEnded ? "ended" : "unknown";
  }
}

/**
 * Terminates an instance whose claim was deleted during the launch. This needs the API server's confirmation that the
 * claim is deleted. After a failure instance.garbagecollection terminates the instance.
 */
export async function endLateLaunch(world: World, claim: NodeClaim): Promise<void> {
  const log = claimLog(world.log, "nodeclaim.lifecycle", claim);
  const fields = { "provider-id": claim.status?.providerID };
  try {
    const live = await storedClaim(world, claim);
    const isSame = live !== undefined && live.metadata.uid === claim.metadata.uid;
    if (isSame && hasFinalizer(live, TERMINATION_FINALIZER)) return;
    if ((await nodesNow(world, claim)).length > 0) return;
    await world.cloud.delete(claim);
    log.info("ended an instance that was launched too late", fields);
  } catch (error) {
    log.error("failed ending an instance that was launched too late", {
      ...fields,
      error: errorText(error),
    });
  }
}

function nodesOf(world: Pick<World, "mirrors">, { status }: NodeClaim): readonly Node[] {
  return nodes(world).byIndex("providerId", status?.providerID ?? "");
}

/**
 * Terminates an instance of this cluster that no claim names, according to a list from the API server. If it has a Node
 * with pods, that Node is deleted instead, so that its pods are evicted first. Then node.termination terminates the
 * instance. `instance`: as the cloud lists it. Its `kind` and `apiVersion` are those of the claim for which it was
 * launched.
 */
export async function endLeaked(world: World, instance: NodeClaim): Promise<Ended> {
  const act = instanceAct("leaked");
  const standing = await nodesNow(world, instance);
  const uid = clusterUid(world);
  const origin = originOf(instance, { clusterUid: uid, hasNode: standing.length > 0 });
  if (origin === "another") {
    tellAnothers(world, instance);
    return "gone";
  }
  const owner = await ownerOf(world, instance, standing);
  if (owner !== undefined) {
    if (isSameMachine(owner, instance)) return "changed";
    const doubt = claimChanged(owner, instance);
    return tellHeld(world, { name: owner.metadata.name, act, doubt }, [owner, ...standing]);
  }
  const running = standing.length > 0 ? undefined : podOf(world, instance);
  if (running !== undefined)
    return tellHeld(world, { name: keyOf(running), act, doubt: nodeDenied(running) }, [running]);
  await recallBrake(world);
  // This process has requested the termination already: it was counted, and cannot be taken back.
  const isAgain = standing.length === 0 && isEnding(world, instance.status?.providerID ?? "");
  const facts = { ...commonFacts(world, act, instance), isProvenGone: isAgain };
  const verdict =
    origin === "unknown" ? held("otherCluster", otherCluster(uid)) : judge(act, facts, world.brake);
  if (!verdict.go)
    return tellHeld(world, { name: facts.name, act, doubt: verdict.doubt }, standing);
  await keepBrakeCount(world);
  if (!isAgain) world.metrics.count("involuntary_ends_total", { act: act.name });
  const drained: Node[] = [];
  for (const node of standing) {
    const isOurs = hasFinalizer(node, TERMINATION_FINALIZER);
    if (isOurs || (await reschedulablePodsNow(world, node.metadata.name)).length > 0)
      drained.push(node);
  }
  if (drained.length > 0) {
    await tryEach(drained, (node) => deleteToDrain(world, node, { act: "leaked" }));
    return "ended";
  }
  await endInstance(world, instance, []);
  await tryEach(standing, (node) => deleteNode(world, node, { act: "leaked" }));
  return "ended";
}

/** Provider ids of instances of other clusters, which the log has named within the hour. */
const toldAnothers = new Recent(60 * 60_000);

/** Two clusters have one name in one account. Neither ends the other's machines, but they share queues and policies. */
function tellAnothers(world: World, { status, metadata }: NodeClaim): void {
  const providerId = status?.providerID ?? "";
  if (toldAnothers.has(world, providerId)) return;
  toldAnothers.note(world, providerId);
  world.log.warn("instance of another cluster with this cluster's name is left alone", {
    "provider-id": providerId,
    "cluster-uid": metadata.annotations?.[CLUSTER_UID_KEY],
    remedy:
      "give each cluster of the account its own --cluster-name and its own interruption queue; if its cluster is gone, terminate it",
  });
}

/**
 * The instance's Nodes, from the local copy and from the API server. The local copy may lack a Node until its next
 * list.
 */
async function nodesNow(world: World, instance: NodeClaim): Promise<readonly Node[]> {
  const known = nodesOf(world, instance);
  const live = await nodesStandingFor(world, instance.status?.providerID);
  const names = new Set(known.map(({ metadata }) => metadata.name));
  return [...known, ...live.filter(({ metadata }) => !names.has(metadata.name))];
}

/**
 * The claim of the instance, read from the API server because the list of claims may lack it. Each owner named by a
 * Node of the instance is read by name. A claim with the owner's UID counts, even if its status names another instance.
 */
async function ownerOf(
  world: World,
  instance: NodeClaim,
  standing: readonly Node[],
): Promise<NodeClaim | undefined> {
  const owners = standing.flatMap(({ metadata }) => metadata.ownerReferences ?? []);
  for (const { name, uid } of owners.filter(({ kind }) => kind === instance.kind)) {
    const named = { ...instance, metadata: { ...instance.metadata, name } };
    const live = await storedClaim(world, named);
    if (live !== undefined && (live.metadata.uid === uid || isSameMachine(live, instance)))
      return live;
  }
  return undefined;
}

/**
 * A pod on the Node that the cloud names for the instance. The API server may wrongly report that neither the Node nor
 * the claim exists. A pod on the Node contradicts that, because Kubernetes deletes pods whose Node is really gone. A
 * Node of this name with another provider id does not count: its pods run on that other instance.
 */
function podOf(world: World, { status }: NodeClaim): Pod | undefined {
  const { nodeName } = status ?? {};
  if (!nodeName || nodes(world).get(nodeName)?.spec?.providerID) return undefined;
  return pods(world).byIndex("node", nodeName).find(isReschedulable);
}

/** The doubt that a pod is on a Node which the API server does not have. */
export function nodeDenied({ spec }: Pod): Doubt {
  return {
    code: "nodeDenied",
    message: `This pod is on Node ${spec.nodeName}, which the API server does not have, while the cloud has its machine. Look at the API server's caches and at what was restored; delete the pod if it does not run.`,
  };
}

function isSameMachine(one: NodeClaim, other: NodeClaim): boolean {
  return machineOf(one.status?.providerID) === machineOf(other.status?.providerID);
}

function claimChanged({ metadata: { name }, status }: NodeClaim, instance: NodeClaim): Doubt {
  const [has, had] = [status?.providerID ?? "none", instance.status?.providerID];
  return {
    code: "claimChanged",
    message: `Its Node belongs to ${instance.kind} ${name}, whose status.providerID is ${has} and was ${had}. Set it back, or delete the ${instance.kind}.`,
  };
}

function otherCluster(uid: string | undefined): string {
  return `Its tags do not prove that it belongs to this cluster. If it does, tag it karpenter.sh/cluster-uid=${uid ?? "<UID of namespace kube-system>"} or terminate it.`;
}

/**
 * Whether a Node without a claim that is being deleted may be drained and its instance terminated. Kubernetes deletes
 * such Nodes by itself. If many such Nodes are deleted together, claims were probably lost, so the answer is no.
 */
export async function mayEndClaimless(
  world: World,
  node: Node,
  standIn: NodeClaim,
): Promise<boolean> {
  const act = instanceAct("claimless");
  const kinds = kindsOfLostClaim(node);
  const doubts = await Promise.all(kinds.map((kind) => doubtWithoutKind(world, kind)));
  const [doubt] = doubts;
  if (doubt !== undefined && !doubts.includes(undefined)) {
    tellHeld(world, { name: standIn.metadata.name, act, doubt }, [node]);
    return false;
  }
  await recallBrake(world);
  const facts = { ...commonFacts(world, act, standIn), isProvenGone: false };
  const verdict = judge(act, facts, world.brake);
  if (!verdict.go) {
    tellHeld(world, { name: facts.name, act, doubt: verdict.doubt }, [node]);
    return false;
  }
  await keepBrakeCount(world);
  world.metrics.count("involuntary_ends_total", { act: act.name });
  return true;
}

/**
 * The kinds of claim that the Node may have had, by its owner. A Node of a Provisioner may have no owner: before
 * Machines existed it had no claim. Any kind of claim can replace it.
 */
function kindsOfLostClaim(node: Node): readonly Kind[] {
  const { ownerReferences = [] } = node.metadata;
  const owning = CLAIM_KINDS.filter(({ kind }) => ownerReferences.some((one) => one.kind === kind));
  if (owning.length > 0) return owning;
  return nodeGeneration(node, undefined) === "alpha" ? CLAIM_KINDS : [NODE_CLAIM as Kind];
}

/** Why a Node is deleted. `waiting`: the claim that waits for it. */
interface NodeDeletion {
  readonly act: InstanceAct;
  readonly waiting?: NodeClaim;
}

/**
 * Deletes a Node that must be drained first. Before that its finalizer is added again, because another program may have
 * removed it. Without the finalizer the Node would be gone at once, and its instance would be terminated while pods run
 * on it. Rejects if the Node stays as it was.
 */
export async function deleteToDrain(world: World, node: Node, why: NodeDeletion): Promise<void> {
  if (isDeleting(node)) return;
  const held = await addFinalizer(world.kube, NODE, node, TERMINATION_FINALIZER);
  if (held === undefined) return;
  if (!hasFinalizer(held, TERMINATION_FINALIZER))
    throw new Error(`Node ${node.metadata.name} loses its finalizer again, waiting`);
  await deleteNode(world, held, why);
}

/**
 * Deletes this Node, not a later one of the same name. Its finalizer makes node.termination drain it first. Rejects if
 * the API server answers and the Node stays as it was, and publishes an event that says so.
 */
export async function deleteNode(world: World, node: Node, why: NodeDeletion): Promise<void> {
  const doubt = await deleteProven(world, NODE as Kind, node);
  if (typeof doubt === "string") return;
  const { act, waiting } = why;
  const objects = waiting === undefined ? [node] : [node, waiting];
  tellHeld(world, { name: node.metadata.name, act: instanceAct(act), doubt }, objects);
  throw new Error(`Node ${node.metadata.name} is held: its events say why`);
}
