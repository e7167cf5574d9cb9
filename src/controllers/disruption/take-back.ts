/**
 * How a command is undone that cannot go on: what came for it and is not in use goes, then its nodes open. Also for
 * one that another process left half done (controller.ts).
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { withoutCondition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Logger } from "../../base/log.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { withoutMove } from "../../core/disruption/moves.ts";
import { withoutRecord } from "../../core/disruption/record.ts";
import { unregistered, withoutCommand } from "../../core/disruption/unfinished.ts";
import { uncordoned } from "../../core/state/cordon.ts";
import { changeObject } from "../../kube/client/change-object.ts";
import { changeClaim, claimRequest, isDeleting, readClaim } from "../claims.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { reschedulablePodsNow } from "../ending/live-reads.ts";
import { nodes } from "../mirrors.ts";
import type { World } from "../world.ts";
import type { RunningCommand } from "./running.ts";

/**
 * The nodes are open again. Replacements that never joined go first: with the nodes that they were to take the
 * place of they would be more than the pool's limits allow. Those that have a Node stay, pods may run there; they bear
 * word of the command no more, unless a node of its goes all the same: its pods come to them then. Answers whether all
 * its nodes stay, so that nothing was moved.
 */
export async function rollBack(
  world: World,
  { record, candidates, replacements, target }: RunningCommand,
): Promise<boolean> {
  const latest = replacements.flatMap((claim) => readClaim(world, claimRequest(claim)) ?? []);
  const discarded = unregistered(latest).filter((claim) => !isDeleting(claim));
  await Promise.all(discarded.map((claim) => discardReplacement(world, claim)));
  const kept = latest.filter((claim) => !discarded.includes(claim) && !isDeleting(claim));
  // The record of one without replacements names none: no other process goes on with it, so it has all of its own here.
  const all = record.nodes.length || candidates.length;
  const allStay = candidates.length === all && candidates.every((one) => stays(world, one));
  if (allStay) {
    const bearer = target && readClaim(world, claimRequest(target));
    await Promise.all([
      ...kept.map((claim) => changeClaim(world, claim, (one) => withoutCommand(one, record.id))),
      bearer && changeClaim(world, bearer, (one) => withoutMove(one, record.id)),
    ]);
  }
  await Promise.all(candidates.map((candidate) => reopen(world, candidate)));
  world.cluster.unmarkForDeletion(...candidates.flatMap((one) => markedNames(world, one)));
  return allStay;
}

/**
 * Opens a node that was thought to be empty if pods run there, as the API server lists them, and answers whether it
 * did. It is closed by now: no pod comes any more that is not there then.
 */
export async function openedAsUsed(
  { world, log }: { readonly world: World; readonly log: Logger },
  { record }: Pick<RunningCommand, "record">,
  candidate: Candidate,
): Promise<boolean> {
  if ((await reschedulablePodsNow(world, candidate.node.name)).length === 0) return false;
  const marked = markedNames(world, candidate);
  await reopen(world, candidate);
  world.cluster.unmarkForDeletion(...marked);
  log.info("leaving a node, pods run there that were not seen before", {
    "command-id": record.id,
    node: candidate.node.name,
  });
  return true;
}

/** Deletes a replacement that is not needed any more, unless it has a Node by now: pods may run there. */
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
 * What a candidate is marked by: its claim, for its Node may go and come again, and its Node. Not by what has gone since
 * it was chosen: another Node may have got the name, as AWS gives them again, or get it later.
 */
export function markedNames(world: World, { node, claim }: Candidate): readonly string[] {
  const nodeNow = nodes(world).get(node.name)?.metadata.uid;
  const claimNow = readClaim(world, claimRequest(claim))?.metadata.uid;
  return [
    ...(nodeNow !== undefined && nodeNow === node.node?.metadata.uid ? [node.name] : []),
    ...(claimNow !== undefined && claimNow === claim.metadata.uid ? [claim.metadata.name] : []),
  ];
}

/** Takes back how a command closed its node. What is on its way out by now stays closed, and so does what only has its name. */
export async function reopen(
  world: World,
  { node: { node }, claim, generation }: Pick<Candidate, "node" | "claim" | "generation">,
): Promise<void> {
  const words = vocabulary(generation);
  const open = (one: Node) => (isDeleting(one) ? one : uncordoned(one, words));
  const nodeNow = nodes(world).get(node?.metadata.name ?? "");
  if (nodeNow !== undefined && nodeNow.metadata.uid === node?.metadata.uid)
    await changeObject(world.kube, NODE, nodeNow, open);
  // As it is now: a candidate's own was chosen before it was marked.
  const claimNow = readClaim(world, claimRequest(claim));
  if (claimNow === undefined || claimNow.metadata.uid !== claim.metadata.uid) return;
  await changeClaim(world, claimNow, (one) =>
    isDeleting(one) ? one : withoutCondition(withoutRecord(one), "DisruptionReason"),
  );
}
