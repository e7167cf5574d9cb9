import { describe, expect, it } from "vitest";
import { LIMITS } from "./limits.ts";
import { ReadError } from "./read-error.ts";
import { writeYaml } from "./write-yaml.ts";
import { readYaml as read, readYamlValue, type YamlSource } from "./yaml.ts";

const FROM = { source: "app.yaml", limits: LIMITS.manifests };
const readYaml = (text: string, from: Partial<YamlSource> = {}) => read(text, { ...FROM, ...from });

describe("the YAML reader", () => {
  it("reads like kubectl: `yes` is true, a time is a string, the last of equal keys counts", () => {
    expect(readYaml("---\na: yes\nat: 2024-01-01T00:00:00Z\na: no\n---\n---\nb: 1\n")).toEqual([
      { a: false, at: "2024-01-01T00:00:00Z" },
      { b: 1 },
    ]);
  });

  it("reads no base-60 numbers, like kubectl", () => {
    expect(readYaml("a: 22:22\nb: 1:30:00\nc: 190:20:30.15\nd: 010\ne: 1_000\n")).toEqual([
      { a: "22:22", b: "1:30:00", c: "190:20:30.15", d: 8, e: 1_000 },
    ]);
  });

  it.each([
    ["0b101", 5],
    ["-0x_1F", -31],
    ["+12", 12],
    ["09", 9],
    ["1e3", 1_000],
    ["-1.5E-1", -0.15],
    [".5", 0.5],
    ["5.", 5],
    ["-.inf", Number.NEGATIVE_INFINITY],
    [".", "."],
    ["-a", "-a"],
    ["1e400", "1e400"],
    ["1.2.3", "1.2.3"],
    ["0x", "0x"],
    ["~", null],
    ["Null", null],
    ["Off", false],
    ["y", true],
    ["!vault secret", "secret"],
    ["!!str 12", "12"],
    ["!!int '12'", 12],
    ["!list [1]", [1]],
    ["!map {b: 1}", { b: 1 }],
  ])("reads the same value as kubectl: %s", (text, value) => {
    expect(readYaml(`a: ${text}`)).toEqual([{ a: value }]);
  });

  it("quotes strings so that kubectl reads them as strings", () => {
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

  it("splits documents at `---` markers only", () => {
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
  ])("reads document ends, directives and empty documents: %j", (text, values) => {
    expect(readYaml(text)).toEqual(values);
  });

  it("reports an error with its document and its line in the whole file", () => {
    expect(() => readYaml("a: 1\n---\nb: 2\n---\nc: [1,\nd: }\n")).toThrow(
      "app.yaml, document 3: not valid YAML: line 6, column 1: deficient indentation",
    );
    expect(() => readYaml("# none\n---\na: 1\n---\n'")).toThrow("app.yaml, document 2: ");
  });

  it.each([
    ["a: [1,\n b: }", "missed comma between flow collection entries"],
    ["a: *c", 'unidentified alias "c"'],
    ["\u0001\u0002", "the stream contains non-printable characters"],
    ["a: &b [1]\nc: [*b, *b]\n---\na: &b {c: [*b]}", "what an anchor stands for contains itself"],
    ["? [a]\n: b", "a list or map is used as a key"],
    ["a: &k [1]\n*k : 2", "a list or map is used as a key"],
    [`a: *${"b".repeat(1_000)}`, "unidentified alias"],
  ])("refuses invalid YAML with a message of one short line: %j", (text, problem) => {
    const words = expect.stringMatching(
      /^app\.yaml, document \d: not valid YAML: line \d, column \d+: .{1,220}$/,
    );
    expect(() => readYaml(text)).toThrow(
      expect.objectContaining({ name: "ReadError", message: words }),
    );
    expect(() => readYaml(text)).toThrow(problem);
  });

  it("refuses a file over a size limit before parsing, with the limit and a remedy", () => {
    expect(() => readYaml("a".repeat(16_385), { limits: LIMITS.userData })).toThrow(
      "app.yaml: has 16,385 characters, and at most 16,384 are read here; load the rest from elsewhere at boot",
    );
    const list = `[${"a,".repeat(LIMITS.setting.parts + 1)}]`;
    expect(() => readYaml(list, { limits: LIMITS.setting })).toThrow(
      "app.yaml: has over 100,000 lines, keys and items in one document; shorten it",
    );
  });

  it("reads many small documents about as fast as one long document", () => {
    const cpuMs = (text: string) => {
      const before = process.cpuUsage();
      readYaml(text, { limits: LIMITS.manifests });
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    };
    const long = "- 1\n".repeat(10_000);
    cpuMs(long);
    // If each document were parsed alone, this would take fourteen times as long.
    expect(cpuMs("---\n".repeat(10_000))).toBeLessThan(6 * cpuMs(long));
  });

  it("refuses a file with too many parts, even if each is a document of its own", () => {
    expect(() => readYaml("--- ~\n".repeat(520_000), { limits: LIMITS.apiBody })).toThrow(
      ReadError,
    );
  });

  it("reads one document with readYamlValue", () => {
    const from = { ...FROM, limits: LIMITS.kubeconfig };
    expect(readYamlValue("", from)).toBeUndefined();
    expect(readYamlValue("---\na: 1\n", from)).toEqual({ a: 1 });
    expect(() => readYamlValue("a: 1\n---\nb: 1\n", from)).toThrow(
      "app.yaml: has more documents than one",
    );
  });

  it("refuses a repeated key with repeatedKeys: refused", () => {
    expect(() => readYaml("a: 1\na: 2\n", { repeatedKeys: "refused" })).toThrow(
      "line 2, column 1: duplicated mapping key",
    );
    expect(
      readYaml("a: &a {b: 1, c: 2}\nd: {<<: *a, b: 3}\n", { repeatedKeys: "refused" }),
    ).toEqual([{ a: { b: 1, c: 2 }, d: { b: 3, c: 2 } }]);
  });

  it("does not let YAML keys change a prototype", () => {
    const [value] = readYaml("__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 1}}\n");
    expect(Object.keys(value as object)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe("nesting in YAML", () => {
  const deep = "lists or maps in one another, more than 100 deep";
  const stairs = (line: (at: number) => string) => (levels: number) =>
    `${Array.from({ length: levels }, (_, at) => line(at)).join("")}${" ".repeat(3 * levels)}x\n`;

  it.each([
    ["lists in brackets", 1, (levels: number) => "[".repeat(levels) + "]".repeat(levels)],
    ["maps in brackets", 1, (levels: number) => "{a: ".repeat(levels) + "}".repeat(levels)],
    ["dashes", 1, (levels: number) => `${"- ".repeat(levels)}x`],
    ["lists by indentation", 1, stairs((at) => `${" ".repeat(at)}-\n`)],
    ["maps by indentation", 1, stairs((at) => `${" ".repeat(at)}a:\n`)],
    [
      "lists in the column of their maps",
      2,
      stairs((at) => `${" ".repeat(at)}a:\n${" ".repeat(at)}-\n`),
    ],
    ["lists and maps on a line", 2, stairs((at) => `${" ".repeat(3 * at)}- a:\n`)],
    [
      "aliases",
      1,
      (levels: number) =>
        `- &a0 [x]\n${Array.from({ length: levels - 2 }, (_, at) => `- &a${at + 1} [*a${at}]\n`).join("")}`,
    ],
  ])("is limited to 100 levels: %s", (_, each, text) => {
    expect(readYaml(text(100 / each))).toHaveLength(1);
    expect(() => readYaml(text(102 / each))).toThrow(deep);
    expect(() => readYaml(text(2_000))).toThrow(deep);
  });

  it("of lists or maps as keys is refused", () => {
    expect(() => readYaml("? ".repeat(400))).toThrow(/more than 100 deep|used as a key/);
  });

  it("is not counted by indentation alone", () => {
    const text = Array.from({ length: 600 }, (_, at) => `${" ".repeat(at + 2)}a:\n`).join("");
    expect(readYaml(`a: |2\n${text}b: [\n${text.replaceAll("a:", "1,")} 2]\n`)).toHaveLength(1);
  });

  it("is not counted by brackets and dashes inside strings", () => {
    const text = `${"[".repeat(600)}\n${"- ".repeat(600)}`;
    const written = `a: |-\n  ${text.replace("\n", "\n  ")}\nb: "${"{".repeat(600)}"\n`;
    expect(readYaml(written)).toEqual([{ a: text, b: "{".repeat(600) }]);
  });
});

it("the YAML writer writes an object that occurs twice as two copies, without anchors", () => {
  const shared = { key: "zone", values: ["a"] };
  expect(writeYaml({ one: shared, other: shared })).not.toMatch(/[&*]/);
});

describe("aliases in YAML", () => {
  it("repeat at most a limited number of values", () => {
    const bomb = Array.from({ length: 9 }, (_, at) =>
      at === 0
        ? "a0: &a0 [x]\n"
        : `a${at}: &a${at} [${Array(9)
            .fill(`*a${at - 1}`)
            .join()}]\n`,
    ).join("");
    expect(() => readYaml(bomb)).toThrow("aliases repeat more than 100,000 values");
    expect(readYaml(`a: &a [x]\nb:\n${"- *a\n".repeat(50_000)}`)).toHaveLength(1);
    expect(() => readYaml(`a: &a [x]\nb:\n${"- *a\n".repeat(50_001)}`)).toThrow("aliases repeat");
  });
});

describe("the YAML writer", () => {
  it("folds no lines, and writes JSON if the text is too long", () => {
    const words = "word ".repeat(100);
    expect(writeYaml({ a: `${words}x`, b: undefined, c: "1\n2\n" })).toBe(
      `a: ${words}x\nc: |\n  1\n  2\n`,
    );
    const long = { a: "x".repeat(12_000_000) };
    expect(writeYaml(long)).toBe(`${JSON.stringify(long)}\n`);
  });
});
