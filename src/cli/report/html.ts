/**
 * A report as one HTML page: the map, the tables, the reasons. It has no script and loads nothing, so that it can be
 * attached to an incident and opened from a file.
 */
import { counted, firstNames } from "../../base/counted.ts";
import { usd } from "../../core/answers/command-answer.ts";
import { percent, perMonth } from "../program/figures.ts";
import { xmlText } from "./escape.ts";
import { htmlPage } from "./page.ts";
import type { Report, ReportPool, ReportSection, ReportUnplaced } from "./report.ts";
import { svgReport } from "./svg.ts";

/** Maximum number of pods that are named for one reason. The others are counted. */
const NAMED = 20;

/** The complete HTML page. */
export function htmlReport(report: Report): string {
  const { title, says, figures, maps, unplaced, sections } = report;
  const body = [
    ...(says === undefined ? [] : [`<p>${xmlText(says)}</p>`]),
    `<dl>${figures.map(({ label, value }) => `<div><dt>${xmlText(label)}</dt><dd>${xmlText(value)}</dd></div>`).join("")}</dl>`,
    `<figure tabindex="0">${svgReport(report, false)}</figure>`,
    ...unplaced.map(unplacedSection),
    ...maps.flatMap(({ title: of = "", pools }) => pools.map((pool) => poolSection(pool, of))),
    ...sections.flatMap(list),
  ];
  return htmlPage({ title, style: STYLE, body });
}

const STYLE = [
  ":root{color-scheme:light dark;--text:#10161C;--dim:#46505A;--ground:#FFFFFF;--line:#E7EBF0;--error:#B3261E}",
  "@media (prefers-color-scheme:dark){:root{--text:#E8EEF4;--dim:#B4C0CC;--ground:#0F1419;--line:#25303B;--error:#FF8A80}}",
  "body{font:14px/1.5 system-ui,sans-serif;color:var(--text);background:var(--ground);margin:24px auto;max-width:1040px;padding:0 16px}",
  "h1{font-size:20px}h2{font-size:16px;margin-top:32px}dl{display:flex;flex-wrap:wrap;gap:24px;margin:0}dt{color:var(--dim)}",
  "dd{margin:0;font-size:20px;font-variant-numeric:tabular-nums}figure{margin:16px 0;overflow-x:auto}",
  "svg{max-width:100%;height:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}",
  "th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}",
  "th.number,td.number{text-align:right}.unplaced{border-left:4px solid var(--error);padding-left:12px}",
  ".scroll{overflow-x:auto}",
  // A name may have 253 characters without a place to break. Text of the map stays readable on a phone.
  "body,td:last-child{overflow-wrap:anywhere}th,td{overflow-wrap:break-word}figure svg{min-width:800px}",
].join("");

function unplacedSection({ reasons, pods, nearest, fix }: ReportUnplaced): string {
  return [
    `<section class="unplaced"><h2>${counted(pods.length, "pod")} without a place</h2>`,
    `<p>${firstNames(pods.map(xmlText), NAMED)}</p>`,
    ...reasons.map((reason) => `<p>${xmlText(reason)}</p>`),
    nearest === undefined ? "" : `<p>Nearest: ${xmlText(nearest)}</p>`,
    fix === undefined ? "" : `<p><strong>Smallest fix:</strong> ${xmlText(fix)}</p>`,
    "</section>",
  ].join("");
}

/** The section of one NodePool. `of`: the title of the map that shows this NodePool. Empty: the map has no title. */
function poolSection({ name, nodes, priceMicroUsdPerHour: price }: ReportPool, of: string): string {
  const head = ["Instance type", "Capacity", "Zone", "$/hour", "CPU", "Memory", "Pods", "Which"];
  const areNamed = nodes.some((node) => node.name !== undefined);
  const rows = nodes.map((node) => {
    const { instanceType, capacityType, zone, cpu, memory, pods } = node;
    const podNames = pods.map(({ name: pod }) => pod);
    const cells = [
      instanceType,
      capacityType,
      zone,
      node.priceMicroUsdPerHour === 0 ? "–" : usd(node.priceMicroUsdPerHour),
      percent(cpu),
      percent(memory),
      String(pods.length),
      firstNames(podNames, NAMED),
    ];
    return row("td", cells, areNamed ? (node.name ?? "") : undefined);
  });
  return [
    `<section><h2>${xmlText(of === "" ? name : `${of}, ${name}`)}: ${counted(nodes.length, "node")}, ${usd(price)} an hour, ${perMonth(price)} a month</h2>`,
    `<div class="scroll"><table><thead>${row("th", head, areNamed ? "Node" : undefined)}</thead><tbody>${rows.join("")}</tbody></table></div></section>`,
  ].join("");
}

/** Columns with numbers, which are aligned to the right. */
const NUMBERS = new Set([3, 4, 5, 6]);

/** One table row. `first`: an additional first cell. Undefined if the table has no such column. */
function row(tag: "td" | "th", cells: readonly string[], first: string | undefined): string {
  const all = cells.map((cell, at) => {
    const kind = NUMBERS.has(at) ? ' class="number"' : "";
    return `<${tag}${kind}>${xmlText(cell)}</${tag}>`;
  });
  const before = first === undefined ? "" : `<${tag}>${xmlText(first)}</${tag}>`;
  return `<tr>${before}${all.join("")}</tr>`;
}

function list({ title, lines }: ReportSection): readonly string[] {
  if (lines.length === 0) return [];
  return [
    `<h2>${xmlText(title)}</h2><ul>${lines.map((line) => `<li>${xmlText(line)}</li>`).join("")}</ul>`,
  ];
}
