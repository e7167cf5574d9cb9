/** A report as Markdown, for a comment on a pull request. */
import { counted, firstNames } from "../../base/counted.ts";
import { usd } from "../../core/answers/command-answer.ts";
import { percent, perMonth } from "../program/figures.ts";
import { markdownText } from "./escape.ts";
import type { Report, ReportMap, ReportNode, ReportPool, ReportSection } from "./report.ts";

/** Maximum number of pods that are named. The others are counted. */
const NAMED = 5;

/** The complete report, a Markdown document. */
export function markdownReport(report: Report): string {
  const { title, says, figures, maps, unplaced, sections } = report;
  return [
    `### ${markdownText(title)}`,
    "",
    ...(says === undefined ? [] : [markdownText(says), ""]),
    ...(figures.length === 0 ? [] : [figuresLine(report), ""]),
    ...maps.flatMap(mapTables),
    ...unplaced.flatMap(({ pods, reasons, nearest, fix }) => [
      `**${counted(pods.length, "pod")} without a place** (${named(pods)})`,
      "",
      ...reasons.map((reason) => `- ${markdownText(reason)}`),
      ...(nearest === undefined ? [] : ["", `Nearest: ${markdownText(nearest)}`]),
      ...(fix === undefined ? [] : ["", `Smallest fix: ${markdownText(fix)}`]),
      "",
    ]),
    ...sections.flatMap(list),
  ].join("\n");
}

function figuresLine({ figures }: Report): string {
  return figures
    .map(({ label, value }) => `**${markdownText(label)}:** ${markdownText(value)}`)
    .join(" · ");
}

function mapTables({ title, pools, without }: ReportMap): readonly string[] {
  return [
    ...(title === undefined ? [] : [`**${markdownText(title)}**`, ""]),
    ...(pools.length === 0 ? [markdownText(without), ""] : poolTable(pools)),
    ...pools.flatMap(nodeTable),
  ];
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

/** The table of nodes. Equal nodes share a row. */
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
      first.priceMicroUsdPerHour === 0 ? "–" : usd(first.priceMicroUsdPerHour),
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
  return firstNames(pods.map(markdownText), NAMED);
}

function list({ title, lines }: ReportSection): readonly string[] {
  if (lines.length === 0) return [];
  return [`**${markdownText(title)}**`, "", ...lines.map((line) => `- ${markdownText(line)}`), ""];
}
