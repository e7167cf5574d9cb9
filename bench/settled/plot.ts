/** A picture of the cost of clusters over time: one panel for each scenario, one line for each operator. */
import type { Point } from "./play.ts";

export interface Panel {
  readonly name: string;
  /** The price over time of upstream, then of karpenter-ts. */
  readonly courses: readonly (readonly Point[])[];
  /** Lower bound of the cost of the remaining pods, $/h. */
  readonly bound: number;
}

const WIDTH = 280;
const HEIGHT = 150;
const COLUMNS = 3;
const GAP = { x: 50, y: 60 } as const;
/** Seconds shown before scaling down. */
const LEAD_SECONDS = 20;
const COLOURS = ["#d97706", "#2563eb"];
const STYLE =
  "text{font:11px sans-serif;fill:#444}.f{fill:none;stroke:#ccc}.b{stroke:#999;stroke-dasharray:4 4}" +
  COLOURS.map((colour, at) => `.o${at}{fill:none;stroke:${colour};stroke-width:1.5}`).join("");

export function drawn(panels: readonly Panel[]): string {
  const placed = panels.map((panel, at) => {
    const x = (at % COLUMNS) * (WIDTH + GAP.x) + GAP.x;
    const y = Math.floor(at / COLUMNS) * (HEIGHT + GAP.y) + GAP.y;
    return `<g transform="translate(${x} ${y})">${drawnPanel(panel)}</g>`;
  });
  const width = Math.min(COLUMNS, panels.length) * (WIDTH + GAP.x) + 20;
  const height = Math.ceil(panels.length / COLUMNS) * (HEIGHT + GAP.y) + GAP.y / 2;
  const legend =
    `<text x="${GAP.x}" y="20"><tspan fill="${COLOURS[0]}">upstream</tspan>, <tspan fill="${COLOURS[1]}">ours</tspan>, ` +
    "dashed: what the pods that stay cost at least; $/h by seconds since there are fewer pods</text>";
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><style>${STYLE}</style>` +
    `<rect width="100%" height="100%" fill="#fff"/>${legend}${placed.join("")}</svg>\n`
  );
}

function drawnPanel({ name, courses, bound }: Panel): string {
  const all = courses.flat();
  const lastSecond = Math.max(60, ...all.map(({ second }) => second)) + 15;
  const most = Math.max(bound, ...all.map(({ dollarsPerHour }) => dollarsPerHour)) * 1.05;
  const x = (second: number) =>
    (((second + LEAD_SECONDS) / (lastSecond + LEAD_SECONDS)) * WIDTH).toFixed(1);
  const y = (dollars: number) => (HEIGHT - (dollars / most) * HEIGHT).toFixed(1);
  const lines = courses.map((course, at) => {
    const path = stepsOf(course, lastSecond, x, y);
    return path === "" ? "" : `<path class="o${at}" d="${path}"/>`;
  });
  const ends = courses.flatMap((course, at) => {
    const last = course.at(-1);
    return last === undefined
      ? []
      : [
          `<text x="${WIDTH - 4 - 50 * at}" y="${Number(y(last.dollarsPerHour)) - 5}" text-anchor="end" style="fill:${COLOURS[at]}">${last.dollarsPerHour.toFixed(2)}</text>`,
        ];
  });
  return (
    `<rect class="f" width="${WIDTH}" height="${HEIGHT}"/>` +
    `<line class="b" x1="0" x2="${WIDTH}" y1="${y(bound)}" y2="${y(bound)}"/>${lines.join("")}${ends.join("")}` +
    `<text x="0" y="-6">${name}</text><text x="-4" y="10" text-anchor="end">${most.toFixed(1)}</text>` +
    `<text x="${x(0)}" y="${HEIGHT + 14}" text-anchor="middle">0</text>` +
    `<text x="${WIDTH}" y="${HEIGHT + 14}" text-anchor="end">${lastSecond} s</text>`
  );
}

/** Draws steps, because a price is constant until the next change. */
function stepsOf(
  course: readonly Point[],
  lastSecond: number,
  x: (second: number) => string,
  y: (dollars: number) => string,
): string {
  const from = course.findLastIndex(({ second }) => second <= -LEAD_SECONDS);
  const shown = course.slice(Math.max(0, from));
  const [first] = shown;
  if (first === undefined) return "";
  let path = `M${x(Math.max(-LEAD_SECONDS, first.second))} ${y(first.dollarsPerHour)}`;
  for (const { second, dollarsPerHour } of shown.slice(1))
    path += `H${x(second)}V${y(dollarsPerHour)}`;
  return `${path}H${x(lastSecond)}`;
}
