import { expect, it } from "vitest";
import { fieldLines } from "./yaml-lines.ts";

it("finds the line of each field, in any document, in flow style and in JSON", () => {
  const text =
    'a: 1\nb:\n- c: 2\n  d: {e: 3,\n    f: [4, {g: 5}]}\n---\n# nothing\n---\n"x y": 1\nz:\n  w: {}\n';
  expect([...(fieldLines(text)[0] ?? [])]).toEqual([
    ["a", 1],
    ["b", 2],
    ["b[0].c", 3],
    ["b[0].d", 4],
    ["b[0].d.e", 4],
    ["b[0].d.f", 5],
    ["b[0].d.f[1].g", 5],
  ]);
  expect([...(fieldLines(text)[1] ?? [])]).toEqual([
    ["x y", 9],
    ["z", 10],
    ["z.w", 11],
  ]);
  expect(fieldLines('{"a": 1,\n"b": [{"c": 2}]}')[0]?.get("b[0].c")).toBe(2);
  expect(fieldLines("a: &x {b: 1}\nc: *x\nd: 2\n")[0]?.get("d")).toBe(3);
  expect(fieldLines("{")).toEqual([]);
});
