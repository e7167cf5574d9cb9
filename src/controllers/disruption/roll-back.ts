/**
 * Rolls back a command that cannot continue, whichever process began it. Deletes replacements without a Node, then
 * untaints the nodes.
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { withoutCondition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Logger } from "../../base/log.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { withoutMove } from "../../core/disruption/moves.ts";
import { recordOf, withoutRecord } from "../../core/disruption/record.ts";
import { unregistered, withoutCommand } from "../../core/disruption/unfinished.ts";
import { uncordoned } from "../../core/state/cordon.ts";
import { changeObject } from "../../kube/client/change-object.ts";
import { collect, joined } from "../../kube/errors.ts";
import { changeClaim, claimRequest, isDeleting, readClaim, storedClaim } from "../claims.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { reschedulablePodsNow } from "../ending/live-reads.ts";
import { nodes } from "../mirrors.ts";
import type { World } from "../world.ts";
import type { RunningCommand } from "./running.ts";

/**
 * Rolls a command back and returns whether all its nodes are kept, so that no pod was moved. Replacements without a
 * Node are deleted first: together with the old nodes they could exceed the limits of the pool. Replacements with a
 * Node are kept, because pods may run there. Their marks are removed, unless a node of the command is deleted and its
 * pods move there. A replacement that cannot be deleted keeps no node tainted. It rejects at the end, and is tried again.
 */
export async function rollBack(
  world: World,
  { record, candidates, replacements, target }: RunningCommand,
): Promise<boolean> {
  const latest = replacements.flatMap((claim) => readClaim(world, claimRequest(claim)) ?? []);
  const discarded = unregistered(latest).filter((claim) => !isDeleting(claim));
  const errors: unknown[] = [];
  await Promise.all(
    discarded.map((claim) => collect(errors, () => discardReplacement(world, claim))),
  );
  const kept = latest.filter((claim) => !discarded.includes(claim) && !isDeleting(claim));
  // A record without replacements names no nodes. In that case this process began the command, so its candidates are
  // complete.
  const all = record.nodes.length || candidates.length;
  const allStay = candidates.length === all && candidates.every((one) => stays(world, one));
  if (allStay) {
    const recorded = target && readClaim(world, claimRequest(target));
    await Promise.all([
      ...kept.map((claim) => changeClaim(world, claim, (one) => withoutCommand(one, record.id))),
      recorded && changeClaim(world, recorded, (one) => withoutMove(one, record.id)),
    ]);
  }
  await Promise.all(candidates.map((candidate) => collect(errors, () => reopen(world, candidate))));
  if (errors.length > 0) throw joined(errors);
  world.cluster.unmarkForDeletion(...candidates.flatMap((one) => markedNames(world, one)));
  return allStay;
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
  await reopen(world, candidate);
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

/**
 * Removes the taint and the marks of a command from a node and its claim. Skips an object that is being deleted, and
 * another object with the same name.
 */
export async function reopen(
  world: World,
  { node: { node }, claim, generation }: Pick<Candidate, "node" | "claim" | "generation">,
): Promise<void> {
  const words = vocabulary(generation);
  const open = (one: Node) => (isDeleting(one) ? one : uncordoned(one, words));
  const nodeNow = nodes(world).get(node?.metadata.name ?? "");
  if (nodeNow !== undefined && nodeNow.metadata.uid === node?.metadata.uid)
    await changeObject(world.kube, NODE, nodeNow, open);
  // The claim is read again, because the candidate holds the claim as it was before it was marked.
  const claimNow = readClaim(world, claimRequest(claim));
  if (claimNow === undefined || claimNow.metadata.uid !== claim.metadata.uid) return;
  await changeClaim(world, claimNow, (one) =>
    isDeleting(one) ? one : withoutCondition(withoutRecord(one), "DisruptionReason"),
  );
}
