import { describe, expect, it } from "vitest";
import { fittedTable } from "./layout.ts";
import { hasColours, printedScreen, screenOf } from "./terminal.ts";

describe("a screen for text", () => {
  const terminal = { isTTY: true, columns: 80 } as const;
  const pipe = { isTTY: undefined as unknown as boolean } as const;

  it("has colours only on a terminal, and NO_COLOR, a dumb terminal or --color change that", () => {
    expect(hasColours(terminal, {})).toBe(true);
    expect(hasColours(pipe, { CI: "true", FORCE_COLOR: "1" })).toBe(false);
    expect(hasColours(terminal, { NO_COLOR: "1" })).toBe(false);
    expect(hasColours(terminal, { NO_COLOR: "" })).toBe(true);
    expect(hasColours(terminal, { TERM: "dumb" })).toBe(false);
    expect(hasColours(terminal, { NO_COLOR: "1" }, "always")).toBe(true);
    expect(hasColours(pipe, {}, "always")).toBe(true);
    expect(hasColours(terminal, {}, "never")).toBe(false);
  });

  it("is as wide as the terminal, from 60 to 100 columns, and 100 columns without a terminal", () => {
    expect(screenOf(terminal, {}).columns).toBe(80);
    expect(screenOf({ isTTY: true, columns: 300 }, {}).columns).toBe(100);
    expect(screenOf({ isTTY: true, columns: 20 }, {}).columns).toBe(60);
    expect(screenOf(pipe, {}).columns).toBe(100);
  });
});

describe("long lines of text", () => {
  const text =
    "    fix: raise limits.cpu of NodePool general from 4 to 16, which one more pod needs";

  it("are wrapped on a terminal and indented, without splitting a word", () => {
    const { wrapAt } = screenOf({ isTTY: true, columns: 40 }, {});
    expect(wrapAt).toBe(40);
    expect(printedScreen([text, "short"], { wrapAt: 40 })).toBe(
      [
        "    fix: raise limits.cpu of NodePool",
        "      general from 4 to 16, which one",
        "      more pod needs",
        "short",
        "",
      ].join("\n"),
    );
    const word = "x".repeat(60);
    expect(printedScreen([word], { wrapAt: 40 })).toBe(`${word}\n`);
  });

  it("are not wrapped in a file", () => {
    expect(screenOf({ isTTY: false }, {}).wrapAt).toBeUndefined();
    expect(printedScreen([text])).toBe(`${text}\n`);
  });
});

describe("a fitted table", () => {
  it("cuts its widest columns until it fits, and cuts nothing if it fits already", () => {
    const rows = [
      ["A", "B", "C"],
      ["x".repeat(30), "y".repeat(60), "z"],
    ];
    for (const width of [20, 30, 50, 70]) {
      const lines = fittedTable(rows, width);
      const least = 2 + 8 + 2 + 8 + 2 + 1;
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(
        Math.max(width, least),
      );
    }
    expect(fittedTable(rows, 100)[1]).toBe(`  ${"x".repeat(30)}  ${"y".repeat(60)}  z`);
    expect(fittedTable(rows, 50)[1]).toBe(`  ${"x".repeat(30)}  ${"y".repeat(12)}…  z`);
  });
});
