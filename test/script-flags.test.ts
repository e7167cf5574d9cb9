import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { manualIn } from "../scripts/script-flags.ts";

const ROOT = join(import.meta.dirname, "..");

describe("the manual of a script", () => {
  it("is its first comment, without the marks", () => {
    expect(
      manualIn("/**\n * `npm run x`: does it.\n *\n * - more\n */\nimport a;\n/** b */\n"),
    ).toBe("`npm run x`: does it.\n\n- more\n");
    expect(manualIn("/** `npm run x`: does it. */\n")).toBe("`npm run x`: does it.\n");
  });

  it("says how each script that has flags is run", () => {
    const scripts = ["scripts", "bench", "test/mutation"].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts"))
        .map((name) => `${folder}/${name}`),
    );
    const texts = scripts
      .filter((path) => path !== "scripts/script-flags.ts")
      .map((path) => ({ path, source: readFileSync(join(ROOT, path), "utf8") }))
      .filter(({ source }) => source.includes("scriptFlags("));
    expect(texts.length).toBeGreaterThan(8);
    const others = texts.filter(({ source }) => !/npm run |npx tsx /.test(manualIn(source)));
    expect(others.map(({ path }) => path)).toEqual([]);
  });
});
