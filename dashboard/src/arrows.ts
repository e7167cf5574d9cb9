/** Which arrows the map draws, from a leaving node to the nodes that take its pods. Its table has the same as text. */
import type { MapRow } from "./wire.ts";

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly pods: number;
}

/** Maximum number of arrows that are drawn at once. More would hide the map. */
const MOST_ARROWS = 30;

/**
 * All arrows. If there are too many, only those from or to the nodes that the person looks at. `all`: the number of all
 * arrows. Pods that go to a node without a name get no arrow.
 */
export function arrowsOf(
  rows: ReadonlyMap<string, MapRow>,
  looksAt: readonly (string | undefined)[] = [],
): {
  readonly drawn: readonly Arrow[];
  readonly all: number;
} {
  const arrows = [...rows].flatMap(([from, row]) =>
    (row.to ?? []).flatMap(([to, pods]): Arrow[] => (rows.has(to) ? [{ from, to, pods }] : [])),
  );
  const drawn =
    arrows.length <= MOST_ARROWS
      ? arrows
      : arrows.filter(({ from, to }) => looksAt.includes(from) || looksAt.includes(to));
  return { drawn, all: arrows.length };
}
