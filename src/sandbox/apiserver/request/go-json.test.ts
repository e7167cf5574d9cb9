import { describe, expect, it } from "vitest";
import { goJson } from "./go-json.ts";

describe("Go's error for a text that is not JSON", () => {
  // The answers of kube-apiserver v1.34.4 to these bodies.
  it.each([
    ['{"a":', "unexpected end of JSON input"],
    ["{a:1}", "invalid character 'a' looking for beginning of object key string"],
    ["nonsense", "invalid character 'o' in literal null (expecting 'u')"],
    ['{"a":tru}', "invalid character '}' in literal true (expecting 'e')"],
    ["[1,]", "invalid character ']' looking for beginning of value"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
    ['{"a":"x', "unexpected end of JSON input"],
    ["[1.]", "invalid character ']' after decimal point in numeric literal"],
    ["[01]", "invalid character '1' after array element"],
    ['["\\x"]', "invalid character 'x' in string escape code"],
    ["{} {}", "invalid character '{' after top-level value"],
    ["", "unexpected end of JSON input"],
    ["[".repeat(1_000_000), "exceeded max depth"],
  ])("%.40s", (text, problem) => {
    expect(goJson(Buffer.from(text))).toEqual({ problem });
  });

  it("is absent for valid JSON", () => {
    const value = { a: [-1.5e3, true, null, "ä"] };
    expect(goJson(Buffer.from(' {"a": [-1.5e+3, true, null, "\\u00e4"]} '))).toEqual({ value });
  });
});

describe("JSON that Go may read", () => {
  const nested = (levels: number) => Buffer.from("[".repeat(levels) + "]".repeat(levels));

  it("has a value, or Go's error", () => {
    expect(goJson(Buffer.from('{"a":[1]}'))).toEqual({ value: { a: [1] } });
    expect(goJson(Buffer.from("{"))).toEqual({ problem: "unexpected end of JSON input" });
  });

  it("is refused if it is nested deeper than this process can walk", () => {
    expect(goJson(nested(100))).toHaveProperty("value");
    for (const levels of [101, 9_999, 1_000_000])
      expect(goJson(nested(levels))).toEqual({ problem: "exceeded max depth" });
  });
});
