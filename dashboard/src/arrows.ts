/** Which arrows the map draws, from a leaving node to the nodes that take its pods. Its table has the same as text. */
import { grouped } from "./format.ts";
import type { MapRow } from "./wire.ts";

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly pods: number;
}

/** Maximum number of arrows that are drawn at once. More would hide the map. */
const MOST_ARROWS = 30;

/** The arrows to draw, and of how many arrows they are the ones with most pods. */
interface Arrows {
  readonly drawn: readonly Arrow[];
  /** Number of all arrows, or of those from or to what the person looks at, if all would be too many. */
  readonly wanted: number;
  readonly all: number;
}

/**
 * The arrows to draw. If there are too many, only those from or to the nodes or groups that the person looks at, and of
 * those the ones with most pods. Pods that go to a node without a name get no arrow.
 */
export function arrowsOf(
  rows: ReadonlyMap<string, MapRow>,
  looksAt: readonly (string | undefined)[] = [],
): Arrows {
  const arrows = [...rows].flatMap(([from, row]) =>
    (row.to ?? []).flatMap(([to, pods]): Arrow[] => (rows.has(to) ? [{ from, to, pods }] : [])),
  );
  const wanted =
    arrows.length <= MOST_ARROWS
      ? arrows
      : arrows.filter(({ from, to }) => looksAt.includes(from) || looksAt.includes(to));
  const drawn =
    wanted.length <= MOST_ARROWS
      ? wanted
      : [...wanted].sort((a, b) => b.pods - a.pods).slice(0, MOST_ARROWS);
  return { drawn, wanted: wanted.length, all: arrows.length };
}

/** Says that only some arrows are drawn, and how many. */
export function movesText({ drawn, wanted, all }: Arrows): string {
  return drawn.length < wanted
    ? `${drawn.length} of ${grouped(wanted)} moves of pods are drawn, those of most pods`
    : `${drawn.length} of ${grouped(all)} moves of pods are drawn`;
}
