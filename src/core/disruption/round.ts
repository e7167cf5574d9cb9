/**
 * One round of the disruption loop on a picture that stands still: what would be done next. The live loop
 * asks the same methods in the same order.
 */
import { atOnce } from "../../base/steps.ts";
import type { Command } from "./command.ts";
import { METHODS } from "./methods/all.ts";
import type { Method, Proposal } from "./methods/method.ts";
import { type Picture, survey } from "./survey.ts";

export interface Found {
  readonly method: Method;
  /** At least one. */
  readonly commands: Proposal["commands"];
}

/**
 * The first method that has commands; undefined: nothing is to be done now. `pending`: commands that wait for
 * their second look.
 */
export function nextCommands(
  picture: Picture,
  pending: readonly Command[] = [],
): Found | undefined {
  const shared: Picture = { found: new Map(), ...picture };
  for (const method of METHODS) {
    if (pending.length > 0 && method.waits) continue;
    const proposal = atOnce(method.propose(survey(shared, method).input));
    // As the live loop does: who waits, or has had a turn, is known the next time.
    picture.ledger.turns.note(proposal, picture.nowMs);
    const commands = proposal.commands.flatMap((one) => besides(pending, one));
    if (commands.length > 0) return { method, commands };
  }
  return undefined;
}

/**
 * What of a command may begin while others wait: all when it needs no wait itself, and of empty nodes those that
 * are not among the ones that wait, as long as nobody waits who counts on nodes to receive pods.
 */
export function besides(pending: readonly Command[], command: Command): readonly Command[] {
  if (pending.length === 0 || command.validateAfterMs === 0) return [command];
  const all = [command, ...pending];
  if (!all.every(({ consolidationType }) => consolidationType === "empty")) return [];
  const waiting = new Set(
    pending.flatMap(({ candidates }) => candidates.map(({ node }) => node.name)),
  );
  const candidates = command.candidates.filter(({ node }) => !waiting.has(node.name));
  return candidates.length === 0 ? [] : [{ ...command, candidates }];
}
