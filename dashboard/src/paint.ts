/**
 * Draws the map's tiles on a canvas: the fill colour, bars for CPU and memory, marks for pods, and a symbol for the
 * node's state.
 */
import { counted, grouped, perHour, plain, shortName } from "./format.ts";
import { nodesIn } from "./node-list.ts";
import type { Fill } from "./place.ts";
import { HEADER, type Layout, placeOfSlot, type Slotted } from "./slots.ts";
import { unit } from "./unit.ts";
import type { MapRow } from "./wire.ts";

/** The colours of the style sheet, which differ between the light and the dark theme. */
export interface Palette {
  readonly surface: string;
  readonly raised: string;
  readonly line: string;
  readonly text: string;
  readonly muted: string;
  readonly info: string;
  readonly warn: string;
  readonly ramp: readonly string[];
  readonly categories: readonly string[];
}

export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const numbered = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => colour(`${name}-${index + 1}`));
  return {
    surface: colour("surface-1"),
    raised: colour("surface-2"),
    line: colour("line"),
    text: colour("text"),
    muted: colour("muted"),
    info: colour("info"),
    warn: colour("warn"),
    ramp: numbered("ramp", 7),
    categories: numbered("cat", 8),
  };
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * The canvas' context, cleared and scaled to units. `width` and `height` are units. Undefined if there is nothing to
 * draw on.
 */
export function prepared(canvas: HTMLCanvasElement | null, { width, height }: Size) {
  const context = canvas?.getContext("2d");
  if (canvas === null || context === null || context === undefined || width === 0) return undefined;
  const ratio = devicePixelRatio * unit();
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** What happens to a node in a what-if answer: it is removed, launched, or has other pods. */
export type Accent = "goes" | "comes" | "changes";

export interface Drawn {
  readonly slots: Slotted;
  readonly layout: Layout;
  readonly rows: ReadonlyMap<string, MapRow>;
  readonly fill: Fill;
  /** Nodes that match the filter; all others are drawn pale. Absent: all match. */
  readonly meant?: ReadonlySet<string> | undefined;
  readonly categories: readonly string[];
  /** The nodes that a what-if answer changes. */
  readonly accents?: ReadonlyMap<string, Accent>;
}

const LABELS = { nodepool: "no NodePool" } as const;

/** The name is cut, so that the number of nodes is always seen. */
function groupLabel(
  context: CanvasRenderingContext2D,
  { name, count, width }: { readonly name: string; readonly count: number; readonly width: number },
): string {
  const end = ` · ${grouped(count)}`;
  const room = width - context.measureText(end).width;
  return cutTo(context, plain(name === "" ? LABELS.nodepool : name), room) + end;
}

/** The beginning of the text that is at most so wide, with an ellipsis if something is left out. */
function cutTo(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text];
  let [fits, not] = [0, letters.length];
  while (not - fits > 1) {
    const half = (fits + not) >> 1;
    if (context.measureText(`${letters.slice(0, half).join("")}…`).width <= width) fits = half;
    else not = half;
  }
  return `${letters.slice(0, fits).join("")}…`;
}

/** The visible part of the map: a screen pixel is a layout pixel × scale + offset. */
export interface View {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

/**
 * Draws the visible tiles, with as many details as their size on the screen allows. `width`, `height`: of the
 * screen.
 */
export function paint(
  context: CanvasRenderingContext2D,
  drawn: Drawn,
  colours: Palette,
  { view, width, height }: { readonly view: View; readonly width: number; readonly height: number },
): void {
  const { slots, layout, rows } = drawn;
  const { scale } = view;
  const size = (layout.tile - tileGap(layout.tile)) * scale;
  for (const box of layout.boxes) {
    const [left, top] = [box.x * scale + view.x, box.y * scale + view.y];
    const [wide, high] = [box.width * scale, box.height * scale];
    if (left > width || top > height || left + wide < 0 || top + high < 0) continue;
    context.fillStyle = colours.raised;
    context.fillRect(left, top, wide, high);
    context.fillStyle = colours.text;
    context.font = "600 13px system-ui, sans-serif";
    context.textBaseline = "middle";
    const members = slots.groups.get(box.name)?.slots ?? new Map<string, number>();
    const count = nodesIn([...members.keys()].flatMap((name) => rows.get(name) ?? []));
    const label = groupLabel(context, { name: box.name, count, width: wide - 16 });
    context.fillText(label, Math.max(left, 0) + 8, top + (HEADER * scale) / 2);
    for (const [name, slot] of members) {
      const spot = placeOfSlot(box, slot, layout.tile);
      const [x, y] = [spot.x * scale + view.x, spot.y * scale + view.y];
      const row = rows.get(name);
      if (row === undefined || x > width || y > height || x + size < 0 || y + size < 0) continue;
      context.globalAlpha = drawn.meant === undefined || drawn.meant.has(name) ? 1 : 0.2;
      tile(context, { name, row, x, y, size }, drawn, colours);
      context.globalAlpha = 1;
    }
  }
}

export function tileGap(tile: number): number {
  return tile >= 20 ? 4 : tile >= 10 ? 2 : 1;
}

interface Tile {
  readonly name: string;
  readonly row: MapRow;
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

/** Edge of the smallest tile with a border, in units. */
const BORDERED = 8;

function tile(context: CanvasRenderingContext2D, one: Tile, drawn: Drawn, colours: Palette): void {
  const { row, x, y, size } = one;
  const { colour, level } = fillOf(row, drawn, colours);
  context.fillStyle = colours.surface;
  context.fillRect(x, y, size, size);
  // The colour fills the tile from the bottom, in proportion to the level. A small tile is all colour: its border would
  // take more than half of it.
  const filled = size < BORDERED ? size : Math.max(2, size * Math.min(1, level));
  context.fillStyle = colour;
  context.fillRect(x, y + size - filled, size, filled);
  if (size >= BORDERED) {
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  }
  if (size >= 84) card(context, one, colours);
  else if (size >= 22 && row.nodes === undefined) podMarks(context, one, colours);
  if (size >= BORDERED) stateMark(context, one, colours);
  else smallMark(context, one, colours);
  const accent = drawn.accents?.get(one.name);
  if (accent !== undefined) accentMark(context, one, accent, colours);
}

/** Marks a change: a cross on a removed node, a plus on a new one, and a thick border on both and on other changes. */
function accentMark(
  context: CanvasRenderingContext2D,
  { x, y, size }: Tile,
  accent: Accent,
  colours: Palette,
) {
  context.strokeStyle =
    accent === "goes" ? colours.warn : accent === "comes" ? colours.info : colours.text;
  context.lineWidth = size >= 20 ? 3 : 2;
  context.strokeRect(x + 1, y + 1, size - 2, size - 2);
  if (accent === "changes") return;
  context.beginPath();
  if (accent === "goes") {
    context.moveTo(x + 1, y + 1);
    context.lineTo(x + size - 1, y + size - 1);
    context.moveTo(x + size - 1, y + 1);
    context.lineTo(x + 1, y + size - 1);
  } else {
    const [r, cx, cy] = [Math.max(2, Math.min(8, size / 4)), x + size / 2, y + size / 2];
    context.moveTo(cx - r, cy);
    context.lineTo(cx + r, cy);
    context.moveTo(cx, cy - r);
    context.lineTo(cx, cy + r);
  }
  context.stroke();
}

function share([requested, there]: MapRow["cpu"]): number {
  return there <= 0 ? 0 : requested / there;
}

function fillOf(
  row: MapRow,
  { fill, categories }: Drawn,
  { ramp, categories: colours, warn, line }: Palette,
) {
  const level = share(row.cpu);
  if (fill === "cpu" || fill === "memory") {
    const part = share(row[fill]);
    const step = Math.min(ramp.length - 1, Math.floor(part * ramp.length));
    return { colour: ramp[step] ?? line, level: part };
  }
  if (fill === "held") return { colour: row.held === undefined ? (ramp[1] ?? line) : warn, level };
  const at = categories.indexOf(row[fill] ?? "");
  return { colour: colours[Math.min(at, colours.length - 1)] ?? line, level };
}

function card(
  context: CanvasRenderingContext2D,
  { name, row, x, y, size }: Tile,
  colours: Palette,
) {
  const line = (text: string, at: number, weight: string) => {
    context.font = `${weight} 11px system-ui, sans-serif`;
    const shown = cutTo(context, plain(text), size - 10);
    const wide = context.measureText(shown).width;
    context.globalAlpha *= 0.86;
    context.fillStyle = colours.surface;
    context.fillRect(x + 3, y + at - 7, wide + 4, 14);
    context.globalAlpha /= 0.86;
    context.fillStyle = colours.text;
    context.fillText(shown, x + 5, y + at);
  };
  const isGroup = row.nodes !== undefined;
  line(isGroup ? counted(row.nodes ?? 0, "node") : shortName(name), 12, "600");
  line((isGroup ? [row.type, row.zone] : [row.type]).filter(Boolean).join(" "), 27, "400");
  const room = row.room === undefined ? "" : ` + ${row.room}`;
  line(`${perHour(row.price)} · ${counted(row.pods, "pod")}${room}`, 42, "400");
}

function podMarks(context: CanvasRenderingContext2D, { row, x, y, size }: Tile, colours: Palette) {
  const across = Math.floor((size - 4) / 5);
  const most = across * Math.floor((size - 4) / 5);
  context.fillStyle = context.strokeStyle = colours.text;
  context.lineWidth = 1;
  for (let at = 0; at < Math.min(row.pods + (row.room ?? 0), most); at++) {
    const [left, top] = [x + 3 + (at % across) * 5, y + 3 + Math.floor(at / across) * 5];
    // The room that a CapacityBuffer keeps is empty.
    if (at < row.pods) context.fillRect(left, top, 3, 3);
    else context.strokeRect(left + 0.5, top + 0.5, 2, 2);
  }
}

/** The state of a tile. For a group: the most frequent state among its nodes that are not just running. */
function markedState({ state, states }: MapRow): MapRow["state"] {
  const all = Object.keys(states ?? {}) as MapRow["state"][];
  return all.find((one) => one !== "running" && one !== "unmanaged") ?? state;
}

/** The state of a tile without room for a mark: the tile is half dark, all warning, or has a bar. */
function smallMark(context: CanvasRenderingContext2D, { row, x, y, size }: Tile, colours: Palette) {
  const state = markedState(row);
  if (state === "running" || state === "unmanaged") return;
  context.fillStyle = colours.surface;
  context.fillRect(x, y, size, size);
  context.fillStyle = state === "chosen" ? colours.warn : colours.text;
  if (state === "chosen") context.fillRect(x, y, size, size);
  else if (COMES_UP.has(state)) context.fillRect(x, y, size / 2, size);
  else context.fillRect(x, y + size / 3, size, Math.max(1, size / 3));
}

const COMES_UP: ReadonlySet<MapRow["state"]> = new Set(["launching", "joining", "initializing"]);

/**
 * The state as a shape, so that it can be seen without colours: half circle = launching or joining, triangle =
 * chosen for disruption, bar = leaving, dot = drifted.
 */
function stateMark(context: CanvasRenderingContext2D, { row, x, y, size }: Tile, colours: Palette) {
  const r = Math.max(3, Math.min(8, size / 5));
  const [cx, cy] = [x + size - r - 2, y + size - r - 2];
  const state = markedState(row);
  if (state === "running" && row.drifted !== true) return;
  if (state === "unmanaged") return;
  context.fillStyle = colours.surface;
  context.fillRect(cx - r - 1, cy - r - 1, 2 * r + 2, 2 * r + 2);
  context.fillStyle = context.strokeStyle =
    state === "chosen" || state === "running" ? colours.warn : colours.info;
  context.beginPath();
  if (COMES_UP.has(state)) {
    context.arc(cx, cy, r - 1, -Math.PI / 2, Math.PI / 2);
    context.fill();
    context.beginPath();
    context.arc(cx, cy, r - 1, 0, 2 * Math.PI);
    context.stroke();
  } else if (state === "chosen") {
    context.moveTo(cx, cy - r);
    context.lineTo(cx + r, cy + r);
    context.lineTo(cx - r, cy + r);
    context.fill();
  } else if (state === "running") {
    context.arc(cx, cy, r / 2, 0, 2 * Math.PI);
    context.fill();
  } else {
    context.fillRect(cx - r, cy - r / 3, 2 * r, (2 * r) / 3);
  }
}
