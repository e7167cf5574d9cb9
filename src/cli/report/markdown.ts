/** A report as Markdown: what one puts into a comment on a pull request. */
import { counted } from "../../base/counted.ts";
import { usd } from "../../core/answers/command-answer.ts";
import { percent, perMonth } from "../program/figures.ts";
import { markdownText } from "./escape.ts";
import type { Report, ReportNode, ReportPool } from "./report.ts";

/** Pods that are named; the rest are counted. */
const NAMED = 5;

/** The whole report, a Markdown document. */
export function markdownReport(report: Report): string {
  const { title, figures, pools, unplaced, risks, notes } = report;
  return [
    `### ${markdownText(title)}`,
    "",
    figures
      .map(({ label, value }) => `**${markdownText(label)}:** ${markdownText(value)}`)
      .join(" · "),
    "",
    ...(pools.length === 0 ? ["No new node is needed.", ""] : poolTable(pools)),
    ...pools.flatMap(nodeTable),
    ...unplaced.flatMap(({ pods, reasons, fix }) => [
      `**${counted(pods.length, "pod")} without a place** (${named(pods)})`,
      "",
      ...reasons.map((reason) => `- ${markdownText(reason)}`),
      ...(fix === undefined ? [] : ["", `Smallest fix: ${markdownText(fix)}`]),
      "",
    ]),
    ...list("Risks", risks),
    ...list("Notes", notes),
  ].join("\n");
}

function poolTable(pools: readonly ReportPool[]): readonly string[] {
  return [
    "| NodePool | Nodes | Pods | $/hour | $/month |",
    "|---|---:|---:|---:|---:|",
    ...pools.map(({ name, nodes, priceMicroUsdPerHour: price }) => {
      const pods = nodes.reduce((sum, one) => sum + one.pods.length, 0);
      return `| ${markdownText(name)} | ${nodes.length} | ${pods} | ${usd(price)} | ${perMonth(price)} |`;
    }),
    "",
  ];
}

/** Nodes that are alike share a row. */
function nodeTable({ name, nodes }: ReportPool): readonly string[] {
  const groups = new Map<string, ReportNode[]>();
  for (const node of nodes) {
    const key = [node.instanceType, node.capacityType, node.zone].join("\n");
    const alike = groups.get(key);
    if (alike === undefined) groups.set(key, [node]);
    else alike.push(node);
  }
  const rows = [...groups.values()].map((alike) => {
    const [first] = alike as [ReportNode];
    const pods = alike.reduce((sum, one) => sum + one.pods.length, 0);
    const { instanceType, capacityType, zone } = first;
    const cells = [
      String(alike.length),
      instanceType,
      capacityType,
      zone,
      usd(first.priceMicroUsdPerHour),
      String(pods),
      range(alike.map(({ cpu }) => cpu)),
      range(alike.map(({ memory }) => memory)),
    ];
    return `| ${cells.map(markdownText).join(" | ")} |`;
  });
  return [
    `<details><summary>Nodes of ${markdownText(name)}</summary>`,
    "",
    "| Nodes | Instance type | Capacity | Zone | $/hour each | Pods | CPU | Memory |",
    "|---:|---|---|---|---:|---:|---:|---:|",
    ...rows,
    "",
    "</details>",
    "",
  ];
}

function range(shares: readonly number[]): string {
  const [least, most] = [Math.min(...shares), Math.max(...shares)].map(percent);
  return least === most ? `${least}` : `${least} to ${most}`;
}

function named(pods: readonly string[]): string {
  const shown = pods.slice(0, NAMED).map(markdownText).join(", ");
  return pods.length > NAMED ? `${shown} and ${pods.length - NAMED} more` : shown;
}

function list(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return [`**${title}**`, "", ...lines.map((line) => `- ${markdownText(line)}`), ""];
}
