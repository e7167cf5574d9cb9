import { describe, expect, it } from "vitest";
import { formatLabelSelector, matchesNodeSelectorTerm } from "../../../apis/core/selectors.ts";
import type { LabelSelector } from "../../../apis/meta.ts";
import { parseLabelSelector } from "./label-selector.ts";

describe("the parser of label selectors", () => {
  it("reads what kubectl -l writes, and the selector can be written back", () => {
    const matchExpressions = parseLabelSelector("a=b,c!=d,e in (f, g),h notin (i),j,!k");
    const labels = { a: "b", e: "g", j: "" };
    expect(matchesNodeSelectorTerm({ matchExpressions }, labels)).toBe(true);
    expect(matchesNodeSelectorTerm({ matchExpressions }, { ...labels, k: "" })).toBe(false);
    expect(matchesNodeSelectorTerm({ matchExpressions }, { ...labels, c: "d" })).toBe(false);
    const text = formatLabelSelector({ matchExpressions } as LabelSelector);
    expect(parseLabelSelector(text)).toEqual(matchExpressions);
    expect(parseLabelSelector("")).toEqual([]);
  });

  it("reads comparisons of numbers", () => {
    const matchExpressions = parseLabelSelector("n>5,n < 9");
    expect(matchesNodeSelectorTerm({ matchExpressions }, { n: "7" })).toBe(true);
    expect(matchesNodeSelectorTerm({ matchExpressions }, { n: "9" })).toBe(false);
  });

  it("reads selectors with a missing value, and empty items of a list", () => {
    expect(parseLabelSelector("a=,b in (,x)")).toEqual([
      { key: "a", operator: "In", values: [""] },
      { key: "b", operator: "In", values: ["", "x"] },
    ]);
  });
});
