/**
 * What disruption has done of late, and what it therefore leaves alone for a while: moves that save too
 * little or not soon enough, nodes that came in place of others just now, workloads whose pods have been
 * moved often enough. Upstream takes any saving at any time; people then see nodes replaced by their like for
 * hours. What is remembered here also stands on claims (moves.ts): a restart does not forget it.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import { atOnce, eachInSteps, type Steps } from "../../base/steps.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
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
  workloadOf,
} from "./moves.ts";
import { type RepackOutcome, repackHoldOffEndsMs, whileValid } from "./outcome.ts";
import { paybackOf } from "./payback.ts";
import { replacementCommandId } from "./record.ts";
import { RepackTurns } from "./repack-turns.ts";

/** Whose pods are counted before others get a turn. */
const NODES_PER_STEP = 256;

export interface Restraint {
  /** A replacement must save at least this much of what it replaces, in percent. */
  readonly minSavingsPercent: number;
  /** What running old and new nodes side by side costs must be saved within so long. 0: no limit. */
  readonly maxPaybackMs: number;
  /** A node that came in place of others is not replaced again for so long; it may still be removed. */
  readonly replacementRestMs: number;
  /** No more than so many pods of a workload are moved in an hour, for each that it has. */
  readonly maxMovesPerPodHour: number;
}

export class Ledger {
  /** Whose nodes are packed anew next. */
  readonly turns = new RepackTurns();
  readonly #restraint: Restraint;
  /** By the command's id; those that still count. */
  readonly #moves = new Map<string, MoveRecord>();
  /** By pool id. */
  readonly #outcomes = new Map<string, RepackOutcome>();

  constructor(restraint: Restraint) {
    this.#restraint = restraint;
  }

  /** A command begins. */
  note(move: MoveRecord, nowMs: number): void {
    this.#moves.set(move.command, move);
    this.turns.begin(move);
    for (const [id, one] of this.#moves) if (!isRecent(one, nowMs)) this.#moves.delete(id);
  }

  /** A command was taken back: nothing was moved. */
  forget(command: string): void {
    this.#moves.delete(command);
  }

  /** Takes in what another process moved, as it stands on claims. */
  learn(claims: Iterable<NodeClaim>, nowMs: number): void {
    for (const claim of claims) for (const move of movesOn(claim)) this.note(move, nowMs);
  }

  /** Moves that still count, oldest first. */
  recent(nowMs: number): readonly MoveRecord[] {
    return [...this.#moves.values()].filter((one) => isRecent(one, nowMs)).sort(oldestFirst);
  }

  /** What the last moves of several nodes of a pool came to. */
  judge(poolId: string, outcome: RepackOutcome): void {
    this.#outcomes.set(poolId, outcome);
  }

  /** However long ago that was. */
  lastOutcome(poolId: string): RepackOutcome | undefined {
    return this.#outcomes.get(poolId);
  }

  /** Undefined: nothing was judged, or a long time ago. */
  outcome(poolId: string, nowMs: number): RepackOutcome | undefined {
    return whileValid(this.#outcomes.get(poolId), nowMs);
  }

  /** Until when a pool is not repacked, for the last time did not save what it was to; undefined: it may be. */
  repackHoldOffEndsMs(poolId: string, nowMs: number): number | undefined {
    const endsMs = repackHoldOffEndsMs(this.#outcomes.get(poolId));
    return endsMs !== undefined && endsMs > nowMs ? endsMs : undefined;
  }

  /** Why a command is left for later; undefined when nothing speaks against it. */
  holdOff(command: Command, nodes: readonly NodeView[], nowMs: number): HoldOff | undefined {
    // What drifts or expires must go some time, whatever that costs.
    if (command.reason !== "Underutilized") return this.#tooOften(command, nodes, nowMs);
    return (
      this.#tooSmall(command) ??
      this.#tooDear(command) ??
      this.#tooSoon(command, nowMs) ??
      this.#tooOften(command, nodes, nowMs)
    );
  }

  /** Prepares {@link holdOff}, in steps: counts the replicas of moved workloads on all nodes. */
  *ready(nodes: readonly NodeView[], nowMs: number): Steps<void> {
    if (replicasByNodes.has(nodes)) return;
    const moved = new Map<string, number>();
    for (const { pods } of this.recent(nowMs))
      for (const [key, count] of Object.entries(pods))
        moved.set(key, (moved.get(key) ?? 0) + count);
    const { maxMovesPerPodHour: most } = this.#restraint;
    // Else those that move suffice, however few they are.
    if ([...moved.values()].some((count) => count + 1 > most)) yield* countReplicas(nodes);
  }

  /** When the oldest move that still counts is forgotten; undefined: none counts. */
  forgetsAtMs(nowMs: number): number | undefined {
    const ends = this.recent(nowMs).map(({ at }) => (fromRfc3339(at) ?? 0) + MOVE_COUNTS_MS);
    const left = ends.filter((ms) => ms > nowMs);
    return left.length === 0 ? undefined : Math.min(...left);
  }

  /** Until when a node that came in place of others is not replaced; undefined for any other. */
  replacementHoldOffEndsMs(claim: NodeClaim): number | undefined {
    const bornMs = fromRfc3339(claim.metadata.creationTimestamp);
    if (replacementCommandId(claim) === undefined || bornMs === undefined) return undefined;
    return bornMs + this.#restraint.replacementRestMs;
  }

  #tooSmall(command: Command): HoldOff | undefined {
    if (command.replacements.length === 0) return undefined;
    const before = command.candidates.reduce((sum, { priceMicroUsd }) => sum + priceMicroUsd, 0);
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
      message: `Pods of ${workloadOf(sample)} were moved ${counted(moved, "time")} within the hour; the limit is ${most}`,
      untilMs: Math.max(...found.map((one) => movesAgainMs(one, recent))),
    };
  }

  /** Whose pods on these nodes have been moved too often. */
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
      // Whole clusters are counted only where those that move do not suffice.
      if (moved === 0 || moved + moving.length <= maxMovesPerPodHour * moving.length) continue;
      const replicas = replicasOf(nodes).get(key) ?? 0;
      const most = maxMovesPerPodHour * Math.max(1, replicas);
      if (moved + moving.length <= most) continue;
      yield { moved, most, moving: moving.length, sample };
    }
  }
}

/** Pods of one workload on nodes that are to go. */
interface MovedOften {
  readonly sample: Pod;
  /** Within the hour. */
  readonly moved: number;
  readonly most: number;
  /** How many more would be moved now. */
  readonly moving: number;
}

/** When they may be moved again. `recent`: oldest first. */
function movesAgainMs(
  { sample, moved, most, moving }: MovedOften,
  recent: readonly MoveRecord[],
): number {
  let left = moved;
  const last = recent.find((one) => {
    left -= movedWith(one, sample);
    return left + moving <= most;
  });
  // More of them on one node than may be moved at all: not before nothing counts any more.
  return (fromRfc3339((last ?? recent.at(-1))?.at) ?? 0) + MOVE_COUNTS_MS;
}

const replicasByNodes = new WeakMap<readonly NodeView[], ReadonlyMap<string, number>>();

/** How many pods each workload has. A list of nodes never changes. */
function replicasOf(nodes: readonly NodeView[]): ReadonlyMap<string, number> {
  return replicasByNodes.get(nodes) ?? atOnce(countReplicas(nodes));
}

function* countReplicas(nodes: readonly NodeView[]): Steps<ReadonlyMap<string, number>> {
  const replicas = new Map<string, number>();
  yield* eachInSteps(nodes, NODES_PER_STEP, ({ pods }) => {
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
