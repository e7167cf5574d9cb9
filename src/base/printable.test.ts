import { describe, expect, it } from "vitest";
import { paintedLine, printable, printedJson, printedLines } from "./printable.ts";

describe("text for people", () => {
  it.each([
    ["plain text, äöü, 日本語, 🚀", "plain text, äöü, 日本語, 🚀"],
    ["a\nb\r\tc", "a\\nb\\r\\tc"],
    ["\u001b[31mred\u001b[0m", "\\u001b[31mred\\u001b[0m"],
    ["\u001b]0;title\u0007", "\\u001b]0;title\\u0007"],
    ["\u009b2J\u007f", "\\u009b2J\\u007f"],
    ["user\u202egnp.exe", "user\\u202egnp.exe"],
    ["a\u2028b\u2029c\u0085d", "a\\u2028b\\u2029c\\u0085d"],
    ["\u200efrom\u2066left\ufeff", "\\u200efrom\\u2066left\\ufeff"],
    ["tag\u{e0041}", "tag\\udb40\\udc41"],
    ["half \ud800 of one", "half \\ud800 of one"],
  ])("shows %j as %j, and the same when it is done twice", (text, shown) => {
    expect(printable(text)).toBe(shown);
    expect(printable(shown)).toBe(shown);
  });

  it("has as many lines as it was given", () => {
    expect(printedLines(["one", "two\nforged"])).toBe("one\ntwo\\nforged\n");
    expect(printedLines([])).toBe("");
  });

  it("keeps its own colour codes and escapes those in the text", () => {
    const red = (text: string): string => `\u001b[31m${text}\u001b[39m`;
    expect(paintedLine("a\u001b[0m", red)).toBe("\u001b[31ma\\u001b[0m\u001b[39m\n");
  });

  it("as JSON still means the same", () => {
    const value = { a: "x\u009b\u202e\n", b: ["\u001b", "🚀"] };
    for (const indent of [0, 2]) {
      const shown = printedJson(`${JSON.stringify(value, null, indent)}\n`);
      expect(JSON.parse(shown)).toEqual(value);
      expect(shown.replaceAll("\n", "")).toBe(printable(shown.replaceAll("\n", "")));
    }
  });
});
