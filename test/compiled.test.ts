import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compiledImports, isCompiled } from "./compiled.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "compiled-"));
  write("src/base/one.ts", 10);
  write("src/base/one.test.ts", 30);
  write("src/testing/helper.ts", 30);
  write("dist/base/one.js", 20);
  write("dist/base/.tsbuildinfo", 20);
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

/** Writes a file that was changed the given seconds after 1970. */
function write(file: string, changed: number): void {
  const path = join(root, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  utimesSync(path, changed, changed);
}

describe("dist may stand for src", () => {
  it("when each source is older than the build of its project; tests and their helpers do not count", () => {
    expect(isCompiled(root)).toBe(true);
  });

  it("not when a source changed after the build", () => {
    write("src/base/one.ts", 21);
    expect(isCompiled(root)).toBe(false);
  });

  it("not when a source was never compiled", () => {
    write("src/base/two.ts", 10);
    expect(isCompiled(root)).toBe(false);
  });

  it("not when the build left no record", () => {
    rmSync(join(root, "dist/base/.tsbuildinfo"));
    expect(isCompiled(root)).toBe(false);
  });

  it("not when there is no source or no dist", () => {
    rmSync(join(root, "dist"), { recursive: true });
    expect(isCompiled(root)).toBe(false);
  });
});

describe("an import", () => {
  const answer = (source: string, importer = "src/core/two.ts") =>
    compiledImports(root).resolveId(source, join(root, importer))?.id;

  it("of a source is of its compiled file", () => {
    expect(answer("../base/one.ts")).toBe(join(root, "dist/base/one.js"));
    expect(answer("../src/base/one.ts", "test/a.test.ts")).toBe(join(root, "dist/base/one.js"));
  });

  it("of a test, a helper of tests, a package or another folder stays as it is", () => {
    expect(answer("../base/one.test.ts")).toBeUndefined();
    expect(answer("../testing/helper.ts")).toBeUndefined();
    expect(answer("yaml")).toBeUndefined();
    rmSync(join(root, "src/base/one.ts"));
    expect(answer("../base/one.ts")).toBeUndefined();
    expect(answer("../../data/a.ts")).toBeUndefined();
  });
});

describe("the compiled files", () => {
  // TypeScript 7.0.2 writes `{ _a: found }` for `{ Name: found }` in a class that is called Name.
  it("name no property after a class that the compiler renamed", () => {
    const dist = fileURLToPath(new URL("../dist/", import.meta.url));
    const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".js") && !file.startsWith("bundle"),
    );
    expect(files.length).toBeGreaterThan(500);
    const renamed = files.filter((file) =>
      /[{,]\s*_[a-z]\s*[:,}]/.test(readFileSync(join(dist, file), "utf8")),
    );
    expect(renamed).toEqual([]);
  });
});
