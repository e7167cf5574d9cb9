import { expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { bitIndices } from "../../scheduling/bits.ts";
import {
  capacityColumn,
  firstAtLeast,
  labelColumn,
  resourceColumn,
  sheetOf,
} from "./type-sheet.ts";

it("finds the first amount that is large enough", () => {
  const random = new Random("amounts");
  for (let round = 0; round < 50; round++) {
    const rising = Array.from({ length: random.int(8) }, () => random.int(9)).sort((a, b) => a - b);
    const all = Array.from({ length: 12 }, (_, at) => at - 1);
    const found = all.map((wanted) => firstAtLeast(rising, wanted));
    expect(found).toEqual(all.map((wanted) => rising.filter((one) => one < wanted).length));
  }
});

it("lists for each amount of a resource the types with at least that amount", () => {
  const random = new Random("columns");
  for (let round = 0; round < 20; round++) {
    const all = Array.from({ length: 1 + random.int(70) }, () => ({ cpu: random.int(5) }));
    const { amounts, rows } = resourceColumn(all, "cpu");
    expect(amounts).toEqual([...new Set(all.map(({ cpu }) => cpu))].sort((a, b) => a - b));
    const words = rows.length / amounts.length;
    amounts.forEach((amount, row) => {
      const having = bitIndices(rows.subarray(row * words, (row + 1) * words));
      expect(having).toEqual([...all.keys()].filter((at) => (all[at]?.cpu ?? 0) >= amount));
    });
  }
  expect(resourceColumn([{}, { gpu: 1 }], "gpu").amounts).toEqual([0, 1]);
});

it("makes columns again for a list with another capacity or overhead, not for one with other offerings", () => {
  const types = ["a", "b"].map(
    (name): InstanceType => ({
      name,
      labels: { size: [name] },
      capacity: { cpu: 2_000 },
      overhead: {},
      offerings: [],
    }),
  );
  const [first, last] = types as [InstanceType, InstanceType];
  const sheet = sheetOf(types);
  const offering = { zone: "z", capacityType: "spot", priceMicroUsd: 1, available: true } as const;
  const other = sheetOf([first, { ...last, offerings: [offering] }]);
  expect(labelColumn(other, "size")).toBe(labelColumn(sheet, "size"));
  expect(other.offerings).not.toBe(sheet.offerings);
  const larger = sheetOf([first, { ...last, capacity: { cpu: 4_000 } }]);
  expect(capacityColumn(larger, "cpu").amounts).toEqual([4_000, 2_000]);
  const busier = sheetOf([first, { ...last, overhead: { cpu: 500 } }]);
  expect(busier.allocatable).toEqual([{ cpu: 2_000 }, { cpu: 1_500 }]);
  expect(sheetOf([first]).allocatable).toEqual([{ cpu: 2_000 }]);
});
