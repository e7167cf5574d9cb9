/** Figures of the dashboard that its pages draw: pods without a place, and lines of the price chart. */
import { expect, it } from "vitest";
import { linesOf } from "../dashboard/src/price-lines.ts";
import { unplacedPods } from "../dashboard/src/unplaced.ts";
import type { PricePoint } from "../dashboard/src/wire.ts";

it("shows pods that wait because of a change apart from those in any case, which are not bad", () => {
  const huge = { pod: "shop/huge", reason: "too large", waitsAnyway: true };
  const lost = { pod: "shop/web", reason: "limits", waitsAnyway: false };
  expect(unplacedPods([huge])).toMatchObject({ figure: "0, 1 in any case", isBad: false });
  expect(unplacedPods([lost, huge])).toEqual({
    figure: "1, 1 in any case",
    isBad: true,
    lists: [
      { title: "Pods without a place because of this", lines: ["shop/web: limits"] },
      { title: "Pods without a place in any case", lines: ["shop/huge: too large"] },
    ],
  });
  expect(unplacedPods([])).toMatchObject({ figure: "0", isBad: false });
});

it("draws a gap while the price of a NodePool is not known, and 0 while it has no node", () => {
  const point = (atMs: number, more: Partial<PricePoint>): PricePoint => ({
    atMs,
    priceMicroUsdPerHour: 7,
    parts: {},
    pools: {},
    ...more,
  });
  const points = [
    point(0, { pools: { a: 5, b: 2 } }),
    point(1, { pools: { a: 5 }, unknown: { parts: [], pools: ["b"] } }),
    point(2, { pools: { a: 5 } }),
  ];
  const drawn = linesOf(points, "pools").map(({ label, of }) => [label, points.map(of)]);
  expect(drawn).toEqual([
    ["a", [5, 5, 5]],
    ["b", [2, undefined, 0]],
  ]);
});
