import { describe, expect, it } from "vitest";
import { toRfc3339 } from "../../base/clock.ts";
import { pod } from "../../testing/builders.ts";
import { candidate, NOW } from "../../testing/disruption.ts";
import type { MoveRecord } from "./moves.ts";
import {
  minRepackShare,
  movesToJudge,
  outcomeOf,
  outcomeOn,
  type PricedNode,
  type RepackOutcome,
  repackHoldOffEndsMs,
  whileValid,
  withOutcome,
} from "./outcome.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const POOL = "nodepool/default";

/** A move at NOW that replaces two nodes, 1.00 together, by one for 0.60. */
const move: MoveRecord = {
  command: "first",
  reason: "Underutilized",
  at: toRfc3339(NOW),
  nodes: ["old-1", "old-2"],
  priceMicroUsd: 1_000_000,
  savesMicroUsd: 400_000,
  replacements: 1,
  pods: { "uid-web": 5 },
  pools: [POOL],
};

interface Made {
  readonly for?: string;
  readonly runs?: string;
  readonly bornMs?: number;
}

function node(name: string, priceMicroUsd: number, made: Made = {}): PricedNode {
  const { claim, node: view } = candidate(name);
  const owner = { kind: "ReplicaSet", name: made.runs ?? "other" };
  const metadata = {
    ...claim.metadata,
    creationTimestamp: toRfc3339(made.bornMs ?? NOW + MINUTE_MS),
    annotations: made.for === undefined ? {} : { "karpenter.sh/replacement-for-command": made.for },
  };
  const running = pod({ nodeName: name, owner });
  return { node: { ...view, claim: { ...claim, metadata }, pods: [running] }, priceMicroUsd };
}

const planned = node("new", 600_000, { for: "first", runs: "web" });
const judged = (nodes: readonly PricedNode[], last?: RepackOutcome, atMs = NOW + 10 * MINUTE_MS) =>
  outcomeOf([move], () => nodes, { last, nowMs: atMs });

describe("the outcome of a repack", () => {
  it("is known ten minutes after the last move began and once its nodes are gone", () => {
    expect(judged([planned], undefined, NOW + 9 * MINUTE_MS)).toBeUndefined();
    expect(judged([planned, node("old-2", 500_000)])).toBeUndefined();
    expect(
      judged([planned, node("old-2", 500_000)], undefined, NOW + 50 * MINUTE_MS),
    ).toBeDefined();
    expect(judged([planned])).toMatchObject({ realisedMicroUsd: 400_000, failures: 0, overrun: 0 });
    expect(outcomeOf([], () => [], { last: undefined, nowMs: NOW + HOUR_MS })).toBeUndefined();
  });

  it("includes other new nodes that took moved pods", () => {
    const beside = node("beside", 120_000, { runs: "web" });
    expect(judged([planned, beside])).toMatchObject({ realisedMicroUsd: 280_000, failures: 0 });
    expect(judged([planned, beside])?.overrun).toBeCloseTo(0.2);
    const others = [
      node("stranger", 900_000),
      node("older", 900_000, { runs: "web", bornMs: NOW - MINUTE_MS }),
      node("for-another", 900_000, { runs: "web", for: "second" }),
    ];
    expect(judged([planned, ...others])).toMatchObject({ realisedMicroUsd: 400_000 });
  });

  it("fails if less than half was saved, and each failure doubles the hold-off", () => {
    const beside = node("beside", 210_000, { runs: "web" });
    let last: RepackOutcome | undefined;
    const rests = Array.from({ length: 7 }, () => {
      last = judged([planned, beside], last) as RepackOutcome;
      return ((repackHoldOffEndsMs(last) ?? 0) - (NOW + 10 * MINUTE_MS)) / HOUR_MS;
    });
    expect(rests).toEqual([1, 2, 4, 8, 16, 24, 24]);
    const came = judged([planned], last) as RepackOutcome;
    expect([came.failures, repackHoldOffEndsMs(came)]).toEqual([0, undefined]);
    // The hold-off has ended, and for one more day no pods were moved. So earlier failures of the pool no longer count.
    const again = judged([planned, beside], last, NOW + 49 * HOUR_MS);
    expect(again?.failures).toBe(1);
    expect(whileValid(last, NOW + 48 * HOUR_MS)).toBe(last);
    expect(whileValid(last, NOW + 49 * HOUR_MS)).toBeUndefined();
  });

  it("does not fail if exactly half was saved", () => {
    const half = node("beside", 200_000, { runs: "web" });
    expect(judged([planned, half])).toMatchObject({ realisedMicroUsd: 200_000, failures: 0 });
    const more = node("beside", 200_001, { runs: "web" });
    expect(judged([planned, more])).toMatchObject({ failures: 1 });
  });

  it("has no overrun if no cost was planned", () => {
    const all = { ...move, savesMicroUsd: move.priceMicroUsd };
    const now = { last: undefined, nowMs: NOW + 10 * MINUTE_MS };
    expect(outcomeOf([all], () => [planned], now)?.overrun).toBe(0);
  });

  it("is reported once for each move, and only for the pools of the move", () => {
    const last = judged([planned]);
    const later = { ...move, command: "second", at: toRfc3339(NOW + MINUTE_MS) };
    expect(movesToJudge([move, later], POOL, undefined)).toEqual([move, later]);
    expect(movesToJudge([move, later], POOL, last)).toEqual([later]);
    expect(movesToJudge([move, later], "nodepool/other", undefined)).toEqual([]);
    const { pools: _, ...single } = move;
    expect(movesToJudge([single], POOL, undefined)).toEqual([]);
  });

  it("raises the required saving of the next repack by its overrun", () => {
    const share = (overrun: number) => minRepackShare([candidate("a")], 5, () => overrun);
    expect(share(0)).toBeCloseTo(0.05);
    // If the next plan costs 0.76 and overruns as much, the real cost is 0.95.
    expect(share(0.25)).toBeCloseTo(0.24);
  });

  it("is stored on the NodePool, and ignored if the annotation is invalid", () => {
    const bare = { metadata: { name: "default", annotations: { kept: "yes" } } };
    const outcome = judged([planned]) as RepackOutcome;
    const bears = withOutcome(bare, outcome);
    expect(outcomeOn(bears)).toEqual(outcome);
    expect(bears.metadata.annotations?.["kept"]).toBe("yes");
    expect(outcomeOn(bare)).toBeUndefined();
    for (const text of ["nonsense", "null", '{"failures": -1}']) {
      const spoiled = { "karpenter.sh/repack-outcome": text };
      expect(outcomeOn({ metadata: { name: "default", annotations: spoiled } })).toBeUndefined();
    }
  });
});
