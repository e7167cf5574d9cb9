/**
 * Runs the disruption methods in their order until one has commands. The live loop and the simulated one (`karpenter
 * explain`, `karpenter simulate`) both come here, over doors of their own, so that they cannot disagree.
 */
import { atOnce, type Steps } from "../../base/steps.ts";
import { type Asking, mayBeAsked, type Ruling, rule } from "./arbiter.ts";
import type { Command } from "./command.ts";
import { METHODS } from "./methods/all.ts";
import type { Method, Proposal } from "./methods/method.ts";
import type { Round } from "./round.ts";
import { type Picture, surveyInSteps } from "./survey.ts";

export interface Found {
  readonly method: Method;
  /** At least one. */
  readonly commands: readonly Command[];
}

/** A method's answer and what the arbiter made of it. */
export interface Heard {
  readonly method: Method;
  readonly proposal: Proposal;
  readonly ruling: Ruling;
}

export interface RoundDoors {
  /** Gathers what the method may know. */
  survey(method: Method): Steps<Round>;
  /** Whether the method gave its answer to these facts in an earlier round; it is then not asked. */
  isKnown(method: Method, round: Round): Steps<boolean>;
  /** Takes in what was answered, also when no command came of it. */
  hear(heard: Heard): Steps<void>;
}

/** The first method that has commands; undefined: nothing is to be done now. */
export function* runMethods(asking: Asking, doors: RoundDoors): Steps<Found | undefined> {
  for (const method of METHODS) {
    if (!mayBeAsked(method, asking)) continue;
    const round = yield* doors.survey(method);
    if (yield* doors.isKnown(method, round)) continue;
    if (method.costly) yield* round.simulator.ready();
    const proposal = yield* method.propose(round);
    const ruling = rule(method, proposal, asking.pending);
    yield* doors.hear({ method, proposal, ruling });
    if (ruling.commands.length > 0) return { method, commands: ruling.commands };
  }
  return undefined;
}

/** What the loop would do next on this picture. `pending`: commands that wait for their validation. */
export function nextCommands(
  picture: Picture,
  pending: readonly Command[] = [],
): Found | undefined {
  const shared: Picture = { found: new Map(), ...picture };
  const doors: RoundDoors = {
    *survey(method) {
      return (yield* surveyInSteps(shared, method)).input;
    },
    *isKnown() {
      yield;
      return false;
    },
    *hear({ ruling }) {
      yield;
      picture.ledger.turns.note(ruling, picture.nowMs);
    },
  };
  return atOnce(runMethods({ pending, isEarly: false }, doors));
}
