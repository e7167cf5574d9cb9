/**
 * One round of the disruption loop on a picture that stands still: what would be done next. The live loop
 * asks the same methods in the same order.
 */
import { atOnce } from "../../base/steps.ts";
import { METHODS } from "./methods/all.ts";
import type { Method, Proposal } from "./methods/method.ts";
import { type Picture, survey } from "./survey.ts";

export interface Found {
  readonly method: Method;
  /** At least one. */
  readonly commands: Proposal["commands"];
}

/**
 * The first method that has commands; undefined: nothing is to be done now. `meanwhile`: while a command
 * waits for its second look, only what needs no such wait is done.
 */
export function nextCommands(
  picture: Picture,
  mode: "idle" | "meanwhile" = "idle",
): Found | undefined {
  const shared: Picture = { found: new Map(), ...picture };
  for (const method of METHODS) {
    if (mode === "meanwhile" && method.waits) continue;
    const proposal = atOnce(method.propose(survey(shared, method).input));
    // As the live loop does: who waits, or has had a turn, is known the next time.
    picture.ledger.turns.note(proposal, picture.nowMs);
    const { commands: all } = proposal;
    const commands =
      mode === "idle" ? all : all.filter(({ validateAfterMs }) => validateAfterMs === 0);
    if (commands.length > 0) return { method, commands };
  }
  return undefined;
}
