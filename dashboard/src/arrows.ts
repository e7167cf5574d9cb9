/** Arrows from a leaving node to the nodes that take its pods. The table of the map has the same as text. */
import type { Palette } from "./paint.ts";
import type { MapRow } from "./wire.ts";

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly pods: number;
}

/** Maximum number of arrows that are drawn. More would hide the map. */
const MOST_ARROWS = 200;

/**
 * The arrows with the most pods. `all`: the number of all arrows. Pods that go to a node without a name get no arrow.
 */
export function arrowsOf(rows: ReadonlyMap<string, MapRow>): {
  readonly drawn: readonly Arrow[];
  readonly all: number;
} {
  const arrows = [...rows].flatMap(([from, row]) =>
    (row.to ?? []).flatMap(([to, pods]): Arrow[] => (rows.has(to) ? [{ from, to, pods }] : [])),
  );
  const drawn =
    arrows.length <= MOST_ARROWS
      ? arrows
      : arrows.sort((a, b) => b.pods - a.pods).slice(0, MOST_ARROWS);
  return { drawn, all: arrows.length };
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * Draws one arrow. It is bent, so that two arrows in opposite directions do not overlap, and has a rim, so that
 * it is visible on every colour.
 */
export function drawArrow(
  context: CanvasRenderingContext2D,
  { from, to, pods }: { from: Point | undefined; to: Point | undefined; pods: number },
  colours: Palette,
): void {
  if (from === undefined || to === undefined) return;
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  if (length < 4) return;
  const bend = Math.min(48, length / 5);
  const control = {
    x: (from.x + to.x) / 2 + (dy / length) * bend,
    y: (from.y + to.y) / 2 - (dx / length) * bend,
  };
  const width = pods >= 20 ? 4 : pods >= 5 ? 3 : 2;
  const angle = Math.atan2(to.y - control.y, to.x - control.x);
  const head = 6 + width * 2;
  context.lineCap = "round";
  for (const [colour, more] of [
    [colours.surface, 3],
    [colours.info, 0],
  ] as const) {
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = width + more;
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.quadraticCurveTo(control.x, control.y, to.x, to.y);
    context.stroke();
    context.beginPath();
    context.moveTo(to.x, to.y);
    context.lineTo(to.x - head * Math.cos(angle - 0.45), to.y - head * Math.sin(angle - 0.45));
    context.lineTo(to.x - head * Math.cos(angle + 0.45), to.y - head * Math.sin(angle + 0.45));
    context.closePath();
    if (more > 0) context.stroke();
    else context.fill();
  }
}
