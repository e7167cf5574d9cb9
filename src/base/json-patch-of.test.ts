import { describe, expect, it } from "vitest";
import { jsonPatchOf } from "./json-patch-of.ts";

describe("a JSON patch of two values", () => {
  it.each([
    [{ a: 1 }, { a: 1 }, []],
    [
      { a: 1, b: 2 },
      { b: 3, "c/d~": 4 },
      [
        { op: "remove", path: "/a" },
        { op: "replace", path: "/b", value: 3 },
        { op: "add", path: "/c~1d~0", value: 4 },
      ],
    ],
    [{ a: 1, b: 2 }, { a: undefined, b: 2 }, [{ op: "remove", path: "/a" }]],
    [{ list: [1] }, { list: [1, 2] }, [{ op: "replace", path: "/list", value: [1, 2] }]],
    [
      {
        containers: [
          { name: "a", env: ["SECRET"] },
          { name: "b", env: ["SECRET"], cpu: 1 },
        ],
      },
      {
        containers: [
          { name: "a", env: ["SECRET"] },
          { name: "b", env: ["SECRET"], cpu: 2 },
        ],
      },
      [
        { op: "test", path: "/containers/1/name", value: "b" },
        { op: "replace", path: "/containers/1/cpu", value: 2 },
      ],
    ],
  ])("from %j to %j has only the differences", (before, after, wanted) => {
    expect(jsonPatchOf(before, after)).toEqual(wanted);
  });
});
