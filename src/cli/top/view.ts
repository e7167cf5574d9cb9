/** What the user selected in `karpenter top`, and how keys change it. */
import type { Fleet, FleetNode } from "../../core/answers/fleet.ts";

/** The sort orders. The key `s` goes through them in this order. */
export const SORTS = ["pool", "name", "cpu", "memory", "price", "age", "pods", "state"] as const;

/** The columns by which `top` sorts. */
export type Sort = (typeof SORTS)[number];

/** What the user chose to see. */
export interface TopView {
  readonly sort: Sort;
  /** Shows only nodes whose name, pool, type, zone or state contains this text. */
  readonly filter: string;
  /** True while the user types the filter. */
  readonly isTyping: boolean;
  /** Index of the selected node among the shown ones. */
  readonly selected: number;
  /** Whether readings of the cluster are paused. */
  readonly isPaused: boolean;
  /** Whether the list of keys is shown instead of the nodes. */
  readonly showsKeys?: true;
  /** The node whose explanation is shown. Absent: the list is shown. */
  readonly explained?: string;
  readonly isOver: boolean;
}

/** The view at the start. */
export const FIRST_VIEW: TopView = {
  sort: "pool",
  filter: "",
  isTyping: false,
  selected: 0,
  isPaused: false,
  isOver: false,
};

/** A key from `node:readline`: `name` for named keys, `text` for what it types. */
export interface Key {
  readonly name?: string | undefined;
  readonly text?: string | undefined;
  readonly ctrl?: boolean | undefined;
}

/** The view after a key. `shown` are the names of the listed nodes, in order. */
export function afterKey(view: TopView, key: Key, shown: readonly string[]): TopView {
  if (key.ctrl === true && key.name === "c") return { ...view, isOver: true };
  if (view.isTyping) return afterTyping(view, key);
  if (view.showsKeys) return afterKeys(view, key);
  if (key.text === "?") return { ...view, showsKeys: true };
  if (view.explained !== undefined) return afterExplained(view, key);
  const last = Math.max(0, shown.length - 1);
  const to = (position: number) => ({ ...view, selected: Math.min(last, Math.max(0, position)) });
  switch (key.name) {
    case "q":
      return { ...view, isOver: true };
    case "up":
    case "k":
      return to(view.selected - 1);
    case "down":
    case "j":
      return to(view.selected + 1);
    case "pageup":
      return to(view.selected - PAGE);
    case "pagedown":
      return to(view.selected + PAGE);
    case "home":
      return to(0);
    case "end":
      return to(last);
    case "s":
      return { ...view, sort: SORTS[(SORTS.indexOf(view.sort) + 1) % SORTS.length] as Sort };
    case "p":
      return { ...view, isPaused: !view.isPaused };
    case "escape":
      return { ...view, filter: "", selected: 0 };
    case "return": {
      const name = shown[Math.min(last, view.selected)];
      return name === undefined ? view : { ...view, explained: name };
    }
    default:
      return key.text === "/" ? { ...view, isTyping: true, filter: "", selected: 0 } : view;
  }
}

/** What each key does, in the order of use. */
export const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["↑ ↓, k j", "select a node"],
  ["PageUp PageDown", "ten nodes up or down"],
  ["Home End", "the first or last node"],
  ["Enter", "explain why the node is here and why it stays"],
  ["Escape", "back to the list; show all nodes again"],
  ["s", `sort by the next of: ${SORTS.join(", ")}`],
  ["/", "type a filter"],
  ["p", "pause: nothing is read until it is pressed again"],
  ["?", "these keys"],
  ["q, Ctrl-C", "end; Ctrl-Z suspends"],
];

/** Number of nodes that a page key skips. */
const PAGE = 10;

function afterTyping(view: TopView, { name, text }: Key): TopView {
  if (name === "return") return { ...view, isTyping: false };
  if (name === "escape") return { ...view, isTyping: false, filter: "" };
  if (name === "backspace") return { ...view, filter: view.filter.slice(0, -1) };
  return text !== undefined && text >= " " ? { ...view, filter: view.filter + text } : view;
}

/** The view after a key while the list of keys is shown. Any key closes the list; `q` quits. */
function afterKeys(view: TopView, { name }: Key): TopView {
  if (name === "q") return { ...view, isOver: true };
  const { showsKeys: _, ...before } = view;
  return before;
}

function afterExplained(view: TopView, { name }: Key): TopView {
  if (name === "q") return { ...view, isOver: true };
  if (name !== "escape" && name !== "return") return view;
  const { explained: _, ...list } = view;
  return list;
}

/** The nodes that the view shows, in its order. */
export function shownNodes({ nodes }: Fleet, { filter, sort }: TopView): readonly FleetNode[] {
  const wanted = filter.toLowerCase();
  const matches = ({ name, nodePool, instanceType, zone, state }: FleetNode) =>
    [name, nodePool, instanceType, zone, state].some((one) => one?.toLowerCase().includes(wanted));
  return nodes
    .filter((node) => wanted === "" || matches(node))
    .sort((a, b) => ORDER[sort](a, b) || compare(a.name, b.name));
}

const ORDER: Readonly<Record<Sort, (a: FleetNode, b: FleetNode) => number>> = {
  pool: (a, b) => compare(a.nodePool ?? "~", b.nodePool ?? "~"),
  name: () => 0,
  cpu: (a, b) => shareOf(b, "cpu") - shareOf(a, "cpu"),
  memory: (a, b) => shareOf(b, "memory") - shareOf(a, "memory"),
  price: (a, b) => (b.priceMicroUsdPerHour ?? 0) - (a.priceMicroUsdPerHour ?? 0),
  age: (a, b) => compare(a.createdAt ?? "~", b.createdAt ?? "~"),
  pods: (a, b) => b.pods - a.pods,
  state: (a, b) => compare(a.state, b.state),
};

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The requested share of the allocatable amount. 0 if nothing is allocatable. */
export function shareOf(
  { requested, allocatable }: Pick<FleetNode, "requested" | "allocatable">,
  resource: "cpu" | "memory",
): number {
  const there = allocatable[resource] ?? 0;
  return there <= 0 ? 0 : (requested[resource] ?? 0) / there;
}
