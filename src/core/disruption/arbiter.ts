/**
 * Decides between disruption methods: which are asked, which commands win, what is deferred and which pools were
 * served. Methods only propose. Upstream takes the first command of the first method; to defer commands and to serve
 * pools in turn is karpenter-ts only.
 */
import type { Command } from "./command.ts";
import type { Method, Proposal, Remark } from "./methods/method.ts";
import type { PoolTurns } from "./repack-turns.ts";

/** The circumstances of a round. */
export interface Asking {
  /** Commands that wait for their validation. */
  readonly pending: readonly Command[];
  /** The round runs before its time, because an empty node became ready to be removed. */
  readonly isEarly: boolean;
  /** Quota of the cloud's account → units that may be launched by now. Absent: not bounded. */
  readonly quotaRoom?: () => ReadonlyMap<string, number>;
  /** Node repair is a method, that is, its gate is open. */
  readonly repairs: boolean;
  /** Only node repair is asked, and no other method. Absent: all methods are asked. */
  readonly onlyRepairs?: boolean;
}

/**
 * Whether a method is asked at all. While a command waits for validation, methods whose commands need validation are
 * not asked. An early round asks only the methods that need no simulation.
 */
export function mayBeAsked(
  { reason, needsValidation, simulates }: Pick<Method, "reason" | "needsValidation" | "simulates">,
  { pending, isEarly, repairs, onlyRepairs = false }: Asking,
): boolean {
  if (reason === "Unhealthy" ? !repairs : onlyRepairs) return false;
  return !(needsValidation && pending.length > 0) && !(simulates && isEarly);
}

/** What the arbiter decides about a proposal. */
export interface Ruling extends PoolTurns {
  /** Commands that begin now or start to wait for validation. With one or more, the round ends. */
  readonly commands: readonly Command[];
  /** Equal facts would give the same answer, so the method is not asked again until a fact changes. */
  readonly isFinal: boolean;
  /** Why nodes stay. */
  readonly remarks: readonly Remark[];
}

/** `pending`: commands that wait for their validation. */
export function rule(
  { simulates }: Pick<Method, "simulates">,
  proposal: Proposal,
  pending: readonly Command[],
): Ruling {
  const { commands, deferred = [], servedPools = [] } = proposal;
  // With a deferred command the next answer may differ although no fact has changed: its wait ends.
  const isFinal =
    commands.length === 0 && deferred.length === 0 && (simulates || proposal.hasSimulated === true);
  return {
    commands: commands.flatMap((one) => startableBeside(pending, one)),
    isFinal,
    remarks: proposal.remarks,
    served: servedPools,
    awaited: deferred.filter(({ until }) => until === "quiet").map(({ poolIds }) => poolIds),
  };
}

/**
 * The part of a command that may start while others wait for validation:
 * - All of it, if it needs no validation.
 * - Its nodes that no other command removes, if all these commands remove empty nodes.
 * - Nothing otherwise, because a pending command may need the same nodes for its pods.
 */
function startableBeside(pending: readonly Command[], command: Command): readonly Command[] {
  if (pending.length === 0 || command.validateAfterMs === 0) return [command];
  const all = [command, ...pending];
  if (!all.every(({ consolidationType }) => consolidationType === "empty")) return [];
  const pendingNames = new Set(
    pending.flatMap(({ candidates }) => candidates.map(({ node }) => node.name)),
  );
  const candidates = command.candidates.filter(({ node }) => !pendingNames.has(node.name));
  return candidates.length === 0 ? [] : [{ ...command, candidates }];
}
