import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { instanceType } from "../../../testing/builders.ts";
import { candidate, roundOf } from "../../../testing/disruption.ts";
import { DEFAULT_PLANNER } from "../../planner/planner-options.ts";
import type { Candidate } from "../candidates.ts";
import { chooseNodes } from "./choice.ts";

const GUARD = {
  metadata: { name: "guard", namespace: "default" },
  spec: { selector: { matchLabels: { app: "guarded" } } },
  status: { disruptionsAllowed: 1 },
};

/** Nodes in pairs. The pods of both nodes of a pair request equally much, and less than those of the pair before. */
function nodes(count: number, guarded: (index: number) => boolean): readonly Candidate[] {
  return Array.from({ length: count }, (_, index) =>
    candidate(`n-${String(index).padStart(4, "0")}`, {
      type: "m-16x",
      pods: [`${10_000 - 10 * Math.floor(index / 2)}m`],
      ...(guarded(index) ? { podLabels: { app: "guarded" } } : {}),
    }),
  );
}

function choose(candidates: readonly Candidate[], options: Parameters<typeof roundOf>[1] = {}) {
  const input = roundOf(candidates, {
    ...options,
    repack: { planner: DEFAULT_PLANNER, minSavingsPercent: 5 },
    allowed: 1_000,
    pdbs: [GUARD],
  });
  const group = { candidates, poolIds: new Set([candidates[0]?.pool.id ?? ""]) };
  return atOnce(chooseNodes(group, input)).candidates.map(({ node }) => node.name);
}

describe("the nodes chosen for repack", () => {
  it("are those with the largest saving, by name among equals, without protected ones", () => {
    const isGuarded = (index: number) => index % 3 !== 0;
    expect(choose(nodes(12, isGuarded))).toEqual([
      "n-0010",
      "n-0009",
      "n-0006",
      "n-0003",
      "n-0000",
    ]);
  });

  it("have at most the pods that one command may move, unless the first alone has more", () => {
    const types = [instanceType({ name: "large", cpu: 64, pods: 10_000 })];
    const crowded = (name: string, pods: number, milli: number) =>
      candidate(name, { types, type: "large", pods: new Array<string>(pods).fill(`${milli}m`) });
    const full = crowded("full", 1, 60_000);
    expect(choose([crowded("a", 1_001, 1), full], { types })).toEqual(["a"]);
    const both = [crowded("a", 600, 1), crowded("b", 500, 2), full];
    expect(choose(both, { types })).toEqual(["a", "full"]);
  });

  it("are chosen without reading all nodes again for each protected node", () => {
    let looks = 0;
    const counted = nodes(400, () => true).map((one) => ({
      ...one,
      get priceMicroUsd() {
        looks++;
        return one.priceMicroUsd;
      },
    }));
    expect(choose(counted)).toEqual(["n-0398"]);
    expect(looks / counted.length).toBeLessThan(12);
  });
});
