import { expect, test } from "vitest";
import { nodeClaim } from "../../testing/builders.ts";
import type { Command } from "./command.ts";
import {
  type CommandRecord,
  newRecord,
  recordOf,
  replacementCommandId,
  withoutRecord,
  withoutReplacementMark,
  withRecord,
} from "./record.ts";

const record: CommandRecord = {
  id: "c",
  reason: "Drifted",
  consolidationType: "",
  startedAt: "2026-01-01T00:00:00Z",
  nodes: ["a"],
  replacements: 1,
};

test("a command's record is written to a claim and taken off again", () => {
  const claim = nodeClaim({ name: "a" });
  const marked = withRecord(claim, record);
  expect(recordOf(marked)).toEqual(record);
  expect(recordOf(withoutRecord(marked))).toBe(undefined);
  // The same object is returned, so nothing is written to the API server.
  expect(withoutRecord(claim)).toBe(claim);
});

test("the record of a return to preferred nodes says after a restart that the node has not drifted", () => {
  const begun = (via: Command["via"]) => {
    const command = { ...record, via, candidates: [], replacements: [] } as unknown as Command;
    return recordOf(withRecord(nodeClaim({ name: "a" }), newRecord(command, "c", 0)));
  };
  expect([begun("return")?.isReturn, begun("drift")?.isReturn]).toEqual([true, undefined]);
});

test("a record is ignored if any of its fields is invalid", () => {
  const read = (more: object) =>
    recordOf(withRecord(nodeClaim({ name: "a" }), { ...record, ...more } as CommandRecord));
  expect([read({}), read({ graceMs: 5 })?.graceMs, read({ nodes: [] })?.nodes]).toEqual([
    record,
    5,
    [],
  ]);
  const broken: Partial<Record<keyof CommandRecord, unknown>>[] = [
    ...[{ id: 1 }, { reason: "Why" }, { consolidationType: "all" }, { startedAt: 1 }],
    ...[{ startedAt: "soon" }, { nodes: "a" }, { nodes: ["a", 1] }, { replacements: 0.5 }],
    { isReturn: 1 },
    ...[{ replacements: "1" }, { graceMs: "5" }, { graceMs: null }],
  ];
  expect(broken.filter((one) => read(one) !== undefined)).toEqual([]);
  const texts = ["nonsense", "[]", "null", "1", '"c"'];
  const key = "karpenter.sh/disruption-command";
  for (const text of texts)
    expect(recordOf(nodeClaim({ name: "a", annotations: { [key]: text } }))).toBeUndefined();
});

test("the replacement annotation is removed, and nothing else", () => {
  const key = "karpenter.sh/replacement-for-command";
  const claim = nodeClaim({ name: "a", annotations: { [key]: "c", other: "stays" } });
  expect(replacementCommandId(claim)).toBe("c");
  const without = withoutReplacementMark(claim);
  expect([replacementCommandId(without), without.metadata.annotations?.["other"]]).toEqual([
    undefined,
    "stays",
  ]);
  expect(withoutReplacementMark(without)).toBe(without);
});
