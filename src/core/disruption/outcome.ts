/**
 * Measures what repacks and other replacements of several nodes really saved, pool by pool. kube-scheduler may place
 * pods differently than planned, and then more nodes are launched. If a pool saved too little, it is not repacked for
 * some time, longer after each failure in a row. Its next repack must save enough even if its cost exceeds the plan
 * again.
 */
import { annotated, parseObject } from "../../apis/hub/annotations.ts";
import { REPACK_OUTCOME_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
import { type MoveRecord, moveKeysOf } from "./moves.ts";
import { replacementCommandId } from "./record.ts";

const MINUTE_MS = 60_000;
/** The comparison is made this long after the last move began. By then, evicted pods have a new place. */
const JUDGED_AFTER_MS = 10 * MINUTE_MS;
/** The latest time of the comparison, counted from the first move. Moves are forgotten after an hour. */
const JUDGED_AT_LATEST_MS = 50 * MINUTE_MS;
/** The pool is not repacked for this long after a failure. Each further failure in a row doubles the time. */
const FIRST_HOLD_OFF_MS = 60 * MINUTE_MS;
const LONGEST_HOLD_OFF_MS = 24 * FIRST_HOLD_OFF_MS;
/** An outcome counts until this long after the end of its hold-off. Without a hold-off: after the comparison. */
const KNOWN_FOR_MS = 24 * FIRST_HOLD_OFF_MS;
/** A repack has failed if it saved less than this share of the planned saving. */
const LEAST_REALISED_SHARE = 0.5;

/** The outcome of repacks of one pool. Stored as JSON. */
export interface RepackOutcome {
  /** When outcome and plan were compared, as RFC 3339. */
  readonly at: string;
  /** When the last of the compared moves began, as RFC 3339. */
  readonly until: string;
  readonly predictedMicroUsd: number;
  readonly realisedMicroUsd: number;
  /** The amount by which the real cost exceeds the planned cost, as a share of the planned cost. 0: not at all. */
  readonly overrun: number;
  /** How many repacks failed in a row. */
  readonly failures: number;
}

export interface PricedNode {
  readonly node: NodeView;
  readonly priceMicroUsd: number;
}

/** Those of the moves that count for this pool and are not compared with their plan yet. */
export function movesToJudge(
  moves: readonly MoveRecord[],
  poolId: string,
  last: RepackOutcome | undefined,
): readonly MoveRecord[] {
  return moves.filter(
    ({ at, pools }) => pools?.includes(poolId) && (last === undefined || at > last.until),
  );
}

export interface JudgedBefore {
  readonly last: RepackOutcome | undefined;
  readonly nowMs: number;
}

/**
 * The outcome of a pool's moves. Undefined: there are none, or it is too early. `priced`: all nodes of the cluster. The
 * real cost is the price of all nodes that the moves caused ({@link isCausedBy}).
 */
export function outcomeOf(
  moves: readonly MoveRecord[],
  priced: () => readonly PricedNode[],
  { last, nowMs }: JudgedBefore,
): RepackOutcome | undefined {
  if (moves.length === 0) return undefined;
  const begun = moves.map(({ at }) => at).sort();
  const [first, youngest] = [begun[0] as string, begun.at(-1) as string];
  const isLate = nowMs >= (fromRfc3339(first) ?? 0) + JUDGED_AT_LATEST_MS;
  if (!isLate && nowMs < (fromRfc3339(youngest) ?? 0) + JUDGED_AFTER_MS) return undefined;
  const nodes = priced();
  const leaving = new Set(moves.flatMap((one) => one.nodes));
  if (!isLate && nodes.some(({ node }) => leaving.has(node.name))) return undefined;
  const caused: Caused = {
    commands: new Set(moves.map(({ command }) => command)),
    workloads: new Set(moves.flatMap(({ pods }) => Object.keys(pods))),
    sinceMs: fromRfc3339(first) ?? 0,
  };
  const cost = sum(
    nodes
      .filter(({ node }) => !node.deleting && isCausedBy(node, caused))
      .map(({ priceMicroUsd }) => priceMicroUsd),
  );
  const before = sum(moves.map(({ priceMicroUsd }) => priceMicroUsd));
  const predicted = sum(moves.map(({ savesMicroUsd }) => savesMicroUsd));
  const planned = before - predicted;
  const failed = before - cost < predicted * LEAST_REALISED_SHARE;
  return {
    at: toRfc3339(nowMs),
    until: youngest,
    predictedMicroUsd: predicted,
    realisedMicroUsd: before - cost,
    overrun: planned <= 0 ? 0 : Math.max(0, cost / planned - 1),
    failures: failed ? (whileValid(last, nowMs)?.failures ?? 0) + 1 : 0,
  };
}

/** Until when the pool is not repacked. Undefined: its last repack did not fail. */
export function repackHoldOffEndsMs(outcome: RepackOutcome | undefined): number | undefined {
  if (outcome === undefined || outcome.failures === 0) return undefined;
  const holdOffMs = Math.min(LONGEST_HOLD_OFF_MS, FIRST_HOLD_OFF_MS * 2 ** (outcome.failures - 1));
  return (fromRfc3339(outcome.at) ?? 0) + holdOffMs;
}

/** The outcome, if it is still valid. */
export function whileValid(
  outcome: RepackOutcome | undefined,
  nowMs: number,
): RepackOutcome | undefined {
  if (outcome === undefined) return undefined;
  const fromMs = repackHoldOffEndsMs(outcome) ?? fromRfc3339(outcome.at) ?? 0;
  return nowMs < fromMs + KNOWN_FOR_MS ? outcome : undefined;
}

/**
 * The share of their price that a repack of these nodes must save. With it, `minSavingsPercent` are saved even if the
 * cost exceeds the plan as much as last time. `overrun`: that excess by pool id.
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

/** The pool with the outcome in its annotation. */
export function withOutcome(native: KubeObject, outcome: RepackOutcome): KubeObject {
  return annotated(native, { [REPACK_OUTCOME_ANNOTATION_KEY]: JSON.stringify(outcome) });
}

/** The outcome that is stored on the pool. Undefined: there is none, or the annotation is invalid. */
export function outcomeOn({ metadata }: KubeObject): RepackOutcome | undefined {
  const value = parseObject({ metadata }, REPACK_OUTCOME_ANNOTATION_KEY);
  return isOutcome(value) ? value : undefined;
}

interface Caused {
  /** Ids of the commands that moved pods. */
  readonly commands: ReadonlySet<string>;
  readonly workloads: ReadonlySet<string>;
  readonly sinceMs: number;
}

/**
 * Whether the moves caused this node. A replacement counts if one of `commands` launched it. Any other NodeClaim counts
 * if it was created at `sinceMs` or later and runs a pod of one of the `workloads`.
 */
function isCausedBy({ claim, pods }: NodeView, { commands, workloads, sinceMs }: Caused): boolean {
  if (claim === undefined) return false;
  const command = replacementCommandId(claim);
  if (command !== undefined) return commands.has(command);
  if ((fromRfc3339(claim.metadata.creationTimestamp) ?? 0) < sinceMs) return false;
  return pods.some((pod) => moveKeysOf(pod).some((key) => workloads.has(key)));
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, one) => total + one, 0);
}

function isOutcome(value: unknown): value is RepackOutcome {
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
