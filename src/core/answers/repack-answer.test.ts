import { describe, expect, it } from "vitest";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { instanceType } from "../../testing/builders.ts";
import { type CandidateOptions, candidate, NOW } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import type { Repack } from "../disruption/round.ts";
import { DEFAULT_PLANNER } from "../planner/planner-options.ts";
import { repackAnswer } from "./repack-answer.ts";

const HOUR_MS = 3_600_000;
const TYPES = [2, 4, 8].map((cpu) => instanceType({ cpu, capacityTypes: ["on-demand"] }));
const REPACK = { planner: DEFAULT_PLANNER, minSavingsPercent: 10 };

interface Question extends Pick<CandidateOptions, "generation"> {
  /** The cpu requests of the pods of each node. */
  readonly nodes?: readonly (readonly string[])[];
  readonly repack?: Repack | undefined;
  readonly claim?: Partial<NodeClaim["metadata"]>;
}

/** The answer about node `a`, in a cluster of nodes of 4 cpu. */
function asked(question: Question = {}) {
  const { generation = "v1", nodes = [["3"]], claim = {} } = question;
  const candidates = nodes.map((pods, index) =>
    candidate("abcdef"[index] as string, {
      ...{ generation, types: TYPES, pods, disruption: { budgets: [{ nodes: "100%" }] } },
      conditions: { Initialized: HOUR_MS, Consolidatable: HOUR_MS },
    }),
  );
  const views = candidates.map(({ node }, index) => {
    const old = node.claim as NodeClaim;
    if (index > 0) return node;
    return { ...node, claim: { ...old, metadata: { ...old.metadata, ...claim } } };
  });
  const pools = candidates
    .slice(0, 1)
    .map(({ pool }) => ({ pool, instanceTypes: TYPES, usage: {} }));
  const restraint = {
    ...{ minSavingsPercent: 0, maxPaybackMs: 0, maxMovesPerPodHour: 4 },
    replacementRestMs: HOUR_MS,
  };
  const model = quietModel({
    pools,
    nodes: views,
    restraint,
    repack: "repack" in question ? question.repack : REPACK,
  });
  return repackAnswer(model.picture, views[0] as never, undefined);
}

describe("the reason why repack leaves a node", () => {
  it("is that repack is off, or does not handle this kind of pool", () => {
    expect(asked({ repack: undefined })).toBe("repack is off");
    expect(asked({ generation: "beta" })).toBe("repack is for v1 pools");
  });

  it("is undefined for an empty node", () => {
    expect(asked({ nodes: [[]] })).toBeUndefined();
  });

  it("is that the node replaced others a short time ago", () => {
    const annotations = { "karpenter.sh/replacement-for-command": "c1" };
    const creationTimestamp = toRfc3339(NOW - HOUR_MS / 2);
    expect(asked({ claim: { annotations, creationTimestamp } })).toBe(
      "repack skips it until 2026-01-05T00:30:00Z: it replaced other nodes",
    );
  });

  it("is that no plan saves enough, or that none was possible", () => {
    const could = "repack: replacing it alone could save at most 25.0 %";
    expect(asked()).toBe(
      "repack: on paper, cheaper nodes exist for its pods (up to 25.0 % less), but no plan was found that saves the needed 10 %",
    );
    const wants = (minSavingsPercent: number) =>
      asked({ repack: { ...REPACK, minSavingsPercent } });
    expect(wants(30)).toBe(`${could}; at least 30 % is required`);
    expect(asked({ nodes: [["3"], ["3"], ["3"]] })).toBe(
      "repack: on paper, cheaper nodes exist for its pods and those of 2 other nodes (up to 25.0 % less), but no plan was found that saves the needed 10 %",
    );
  });
});
