/** The answers of `simulate` and `explain` as reports: the sentences of their text, with maps of the nodes. */
import { usd } from "../../core/answers/command-answer.ts";
import type { Model } from "../../core/answers/model.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import { perMonth } from "../program/figures.ts";
import { sectionsIn } from "../program/layout.ts";
import { clusterPools } from "../report/cluster-map.ts";
import { type Report, roomFigures } from "../report/report.ts";
import type { ExplainAnswer, PoolList } from "./explain.ts";
import { answerLines, poolRows } from "./explain-text.ts";
import type { Simulated } from "./simulate.ts";
import {
  byReason,
  ENDINGS,
  podLines,
  resultSections,
  stepRow,
  WAIT_ANYWAY,
} from "./simulate-text.ts";
import { strandedPods, waitingAnyway } from "./unplaced.ts";

/** The report of a simulation: maps before and after, and the steps between them. */
export function simulateReport(
  answer: Simulated,
  [before, after]: readonly [before: Model, after: Model],
  notes: readonly string[],
): Report {
  const { says, before: was, after: is, steps, ended } = answer;
  const saves = answer.savesMicroUsdPerHour;
  const without = "No node.";
  const stranded = strandedPods(answer.unplaced);
  const anyway = waitingAnyway(answer.unplaced);
  return {
    title: "Karpenter simulation",
    says,
    figures: [
      { label: "Nodes", value: `${was.nodes} -> ${is.nodes}` },
      {
        label: "Cost per hour",
        value: `${usd(was.priceMicroUsdPerHour)} -> ${usd(is.priceMicroUsdPerHour)}`,
      },
      { label: saves < 0 ? "Adds per month" : "Saves per month", value: perMonth(Math.abs(saves)) },
      { label: "Pods moved", value: String(answer.podsMoved) },
      {
        label: "Pods without a place",
        value: `${stranded.length}${anyway.length === 0 ? "" : `, ${anyway.length} in any case`}`,
      },
      ...roomFigures(answer.headroom),
    ],
    maps: [
      { title: "Before", pools: clusterPools(before), without },
      { title: "After", pools: clusterPools(after), without },
    ],
    unplaced: byReason(stranded),
    sections: [
      { title: WAIT_ANYWAY, lines: podLines(anyway) },
      { title: "Steps", lines: steps.map((step) => stepRow(step).join(", ")) },
      ...resultSections(answer),
      { title: "End", lines: ended === undefined ? [] : [ENDINGS[ended]] },
      { title: "Notes", lines: notes },
    ],
  };
}

/** The report of an explanation: its sentences, and a map of the nodes that it is about. */
export function explainReport(
  answer: ExplainAnswer | PoolList,
  model: Model,
  notes: readonly string[],
): Report {
  const pools = clusterPools(model, isAbout(answer));
  const sections =
    answer.kind === "NodePoolList" ? [poolSection(answer)] : sectionsIn(answerLines(answer));
  return {
    title: titleOf(answer),
    ...(answer.kind === "NodePoolList" ? {} : { says: answer.says }),
    figures: [],
    maps: [{ pools, without: WITHOUT[answer.kind] }],
    unplaced: [],
    sections: [...sections, { title: "Notes", lines: notes }],
  };
}

const WITHOUT: Readonly<Record<(ExplainAnswer | PoolList)["kind"], string>> = {
  Node: "The node does not exist any more.",
  Pod: "The pod is on no node.",
  NodePool: "The NodePool has no node.",
  Provisioner: "The Provisioner has no node.",
  NodePoolList: "No node here belongs to a NodePool.",
};

function titleOf(answer: ExplainAnswer | PoolList): string {
  if (answer.kind === "NodePoolList") return "NodePools";
  return `${answer.kind} ${answer.name}`;
}

function isAbout(answer: ExplainAnswer | PoolList): (node: NodeView) => boolean {
  switch (answer.kind) {
    case "Node":
      return ({ name }) => name === answer.name;
    case "Pod":
      return ({ name }) => answer.state === "running" && name === answer.node;
    case "NodePoolList":
      return ({ poolId }) => poolId !== undefined;
    default:
      return ({ poolId }) => poolId === `${answer.kind.toLowerCase()}/${answer.name}`;
  }
}

/** A line for each pool: `general: ready yes, nodes 3, …`. */
function poolSection({ items }: PoolList) {
  const [heads = [], ...rows] = poolRows(items);
  const lines = rows.map(([name = "", ...cells]) => {
    const told = cells.map((cell, at) => `${(heads[at + 1] ?? "").toLowerCase()} ${cell}`);
    return `${name}: ${told.join(", ")}`;
  });
  return { title: "NodePools", lines };
}
