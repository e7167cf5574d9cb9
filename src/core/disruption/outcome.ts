/**
 * What moves of several nodes at once came to, pool by pool. A plan packs pods tightly and kube-scheduler spreads
 * them, so that some find no room and nodes come beside the planned ones. Some minutes after the last such
 * move, what stands for it then is held against what it was to save: a pool in which that did not come true is
 * not repacked for a while, longer after each failure, and the next plan must still save enough if it
 * overruns as the last one did. Pure; who carries it out writes the outcome on the pool.
 */

import { REPACK_OUTCOME_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
import { type MoveRecord, moveKeysOf } from "./moves.ts";
import { replacementCommandId } from "./record.ts";

const MINUTE_MS = 60_000;
/** After the last of them: evicted pods have a place by then. */
const JUDGED_AFTER_MS = 10 * MINUTE_MS;
/** After the first of them in any case: moves are forgotten after an hour. */
const JUDGED_AT_LATEST_MS = 50 * MINUTE_MS;
const FIRST_REST_MS = 60 * MINUTE_MS;
const LONGEST_REST_MS = 24 * FIRST_REST_MS;
/** What was learned holds for a day after the rest: then the pool may try as if for the first time. */
const KNOWN_FOR_MS = 24 * FIRST_REST_MS;
/** It came true if at least this much of it did. */
const TRUE_SHARE = 0.5;

/** Of the moves of one pool that were judged last. Plain JSON. */
export interface RepackOutcome {
  /** RFC 3339: when it was judged. */
  readonly at: string;
  /** RFC 3339: moves begun until then have been judged. */
  readonly until: string;
  readonly predictedMicroUsd: number;
  readonly realisedMicroUsd: number;
  /** What came cost so much more than what was planned, as a share of that; 0: it did not. */
  readonly overrun: number;
  /** How often in a row what was predicted did not come true. */
  readonly failures: number;
}

export interface PricedNode {
  readonly node: NodeView;
  /** An hour. */
  readonly priceMicroUsd: number;
}

/** Moves of the pool that are to be judged and have not been: none while it is too early. */
export function movesToJudge(
  moves: readonly MoveRecord[],
  poolId: string,
  last: RepackOutcome | undefined,
): readonly MoveRecord[] {
  return moves.filter(
    ({ at, pools }) => pools?.includes(poolId) && (last === undefined || at > last.until),
  );
}

/**
 * What these moves of a pool came to; undefined while it is too early to say. `priced`: all nodes there are.
 * Beside what was planned came each node made since that runs pods of the moved workloads; one that has gone
 * again costs nothing.
 */
export function outcomeOf(
  moves: readonly MoveRecord[],
  priced: () => readonly PricedNode[],
  last: RepackOutcome | undefined,
  nowMs: number,
): RepackOutcome | undefined {
  if (moves.length === 0) return undefined;
  const begun = moves.map(({ at }) => at).sort();
  const [first, youngest] = [begun[0] as string, begun.at(-1) as string];
  const isLate = nowMs >= (fromRfc3339(first) ?? 0) + JUDGED_AT_LATEST_MS;
  if (!isLate && nowMs < (fromRfc3339(youngest) ?? 0) + JUDGED_AFTER_MS) return undefined;
  const nodes = priced();
  const leaving = new Set(moves.flatMap((one) => one.nodes));
  if (!isLate && nodes.some(({ node }) => leaving.has(node.name))) return undefined;
  const ids = new Set(moves.map(({ command }) => command));
  const workloads = new Set(moves.flatMap(({ pods }) => Object.keys(pods)));
  const cost = sum(
    nodes
      .filter(({ node }) => !node.deleting && cameOf(node, ids, workloads, first))
      .map(({ priceMicroUsd }) => priceMicroUsd),
  );
  const before = sum(moves.map(({ priceMicroUsd }) => priceMicroUsd));
  const predicted = sum(moves.map(({ savesMicroUsd }) => savesMicroUsd));
  const planned = before - predicted;
  const failed = before - cost < predicted * TRUE_SHARE;
  return {
    at: toRfc3339(nowMs),
    until: youngest,
    predictedMicroUsd: predicted,
    realisedMicroUsd: before - cost,
    overrun: planned <= 0 ? 0 : Math.max(0, cost / planned - 1),
    failures: failed ? (whileValid(last, nowMs)?.failures ?? 0) + 1 : 0,
  };
}

/** Until when the pool is not repacked; undefined: it may be. */
export function repackHoldOffEndsMs(outcome: RepackOutcome | undefined): number | undefined {
  if (outcome === undefined || outcome.failures === 0) return undefined;
  const restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (outcome.failures - 1));
  return (fromRfc3339(outcome.at) ?? 0) + restMs;
}

/** The outcome while it counts. */
export function whileValid(
  outcome: RepackOutcome | undefined,
  nowMs: number,
): RepackOutcome | undefined {
  if (outcome === undefined) return undefined;
  const fromMs = repackHoldOffEndsMs(outcome) ?? fromRfc3339(outcome.at) ?? 0;
  return nowMs < fromMs + KNOWN_FOR_MS ? outcome : undefined;
}

/**
 * The share that a repack of these nodes must save of their price, so that `minSavingsPercent` are left if it
 * overruns as the last one of their pools did.
 */
export function minRepackShare(
  candidates: readonly Candidate[],
  minSavingsPercent: number,
  overrun: (poolId: string) => number,
): number {
  const ids = new Set<string>();
  for (const { pool } of candidates) ids.add(pool.id);
  const most = Math.max(0, ...[...ids].map(overrun));
  return 1 - (1 - minSavingsPercent / 100) / (1 + most);
}

export function withOutcome(native: KubeObject, outcome: RepackOutcome): KubeObject {
  const annotations = {
    ...native.metadata.annotations,
    [REPACK_OUTCOME_ANNOTATION_KEY]: JSON.stringify(outcome),
  };
  return { ...native, metadata: { ...native.metadata, annotations } };
}

/** Undefined also where another hand spoiled the annotation. */
export function outcomeOn({ metadata }: KubeObject): RepackOutcome | undefined {
  const text = metadata.annotations?.[REPACK_OUTCOME_ANNOTATION_KEY];
  if (text === undefined) return undefined;
  try {
    const value: unknown = parseBoundedJson(text);
    return isOutcome(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Made for one of the moves, or since the first by provisioning, for pods that they moved. */
function cameOf(
  { claim, pods }: NodeView,
  ids: ReadonlySet<string>,
  workloads: ReadonlySet<string>,
  since: string,
): boolean {
  if (claim === undefined) return false;
  const command = replacementCommandId(claim);
  if (command !== undefined) return ids.has(command);
  if ((fromRfc3339(claim.metadata.creationTimestamp) ?? 0) < (fromRfc3339(since) ?? 0))
    return false;
  return pods.some((pod) => moveKeysOf(pod).some((key) => workloads.has(key)));
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, one) => total + one, 0);
}

function isOutcome(value: unknown): value is RepackOutcome {
  if (typeof value !== "object" || value === null) return false;
  const one = value as Partial<Record<keyof RepackOutcome, unknown>>;
  const isTime = (text: unknown) => typeof text === "string" && fromRfc3339(text) !== undefined;
  const numbers = [one.predictedMicroUsd, one.realisedMicroUsd, one.overrun];
  return (
    isTime(one.at) &&
    isTime(one.until) &&
    numbers.every(Number.isFinite) &&
    (one.overrun as number) >= 0 &&
    Number.isSafeInteger(one.failures) &&
    (one.failures as number) >= 0
  );
}
