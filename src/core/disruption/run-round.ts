/**
 * Runs the disruption methods in their order until one has commands. The live loop and the simulated one (`karpenter
 * explain`, `karpenter simulate`) share this function, each with its own {@link RoundDoors}, so they cannot disagree.
 */
import type { Steps } from "../../base/steps.ts";
import { type Asking, mayBeAsked, type Ruling, rule } from "./arbiter.ts";
import type { Command } from "./command.ts";
import { makeRound, type Picture } from "./make-round.ts";
import { METHODS } from "./methods/all.ts";
import type { Method, Proposal } from "./methods/method.ts";
import { withinQuotas } from "./quota-bound.ts";
import type { Round } from "./round.ts";

export interface FoundCommands {
  readonly method: Method;
  /** At least one command. */
  readonly commands: readonly Command[];
}

/** A method's answer and the arbiter's ruling on it. */
export interface MethodAnswer {
  readonly method: Method;
  readonly proposal: Proposal;
  readonly ruling: Ruling;
}

/** What the live loop and the simulated loop do differently. */
export interface RoundDoors {
  /** Gathers what the method may know. */
  makeRound(method: Method): Steps<Round>;
  /** Whether an earlier round already asked the method about the same facts; it is then skipped. */
  isAnswered(method: Method, round: Round): Steps<boolean>;
  /** Records the answer, also when it brought no command. */
  takeAnswer(answer: MethodAnswer): Steps<void>;
}

/** The first method that has commands; undefined: no method has one now. */
export function* runMethods(asking: Asking, doors: RoundDoors): Steps<FoundCommands | undefined> {
  for (const method of METHODS) {
    if (!mayBeAsked(method, asking)) continue;
    const round = yield* doors.makeRound(method);
    if (yield* doors.isAnswered(method, round)) continue;
    if (method.simulates) yield* round.facts.simulator.ready();
    const proposal = yield* method.propose(round);
    const ruling = withinQuotas(rule(method, proposal, asking.pending), asking);
    yield* doors.takeAnswer({ method, proposal, ruling });
    if (ruling.commands.length > 0) return { method, commands: ruling.commands };
  }
  return undefined;
}

/** What the loop would do next with this picture. `pending`: commands that wait for their validation. */
export function nextCommands(
  picture: Picture,
  pending: readonly Command[] = [],
): Steps<FoundCommands | undefined> {
  const shared: Picture = { found: new Map(), ...picture };
  const doors: RoundDoors = {
    *makeRound(method) {
      return (yield* makeRound(shared, method)).round;
    },
    *isAnswered() {
      yield;
      return false;
    },
    *takeAnswer({ ruling }) {
      yield;
      picture.ledger.turns.note(ruling, picture.nowMs);
    },
  };
  const { repair, onlyRepairs = false, scheduling } = picture;
  const quotaRoom = () => scheduling.quotaRoom ?? new Map();
  const repairs = repair !== undefined;
  const asking = { pending, isEarly: false, repairs, onlyRepairs, quotaRoom };
  return runMethods(asking, doors);
}
