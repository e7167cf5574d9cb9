import { expect, it } from "vitest";
import { applyFilters } from "./filters.ts";

const KNOWN = new Set(["instance-id"]);

function ask(...values: readonly (readonly string[])[]): readonly string[] {
  const filters = values.map((Values) => ({ Name: "instance-id", Values }));
  return applyFilters(["i-1"], filters, KNOWN, (id) => ({
    fields: { "instance-id": id },
    tags: undefined,
  }));
}

const many = (count: number): string[] => Array.from({ length: count }, () => "i-1");

it.each([
  ["200 values of all filters together", [many(150), many(50)], [many(150), many(51)]],
  ["50 filters", many(50).map((one) => [one]), many(51).map((one) => [one])],
  ["255 characters of a value", [["i-1", "x".repeat(255)]], [["i-1", "x".repeat(256)]]],
])("a describe call accepts at most %s", (_, allowed, refused) => {
  expect(ask(...allowed)).toEqual(["i-1"]);
  expect(() => ask(...refused)).toThrow(expect.objectContaining({ code: "FilterLimitExceeded" }));
});
