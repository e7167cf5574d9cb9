import { expect, it } from "vitest";
import { jsonInSteps } from "./json-in-steps.ts";
import { atOnce } from "./steps.ts";

const row = (at: number) => ({
  at,
  pool: `p"${at}`,
  cpu: [at, null],
  gone: undefined,
  on: at % 2 === 0,
});
const rows = Array.from({ length: 3_000 }, (_, at) => row(at));

it.each([
  [null],
  [undefined],
  ["a \u2028 text"],
  [[]],
  [{}],
  [{ a: undefined }],
  [[undefined, 1]],
  [rows],
  [Object.fromEntries(rows.map((one) => [`node-${one.at}`, one]))],
  [
    {
      set: Object.fromEntries(rows.map((one) => [`é${one.at}`, one])),
      del: ["x"],
      rows: [rows, [], undefined],
    },
  ],
  [Array.from({ length: 2_000 }, () => undefined)],
  [Object.fromEntries(rows.map(({ at }) => [`k${at}`, undefined]))],
])("gives the text that JSON.stringify gives (%#)", (value) => {
  expect(atOnce(jsonInSteps(value))).toBe(JSON.stringify(value ?? null));
});

it("pauses after a few hundred values, wherever they are", () => {
  for (const value of [rows, { all: rows }, [[rows]], Object.fromEntries(rows.entries())]) {
    let count = 0;
    for (const _ of jsonInSteps(value)) count += 1;
    // Each row has seven values.
    expect(count).toBeGreaterThanOrEqual(30);
  }
});
