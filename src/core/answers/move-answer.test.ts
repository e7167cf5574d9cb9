import { describe, expect, it } from "vitest";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nodeView } from "../../testing/builders.ts";
import { candidate, NOW } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import { type MoveRecord, withMoves } from "../disruption/moves.ts";
import { moveAnswers } from "./move-answer.ts";

const MOVE: MoveRecord = {
  ...{ command: "c1", reason: "Underutilized", at: toRfc3339(NOW), nodes: ["old-1", "old-2"] },
  ...{ priceMicroUsd: 600_000, savesMicroUsd: 400_000, replacements: 1, pods: { a: 2, b: 1 } },
};
const PLANNED =
  "Underutilized 2026-01-05T00:00:00Z: 3 pods moved from old-1, old-2, planned to save $0.4000 an hour";

/**
 * The answers about these moves, for a node of 0.2 dollars an hour that took the pods. `by`: the command that launched
 * the node.
 */
function answers(moves: readonly MoveRecord[], by?: string) {
  const one = candidate("n");
  const { metadata } = withMoves(one.node.claim as NodeClaim, moves, NOW);
  const annotations: Record<string, string> = { ...metadata.annotations };
  if (by !== undefined) annotations["karpenter.sh/replacement-for-command"] = by;
  const claim = { ...(one.node.claim as NodeClaim), metadata: { ...metadata, annotations } };
  const node = { ...one.node, claim };
  const nodes = [node, nodeView({ node: { name: "unmanaged" } })];
  const restraint = {
    ...{ minSavingsPercent: 0, maxPaybackMs: 0, replacementRestMs: 0, maxMovesPerPodHour: 4 },
  };
  const pools = [{ pool: one.pool, instanceTypes: [one.instanceType as never], usage: {} }];
  return moveAnswers(quietModel({ pools, nodes, restraint }).picture, nodes);
}

describe("the answer about moves of pods to a node", () => {
  it("says what was planned while some new nodes are missing", () => {
    expect(answers([MOVE])).toEqual([
      {
        ...{ command: "c1", reason: "Underutilized", at: "2026-01-05T00:00:00Z", says: PLANNED },
        ...{ nodes: ["old-1", "old-2"], pods: 3, savesMicroUsdPerHour: 400_000 },
      },
    ]);
    expect(answers([MOVE], "other")[0]?.realisedMicroUsdPerHour).toBeUndefined();
  });

  it("names the realised saving if it differs from the planned one", () => {
    const [asPlanned] = answers([MOVE], "c1");
    expect(asPlanned).toMatchObject({ says: PLANNED, realisedMicroUsdPerHour: 400_000 });
    const [less] = answers([{ ...MOVE, priceMicroUsd: 500_000 }], "c1");
    expect(less).toMatchObject({ realisedMicroUsdPerHour: 300_000 });
    expect(less?.says).toBe(`${PLANNED}; it saved $0.3000`);
  });

  it("has each move once, the oldest first", () => {
    const older = { ...MOVE, command: "c2", at: toRfc3339(NOW - 1_000) };
    expect(answers([MOVE, older, MOVE]).map(({ command }) => command)).toEqual(["c2", "c1"]);
  });
});
