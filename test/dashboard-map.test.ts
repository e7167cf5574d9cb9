/** The map of the dashboard: where groups of nodes stand. */
import { expect, it } from "vitest";
import { arrowsOf, movesText } from "../dashboard/src/arrows.ts";
import { layoutOf, type Slotted } from "../dashboard/src/slots.ts";
import type { MapRow } from "../dashboard/src/wire.ts";

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

it("draws all arrows while they are few, and then only those of the nodes that a person looks at", () => {
  const row = (to?: MapRow["to"]) => ({ to }) as MapRow;
  const fleet = (leaving: number) => [
    ...Array.from({ length: leaving }, (_, at) => [`old-${at}`, row([["new", 3]])] as const),
    ["new", row()] as const,
    ["other", row()] as const,
  ];
  expect(arrowsOf(new Map(fleet(30)))).toMatchObject({ all: 30, drawn: { length: 30 } });
  const many = new Map(fleet(31));
  expect(arrowsOf(many)).toEqual({ all: 31, wanted: 0, drawn: [] });
  expect(arrowsOf(many, ["old-7", undefined]).drawn).toEqual([
    { from: "old-7", to: "new", pods: 3 },
  ]);
  expect(arrowsOf(many, ["new"])).toMatchObject({
    all: 31,
    wanted: 31,
    drawn: { length: 30 },
  });
});

it("draws at most 30 arrows also of a node that is looked at: those of most pods", () => {
  const row = (to?: MapRow["to"]) => ({ to }) as MapRow;
  const taken = Array.from({ length: 60 }, (_, at) => [`new-${at}`, at + 1] as const);
  const rows = new Map([
    ["old", row(taken)],
    ...taken.map(([name]): [string, MapRow] => [name, row()]),
  ]);
  const arrows = arrowsOf(rows, ["old"]);
  expect(arrows.drawn.map(({ pods }) => pods)).toEqual(
    Array.from({ length: 30 }, (_, at) => 60 - at),
  );
  expect(movesText(arrows)).toBe("30 of 60 moves of pods are drawn, those of most pods");
  expect(movesText(arrowsOf(rows, ["new-7"]))).toBe("1 of 60 moves of pods are drawn");
});
