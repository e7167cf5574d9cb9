/**
 * Remembers which pods commands have moved, and holds off some later commands: consolidations that save too little or
 * pay back too late, replacements of new nodes, and moves of workloads that were moved too often. karpenter-ts only.
 * The records are also stored on claims (moves.ts), so they survive a restart.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import { atOnce, eachInSteps, type Steps } from "../../base/steps.ts";
import type { NodeView } from "../state/node-view.ts";
import { type Candidate, priceOfAll } from "./candidates.ts";
import { type Command, type HoldOff, savingsMicroUsd } from "./command.ts";
import {
  isRecent,
  MOVE_COUNTS_MS,
  type MoveRecord,
  movedWith,
  moveKeysOf,
  movesOn,
  oldestFirst,
  podsByWorkload,
  workloadName,
} from "./moves.ts";
import { type RepackOutcome, repackHoldOffEndsMs, whileValid } from "./outcome.ts";
import { paybackOf } from "./payback.ts";
import { replacementCommandId } from "./record.ts";
import { RepackTurns } from "./repack-turns.ts";

/** Limits of consolidation, which operators set. */
export interface Restraint {
  /** A replacement must save at least this share, in percent of the price of the nodes that it replaces. */
  readonly minSavingsPercent: number;
  /** A command must pay back the cost of running old and new nodes side by side within this time. 0: no limit. */
  readonly maxPaybackMs: number;
  /** For this long after its creation, a replacement is not replaced itself, but may be removed. */
  readonly replacementRestMs: number;
  /** How many pods of a workload may be moved within an hour, as a multiple of its number of pods. */
  readonly maxMovesPerPodHour: number;
}

/** The moves of the last hour, the outcomes of repacks, and the hold-offs that follow from both. */
export class Ledger {
  readonly turns = new RepackTurns();
  readonly #restraint: Restraint;
  /** Recent moves by command id. */
  readonly #moves = new Map<string, MoveRecord>();
  /** The outcome of the last repack of each pool, by pool id. */
  readonly #outcomes = new Map<string, RepackOutcome>();

  constructor(restraint: Restraint) {
    this.#restraint = restraint;
  }

  /** Records the move of a command that begins. */
  note(move: MoveRecord, nowMs: number): void {
    this.#moves.set(move.command, move);
    this.turns.begin(move);
    for (const [id, one] of this.#moves) if (!isRecent(one, nowMs)) this.#moves.delete(id);
  }

  /** Removes the record of a command that was rolled back before it moved a pod. */
  forget(command: string): void {
    this.#moves.delete(command);
  }

  /** Reads the moves that earlier processes recorded on claims. */
  learn(claims: Iterable<NodeClaim>, nowMs: number): void {
    for (const claim of claims) for (const move of movesOn(claim)) this.note(move, nowMs);
  }

  /** The moves of the last hour, the oldest first. */
  recent(nowMs: number): readonly MoveRecord[] {
    return [...this.#moves.values()].filter((one) => isRecent(one, nowMs)).sort(oldestFirst);
  }

  setOutcome(poolId: string, outcome: RepackOutcome): void {
    this.#outcomes.set(poolId, outcome);
  }

  /** The last outcome of the pool, even if it is no longer valid. */
  lastOutcome(poolId: string): RepackOutcome | undefined {
    return this.#outcomes.get(poolId);
  }

  /** The last outcome of the pool, if it is still valid. */
  outcome(poolId: string, nowMs: number): RepackOutcome | undefined {
    return whileValid(this.#outcomes.get(poolId), nowMs);
  }

  /** Until when the pool is not repacked because its last repack saved too little. Undefined: it may be repacked. */
  repackHoldOffEndsMs(poolId: string, nowMs: number): number | undefined {
    const endsMs = repackHoldOffEndsMs(this.#outcomes.get(poolId));
    return endsMs !== undefined && endsMs > nowMs ? endsMs : undefined;
  }

  /** Why the command must not begin now. Undefined: it may begin. `nodes`: all nodes of the cluster. */
  holdOff(command: Command, nodes: readonly NodeView[], nowMs: number): HoldOff | undefined {
    // Drifted and expired nodes are replaced even if that costs more.
    if (command.reason !== "Underutilized") return this.#tooOften(command, nodes, nowMs);
    return (
      this.#tooSmall(command) ??
      this.#tooDear(command) ??
      this.#tooSoon(command, nowMs) ??
      this.#tooOften(command, nodes, nowMs)
    );
  }

  /** Prepares {@link holdOff}: counts the pods of each workload in steps, if the limit of moves may be reached. */
  *ready(nodes: readonly NodeView[], nowMs: number): Steps<void> {
    if (replicasByNodes.has(nodes)) return;
    const moved = new Map<string, number>();
    for (const { pods } of this.recent(nowMs))
      for (const [key, count] of Object.entries(pods))
        moved.set(key, (moved.get(key) ?? 0) + count);
    const { maxMovesPerPodHour: most } = this.#restraint;
    // A workload with n pods may have `most` × n moves in an hour. If every workload has fewer than `most`, no command
    // can exceed its limit, so the pods need not be counted.
    if ([...moved.values()].some((count) => count + 1 > most)) yield* countReplicas(nodes);
  }

  /** When the oldest of the recent moves no longer counts. Undefined: there is no recent move. */
  forgetsAtMs(nowMs: number): number | undefined {
    const ends = this.recent(nowMs).map(({ at }) => (fromRfc3339(at) ?? 0) + MOVE_COUNTS_MS);
    const left = ends.filter((ms) => ms > nowMs);
    return left.length === 0 ? undefined : Math.min(...left);
  }

  /**
   * Until when the node of this claim is not replaced itself, because it is a replacement. Undefined: it is no
   * replacement.
   */
  replacementHoldOffEndsMs(claim: NodeClaim): number | undefined {
    const bornMs = fromRfc3339(claim.metadata.creationTimestamp);
    if (replacementCommandId(claim) === undefined || bornMs === undefined) return undefined;
    return bornMs + this.#restraint.replacementRestMs;
  }

  #tooSmall(command: Command): HoldOff | undefined {
    if (command.replacements.length === 0) return undefined;
    const before = priceOfAll(command.candidates);
    const percent = before === 0 ? 0 : (100 * savingsMicroUsd(command)) / before;
    const { minSavingsPercent } = this.#restraint;
    if (percent >= minSavingsPercent) return undefined;
    return {
      message: `Can't replace with a node that is cheaper by ${minSavingsPercent}%, only by ${percent.toFixed(1)}%`,
    };
  }

  #tooDear(command: Command): HoldOff | undefined {
    const { maxPaybackMs } = this.#restraint;
    const payback = paybackOf(command);
    if (maxPaybackMs === 0 || payback === undefined) return undefined;
    const { overlapMs, earnedMs } = payback;
    if (earnedMs <= maxPaybackMs) return undefined;
    const only = Number.isFinite(earnedMs) ? `, only within ${inMinutes(earnedMs)}` : "";
    return {
      message: `Can't save within ${formatDuration(maxPaybackMs)} the cost of running old and new nodes side by side for ${inMinutes(overlapMs)}${only}`,
    };
  }

  #tooSoon({ candidates, replacements }: Command, nowMs: number): HoldOff | undefined {
    if (replacements.length === 0) return undefined;
    const resting = candidates
      .map(({ claim, node }) => ({
        name: node.name,
        endsMs: this.replacementHoldOffEndsMs(claim) ?? nowMs,
      }))
      .filter(({ endsMs }) => endsMs > nowMs);
    const [first] = resting;
    if (first === undefined) return undefined;
    const minutes = Math.ceil((first.endsMs - nowMs) / 60_000);
    return {
      message: `Node "${first.name}" replaced another node a short time ago; it is not replaced itself for ${counted(minutes, "more minute")}`,
      untilMs: Math.max(...resting.map(({ endsMs }) => endsMs)),
    };
  }

  #tooOften(
    { candidates }: Command,
    nodes: readonly NodeView[],
    nowMs: number,
  ): HoldOff | undefined {
    const recent = this.recent(nowMs);
    if (recent.length === 0) return undefined;
    const found = [...this.#tooOftenMoved(candidates, recent, nodes)];
    const [first] = found;
    if (first === undefined) return undefined;
    const { sample, most, moved } = first;
    return {
      message: `Pods of ${workloadName(sample)} were moved ${counted(moved, "time")} within the hour; the limit is ${most}`,
      untilMs: Math.max(...found.map((one) => movesAgainMs(one, recent))),
    };
  }

  /** The workloads with pods on these nodes that would be moved too often. */
  *#tooOftenMoved(
    candidates: readonly Candidate[],
    recent: readonly MoveRecord[],
    nodes: readonly NodeView[],
  ): Generator<MovedOften> {
    const { maxMovesPerPodHour } = this.#restraint;
    for (const [key, moving] of podsByWorkload(
      candidates.flatMap((one) => one.reschedulablePods),
    )) {
      const sample = moving[0] as Pod;
      const moved = recent.reduce((sum, one) => sum + movedWith(one, sample), 0);
      // The limit grows with the workload, which has at least the pods that the command moves. If the moves are within
      // the limit of so small a workload, its pods need not be counted.
      if (moved === 0 || moved + moving.length <= maxMovesPerPodHour * moving.length) continue;
      const replicas = replicasOf(nodes).get(key) ?? 0;
      const most = maxMovesPerPodHour * Math.max(1, replicas);
      if (moved + moving.length <= most) continue;
      yield { moved, most, moving: moving.length, sample };
    }
  }
}

/** A workload of which the command would move too many pods. */
interface MovedOften {
  readonly sample: Pod;
  /** How many of its pods were moved within the last hour. */
  readonly moved: number;
  readonly most: number;
  /** How many of its pods the command would move. */
  readonly moving: number;
}

/** When the command may move these pods again. `recent`: moves, the oldest first. */
function movesAgainMs(
  { sample, moved, most, moving }: MovedOften,
  recent: readonly MoveRecord[],
): number {
  let left = moved;
  const last = recent.find((one) => {
    left -= movedWith(one, sample);
    return left + moving <= most;
  });
  // If the command alone moves more pods than the limit allows, all recent moves must first become an hour old.
  return (fromRfc3339((last ?? recent.at(-1))?.at) ?? 0) + MOVE_COUNTS_MS;
}

const replicasByNodes = new WeakMap<readonly NodeView[], ReadonlyMap<string, number>>();

/** Number of pods by workload. Cached for each list of nodes, which never changes. */
function replicasOf(nodes: readonly NodeView[]): ReadonlyMap<string, number> {
  return replicasByNodes.get(nodes) ?? atOnce(countReplicas(nodes));
}

function* countReplicas(nodes: readonly NodeView[]): Steps<ReadonlyMap<string, number>> {
  const replicas = new Map<string, number>();
  yield* eachInSteps(nodes, ({ pods }) => {
    for (const pod of pods) {
      const [key] = moveKeysOf(pod);
      if (key !== undefined) replicas.set(key, (replicas.get(key) ?? 0) + 1);
    }
  });
  replicasByNodes.set(nodes, replicas);
  return replicas;
}

function inMinutes(ms: number): string {
  return formatDuration(Math.ceil(ms / 60_000) * 60_000);
}
