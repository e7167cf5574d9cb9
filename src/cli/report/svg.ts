/**
 * The map of a report as SVG. Each node is a card with bars and pods, or a tile if there are many. It has no script
 * and loads nothing, so it can be shown anywhere. Colours follow the reader's light or dark scheme.
 */
import { counted } from "../../base/counted.ts";
import { usd } from "../../core/answers/command-answer.ts";
import { percent } from "../program/figures.ts";
import { clipped } from "../program/layout.ts";
import { xmlText } from "./escape.ts";
import {
  nodeText,
  type Report,
  type ReportMap,
  type ReportNode,
  type ReportPool,
} from "./report.ts";

const WIDTH = 1_000;
const GAP = 8;
const MARGIN = 16;
/** With more nodes than this, tiles are used, because cards would fill several screens. */
const MOST_CARDS = 60;
const CARD = { width: 236, height: 96 } as const;
const TILE = { width: 40, height: 40 } as const;
const POOL_HEAD = 28;

/** The complete SVG document. `isAlone`: it is shown without the report's text, so it contains the figures. */
export function svgReport(report: Report, isAlone = true): string {
  const { body, height } = mapOf(report, isAlone);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${xmlText(labelOf(report))}">`,
    `<style>${MAP_STYLE}</style>`,
    `<rect width="${WIDTH}" height="${height}" class="ground"/>`,
    ...body,
    "</svg>",
    "",
  ].join("\n");
}

/** Style of the map's parts, by class. */
const MAP_STYLE = [
  "text{font:12px system-ui,sans-serif;fill:#10161C}",
  ".ground{fill:#FFFFFF}.node{fill:#F3F5F8;stroke:#76818C}.track{fill:#E7EBF0}.cpu{fill:#1C72A7}.memory{fill:#46505A}",
  ".pod{fill:#A0B9D4;stroke:#FFFFFF}.dim{fill:#46505A}.strong{font-weight:600}.spot{stroke-dasharray:4 2}",
  "@media (prefers-color-scheme: dark){text{fill:#E8EEF4}.ground{fill:#0F1419}.node{fill:#1A222B;stroke:#72808D}",
  ".track{fill:#25303B}.cpu{fill:#3EB9D7}.memory{fill:#B4C0CC}.pod{fill:#536981;stroke:#0F1419}.dim{fill:#B4C0CC}}",
].join("");

interface Drawn {
  readonly body: readonly string[];
  readonly height: number;
}

/** The shapes and their height. */
function mapOf({ maps, says, figures }: Report, isAlone: boolean): Drawn {
  const all = maps.flatMap(({ pools }) => pools);
  const nodes = all.reduce((sum, pool) => sum + pool.nodes.length, 0);
  const isCards = nodes <= MOST_CARDS;
  const body: string[] = [];
  let y = 8;
  if (isAlone) {
    const told = figures.map(({ label, value }) => `${label}: ${value}`).join(" · ");
    for (const line of [says ?? "", told].filter((one) => one !== "")) {
      body.push(text(MARGIN, y + 20, "strong", clipped(line, MOST_CHARACTERS)));
      y += 24;
    }
    y += 16;
  }
  for (const map of maps) {
    const drawn = mapAt(map, y, isCards);
    body.push(...drawn.body);
    y += drawn.height;
  }
  if (isCards && all.length > 0) {
    body.push(
      text(
        MARGIN,
        y + 16,
        "dim",
        "Boxes at the foot of a node are its pods, as wide as their share of its CPU.",
      ),
    );
    y += 24;
  }
  return { body, height: Math.max(y + MARGIN, 64) };
}

/** Maximum number of characters in a line of the picture. */
const MOST_CHARACTERS = 150;

function mapAt({ title, pools, without }: ReportMap, top: number, isCards: boolean): Drawn {
  const body: string[] = [];
  let y = top;
  if (title !== undefined) {
    body.push(text(MARGIN, y + 16, "strong", title));
    y += 24;
  }
  if (pools.length === 0) {
    body.push(text(MARGIN, y + 16, "dim", without));
    y += title === undefined ? 0 : 24;
  }
  for (const pool of pools) {
    const drawn = poolAt(pool, y, isCards);
    body.push(...drawn.body);
    y += drawn.height;
  }
  return { body, height: y - top };
}

function labelOf({ title, says, figures }: Report): string {
  const told = figures.map(({ label, value }) => `${label} ${value}`);
  return `${title}: ${[...(says === undefined ? [] : [says]), ...told].join(", ")}`;
}

function poolAt(
  { name, nodes, priceMicroUsdPerHour }: ReportPool,
  top: number,
  isCards: boolean,
): Drawn {
  const size = isCards ? CARD : TILE;
  const perRow = Math.floor((WIDTH - 2 * MARGIN + GAP) / (size.width + GAP));
  const head = `${clipped(name, 60)}: ${counted(nodes.length, "node")}, ${usd(priceMicroUsdPerHour)}/h`;
  const shapes = nodes.map((node, index) => {
    const x = MARGIN + (index % perRow) * (size.width + GAP);
    const y = top + POOL_HEAD + Math.floor(index / perRow) * (size.height + GAP);
    return isCards ? cardAt(node, x, y) : tileAt(node, x, y);
  });
  const rows = Math.ceil(nodes.length / perRow);
  return {
    body: [text(MARGIN, top + 18, "strong", head), ...shapes],
    height: POOL_HEAD + rows * (size.height + GAP) + GAP,
  };
}

/** The frame of a node. Spot nodes have a dashed border and a text, so that no meaning depends on colour alone. */
function frame(
  { capacityType }: ReportNode,
  { width, height }: { width: number; height: number },
): string {
  const spot = capacityType === "spot" ? " spot" : "";
  return `<rect width="${width}" height="${height}" rx="4" class="node${spot}"/>`;
}

function cardAt(node: ReportNode, x: number, y: number): string {
  const { name, instanceType, zone, capacityType, priceMicroUsdPerHour, cpu, memory } = node;
  const price = priceMicroUsdPerHour === 0 ? "" : `${usd(priceMicroUsdPerHour)}/h`;
  const kind = `${capacityType} ${zone}`;
  return group(x, y, node, [
    frame(node, CARD),
    text(8, 18, "strong", clipped(name ?? instanceType, 20)),
    text(CARD.width - 8, 18, "dim", price, "end"),
    text(8, 34, "dim", clipped(name === undefined ? kind : `${instanceType} ${kind}`, 34)),
    bar(42, "cpu", cpu, `CPU ${percent(cpu)}`),
    bar(54, "memory", memory, `memory ${percent(memory)}`),
    podsOf(node),
  ]);
}

const BAR_WIDTH = 120;

function bar(y: number, kind: "cpu" | "memory", share: number, label: string): string {
  const full = Math.round(BAR_WIDTH * share);
  return [
    `<rect x="8" y="${y}" width="${BAR_WIDTH}" height="8" class="track"/>`,
    `<rect x="8" y="${y}" width="${full}" height="8" class="${kind}"/>`,
    text(BAR_WIDTH + 14, y + 8, "dim", label),
  ].join("");
}

/** The pods in a row. Each is as wide as its share of the node's CPU, but wide enough to be visible. */
function podsOf({ pods }: ReportNode): string {
  const width = CARD.width - 16;
  const least = Math.min(4, width / Math.max(1, pods.length));
  const sum = pods.reduce((total, { cpu }) => total + Math.max(cpu * width, least), 0);
  const scale = sum > width ? width / sum : 1;
  let x = 8;
  const shapes = pods.map(({ name, cpu }) => {
    const wide = Math.max(cpu * width, least) * scale;
    const shape = `<rect x="${fixed(x)}" y="68" width="${fixed(wide)}" height="20" class="pod"><title>${xmlText(name)}</title></rect>`;
    x += wide;
    return shape;
  });
  return shapes.join("");
}

function tileAt(node: ReportNode, x: number, y: number): string {
  const full = Math.round((TILE.height - 4) * node.cpu);
  return group(x, y, node, [
    frame(node, TILE),
    `<rect x="2" y="${TILE.height - 2 - full}" width="${TILE.width - 4}" height="${full}" class="cpu"/>`,
  ]);
}

function group(x: number, y: number, node: ReportNode, parts: readonly string[]): string {
  const title = `<title>${xmlText(nodeText(node))}</title>`;
  return `<g transform="translate(${x} ${y})">${title}${parts.join("")}</g>`;
}

function text(x: number, y: number, kind: string, value: string, anchor = "start"): string {
  return `<text x="${x}" y="${y}" class="${kind}" text-anchor="${anchor}">${xmlText(value)}</text>`;
}

function fixed(value: number): string {
  return String(Number(value.toFixed(2)));
}
