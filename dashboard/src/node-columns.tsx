/** The columns of a table of nodes, or of groups of nodes. */
import { ageOf, grouped, percent, perHour, plain } from "./format.ts";
import type { Column } from "./grid.tsx";
import { StateMark, statesText } from "./pieces.tsx";
import { nowMs } from "./store.ts";
import type { MapRow } from "./wire.ts";

export const NODE_COLUMNS: readonly Column<MapRow>[] = [
  { title: "Node", cell: (_, name) => plain(name) },
  { title: "State", cell: ({ state }) => <StateMark state={state} /> },
  { title: "NodePool", cell: ({ pool }) => plain(pool ?? "") },
  { title: "Type", cell: ({ type }) => type ?? "–", isMinor: true },
  { title: "Zone", cell: ({ zone }) => zone ?? "–", isMinor: true },
  { title: "Capacity", cell: ({ capacity }) => capacity ?? "–", isMinor: true },
  { title: "CPU requested", cell: ({ cpu }) => percent(...cpu), isNumber: true },
  {
    title: "Memory requested",
    cell: ({ memory }) => percent(...memory),
    isNumber: true,
    isMinor: true,
  },
  { title: "Pods", cell: ({ pods }) => pods, isNumber: true },
  { title: "Price", cell: ({ price }) => perHour(price), isNumber: true },
  {
    title: "Age",
    cell: ({ created }) => ageOf(created, nowMs.value),
    isNumber: true,
    isMinor: true,
  },
  { title: "Held by", cell: ({ held }) => plain(held ?? ""), isMinor: true },
];

/** The columns if rows are groups: the number of nodes, their states, then the columns of a node that fit a group. */
export const GROUP_COLUMNS: readonly Column<MapRow>[] = [
  { title: "Nodes", cell: ({ nodes = 1 }) => grouped(nodes), isNumber: true },
  { title: "States", cell: (row) => statesText(row), isWide: true },
  ...NODE_COLUMNS.slice(2).filter(({ title }) => title !== "Age"),
];
