/**
 * README.md: the files that it names exist, its figures are those of `bench/README.md`, and its picture shows the
 * present page.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./tidy/sources.ts";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const README = read("README.md");

describe("README.md", () => {
  it("names files that exist", () => {
    const named = [...README.matchAll(/`((?:docs|examples|bench)\/[\w/.-]+)`/g)];
    expect(named.length).toBeGreaterThan(0);
    for (const [, path = ""] of named)
      expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
  });

  it("links to files that the npm package has", () => {
    const { files } = JSON.parse(read("package.json")) as { files: readonly string[] };
    const isPacked = (path: string) =>
      files.some((one) => path === one || path.startsWith(`${one}/`)) ||
      (/^[^/]+\.md$/.test(path) && files.includes("*.md"));
    const links = [...README.matchAll(/\]\((?!\w+:)([^)#]+)/g)].map(([, path = ""]) => path);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((path) => !isPacked(path))).toEqual([]);
  });

  it("has only figures that bench/README.md has", () => {
    const bench = read("bench/README.md");
    const row = (start: string): readonly string[] =>
      (bench.split("\n").find((line) => line.startsWith(`| ${start} |`)) ?? "")
        .split("|")
        .map((cell) => cell.trim());
    const [, , ours = "", upstream = "", , , prices = ""] = row("U-mix-10k");
    const seconds = (cell: string) => (Number(cell.replaceAll(/\D/g, "")) / 1_000).toFixed(1);
    expect(README).toContain(`| ${seconds(upstream)} s | ${seconds(ours)} s |`);
    const [oursUsd = "", upstreamUsd = ""] = prices.split(", ");
    expect(README).toContain(`| $${upstreamUsd}/h | $${oursUsd}/h |`);
    const at = row("| 500 pods").indexOf("10,000");
    expect(at).toBeGreaterThan(0);
    for (const what of ["seconds", "CPU s"]) {
      const [theirs, own] = [row(`${what}, upstream`)[at], row(`${what}, ours`)[at]];
      expect(README).toContain(`| ${theirs} s | ${own} s |`);
    }
    const most = (who: string) =>
      Math.round(
        Math.max(...row(who).flatMap((cell) => (/%$/.test(cell) ? parseFloat(cell) : []))),
      );
    expect(README).toContain(`| 0 to ${most("upstream")} % | 0 to ${most("ours")} % |`);
  });

  it("opens with a picture of the current page, which npm run picture draws", () => {
    const folder = join(ROOT, "dashboard/src");
    const page = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".tsx"))
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .join("\n");
    const words = read("docs/dashboard.txt").trim().split("\n");
    expect(words.length).toBeGreaterThan(4);
    for (const word of words)
      expect([word, new RegExp(`["'>\\s]${word}["'<\\s{]`).test(page)]).toEqual([word, true]);
  });
});
