/** Draws an arrow of the map. */
import type { Palette } from "./paint.ts";

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
