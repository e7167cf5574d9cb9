/** The nodes that match the filter, their order, and how they are grouped and coloured. */
import type { Fill, Grouping } from "./place.ts";
import type { MapRow } from "./wire.ts";

/** Whether every word of the filter is in the name of the node or in one of the row's texts. */
export function isMeant(name: string, row: MapRow, filter: string): boolean {
  if (filter === "") return true;
  const text = [name, row.pool, row.type, row.zone, row.capacity, row.state, row.held]
    .join(" ")
    .toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Number of nodes in these rows. A row may be a group of nodes. */
export function nodesIn(rows: Iterable<Pick<MapRow, "nodes">>): number {
  let count = 0;
  for (const { nodes } of rows) count += nodes ?? 1;
  return count;
}

/** The value of `about` that opens the drawer for a row of the map. */
export function aboutRow(name: string, row: MapRow | undefined): string {
  return row?.nodes === undefined ? `node/${name}` : `group/${name}`;
}

/** The node or group of the map that the drawer is about. Undefined: the drawer is about something else. */
export function rowNameOf(about: string): string | undefined {
  return /^(?:node|group)\/(.*)$/.exec(about)?.[1];
}

export function groupOf(row: MapRow, by: Grouping): string {
  return row[by] ?? "";
}

/**
 * The values by which nodes are coloured, the most frequent first, then by name. Empty if the colour shows a
 * share.
 */
export function categoriesOf(rows: Iterable<MapRow>, by: Fill): readonly string[] {
  if (by === "cpu" || by === "memory" || by === "held") return [];
  const counts = new Map<string, number>();
  for (const row of rows)
    counts.set(row[by] ?? "", (counts.get(row[by] ?? "") ?? 0) + (row.nodes ?? 1));
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).map(([name]) => name);
}

/** The rows that match the filter, sorted by NodePool and then by name. */
export function inOrder(
  rows: ReadonlyMap<string, MapRow>,
  filter: string,
): readonly [string, MapRow][] {
  return [...rows]
    .filter(([name, row]) => isMeant(name, row, filter))
    .sort(([a, x], [b, y]) => compare(x.pool ?? "~", y.pool ?? "~") || compare(a, b));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
