import { describe, expect, it } from "vitest";
import { valuesOf } from "./manifest-text.ts";

describe("a text with Kubernetes objects", () => {
  it("that begins with a bracket is JSON, or YAML that begins in the same way", () => {
    expect(valuesOf("pods.json", '{"a": 1}\n[2]')).toEqual([{ a: 1 }, [2]]);
    expect(valuesOf("pods.yaml", '{a: 1, "b": [c,]}')).toEqual([{ a: 1, b: ["c"] }]);
    expect(valuesOf("pods.json", '{"a": 1,}')).toEqual([{ a: 1 }]);
  });

  it("that is invalid gives an error about the format that it is probably meant to be", () => {
    const json = 'not valid JSON: line 2, column 2: wanted a "," or "}", found "\\""';
    expect(() => valuesOf("pods.json", '{"a": 1\n "b": 2}')).toThrow(`pods.json: ${json}`);
    expect(() => valuesOf("standard input", '{"a": 1\n "b": 2}')).toThrow(json);
    expect(() => valuesOf("pods.yaml", "{a: 1\n b: ]}")).toThrow(
      /document 1: not valid YAML: line/,
    );
    expect(() => valuesOf("pods.yaml", "a: 1\n b: 2\n")).toThrow(
      /document 1: not valid YAML: line/,
    );
  });
});
