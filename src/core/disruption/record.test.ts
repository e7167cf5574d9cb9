import { expect, test } from "vitest";
import { nodeClaim } from "../../testing/builders.ts";
import { recordOf, withoutRecord, withRecord } from "./record.ts";

test("a command's record is written to a claim and taken off again", () => {
  const record = {
    id: "c",
    reason: "Drifted",
    consolidationType: "",
    startedAt: "2026-01-01T00:00:00Z",
    nodes: ["a"],
    replacements: 1,
  } as const;
  const claim = nodeClaim({ name: "a" });
  const marked = withRecord(claim, record);
  expect(recordOf(marked)).toEqual(record);
  expect(recordOf(withoutRecord(marked))).toBe(undefined);
  // The same object, so nothing is written.
  expect(withoutRecord(claim)).toBe(claim);
});
