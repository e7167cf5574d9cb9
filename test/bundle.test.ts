/**
 * The bundle finds its data, because each source names files from the project's root. The bundle itself: npm run
 * bundle.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { withRootHere } from "../scripts/bundle/programs.ts";
import { ROOT, readSources } from "./tidy/sources.ts";

it("source maps of the bundle name files relative to the project's root", () => {
  const naming = readSources("src")
    .map(({ path }) => path)
    .filter((path) => !path.endsWith(".test.ts"))
    .filter((path) => readFileSync(join(ROOT, path), "utf8").includes("import.meta.url"));
  expect(naming.length).toBeGreaterThan(5);
  for (const path of naming) withRootHere(path, readFileSync(join(ROOT, path), "utf8"));
});

it("source maps of the bundle refuse a name that begins elsewhere", () => {
  expect(() => withRootHere("src/a/b.ts", 'new URL("./c", import.meta.url)')).toThrow("src/a/b.ts");
  expect(withRootHere("src/a/b.ts", 'new URL("../../data/x", u)')).toBe('new URL("./data/x", u)');
});
