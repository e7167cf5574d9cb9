/** The lines of the price chart: the cost of each capacity type or NodePool at each moment. */
import type { PricePoint } from "./wire.ts";

/** One line of the chart. */
export interface Line {
  readonly label: string;
  /** The cost at this moment. Undefined: it is not known, and the line has a gap. */
  readonly of: (point: PricePoint) => number | undefined;
  readonly isDashed?: boolean;
}

/** Maximum number of lines in the chart. More colours than this cannot be distinguished. */
const MOST_LINES = 7;

/** A line for each capacity type (`parts`) or NodePool that had a known price. The most expensive ones now come first. */
export function linesOf(points: readonly PricePoint[], by: "parts" | "pools"): readonly Line[] {
  const last = points.at(-1);
  return [...new Set(points.flatMap((point) => Object.keys(point[by])))]
    .sort((a, b) => (last?.[by][b] ?? 0) - (last?.[by][a] ?? 0) || (a < b ? -1 : 1))
    .slice(0, MOST_LINES)
    .map((label) => ({ label, of: (point) => costIn(point, by, label) }));
}

function costIn(point: PricePoint, by: "parts" | "pools", name: string): number | undefined {
  const isUnknown = point.unknown?.[by].includes(name) === true;
  return point[by][name] ?? (isUnknown ? undefined : 0);
}
