/**
 * Decides which disruption methods run in a round, and which of their proposed commands begin. Upstream takes the first
 * command of the first method. karpenter-ts only: commands can be deferred, pools take turns, and commands respect
 * quotas of the cloud account.
 */
import { QuotaRoom } from "../provisioning/nodes/within-quotas.ts";
import type { Command } from "./command.ts";
import type { Method, Proposal, Remark } from "./methods/method.ts";
import type { PoolTurns } from "./repack-turns.ts";

/** The circumstances of a round that decide which methods run. */
export interface RunConditions {
  /** Commands that wait for their validation. */
  readonly pending: readonly Command[];
  /** Whether the round runs earlier than usual, because an empty node became ready to be removed. */
  readonly isEarly: boolean;
  /** Quotas of the cloud account: name → units that may still be launched. Absent: no quotas are known. */
  readonly quotaRoom?: () => ReadonlyMap<string, number>;
  /** Whether node repair is enabled by its feature gate. */
  readonly repairs: boolean;
  /** Whether only node repair runs, and no other method. Absent: false. */
  readonly onlyRepairs?: boolean;
}

/**
 * Whether a method runs at all in this round. A method that needs validation waits for commands that await theirs. A
 * method that simulates is skipped in an early round.
 */
export function mayRun(
  { reason, needsValidation, simulates }: Pick<Method, "reason" | "needsValidation" | "simulates">,
  { pending, isEarly, repairs, onlyRepairs = false }: RunConditions,
): boolean {
  if (reason === "Unhealthy" ? !repairs : onlyRepairs) return false;
  return !(needsValidation && pending.length > 0) && !(simulates && isEarly);
}

/** The arbiter's decision about a proposal. */
export interface Ruling extends PoolTurns {
  /** Commands that begin now, or whose wait for validation begins now. If there is one, the round ends. */
  readonly commands: readonly Command[];
  /** Whether the method would give the same result on equal facts. If so, it runs again only after a fact changed. */
  readonly isFinal: boolean;
  /** Why nodes are not disrupted, for events. */
  readonly remarks: readonly Remark[];
}

/** The arbiter's ruling on a proposal. */
export function rule(
  { simulates }: Pick<Method, "simulates">,
  proposal: Proposal,
  { pending, quotaRoom }: Pick<RunConditions, "pending" | "quotaRoom">,
): Ruling {
  const { commands, deferred = [], servedPools = [] } = proposal;
  // A deferred command becomes possible when its wait ends, although no fact has changed.
  const isFinal =
    commands.length === 0 && deferred.length === 0 && (simulates || proposal.hasSimulated === true);
  const startable = commands.flatMap((one) => startableBeside(pending, one));
  const { begun, refused } = withinQuotas(startable, pending, quotaRoom?.() ?? new Map());
  return {
    commands: begun,
    isFinal,
    remarks: [...proposal.remarks, ...refused],
    served: servedPools,
    awaited: deferred.filter(({ until }) => until === "quiet").map(({ poolIds }) => poolIds),
  };
}

/**
 * `begun`: the commands whose replacements fit into the quotas. `refused`: a remark for each node of the other
 * commands, which names the quota. `room`: quota → units that may still be launched, before the pending commands.
 */
function withinQuotas(
  commands: readonly Command[],
  pending: readonly Command[],
  room: ReadonlyMap<string, number>,
): { readonly begun: readonly Command[]; readonly refused: readonly Remark[] } {
  const left = new QuotaRoom(room);
  for (const { replacements } of pending) left.take(replacements);
  const refused: Remark[] = [];
  const begun = commands.filter(({ candidates, replacements }) => {
    const message = left.take(replacements);
    if (message === undefined) return true;
    for (const candidate of candidates) refused.push({ candidate, about: "blocked", message });
    return false;
  });
  return { begun, refused };
}

/**
 * The part of a command that may start while other commands wait for validation. A pending command may need the same
 * nodes for its pods. So only removals of empty nodes may start beside other such removals, without nodes that those
 * remove.
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
