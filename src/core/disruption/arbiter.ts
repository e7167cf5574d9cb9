/**
 * Decides between disruption methods: which are asked, which commands win, what is left for later and whose turn it
 * was. Methods only propose. Upstream takes the first command of the first method; the waits and the turns are
 * karpenter-ts only.
 */
import type { Command } from "./command.ts";
import type { Method, Proposal } from "./methods/method.ts";

/** How a round came about. */
export interface Asking {
  /** Commands that wait for their validation. */
  readonly pending: readonly Command[];
  /** An empty node became ready to go before the next round was due. */
  readonly isEarly: boolean;
}

/**
 * Whether a method is asked at all. While a command waits, methods whose commands would wait too are not asked.
 * An early round asks only the methods that need no simulation.
 */
export function mayBeAsked(
  { waits, costly }: Pick<Method, "waits" | "costly">,
  { pending, isEarly }: Asking,
): boolean {
  return !(waits && pending.length > 0) && !(costly && isEarly);
}

/** What becomes of a proposal. */
export interface Ruling {
  /** Commands that begin now or start to wait for validation. With one or more, the round ends. */
  readonly commands: readonly Command[];
  /** Equal facts would bring the same answer: the method is not asked again until a fact changes. */
  readonly isFinal: boolean;
  /** Groups of pools (by id) that had their turn. */
  readonly served: readonly ReadonlySet<string>[];
  /** Groups of pools (by id) that wait for more of their nodes to become quiet. */
  readonly awaited: readonly ReadonlySet<string>[];
}

/** `pending`: commands that wait for their validation. */
export function rule(
  { costly }: Pick<Method, "costly">,
  proposal: Proposal,
  pending: readonly Command[],
): Ruling {
  const { commands, later = [], turns = [] } = proposal;
  // What the method waits for, or left to repack, may come to nothing.
  const isFinal =
    commands.length === 0 && later.length === 0 && (costly || proposal.costly === true);
  return {
    commands: commands.flatMap((one) => startableBeside(pending, one)),
    isFinal,
    served: turns,
    awaited: later.filter(({ until }) => until === "quiet").map(({ poolIds }) => poolIds),
  };
}

/**
 * What of a command may start beside the pending ones. All of it, if it needs no validation. Empty nodes that do not
 * wait already, if all pending commands are about empty nodes. Nothing otherwise: a pending command may need the same
 * nodes for its pods.
 */
function startableBeside(pending: readonly Command[], command: Command): readonly Command[] {
  if (pending.length === 0 || command.validateAfterMs === 0) return [command];
  const all = [command, ...pending];
  if (!all.every(({ consolidationType }) => consolidationType === "empty")) return [];
  const waiting = new Set(
    pending.flatMap(({ candidates }) => candidates.map(({ node }) => node.name)),
  );
  const candidates = command.candidates.filter(({ node }) => !waiting.has(node.name));
  return candidates.length === 0 ? [] : [{ ...command, candidates }];
}
