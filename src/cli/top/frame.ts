/** One frame of `karpenter top`: the fleet as lines of text, for a screen of any size. Pure functions. */
import { fromRfc3339 } from "../../base/clock.ts";
import { counted, grouped } from "../../base/counted.ts";
import { printable } from "../../base/printable.ts";
import { usd } from "../../core/answers/command-answer.ts";
import type { Fleet, FleetNode, FleetPool, NodeState, Waiting } from "../../core/answers/fleet.ts";
import { shortReason } from "../plan/reason-words.ts";
import { rejectionText } from "../program/code-words.ts";
import { percent } from "../program/figures.ts";
import { clipped, table } from "../program/layout.ts";
import { type Line, type Paint, painted } from "../program/terminal.ts";
import { KEYS, shareOf, shownNodes, type TopView } from "./view.ts";

/** The size of a frame. */
export interface Canvas {
  /** Number of characters on a line, at least 40. */
  readonly columns: number;
  /** Number of lines. Absent: as many as needed. */
  readonly rows?: number | undefined;
  readonly paint: Paint;
  /** Whether bars and marks are drawn with ASCII characters only. */
  readonly isAscii?: boolean;
}

/** What the screen shows besides the fleet. */
export interface Surroundings {
  /** The cluster's name. Absent: the fleet was read from files. */
  readonly cluster?: string | undefined;
  /** The error of the last reading. Absent: none. */
  readonly problem?: string | undefined;
  /** The explanation of a node. Absent: none is shown. */
  readonly explanation?: readonly string[] | undefined;
}

/** The lines of the frame, at most as many as the canvas has. */
export function frame(
  fleet: Fleet,
  view: TopView,
  canvas: Canvas,
  around: Surroundings = {},
): readonly Line[] {
  const head = [headLine(fleet, view, canvas, around)];
  const foot = [footLine(view, canvas, around)];
  if (view.showsKeys) {
    const ascii = (keys: string) =>
      canvas.isAscii === true ? keys.replace("↑ ↓", "up down") : keys;
    const rows = table(KEYS.map(([keys, does]) => [ascii(keys), does]));
    const lines = rows.map((row) => clipped(row, canvas.columns));
    return fitted([...head, "", painted("KEYS", canvas.paint.dim)], lines, foot, canvas);
  }
  if (around.explanation !== undefined) {
    const lines = around.explanation.flatMap((line) => wrapped(line, canvas.columns));
    return fitted([...head, ""], lines, foot, canvas);
  }
  const pools = poolLines(fleet, canvas);
  const waiting = [...waitingLines(fleet, canvas), ...bufferLines(fleet, canvas)];
  const top = [...head, ...pools];
  const room = roomOf(canvas, top.length + waiting.length + foot.length + 1);
  return fitted(top, nodeLines(fleet, view, canvas, room), [...waiting, ...foot], canvas);
}

/** Breaks a line between words, with the indent of its beginning. */
function wrapped(line: string, columns: number): readonly string[] {
  const indent = " ".repeat(Math.min(line.search(/\S|$/), columns / 2));
  const lines: string[] = [];
  let rest = line;
  while (rest.length > columns) {
    const space = rest.lastIndexOf(" ", columns);
    const end = space > indent.length ? space : columns;
    lines.push(rest.slice(0, end).trimEnd());
    rest = indent + rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

function roomOf({ rows }: Canvas, taken: number): number {
  return rows === undefined ? Number.POSITIVE_INFINITY : Math.max(1, rows - taken);
}

/** Fits the frame into the canvas: its middle part is cut or filled up. */
function fitted(
  top: readonly Line[],
  middle: readonly Line[],
  bottom: readonly Line[],
  { rows }: Canvas,
): readonly Line[] {
  if (rows === undefined) return [...top, ...middle, ...bottom];
  const room = Math.max(0, rows - top.length - bottom.length);
  const shown = middle.slice(0, room);
  const blank = Array.from({ length: room - shown.length }, () => "");
  return [...top, ...shown, ...blank, ...bottom].slice(0, rows);
}

function headLine(
  { totals, at, waiting }: Fleet,
  { isPaused }: TopView,
  { columns, paint }: Canvas,
  { cluster = "files" }: Surroundings,
): Line {
  const moving = isPaused ? "paused" : at.slice(11, 19);
  const oldest = waiting.flatMap(({ since }) => fromRfc3339(since) ?? []);
  const age = oldest.length === 0 ? "" : ` ${ageText(Math.min(...oldest), at)}`;
  const unpriced = ` and ${grouped(totals.unpriced)} of unknown price`;
  const parts = [
    `${cluster} ${moving}`,
    counted(totals.nodes, "node"),
    `${usd(totals.priceMicroUsdPerHour)}/h${totals.unpriced > 0 ? unpriced : ""}`,
    `CPU ${percent(shareOf(totals, "cpu"))}`,
    `memory ${percent(shareOf(totals, "memory"))}`,
    counted(totals.pods, "pod"),
  ];
  const waits = totals.waiting === 0 ? "none waiting" : `${grouped(totals.waiting)} waiting${age}`;
  // On a narrow screen the last numbers are left out, because whether pods wait matters more.
  while (parts.length > 1 && [...parts, waits].join("  ").length > columns) parts.pop();
  return painted(clipped([...parts, waits].join("  "), columns), paint.bold);
}

function poolLines({ pools }: Fleet, canvas: Canvas): readonly Line[] {
  if (pools.length === 0) return ["", "No node here belongs to a NodePool."];
  const longest = Math.max(...pools.map(({ name }) => printable(name).length));
  const width = Math.max(8, Math.min(24, canvas.columns - POOL_NUMBERS, longest));
  const columns = poolColumnsFor(canvas.columns - width);
  const head = ["POOL".padEnd(width), ...columns.map(headCell)].join("  ");
  const line = (pool: FleetPool) =>
    [
      clipped(pool.name, width).padEnd(width),
      ...columns.map((column) => cell(column, column.of(pool, canvas))),
    ].join("  ");
  const most = canvas.rows === undefined ? pools.length : Math.max(1, Math.floor(canvas.rows / 4));
  const more = pools.length - most;
  return [
    "",
    painted(clipped(head, canvas.columns), canvas.paint.dim),
    ...pools.slice(0, most).map((pool) => clipped(line(pool), canvas.columns)),
    ...(more > 0 ? [`and ${counted(more, "more pool")}`] : []),
  ];
}

interface PoolColumn extends CellShape {
  /** The columns with the lowest numbers are shown if the screen has no room for all. */
  readonly rank: number;
  readonly of: (pool: FleetPool, canvas: Canvas) => string;
}

const POOL_COLUMNS: readonly PoolColumn[] = [
  { head: "NODES", width: 5, isRight: true, rank: 1, of: ({ nodes }) => String(nodes) },
  { head: "CPU", width: 15, rank: 5, of: (pool, canvas) => meter(shareOf(pool, "cpu"), canvas) },
  {
    ...{ head: "MEMORY", width: 15, rank: 6 },
    of: (pool, canvas) => meter(shareOf(pool, "memory"), canvas),
  },
  { head: "$/H", width: 9, isRight: true, rank: 2, of: poolPrice },
  { head: "MOVING", width: 6, isRight: true, rank: 3, of: ({ moving }) => String(moving) },
  { head: "HELD", width: 5, isRight: true, rank: 4, of: ({ held }) => String(held) },
];

/** Characters of a pool's line after its name, if it has all columns. */
const POOL_NUMBERS = POOL_COLUMNS.reduce((sum, { width }) => sum + 2 + width, 0);

/** The columns for which there is room, in their usual order. */
function poolColumnsFor(room: number): readonly PoolColumn[] {
  const ranked = POOL_COLUMNS.toSorted((a, b) => a.rank - b.rank);
  const chosen = new Set<PoolColumn>();
  let taken = 0;
  for (const column of ranked) {
    taken += 2 + column.width;
    if (taken > room) break;
    chosen.add(column);
  }
  return POOL_COLUMNS.filter((column) => chosen.has(column));
}

/** Nodes cost something, so a sum of 0 says that no price is known. */
function poolPrice({ nodes, priceMicroUsdPerHour }: FleetPool): string {
  return nodes > 0 && priceMicroUsdPerHour === 0 ? "–" : usd(priceMicroUsdPerHour);
}

/** Number of characters of a usage bar. */
const BAR = 10;

function meter(share: number, { isAscii = false }: Canvas): string {
  const full = Math.max(0, Math.min(BAR, Math.round(share * BAR)));
  const [on, off] = isAscii ? ["#", "."] : ["█", "░"];
  return `${on.repeat(full)}${off.repeat(BAR - full)} ${percent(share).padStart(4)}`;
}

/** A mark for each state. The marks differ in shape, so that no meaning depends on colour alone. */
const MARKS: Readonly<Record<NodeState, readonly [mark: string, ascii: string]>> = {
  launching: ["◌", "+"],
  joining: ["◌", "+"],
  initializing: ["◐", "+"],
  running: ["●", " "],
  chosen: ["▲", "!"],
  draining: ["◑", "-"],
  detaching: ["◑", "-"],
  ending: ["○", "-"],
  unmanaged: ["·", "."],
};

interface CellShape {
  readonly head: string;
  readonly width: number;
  readonly isRight?: boolean;
}

/** An optional column, which is shown if the screen has room. The most useful columns come first. */
interface Column extends CellShape {
  /** Its width on a screen where all columns have room. Default: `width`. */
  readonly wide?: number;
  /** Whether the column takes all remaining room. */
  readonly grows?: boolean;
  readonly of: (node: FleetNode, fleet: Fleet, canvas: Canvas) => string;
}

const NAME_WIDTH = 20;
const COLUMNS: readonly Column[] = [
  { head: "TYPE", width: 14, wide: 20, of: ({ instanceType = "–" }) => instanceType },
  { head: "CPU", width: BAR + 5, of: (node, _, canvas) => meter(shareOf(node, "cpu"), canvas) },
  { head: "PODS", width: 4, isRight: true, of: ({ pods }) => String(pods) },
  { head: "STATE", width: 16, of: stateText },
  { head: "$/H", width: 8, isRight: true, of: priceText },
  {
    head: "MEMORY",
    width: BAR + 5,
    of: (node, _, canvas) => meter(shareOf(node, "memory"), canvas),
  },
  { head: "AGE", width: 7, isRight: true, of: ({ createdAt }, { at }) => ageOf(createdAt, at) },
  { head: "ZONE", width: 12, of: ({ zone = "–" }) => zone },
  { head: "CAPACITY", width: 9, of: ({ capacityType = "–" }) => capacityType },
  { head: "POOL", width: 14, of: ({ nodePool = "–" }) => nodePool },
  { head: "HELD BY", width: 20, grows: true, of: ({ held = "" }) => held },
];

function nodeLines(fleet: Fleet, view: TopView, canvas: Canvas, room: number): readonly Line[] {
  const nodes = shownNodes(fleet, view);
  if (nodes.length === 0) return ["", emptyText(fleet, view)];
  const columns = columnsFor(canvas.columns);
  const selected = Math.min(view.selected, nodes.length - 1);
  const isLive = canvas.rows !== undefined;
  const most = Math.max(1, room - 1);
  const from = isLive
    ? Math.max(0, Math.min(selected - Math.floor(most / 2), nodes.length - most))
    : 0;
  const head = ["NODE".padEnd(NAME_WIDTH + 2), ...columns.map(headCell)].join("  ");
  const rows = nodes.slice(from, from + most).map((node, at): Line => {
    const text = nodeLine(node, fleet, columns, canvas);
    if (isLive && from + at === selected) return painted(text, canvas.paint.inverse);
    return node.state === "running" || node.state === "unmanaged"
      ? text
      : painted(text, canvas.paint.yellow);
  });
  return ["", painted(clipped(head, canvas.columns), canvas.paint.dim), ...rows];
}

function emptyText({ nodes }: Fleet, { filter }: TopView): string {
  return nodes.length === 0
    ? "The cluster has no nodes. Pods that wait are shown below."
    : `No node matches "${filter}". Escape shows all.`;
}

/** From this width on all columns have room. */
const WIDE = 170;

function columnsFor(width: number): readonly Column[] {
  const chosen: Column[] = [];
  let taken = NAME_WIDTH + 2;
  for (const { wide, ...given } of COLUMNS) {
    const column = width >= WIDE && wide !== undefined ? { ...given, width: wide } : given;
    if (taken + 2 + column.width > width) continue;
    taken += 2 + column.width;
    chosen.push(column.grows ? { ...column, width: column.width + width - taken } : column);
  }
  return chosen;
}

function headCell(shape: CellShape): string {
  return cell(shape, shape.head);
}

function cell({ width, isRight = false }: CellShape, text: string): string {
  const shown = clipped(text, width);
  return isRight ? shown.padStart(width) : shown.padEnd(width);
}

function nodeLine(
  node: FleetNode,
  fleet: Fleet,
  columns: readonly Column[],
  canvas: Canvas,
): string {
  const mark = MARKS[node.state][canvas.isAscii === true ? 1 : 0];
  const cells = columns.map((column) => cell(column, column.of(node, fleet, canvas)));
  return [`${mark} ${shortName(node.name).padEnd(NAME_WIDTH)}`, ...cells].join("  ").trimEnd();
}

/**
 * The host's name without its domain. Of a long name the middle is left out, because names differ at the end, or at the
 * beginning.
 */
function shortName(name: string): string {
  const [host = name] = name.split(".");
  if (host.length <= NAME_WIDTH) return host;
  const end = Math.ceil((NAME_WIDTH - 1) / 2);
  return `${host.slice(0, NAME_WIDTH - 1 - end)}…${host.slice(-end)}`;
}

function stateText({ state, since, drifted }: FleetNode, { at }: Fleet): string {
  if (state === "running") return drifted === true ? "drifted" : "";
  if (state === "unmanaged") return "not of Karpenter";
  const sinceMs = fromRfc3339(since);
  return sinceMs === undefined ? state : `${state} ${ageText(sinceMs, at)}`;
}

function priceText({ priceMicroUsdPerHour, state }: FleetNode): string {
  if (priceMicroUsdPerHour === undefined) return state === "unmanaged" ? "" : "–";
  return usd(priceMicroUsdPerHour);
}

function ageOf(createdAt: string | undefined, at: string): string {
  const madeMs = fromRfc3339(createdAt);
  return madeMs === undefined ? "–" : ageText(madeMs, at);
}

/** An age with its two largest units: `3d4h`, `1h5m`, `40s`. */
function ageText(fromMs: number, at: string): string {
  const seconds = Math.max(0, Math.floor(((fromRfc3339(at) ?? fromMs) - fromMs) / 1_000));
  const [minutes, hours, days] = [60, 3_600, 86_400].map((unit) => Math.floor(seconds / unit));
  const two = (large: number, unit: string, small: number, smaller: string) =>
    small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smaller}`;
  if (days) return two(days, "d", (hours ?? 0) % 24, "h");
  if (hours) return two(hours, "h", (minutes ?? 0) % 60, "m");
  return minutes ? two(minutes, "m", seconds % 60, "s") : `${seconds}s`;
}

/** Maximum number of causes, and of buffers, that are shown. */
const MOST_CAUSES = 3;

function waitingLines({ waiting, at }: Fleet, canvas: Canvas): readonly Line[] {
  const { paint, rows } = canvas;
  if (waiting.length === 0) return [];
  const shown = rows === undefined ? waiting : waiting.slice(0, MOST_CAUSES);
  const more = waiting.length - shown.length;
  return [
    "",
    painted("WAITING", paint.dim),
    ...shown.flatMap((group) => withNames(waitingText(group, at), canvas)),
    ...(more > 0 ? [`and ${counted(more, "more cause")}`] : []),
  ];
}

function bufferLines({ headroom = [] }: Fleet, canvas: Canvas): readonly Line[] {
  const { paint, rows } = canvas;
  if (headroom.length === 0) return [];
  const shown = rows === undefined ? headroom : headroom.slice(0, MOST_CAUSES);
  const more = headroom.length - shown.length;
  return [
    "",
    painted("CAPACITY BUFFERS", paint.dim),
    ...shown.flatMap(({ buffer, pods, placed }) =>
      withNames(`${buffer}: room for ${placed} of ${counted(pods, "pod")}`, canvas),
    ),
    ...(more > 0 ? [`and ${counted(more, "more buffer")}`] : []),
  ];
}

/**
 * The text with whole names, on several lines if need be. It is cut to one line if a name is longer than a line, and on
 * a live screen, whose rows are few.
 */
function withNames(text: string, { columns, rows }: Canvas): readonly string[] {
  const shown = printable(text);
  const fits = shown.split(" ").every((word) => word.length <= columns);
  return rows === undefined && fits ? wrapped(shown, columns) : [clipped(text, columns)];
}

function waitingText(group: Waiting, at: string): string {
  const { pods, example, since } = group;
  const sinceMs = fromRfc3339(since);
  const age = sinceMs === undefined ? "" : ` for ${ageText(sinceMs, at)}`;
  // The cause comes first, because names may be too long for the line.
  return `${counted(pods, "pod")}${age}: ${causeText(group)} (${example}${pods > 1 ? ", …" : ""})`;
}

function causeText({ waitingFor, rejected = {}, reason }: Waiting): string {
  if (waitingFor === "nodeExists") return "a node for them exists or is coming up";
  if (waitingFor === "nodeWanted") return "a new node will be launched for them";
  const text = rejectionText(rejected);
  return reason === undefined ? `instance types ruled out: ${text}` : shortReason(reason);
}

function footLine(
  { isTyping, filter, sort, explained, showsKeys }: TopView,
  { columns, rows, paint }: Canvas,
  { problem }: Surroundings,
): Line {
  if (problem !== undefined) return painted(clipped(problem, columns), paint.red);
  if (rows === undefined) return "";
  if (isTyping) return clipped(`/${filter}_  enter: keep  esc: show all`, columns);
  if (showsKeys) return painted("any key: back  q quit", paint.dim);
  if (explained !== undefined) return painted("esc back  ? keys  q quit", paint.dim);
  const filtered = filter === "" ? "" : `  filter "${filter}"`;
  const keys = `q quit  ↑↓ select  enter explain  s sort: ${sort}  / filter  p pause  ? keys${filtered}`;
  return painted(clipped(keys, columns), paint.dim);
}
