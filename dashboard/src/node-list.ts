/** The nodes that the filter names, and what they are grouped by. */
import type { Fill, Grouping } from "./place.ts";
import type { MapRow } from "./wire.ts";

/** Name, pool, type, zone, capacity type or state contains each word. */
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

/** How many nodes rows stand for: a row may be a group. */
export function nodesIn(rows: Iterable<Pick<MapRow, "nodes">>): number {
  let count = 0;
  for (const { nodes } of rows) count += nodes ?? 1;
  return count;
}

/** What opens when a row is chosen. */
export function aboutRow(name: string, row: MapRow | undefined): string {
  return row?.nodes === undefined ? `node/${name}` : `group/${name}`;
}

export function groupOf(row: MapRow, by: Grouping): string {
  return row[by] ?? "";
}

/** At most eight: seven and the rest. By how many nodes have them, then name. */
export function categoriesOf(rows: Iterable<MapRow>, by: Fill): readonly string[] {
  if (by === "cpu" || by === "memory" || by === "held") return [];
  const counts = new Map<string, number>();
  for (const row of rows)
    counts.set(row[by] ?? "", (counts.get(row[by] ?? "") ?? 0) + (row.nodes ?? 1));
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).map(([name]) => name);
}

/** Sorted by NodePool, then name, like the table. */
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
