/**
 * Runs the disruption methods in order, until one has commands. The live loop, `karpenter explain` and `karpenter
 * simulate` all use this function, so their results agree. What they do differently is in {@link RoundHooks}.
 */
import type { Steps } from "../../base/steps.ts";
import { mayRun, type Ruling, type RunConditions, rule } from "./arbiter.ts";
import type { Command } from "./command.ts";
import { makeRound, type Picture } from "./make-round.ts";
import { METHODS } from "./methods/all.ts";
import type { Method, Proposal, ValidationFailure } from "./methods/method.ts";
import type { Round } from "./round.ts";

/** The commands of one round, and the method that proposed them. */
export interface FoundCommands {
  readonly method: Method;
  /** The commands that begin now, or that wait for their validation. At least one. */
  readonly commands: readonly Command[];
}

/** The proposal of a method, and the arbiter's ruling on it. */
export interface MethodAnswer {
  readonly method: Method;
  readonly proposal: Proposal;
  readonly ruling: Ruling;
}

/** What the live loop and the simulated loop do differently. */
export interface RoundHooks {
  makeRound(method: Method): Steps<Round>;
  /** Whether the method has already run on the same facts. If so, it is skipped. */
  isAnswered(method: Method, round: Round): Steps<boolean>;
  /** Records the result of the method, even if it has no command. */
  takeAnswer(answer: MethodAnswer): Steps<void>;
}

/** The commands of the first method that has any. Undefined: no method has a command now. */
export function* runMethods(
  asking: RunConditions,
  hooks: RoundHooks,
): Steps<FoundCommands | undefined> {
  for (const method of METHODS) {
    if (!mayRun(method, asking)) continue;
    const round = yield* hooks.makeRound(method);
    if (yield* hooks.isAnswered(method, round)) continue;
    if (method.simulates) yield* round.facts.simulator.ready();
    const proposal = yield* method.propose(round);
    const ruling = rule(method, proposal, asking);
    yield* hooks.takeAnswer({ method, proposal, ruling });
    if (ruling.commands.length > 0) return { method, commands: ruling.commands };
  }
  return undefined;
}

/** A command and the method that proposed it. */
export interface ProposedCommand {
  readonly method: Method;
  readonly command: Command;
}

/** The round in which one command is checked: only the command's nodes are candidates. */
export function* roundForCommand(
  picture: Picture,
  { method, command }: ProposedCommand,
): Steps<Round> {
  const among = new Set(command.candidates.map(({ node }) => node.name));
  return (yield* makeRound({ ...picture, among }, method)).round;
}

/** Validates a command after its wait. `picture`: the state of the cluster now. */
export function* validateCommand(
  picture: Picture,
  proposed: ProposedCommand,
): Steps<Command | ValidationFailure> {
  const { method, command } = proposed;
  const round = yield* roundForCommand(picture, proposed);
  if (method.simulates) yield* round.facts.simulator.ready();
  yield* picture.ledger.ready(round.facts.nodes, round.nowMs);
  return yield* method.validate(command, round);
}

/** The commands that the loop would run next. `pending`: commands that wait for their validation. */
export function nextCommands(
  picture: Picture,
  pending: readonly Command[] = [],
): Steps<FoundCommands | undefined> {
  const shared: Picture = { found: new Map(), ...picture };
  const hooks: RoundHooks = {
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
  const { settings, onlyRepairs = false, scheduling } = picture;
  const quotaRoom = () => scheduling.quotaRoom ?? new Map();
  const repairs = settings.repair !== undefined;
  const asking = { pending, isEarly: false, repairs, onlyRepairs, quotaRoom };
  return runMethods(asking, hooks);
}
