import { expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { byKeys, byShape, fillingOrders, largestKeyFirst, ratioOrders } from "./row-orders.ts";

it("sorts rows by key, the largest first and equal ones by index, however many there are", () => {
  const random = new Random("orders");
  for (const count of [0, 1, 2, 7, 255, 256, 300]) {
    const keys = Float64Array.from({ length: count }, () => random.int(5));
    const wanted = [...keys.keys()].sort(
      (a, b) => (keys[b] as number) - (keys[a] as number) || a - b,
    );
    expect(byKeys(keys)).toEqual(wanted);
    const some = wanted.filter((row) => row % 3 > 0);
    const mixed = some.toSorted((a, b) => (a % 7) - (b % 7));
    expect(largestKeyFirst(mixed, keys)).toEqual(some);
    expect(mixed).toEqual(some);
  }
});

it("orders rows by value, by cpu, by memory and by their ratio both ways", () => {
  // The cpu and memory of three rows. The ratios are cpu over memory plus one.
  const amounts = [
    [1, 9],
    [4, 3],
    [3, 5],
  ].map((one) => Float64Array.from(one));
  const rows = amounts.map((one) => ({ amounts: one, count: 1 }));
  const packing = { rows, bins: [], dimensions: 2 };
  const [byCpu, byMemory, dense] = [
    [1, 2, 0],
    [0, 2, 1],
    [2, 0, 1],
  ];
  expect(fillingOrders(packing, Float64Array.of(2, 1, 3))).toEqual([
    dense,
    byCpu,
    byMemory,
    byCpu,
    byMemory,
  ]);
  expect(ratioOrders(packing)).toEqual([byCpu, byMemory]);
  expect(byShape(packing)).toEqual([0, 2, 1]);
  const equal = { ...packing, rows: [rows[0], rows[0]] as typeof rows };
  expect([byShape(equal), ...ratioOrders(equal)]).toEqual([
    [0, 1],
    [0, 1],
    [0, 1],
  ]);
  // The ratio of a row without memory is still a number.
  const bare = [Float64Array.of(1, 0), Float64Array.of(3, 1)].map((one) => ({
    amounts: one,
    count: 1,
  }));
  expect(ratioOrders({ ...packing, rows: bare })[0]).toEqual([1, 0]);
});
