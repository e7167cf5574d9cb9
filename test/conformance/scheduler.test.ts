/**
 * Our scheduler decides as the real kube-scheduler did: the same nodes are feasible, the same reasons given
 * when none is, and what the real one chose is among our best.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { feasibleNodes } from "../../src/sandbox/kube-scheduler/feasible.ts";
import { unschedulableMessage } from "../../src/sandbox/kube-scheduler/message.ts";
import { podInfo } from "../../src/sandbox/kube-scheduler/pod-info.ts";
import { scoreNodes } from "../../src/sandbox/kube-scheduler/scores.ts";
import { snapshotOf } from "../../src/sandbox/kube-scheduler/snapshot.ts";
import { schedulingCase } from "./scheduler/cases.ts";
import { CASES, RECORDING, type SchedulerAnswer } from "./scheduler/recording.ts";

const { answers } = JSON.parse(readFileSync(RECORDING, "utf8")) as {
  answers: readonly SchedulerAnswer[];
};

function ours(index: number): SchedulerAnswer & { readonly feasible: readonly string[] } {
  const { nodes, placed, pending } = schedulingCase(index);
  const snapshot = snapshotOf(nodes, placed);
  const pod = podInfo(pending);
  const result = feasibleNodes(pod, snapshot);
  const feasible = result.nodes.map(({ name }) => name).sort();
  if (feasible.length === 0) {
    return { feasible, refused: unschedulableMessage(pending, result, nodes.length) };
  }
  const totals = scoreNodes(pod, result.nodes, snapshot);
  const scores = Object.fromEntries(result.nodes.map(({ name }, at) => [name, totals[at] ?? 0]));
  return { feasible, node: feasible[0] as string, scores };
}

describe("the scheduler, held against recorded decisions of kube-scheduler", () => {
  it("finds the same nodes feasible, and says the same when there is none", () => {
    const different: unknown[] = [];
    answers.forEach((real, index) => {
      const { feasible, ...mine } = ours(index);
      if ("refused" in real) {
        const said = "refused" in mine ? mine.refused : `feasible: ${feasible.join(" ")}`;
        if (said !== real.refused) different.push({ index, real: real.refused, ours: said });
        return;
      }
      const wanted = Object.keys(real.scores ?? { [real.node]: 0 }).sort();
      if (wanted.join() !== feasible.join())
        different.push({ index, real: wanted, ours: feasible });
    });
    expect(different).toEqual([]);
    expect(answers).toHaveLength(CASES);
  });

  it("has the node that was chosen among its best", () => {
    const different: unknown[] = [];
    answers.forEach((real, index) => {
      if (!("node" in real) || real.scores === undefined) return;
      const mine = ours(index);
      if (!("scores" in mine) || mine.scores === undefined) return;
      const best = Math.max(...Object.values(mine.scores));
      if (mine.scores[real.node] !== best)
        different.push({ index, chosen: real.node, real: real.scores, ours: mine.scores });
    });
    expect(different).toEqual([]);
  });
});
