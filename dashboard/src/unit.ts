/**
 * Windows of 2,200 pixels and more get larger texts and boxes (style.css sets the root's font size). What is sized in
 * code is sized in units.
 */

const USUAL_FONT_PX = 16;

/** Length of a unit in pixels: 1 in usual windows. */
export function unit(): number {
  const size = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Number.isNaN(size) ? 1 : size / USUAL_FONT_PX;
}
