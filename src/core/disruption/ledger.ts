/**
 * What consolidation has done of late, and what it therefore leaves alone for a while: moves that save too
 * little, nodes that came in place of others just now, workloads whose pods have been moved often enough.
 * Upstream takes any saving at any time; people then see nodes replaced by their like for hours.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import type { NodeView } from "../state/node-view.ts";
import { type Command, savingsMicroUsd } from "./command.ts";
import { paybackOf } from "./payback.ts";
import { madeFor } from "./record.ts";

export interface Restraint {
  /** A replacement must save at least this much of what it replaces, in percent. */
  readonly minSavingsPercent: number;
  /** What running old and new nodes side by side costs must be saved within so long. 0: no limit. */
  readonly maxPaybackMs: number;
  /** A node that came in place of others is not replaced again for so long; it may still be removed. */
  readonly replacementRestMs: number;
  /** Consolidation moves no more than so many pods of a workload in an hour, for each that it has. */
  readonly maxMovesPerPodHour: number;
}

const HOUR_MS = 60 * 60_000;

interface Move {
  readonly atMs: number;
  readonly pods: number;
}

export class Ledger {
  readonly #restraint: Restraint;
  /** Owner's UID → what was moved, oldest first. */
  readonly #moves = new Map<string, Move[]>();

  constructor(restraint: Restraint) {
    this.#restraint = restraint;
  }

  /** A consolidation begins. */
  note({ reason, candidates }: Command, nowMs: number): void {
    if (reason !== "Underutilized") return;
    for (const [uid, pods] of countByOwner(candidates.flatMap((one) => one.reschedulablePods)))
      this.#moves.set(uid, [...(this.#moves.get(uid) ?? []), { atMs: nowMs, pods: pods.length }]);
    for (const [uid, moves] of this.#moves) {
      const recent = moves.filter(({ atMs }) => nowMs - atMs < HOUR_MS);
      if (recent.length === 0) this.#moves.delete(uid);
      else this.#moves.set(uid, recent);
    }
  }

  /** Why a consolidation is left for later; undefined when nothing speaks against it. */
  objection(command: Command, nodes: () => readonly NodeView[], nowMs: number): string | undefined {
    return (
      this.#tooSmall(command) ??
      this.#tooDear(command) ??
      this.#tooSoon(command, nowMs) ??
      this.#tooOften(command, nodes, nowMs)
    );
  }

  /** When the oldest move that still counts is forgotten; undefined: none counts. */
  forgetsAtMs(nowMs: number): number | undefined {
    const ends = [...this.#moves.values()].flat().map(({ atMs }) => atMs + HOUR_MS);
    const left = ends.filter((ms) => ms > nowMs);
    return left.length === 0 ? undefined : Math.min(...left);
  }

  /** Until when a node that came in place of others is not replaced; undefined for any other. */
  restEndsMs(claim: NodeClaim): number | undefined {
    const bornMs = fromRfc3339(claim.metadata.creationTimestamp);
    if (madeFor(claim) === undefined || bornMs === undefined) return undefined;
    return bornMs + this.#restraint.replacementRestMs;
  }

  #tooSmall(command: Command): string | undefined {
    if (command.replacements.length === 0) return undefined;
    const before = command.candidates.reduce((sum, { priceMicroUsd }) => sum + priceMicroUsd, 0);
    const percent = before === 0 ? 0 : (100 * savingsMicroUsd(command)) / before;
    const { minSavingsPercent } = this.#restraint;
    if (percent >= minSavingsPercent) return undefined;
    return `Can't replace with a node that is cheaper by ${minSavingsPercent}%, only by ${percent.toFixed(1)}%`;
  }

  #tooDear(command: Command): string | undefined {
    const { maxPaybackMs } = this.#restraint;
    const payback = paybackOf(command);
    if (maxPaybackMs === 0 || payback === undefined) return undefined;
    const { overlapMs, earnedMs } = payback;
    if (earnedMs <= maxPaybackMs) return undefined;
    const only = Number.isFinite(earnedMs) ? `, only within ${inMinutes(earnedMs)}` : "";
    return `Can't save within ${formatDuration(maxPaybackMs)} what ${inMinutes(overlapMs)} of old and new nodes side by side cost${only}`;
  }

  #tooSoon({ candidates, replacements }: Command, nowMs: number): string | undefined {
    if (replacements.length === 0) return undefined;
    for (const { claim, node } of candidates) {
      const leftMs = (this.restEndsMs(claim) ?? nowMs) - nowMs;
      if (leftMs <= 0) continue;
      const minutes = Math.ceil(leftMs / 60_000);
      return `Node "${node.name}" came in place of another a while ago, it is not replaced for ${minutes} more minute(s)`;
    }
    return undefined;
  }

  #tooOften(
    { candidates }: Command,
    nodes: () => readonly NodeView[],
    nowMs: number,
  ): string | undefined {
    for (const [uid, moving] of countByOwner(candidates.flatMap((one) => one.reschedulablePods))) {
      const recent = (this.#moves.get(uid) ?? []).filter(({ atMs }) => nowMs - atMs < HOUR_MS);
      if (recent.length === 0) continue;
      const moved = recent.reduce((sum, { pods }) => sum + pods, 0);
      const replicas = nodes()
        .flatMap(({ pods }) => pods)
        .filter((pod) => ownerOf(pod)?.uid === uid).length;
      const most = this.#restraint.maxMovesPerPodHour * Math.max(1, replicas);
      if (moved + moving.length <= most) continue;
      const [sample] = moving as [Pod];
      const owner = `${ownerOf(sample)?.kind} ${sample.metadata.namespace}/${ownerOf(sample)?.name}`;
      return `Pods of ${owner} were moved ${moved} time(s) within the hour, no more than ${most} are`;
    }
    return undefined;
  }
}

function inMinutes(ms: number): string {
  return formatDuration(Math.ceil(ms / 60_000) * 60_000);
}

function ownerOf({ metadata }: Pod) {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

function countByOwner(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const byOwner = new Map<string, Pod[]>();
  for (const pod of pods) {
    const uid = ownerOf(pod)?.uid;
    if (uid === undefined) continue;
    const known = byOwner.get(uid);
    if (known === undefined) byOwner.set(uid, [pod]);
    else known.push(pod);
  }
  return byOwner;
}
