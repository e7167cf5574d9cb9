import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { candidate, NEVER_FIRST } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import { DEFAULT_PLANNER } from "../planner/planner-options.ts";
import { makeRound, type Picture } from "./make-round.ts";

const SETTINGS = {
  ...{
    forSpot: "nothing" as const,
    splits: true,
    nodeMicroUsdPerHour: 0,
    repack: undefined,
    terminateFirst: NEVER_FIRST,
  },
};
const RESTRAINT = {
  ...{ minSavingsPercent: 0, maxPaybackMs: 0, replacementRestMs: 0, maxMovesPerPodHour: 4 },
};

function roundOf(names: readonly string[], more: Partial<Picture> = {}) {
  const all = names.map((name) => candidate(name));
  const pool = (all[0] ?? candidate("none")).pool;
  const { picture } = quietModel({
    pools: [{ pool, instanceTypes: [], usage: {} }],
    nodes: all.map(({ node }) => node),
    restraint: RESTRAINT,
  });
  const method = { reason: "Underutilized", disruptionClass: "graceful" } as const;
  return { all, ...atOnce(makeRound({ ...picture, ...more }, method)) };
}

describe("a disruption round", () => {
  it("excludes candidates of running commands", () => {
    const { round } = roundOf(["a", "b"], { queued: new Set(["b"]) });
    expect(round.facts.candidates.map(({ node }) => node.name)).toEqual(["a"]);
  });

  it("requires the configured saving of a repack", () => {
    const repack = { planner: DEFAULT_PLANNER, minSavingsPercent: 10 };
    const { round, all } = roundOf(["a"], { settings: { ...SETTINGS, repack } });
    expect(round.holdOffs.minRepackShare(all)).toBeCloseTo(0.1);
    expect(roundOf(["a"]).round.holdOffs.minRepackShare(all)).toBeCloseTo(0);
  });

  it("holds off no pool that was never repacked", () => {
    const { round, all } = roundOf(["a"]);
    expect(all.map((one) => round.holdOffs.fromRepack(one))).toEqual([false]);
  });

  it("knows the types of each pool, and plans no nodes for a dynamic pool", () => {
    const { round } = roundOf(["a"]);
    expect(round.facts.typesOf("nodepool/default")).toEqual([]);
    expect(round.facts.typesOf("nodepool/other")).toEqual([]);
    const wanted = { poolId: "nodepool/default", count: 1, instead: [] };
    expect(round.facts.planStatic(wanted)).toBeUndefined();
  });
});
