/**
 * Runs the disruption methods in order, until one has commands. The live loop and the simulated one (`karpenter
 * explain`, `karpenter simulate`) share this function, each with its own {@link RoundDoors}. So their results agree.
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
  /** The commands that the method found: at least one. */
  readonly commands: readonly Command[];
}

/** The proposal of a method, and the arbiter's ruling on it. */
export interface MethodAnswer {
  readonly method: Method;
  readonly proposal: Proposal;
  readonly ruling: Ruling;
}

/** The functions in which the live loop and the simulated loop differ. */
export interface RoundDoors {
  /** Gathers the facts for this method. */
  makeRound(method: Method): Steps<Round>;
  /** Whether the method has already run on the same facts in an earlier round. If so, it is skipped. */
  isAnswered(method: Method, round: Round): Steps<boolean>;
  /** Records the result of the method, even if it has no command. */
  takeAnswer(answer: MethodAnswer): Steps<void>;
}

/** The commands of the first method that has any. Undefined: no method has a command now. */
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

/** The commands that the loop would run next for this picture. `pending`: commands that wait for their validation. */
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
