import { describe, expect, it } from "vitest";
import { fits, passes } from "./passes.ts";

describe("a pattern of EC2's filters", () => {
  it.each([
    ["a", "a", true],
    ["a", "A", false],
    ["a*", "a", true],
    ["*b", "aab", true],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["*", "", true],
    ["?", "", false],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["a*b*c", "axxbyyc", true],
    ["a*b*c", "axxbyy", false],
  ])("%s and %s: %s", (pattern, text, expected) => {
    expect(fits(pattern, text)).toBe(expected);
  });

  it("takes little time, also with many stars", () => {
    const began = performance.now();
    expect(fits(`${"a*".repeat(120)}b`, "a".repeat(255))).toBe(false);
    expect(performance.now() - began).toBeLessThan(100);
  });
});

describe("filters of EC2 judged here", () => {
  const one = { fields: { "subnet-id": "subnet-1" }, tags: [{ Key: "team", Value: "red" }] };

  it.each([
    [[{ Name: "tag:team", Values: ["red", "blue"] }], true],
    [[{ Name: "tag:team", Values: ["r*"] }], true],
    [[{ Name: "tag:team", Values: ["blue"] }], false],
    [[{ Name: "tag:other", Values: ["*"] }], false],
    [[{ Name: "tag-key", Values: ["team"] }], true],
    [[{ Name: "subnet-id", Values: ["subnet-2"] }], false],
    [[{ Name: "state", Values: ["available"] }], true],
    [
      [
        { Name: "tag-key", Values: ["team"] },
        { Name: "subnet-id", Values: ["subnet-2"] },
      ],
      false,
    ],
  ])("%j: %s", (filters, expected) => {
    expect(passes(filters, one)).toBe(expected);
  });
});
