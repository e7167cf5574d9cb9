/** Tidy's measures find the faults that they look for, and nothing else. */
import { describe, expect, it } from "vitest";
import {
  commentsOf,
  documentedPercent,
  longCommentLines,
  longSentences,
  silentExports,
} from "./comments.ts";
import { crowdedFunctions } from "./parameters.ts";

const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ");

describe("the count of long sentences", () => {
  it("includes sentences of more than 25 words", () => {
    expect(longSentences(words(25))).toEqual([]);
    expect(longSentences(words(26))).toHaveLength(1);
    expect(longSentences(`${words(20)}. ${words(20)}.`)).toEqual([]);
  });

  it("joins lines of a sentence, and ignores tables and citations", () => {
    expect(longSentences(`${words(14)}\n${words(14)}`)).toHaveLength(1);
    expect(longSentences(`    ${words(40)}`)).toEqual([]);
    expect(longSentences(`${words(20)} upstream: ${words(20)}`)).toEqual([]);
  });

  it("reads block comments and consecutive line comments", () => {
    const text = "/** One.\n * Two. */\nconst a = 1;\n// Three.\n// Four.\nconst b = 'http://c';\n";
    expect(commentsOf({ text }).map((one) => one.trim())).toEqual([
      "One.\n Two.",
      "Three.\n Four.",
    ]);
  });
});

it("the count of long comment lines includes those over 120 columns, without links", () => {
  const text = `// ${"a".repeat(118)}\n// ${"a".repeat(117)}\n// https://${"a".repeat(118)}\n`;
  expect(longCommentLines({ text })).toHaveLength(1);
});

it("the count of silent functions includes exported functions without a comment", () => {
  const text =
    "/** Told. */\nexport function told() {}\n\nexport function* silent() {}\nfunction own() {}\n";
  expect(silentExports({ text })).toEqual(["silent"]);
});

it("the share of documented exports counts functions, values and types", () => {
  const text =
    "/** Told. */\nexport interface A {}\nexport type B = A;\n// Told.\nexport const C = 1;\nexport class D {}\n";
  expect(documentedPercent([{ text }])).toBe(50);
});

it("the count of crowded functions includes those with more than three positional parameters", () => {
  const text = [
    "function three({ a, b }: X, c: Map<string, number>, d: (e: f, g: h) => void): void {",
    "export function* four(",
    "  a: string,",
    "  b: string,",
    "  c: string,",
    "  d = [1, 2],",
    "): void {",
    "class One {",
    "  five(a: A, b: B, c: C, d: D, e: E): void {",
    "  if (a, b, c, d) {",
    "  it('calls', () => {}, 1, 2, 3);",
  ].join("\n");
  expect(crowdedFunctions({ text })).toEqual(["four", "five"]);
});
