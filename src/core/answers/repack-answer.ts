/**
 * Explains why repack does not replace a node: it could save too little, or no plan was cheap enough. Repack is the
 * disruption method that replaces many nodes together.
 */

import { toRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { atOnce } from "../../base/steps.ts";
import type { Candidate } from "../disruption/candidates.ts";
import { isConsolidatable } from "../disruption/consolidation.ts";
import { makeRound, type Picture } from "../disruption/make-round.ts";
import type { DeferredUntil } from "../disruption/methods/method.ts";
import { repack, repackCandidates } from "../disruption/methods/repack.ts";
import { chooseNodes, type RepackChoice } from "../disruption/repack/choice.ts";
import { type PoolGroup, poolGroups } from "../disruption/repack/groups.ts";
import { countsOf, shareOf, worthTrying } from "../disruption/repack/search.ts";
import type { Round } from "../disruption/round.ts";
import type { FoundCommands } from "../disruption/run-round.ts";
import type { NodeView } from "../state/node-view.ts";

/**
 * Why repack does not replace the node, as a sentence. Undefined: something else than repack protects the node, for
 * example a budget.
 */
export function repackAnswer(
  picture: Picture,
  node: NodeView,
  next: FoundCommands | undefined,
): string | undefined {
  const { round } = atOnce(makeRound(picture, repack));
  const candidate = round.facts.candidates.find((one) => one.node.name === node.name);
  if (candidate === undefined || !isConsolidatable(candidate, picture.nowMs)) return undefined;
  if (candidate.reschedulablePods.length === 0) return undefined;
  if (round.settings.repack === undefined) return "repack is off";
  if (!repack.isEligible(candidate, picture.nowMs)) return "repack is for v1 pools";
  const heldOffMs = picture.ledger.replacementHoldOffEndsMs(candidate.claim) ?? picture.nowMs;
  if (heldOffMs > picture.nowMs) {
    return `repack skips it until ${toRfc3339(heldOffMs)}: it replaced other nodes`;
  }
  const poolRestsMs = picture.ledger.repackHoldOffEndsMs(candidate.pool.id, picture.nowMs);
  if (poolRestsMs !== undefined)
    return `repack skips its NodePool until ${toRfc3339(poolRestsMs)}: the last moves saved less than planned`;
  const groups = atOnce(
    poolGroups(atOnce(repackCandidates(round)), round.facts.simulator.openTo()),
  );
  const group = groups.find(({ candidates }) => candidates.includes(candidate));
  const choice = group === undefined ? undefined : choiceWith(candidate, group, round);
  if (group === undefined || choice === undefined) return undefined;
  const others = choice.candidates.filter((one) => one !== candidate).length;
  const most = Math.max(0, ...countsOf(choice).map((count) => shareOf(choice, count)));
  const wanted = round.holdOffs.minRepackShare(choice.candidates);
  const percent = `${Number((wanted * 100).toFixed(1))} %`;
  const whom = others === 0 ? "it alone" : `it with ${counted(others, "other node")}`;
  const whose =
    others === 0 ? "its pods" : `its pods and those of ${counted(others, "other node")}`;
  const share = `${(most * 100).toFixed(1)} %`;
  const could = `repack: replacing ${whom} could save at most ${share}`;
  if (worthTrying(choice, wanted).length === 0) return `${could}; at least ${percent} is required`;
  const until = next === undefined ? waitsUntil(group, round) : undefined;
  if (until === "settled") return `${could}; it waits for nodes that have just received pods`;
  if (until === "quiet") return `${could}; it waits for nodes that can soon be replaced too`;
  if (next === undefined)
    return `repack: on paper, cheaper nodes exist for ${whose} (up to ${share} less), but no plan was found that saves the needed ${percent}`;
  const first =
    next.method.name === repack.name
      ? "other nodes are replaced first"
      : "another method has a command first";
  return `${could}; ${first}`;
}

/** What the next repack command of these pools waits for. Undefined: they have no command that waits. */
function waitsUntil({ poolIds }: PoolGroup, round: Round): DeferredUntil | undefined {
  const [some] = poolIds;
  const { deferred: later = [] } = atOnce(repack.propose(round));
  return later.find((one) => some !== undefined && one.poolIds.has(some))?.until;
}

/**
 * The nodes that repack would choose together with the candidate. Repack rates all nodes and first tries those that
 * waste the most of their price. These are left out here if the candidate is not among them.
 */
function choiceWith(
  candidate: Candidate,
  group: PoolGroup,
  round: Round,
): RepackChoice | undefined {
  const minShare = round.holdOffs.minRepackShare(group.candidates);
  for (let left = group.candidates; left.length > 0; ) {
    const choice = atOnce(chooseNodes({ ...group, candidates: left }, round));
    if (choice.candidates.length === 0) return undefined;
    const isLast = worthTrying(choice, minShare).length === 0;
    if (choice.candidates.includes(candidate) || isLast) return choice;
    const tried = new Set(choice.candidates);
    left = left.filter((one) => !tried.has(one));
  }
  return undefined;
}
