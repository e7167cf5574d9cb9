import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonLimitError, type JsonLimits, parseBoundedJson } from "./bounded-json.ts";

function refusal(text: string, limits?: JsonLimits): string | undefined {
  try {
    parseBoundedJson(text, limits);
    return undefined;
  } catch (error) {
    if (error instanceof JsonLimitError) return `${error.limit} ${error.allowed}`;
    throw error;
  }
}

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("bounded JSON", () => {
  it("refuses nesting beyond the limit, in arrays and objects alike", () => {
    expect(refusal(nested(100))).toBe(undefined);
    expect(refusal(nested(101))).toBe("maxDepth 100");
    expect(refusal(`${'{"a":'.repeat(101)}1${"}".repeat(101)}`)).toBe("maxDepth 100");
    expect(refusal(`${'[{"a":'.repeat(2)}1${"}]".repeat(2)}`, { maxDepth: 3 })).toBe("maxDepth 3");
    expect(() => parseBoundedJson("[".repeat(3_000_000))).toThrow("deeper than the limit of 100");
  });

  it("counts levels, not sibling brackets or brackets in strings", () => {
    expect(parseBoundedJson(`[${Array(1_000).fill("[]").join()}]`)).toHaveLength(1_000);
    for (const text of ["[".repeat(500), '\\"'.repeat(200), "{[\\\\", '"['.repeat(300)])
      expect(parseBoundedJson(JSON.stringify({ text }))).toEqual({ text });
  });

  it("refuses text above a number of UTF-8 bytes", () => {
    for (const text of [
      "x".repeat(50),
      "é".repeat(50),
      "€".repeat(50),
      "😀".repeat(50),
      "\ud800",
    ]) {
      const written = JSON.stringify(text);
      const bytes = Buffer.byteLength(written);
      expect(refusal(written, { maxBytes: bytes })).toBe(undefined);
      expect(refusal(written, { maxBytes: bytes - 1 })).toBe(`maxBytes ${bytes - 1}`);
    }
  });

  it("leaves text that is not JSON to the parser", () => {
    for (const text of ["", "{", '"', '"\\', "]]]]", "[1,]"])
      expect(() => parseBoundedJson(text)).toThrow(SyntaxError);
  });

  it("parses like JSON.parse, and measures the depth of the parsed value", () => {
    const depthOf = (value: unknown): number =>
      typeof value === "object" && value !== null
        ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
        : 0;
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.nat(8), (text, maxDepth) => {
        const value = JSON.parse(text) as unknown;
        if (depthOf(value) > maxDepth)
          expect(refusal(text, { maxDepth })).toBe(`maxDepth ${maxDepth}`);
        else expect(parseBoundedJson(text, { maxDepth })).toEqual(value);
      }),
    );
  });
});
