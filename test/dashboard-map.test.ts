/** The map of the dashboard: where groups of nodes stand. */
import { expect, it } from "vitest";
import { layoutOf, type Slotted } from "../dashboard/src/slots.ts";

function groupsOf(...sizes: readonly number[]): Slotted {
  const groups = sizes.map((room, index) => [`g${index}`, { slots: new Map(), room }] as const);
  return { groups: new Map(groups) };
}

it("makes the boxes of groups wider where that makes room for larger tiles", () => {
  const wide = layoutOf(groupsOf(4_000, 2_000), 1_500, 600);
  expect(wide.tile).toBe(10);
  expect(wide.height).toBeLessThanOrEqual(600);
});

it("keeps every box within the map, and apart from the others", () => {
  for (const [width, height] of [
    [360, 500],
    [1_260, 640],
    [2_500, 1_300],
  ] as const)
    for (const sizes of [[3], [250, 130], [4_000, 2_000], [900, 3, 3, 40, 700]]) {
      const { boxes } = layoutOf(groupsOf(...sizes), width, height);
      for (const [index, box] of boxes.entries()) {
        expect(box.x + box.width).toBeLessThanOrEqual(width);
        for (const other of boxes.slice(0, index)) {
          const isBeside = other.x + other.width <= box.x || box.x + box.width <= other.x;
          const isAbove = other.y + other.height <= box.y || box.y + box.height <= other.y;
          expect(isBeside || isAbove).toBe(true);
        }
      }
    }
});
