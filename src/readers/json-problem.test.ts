import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson } from "./json.ts";
import { jsonProblem } from "./json-problem.ts";
import { LIMITS } from "./limits.ts";

describe("the syntax error of invalid JSON", () => {
  it.each<[string, string]>([
    ['{"a": 1,\n "b": }', 'line 2, column 7: wanted a value, found "}"'],
    ['{"a": 1\n "b": 2}', 'line 2, column 2: wanted a "," or "}", found "\\""'],
    ['{"a" 1}', 'line 1, column 6: wanted a ":" after the key, found "1"'],
    ['{"a": [1, 2}', 'line 1, column 12: wanted a "," or "]", found "}"'],
    ['{"a": tru,\n', 'line 1, column 7: wanted a value, found "tru"'],
    ['{\n"a": {\n"b": 1\n', 'line 4, column 1: the text ends before the "}" of the "{" in line 2'],
    ['{"a": "b\nc"}', "line 1, column 9: the text in double quotes has a line break"],
    ['{"a": "b\\q", }{', 'line 1, column 9: "\\q" is no escape'],
    ['{"a": "b', "line 1, column 7: the closing double quote is missing"],
    ['{"a": 1}, {"b": 2}', 'line 1, column 9: wanted the end, or another value, found ","'],
    ['{"a": 1, , }}', 'line 1, column 10: wanted a key in double quotes, found ","'],
  ])("%j", (text, problem) => {
    const read = () => readJson(text, { source: "pods.json", limits: LIMITS.jsonFiles });
    expect(read).toThrow(`pods.json: not valid JSON: ${problem}`);
  });

  it("is found exactly if the parser also finds one", () => {
    const edit = fc.record({
      value: fc.jsonValue({ maxDepth: 4 }),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      sign: fc.constantFrom("", "{", "}", "[", "]", ",", ":", '"', "\\", "0", "-", ".", "t", "\n"),
    });
    let broken = 0;
    fc.assert(
      fc.property(edit, ({ value, at, sign }) => {
        const whole = JSON.stringify([value]);
        const cut = 1 + Math.floor(at * (whole.length - 2));
        const text = whole.slice(0, cut) + sign + whole.slice(cut + 1);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
          broken++;
        }
        expect(jsonProblem(text) === undefined, text).toBe(isJson);
      }),
      { numRuns: 2_000, seed: 7 },
    );
    expect(broken).toBeGreaterThan(500);
  });

  it("is found in long and deep texts without overflowing the stack", () => {
    expect(jsonProblem("[".repeat(1_000_000))?.problem).toContain("the text ends before");
    expect(jsonProblem(`["${"\\\\".repeat(1_000_000)}"]`)).toBeUndefined();
  });
});
