/**
 * A scenario as one HTML page: nodes, cost and decisions, with a slider for the time. It loads nothing. All text is
 * escaped and is in the markup; the script reads only numbers. The page's policy allows no other script.
 */
import { usd } from "../../core/answers/command-answer.ts";
import type { TraceEvent } from "../../sandbox/trace.ts";
import { xmlText } from "../report/escape.ts";
import { htmlPage } from "../report/page.ts";
import { STORY_SCRIPT, STORY_STYLE } from "./story-page-parts.ts";

/** Data for the page besides the events. */
export interface StoryFacts {
  readonly name: string;
  readonly story: string;
  /** The last line of the scenario's output. */
  readonly ended: string;
}

/** The complete page. The same events give the same bytes. */
export function storyPage(
  { name, story, ended }: StoryFacts,
  events: readonly TraceEvent[],
): string {
  const moments = [...new Set(events.map(({ atMs }) => atMs))].sort((a, b) => a - b);
  const machines = machinesOf(events);
  const last = Math.max(0, moments.length - 1);
  const body = [
    ...story.split("\n").map((line) => `<p>${xmlText(line)}</p>`),
    `<p>${xmlText(ended)}</p>`,
    `<div class="slider"><label for="at">Time</label><input id="at" type="range" min="0" max="${last}" value="${last}" data-moments="${moments.join(" ")}"><output id="clock" for="at"></output><output id="rate" for="at"></output></div>`,
    "<h2>Cost of Karpenter's nodes</h2>",
    moneyChart(machines, moments),
    "<h2>Nodes</h2>",
    `<div id="map">${machines.map(card).join("")}</div>`,
    "<h2>What happened</h2>",
    '<p><label><input id="decisions" type="checkbox" checked> Karpenter alone</label></p>',
    `<div class="scroll"><table><thead><tr><th>Time</th><th>Who</th><th>What</th><th>Object</th><th>How</th></tr></thead><tbody id="events">${events.map(eventRow).join("")}</tbody></table></div>`,
  ];
  return htmlPage({ title: name, style: STORY_STYLE, script: STORY_SCRIPT, body });
}

/** One launched claim and the times of its stages, in epoch milliseconds. */
interface Machine {
  readonly claim: string;
  readonly what: string;
  readonly microUsdPerHour: number;
  readonly launched: number;
  node?: string;
  ready?: number;
  leaving?: number;
  ended?: number;
}

/** The claims in the order of their launch. */
function machinesOf(events: readonly TraceEvent[]): readonly Machine[] {
  const machines = new Map<string, Machine>();
  for (const { atMs, actor, verb, object, what, microUsdPerHour = 0 } of events) {
    if (actor !== "karpenter") continue;
    if (verb === "launched")
      machines.set(object, { claim: object, what, microUsdPerHour, launched: atMs });
    const machine = machines.get(object);
    if (machine === undefined) continue;
    if (verb === "registered") machine.node = what;
    else if (verb === "initialized") machine.ready = atMs;
    else if (verb === "deleting") machine.leaving = atMs;
    else if (verb === "terminated") machine.ended = atMs;
  }
  return [...machines.values()];
}

function card({ claim, node, what, launched, ready, leaving, ended, ...rest }: Machine): string {
  const times = { launched, ready, leaving, ended };
  const data = Object.entries({ ...times, price: rest.microUsdPerHour })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` data-${key}="${value}"`)
    .join("");
  return `<div class="node"${data}><strong>${xmlText(node ?? claim)}</strong><span>${xmlText(what)}</span><em></em></div>`;
}

const CHART = { width: 1_000, height: 160, top: 16 } as const;

/** The price of all nodes as a step chart. A line marks the shown moment. */
function moneyChart(machines: readonly Machine[], moments: readonly number[]): string {
  const [first = 0, last = 1] = [moments[0], moments.at(-1)];
  const rateAt = (at: number): number =>
    machines
      .filter(({ launched, ended }) => launched <= at && (ended === undefined || ended > at))
      .reduce((sum, one) => sum + one.microUsdPerHour, 0);
  const changes = machines.flatMap(({ launched, ended }) =>
    ended === undefined ? [launched] : [launched, ended],
  );
  const points = [...new Set([first, ...changes, last])].sort((a, b) => a - b);
  const rates = points.map(rateAt);
  const most = Math.max(1, ...rates);
  const x = (at: number) => Math.round(((at - first) / Math.max(1, last - first)) * CHART.width);
  const y = (rate: number) =>
    Math.round(CHART.top + (1 - rate / most) * (CHART.height - CHART.top - 1));
  const path = points.map((at, index) => {
    const height = y(rates[index] as number);
    return index === 0 ? `M${x(at)} ${height}` : `H${x(at)}V${height}`;
  });
  const { width, height } = CHART;
  const peak = Math.max(0, ...rates);
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Cost over time, at most ${usd(peak)} an hour"><path class="rate" d="${path.join("")}"/><text x="4" y="12">${usd(peak)}/h</text><line id="cursor" x1="0" x2="0" y1="0" y2="${height}"/></svg>`;
}

function eventRow({ atMs, actor, verb, object, what, why }: TraceEvent): string {
  const how = why === undefined || why === "" ? what : `${what} (${why})`.trimStart();
  const cells = [new Date(atMs).toISOString().slice(11, 23), actor, verb, object, how];
  const kind = actor === "karpenter" ? ' class="decision"' : "";
  return `<tr data-at="${atMs}"${kind}>${cells.map((cell) => `<td>${xmlText(cell)}</td>`).join("")}</tr>`;
}
