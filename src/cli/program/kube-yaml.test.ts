import { describe, expect, it } from "vitest";
import { isTooDeep, readYaml, writeYaml } from "./kube-yaml.ts";

describe("YAML", () => {
  it("is read as kubectl reads it: `yes` is true, a time is text, the last of equal keys counts", () => {
    expect(readYaml("---\na: yes\nat: 2024-01-01T00:00:00Z\na: no\n---\n---\nb: 1\n")).toEqual([
      { a: false, at: "2024-01-01T00:00:00Z" },
      { b: 1 },
    ]);
  });

  it("has no numbers to the base of sixty: kubectl knows none", () => {
    expect(readYaml("a: 22:22\nb: 1:30:00\nc: 190:20:30.15\nd: 010\ne: 1_000\n")).toEqual([
      { a: "22:22", b: "1:30:00", c: "190:20:30.15", d: 8, e: 1_000 },
    ]);
  });

  it("is written so that texts stay texts to kubectl", () => {
    const labels = {
      a: "yes",
      b: "on",
      c: "n",
      d: "12:30:00",
      e: "2024-01-01",
      f: "1_000",
      g: "x",
    };
    const text = writeYaml(labels);
    expect(text).toContain('a: "yes"\n');
    expect(readYaml(text)).toEqual([labels]);
  });

  it("is divided into documents where markers stand, and nowhere else", () => {
    const text =
      "a: |\n  ---\n  x\n---\r\nb: --- c\n--- # two\nc: 'd\u2028--- e'\n---\n---e: 2\n--- {d: 1}";
    expect(readYaml(text)).toEqual([
      { a: "---\nx\n" },
      { b: "--- c" },
      { c: "d\u2028--- e" },
      { "---e": 2 },
      { d: 1 },
    ]);
  });

  it.each([
    ["%YAML 1.1\n---\na: yes\n...\n---\nb: 1\n", [{ a: true }, { b: 1 }]],
    ["# first\n---\n# none\n---\nb: 1\n--- ", [{ b: 1 }]],
    ["---\n---\n", []],
  ])("has ends of documents, directives and empty documents: %j", (text, values) => {
    expect(readYaml(text)).toEqual(values);
  });

  it("is complained of by the line in the whole text", () => {
    expect(() => readYaml("a: 1\n---\nb: 2\n---\nc: [1,\nd: }\n")).toThrow(/line 6/);
  });

  it.each([
    ["a: [1,\n b: }", 1, "Flow sequence in block collection"],
    ["a: 1\n---\nb: *c", 2, "Unresolved alias"],
    ["\u0001\u0002", 1, "no text"],
    [
      "a: &b [1]\nc: [*b, *b]\n---\na: &b {c: [*b]}",
      2,
      "what an anchor stands for contains itself",
    ],
  ])("that is broken is refused in one line, with its document: %j", (text, document, words) => {
    expect(() => readYaml(text)).toThrow(
      expect.objectContaining({ document, message: expect.stringMatching(`^${words}.*$`) }),
    );
  });

  it.each([
    ["[", 20_000],
    ["{a: ", 5_000],
    ["- ", 20_000],
  ])("that is one thing in another without end is refused, not followed: %j", (opening, times) => {
    const text = `${opening.repeat(times)}x`;
    expect(() => readYaml(text)).toThrow("lists or maps in one another, more than 500 deep");
  });

  it.each([
    ["lists", (at: number) => `${" ".repeat(at)}-\n`],
    ["maps", (at: number) => `${" ".repeat(at)}a:\n`],
    ["maps with a neighbour each", (at: number) => `${" ".repeat(at)}b: 1\n${" ".repeat(at)}a:\n`],
    [
      "lists in the column of their maps",
      (at: number) => `${" ".repeat(at)}a:\n${" ".repeat(at)}-\n`,
    ],
    ["lists and maps on a line", (at: number) => `${" ".repeat(3 * at)}- a:\n`],
  ])("that is nested without end by indentation is refused: %s", (_, line) => {
    const deep = (levels: number) =>
      `${Array.from({ length: levels }, (_, at) => line(at)).join("")}${" ".repeat(3 * levels)}x\n`;
    expect(() => readYaml(deep(2_000))).toThrow("lists or maps in one another, more than 500 deep");
    expect(isTooDeep(deep(240))).toBe(false);
    expect(readYaml(deep(200))).toHaveLength(1);
  });

  it("may be indented as far as it likes where nothing is nested by it", () => {
    const stairs = Array.from({ length: 600 }, (_, at) => `${" ".repeat(at + 2)}a:\n`).join("");
    expect(readYaml(`a: |2\n${stairs}b: [\n${stairs.replaceAll("a:", "1,")} 2]\n`)).toHaveLength(1);
    const flat = Array.from({ length: 600 }, (_, at) => `k${at}:\n${" ".repeat(300)}- 1\n`).join(
      "",
    );
    expect(isTooDeep(flat)).toBe(false);
  });

  it("may hold any number of brackets and dashes in its texts", () => {
    const text = `${"[".repeat(600)}\n${"- ".repeat(600)}`;
    const written = `a: |-\n  ${text.replace("\n", "\n  ")}\nb: "${"{".repeat(600)}"\n`;
    expect(readYaml(written)).toEqual([{ a: text, b: "{".repeat(600) }]);
    expect(isTooDeep(JSON.stringify({ a: "[".repeat(600) }))).toBe(false);
    expect(isTooDeep(`{"a": ${"[".repeat(600)}${"]".repeat(600)}}`)).toBe(true);
  });
});
