import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { type CandidateOptions, candidate, roundOf } from "../../testing/disruption.ts";
import { describeVerdict } from "./balanced.ts";
import type { Candidate } from "./candidates.ts";
import { multiNodeConsolidation as multi } from "./methods/multi-node-consolidation.ts";
import { singleNodeConsolidation as single } from "./methods/single-node-consolidation.ts";

const balanced: CandidateOptions = { disruption: { policy: "Balanced" } };
const used = (name: string, pods: readonly string[], options: CandidateOptions = {}) =>
  candidate(name, { pods, ...balanced, ...options });
const names = (candidates: readonly Candidate[]) => candidates.map(({ node }) => node.name);

describe("consolidation policy Balanced", () => {
  it("allows the removal of a node with a high cost share and few pods", () => {
    const { commands, refused } = atOnce(
      single.propose(roundOf([used("a", ["1"]), used("b", ["500m", "500m", "500m"])])),
    );
    expect(names(commands[0]?.candidates ?? [])).toEqual(["a"]);
    // The command saves half of the pool's cost, and causes 2 of 6 parts of its disruption cost.
    const [verdict] = commands[0]?.verdicts ?? [];
    expect(verdict).toMatchObject({ approved: true, score: 1.5, savingsShare: 0.5 });
    expect(refused).toEqual([]);
    if (verdict !== undefined)
      expect(describeVerdict(verdict)).toBe(
        "score 1.50 >= threshold 0.50 (k: 2, savings 50.0%, disruption 33.3%)",
      );
  });

  it("keeps a node whose small saving is not worth the move of most pods", () => {
    const crowd = Array.from({ length: 12 }, () => "100m");
    const candidates = [used("a", crowd, { type: "m-2x" }), used("z", [], { type: "m-16x" })];
    const { commands, remarks, refused } = atOnce(single.propose(roundOf(candidates)));
    expect(commands).toEqual([]);
    expect(refused).toHaveLength(1);
    // The command saves the price of 2 of 18 cpu, and causes 13 of 14 parts of the disruption cost.
    expect(remarks.map(({ message }) => message)).toContain(
      'NodePool "default" has consolidation policy Balanced, score 0.12 < threshold 0.50 (k: 2, savings 11.1%, disruption 92.9%)',
    );
    const other = { disruption: { policy: "WhenEmptyOrUnderutilized" } } as const;
    const same = [
      used("a", crowd, { type: "m-2x", ...other }),
      used("z", [], { type: "m-16x", ...other }),
    ];
    expect(atOnce(single.propose(roundOf(same))).commands).toHaveLength(1);
  });

  it("scores a command with several nodes as one", () => {
    const { commands } = atOnce(
      multi.propose(roundOf([used("a", ["1"]), used("b", ["1"]), used("c", ["1", "1"])])),
    );
    expect(names(commands[0]?.candidates ?? [])).toHaveLength(3);
    expect(commands[0]?.verdicts?.[0]?.score).toBeGreaterThan(0.5);
  });
});
