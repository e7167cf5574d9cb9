/**
 * Rolls back a command that cannot continue, whichever process began it. Deletes replacements without a Node, untaints
 * the nodes, and then removes the marks from their claims.
 */
import { NODE } from "../../apis/core/node.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { withoutCondition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Logger } from "../../base/log.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { withoutMove } from "../../core/disruption/moves.ts";
import { recordOf, withoutRecord } from "../../core/disruption/record.ts";
import {
  type RolledBack,
  rollBackOf,
  unregistered,
  withoutCommand,
} from "../../core/disruption/unfinished.ts";
import { uncordoned } from "../../core/state/cordon.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import { changeObject } from "../../kube/client/change-object.ts";
import { collect, joined, tryEach } from "../../kube/errors.ts";
import { changeClaim, claimRequest, isDeleting, readClaim, storedClaim } from "../claims.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { reschedulablePodsNow } from "../ending/live-reads.ts";
import { nodes } from "../mirrors.ts";
import type { World } from "../world.ts";
import type { RunningCommand } from "./running.ts";

/** Rolls a running command back and returns whether all its nodes are kept, so that no pod was moved. */
export async function rollBack(
  world: World,
  { record, candidates, replacements, target }: RunningCommand,
): Promise<boolean> {
  const latest = replacements.flatMap((claim) => readClaim(world, claimRequest(claim)) ?? []);
  // A record without replacements names no nodes. In that case this process began the command, so its candidates are
  // complete.
  const all = record.nodes.length || candidates.length;
  const allStay = candidates.length === all && candidates.every((one) => stays(world, one));
  const recorded = allStay && target && readClaim(world, claimRequest(target));
  const forgetMove = async () =>
    recorded && changeClaim(world, recorded, (one) => withoutMove(one, record.id));
  const left = {
    nodes: candidates.map(({ node, claim }) => ({ ...node, claim })),
    replacements: latest.filter((claim) => !isDeleting(claim)),
    allStay,
  };
  const undo = () => takeBack(world, rollBackOf(record.id, left));
  await tryEach([undo, forgetMove], (act) => act());
  world.cluster.unmarkForDeletion(...candidates.flatMap((one) => markedNames(world, one)));
  return allStay;
}

/**
 * Takes a command back, whichever process began it. Replacements without a Node are deleted first: together with the
 * old nodes they could exceed the limits of the pool. Replacements with a Node are kept, because pods may run there.
 * Their marks are removed, unless a node of the command is deleted and its pods move there. A write that fails keeps no
 * other node tainted. It rejects at the end, and must be tried again. Until all is done, the claims keep the marks by
 * which the next process finds the replacements.
 */
export async function takeBack(
  world: World,
  { nodes: views, discard, undone }: RolledBack,
): Promise<void> {
  const errors: unknown[] = [];
  const each = <T>(all: readonly T[], act: (one: T) => Promise<unknown>) =>
    Promise.all(all.map((one) => collect(errors, () => act(one))));
  await each(discard, (claim) => discardReplacement(world, claim));
  await each(undone?.kept ?? [], (claim) =>
    changeClaim(world, claim, (one) => withoutCommand(one, undone?.command ?? "")),
  );
  await each(views, (one) => untaint(world, one));
  if (errors.length === 0) await each(views, (one) => unmark(world, one));
  if (errors.length > 0) throw joined(errors);
}

/** What is needed to untaint a node and to log it. */
export interface OpeningDeps {
  readonly world: World;
  readonly log: Logger;
}

/**
 * Untaints a node that was empty but runs pods by now, and returns whether it did so. Pods are read from the API
 * server. The node is already tainted, so no further pods are bound to it.
 */
export async function openedAsUsed(
  deps: OpeningDeps,
  { record }: Pick<RunningCommand, "record">,
  candidate: Candidate,
): Promise<boolean> {
  if ((await reschedulablePodsNow(deps.world, candidate.node.name)).length === 0) return false;
  const cause = "pods run there that were not seen before";
  await leave(deps, candidate, { commandId: record.id, cause });
  return true;
}

/**
 * Untaints a node whose claim is kept, because another program removed the record of this command from the claim.
 * Otherwise the claim would keep the condition of the command, and no later command would disrupt the node. A claim
 * with the record of another command is not changed.
 */
export async function openKept(
  deps: OpeningDeps,
  { record }: Pick<RunningCommand, "record">,
  candidate: Candidate,
): Promise<void> {
  const live = await storedClaim(deps.world, candidate.claim);
  if (live === undefined || isDeleting(live) || recordOf(live) !== undefined) return;
  const cause = "another program removed the mark of the command";
  await leave(deps, candidate, { commandId: record.id, cause });
}

/** Untaints a node that the command no longer disrupts, and logs why. */
export async function leave(
  { world, log }: OpeningDeps,
  candidate: Candidate,
  { commandId, cause }: { readonly commandId: string; readonly cause: string },
): Promise<void> {
  // Read before the node is untainted, because afterwards it may be deleted.
  const marked = markedNames(world, candidate);
  await untaint(world, { ...candidate.node, claim: candidate.claim });
  await unmark(world, candidate);
  world.cluster.unmarkForDeletion(...marked);
  log.info(`leaving a node, ${cause}`, { "command-id": commandId, node: candidate.node.name });
}

/** Deletes a replacement that is no longer needed. It is kept if it has a Node by now, because pods may run there. */
export async function discardReplacement(world: World, claim: NodeClaim): Promise<void> {
  const stillHolds = (live: NodeClaim) => unregistered([live]).length > 0;
  const ended = await deleteClaim(world, claim, "replacementUnused", { stillHolds });
  if (ended === "held")
    throw new Error(`NodeClaim ${claim.metadata.name} is held: its events say why`);
}

function stays(world: World, { node, claim }: Candidate): boolean {
  const nodeNow = nodes(world).get(node.name);
  const claimNow = readClaim(world, claimRequest(claim));
  const both = [nodeNow, claimNow];
  return both.every((one) => one !== undefined && !isDeleting(one));
}

/**
 * The names under which a candidate is marked for deletion: those of its Node and its claim. Names of deleted objects
 * are left out, because a new Node may get the same name, as on AWS.
 */
export function markedNames(world: World, { node, claim }: Candidate): readonly string[] {
  const nodeNow = nodes(world).get(node.name)?.metadata.uid;
  const claimNow = readClaim(world, claimRequest(claim))?.metadata.uid;
  return [
    ...(nodeNow !== undefined && nodeNow === node.node?.metadata.uid ? [node.name] : []),
    ...(claimNow !== undefined && claimNow === claim.metadata.uid ? [claim.metadata.name] : []),
  ];
}

/** Removes the taint of a command from the Node. Skips a Node that is being deleted, and another one of this name. */
async function untaint(world: World, { node, claim }: NodeView): Promise<void> {
  const nodeNow = nodes(world).get(node?.metadata.name ?? "");
  if (claim === undefined || nodeNow === undefined) return;
  if (nodeNow.metadata.uid !== node?.metadata.uid) return;
  const words = vocabulary(claimGeneration(claim));
  await changeObject(world.kube, NODE, nodeNow, (one) =>
    isDeleting(one) ? one : uncordoned(one, words),
  );
}

/** Removes the marks of a command from the claim. Skips a claim that is being deleted, and another one of this name. */
async function unmark(world: World, { claim }: Pick<NodeView, "claim">): Promise<void> {
  // The claim is read again, because the view may hold the claim as it was before it was marked.
  const claimNow = claim && readClaim(world, claimRequest(claim));
  if (claimNow === undefined || claimNow.metadata.uid !== claim?.metadata.uid) return;
  await changeClaim(world, claimNow, (one) =>
    isDeleting(one) ? one : withoutCondition(withoutRecord(one), "DisruptionReason"),
  );
}
