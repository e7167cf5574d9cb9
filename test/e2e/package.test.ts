/**
 * The package that `npm pack` makes works without the repository. The tarball is unpacked where npm would put it,
 * with the dependencies of package.json and nothing else of this project.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unpack } from "./tarball.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  version: string;
  bin: Record<string, string>;
  dependencies: Record<string, string>;
};

/** These programs complete their arguments, so `--version` prints no version. */
const COMPLETERS = ["kubectl_complete-karpenter"];

describe("the npm package", () => {
  let folder: string;
  let home: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "karpenter-package-"));
    // Skips the build: `npm test` has built already, and a second build would change dist while other tests read it.
    const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
    execFileSync("npm", pack, { cwd: ROOT, stdio: "ignore" });
    const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) as string;
    const modules = join(folder, "node_modules");
    home = join(modules, "karpenter-ts");
    mkdirSync(home, { recursive: true });
    unpack(join(folder, tarball), home);
    for (const name of Object.keys(manifest.dependencies)) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = (...args: readonly string[]): string =>
    execFileSync(process.execPath, [join(home, "dist/cli/main.js"), ...args], {
      cwd: folder,
      encoding: "utf8",
    });

  it.each(Object.entries(manifest.bin).filter(([name]) => !COMPLETERS.includes(name)))(
    "has a %s command that runs from the tarball and from a checkout that was built again",
    (_, file) => {
      // A build writes programs below dist with mode 644, so they would not be executable.
      expect(file).not.toMatch(/^dist/);
      for (const place of [home, ROOT]) {
        const program = join(place, file);
        const version = execFileSync(program, ["--version"], { cwd: folder, encoding: "utf8" });
        expect(version.trim()).toBe(manifest.version);
      }
    },
  );

  it.each(COMPLETERS)("has %s, which answers as kubectl reads it", (name) => {
    const program = join(home, manifest.bin[name] as string);
    const answer = execFileSync(program, ["expl"], { cwd: folder, encoding: "utf8" });
    expect(answer).toMatch(/^explain\t.*\n:4\n$/);
  });

  it("reports that it is not built if dist is missing", () => {
    const bare = join(folder, "bare");
    cpSync(join(ROOT, "bin"), join(bare, "bin"), { recursive: true });
    writeFileSync(join(bare, "package.json"), JSON.stringify({ type: "module" }));
    const { status, stderr } = spawnSync(join(bare, "bin/karpenter.js"), { encoding: "utf8" });
    expect([status, stderr]).toEqual([
      1,
      "karpenter: the programs are not built yet: run npm run build\n",
    ]);
  });

  it("plays a story from its own examples", () => {
    const story = join(home, "examples/kwok-story.yaml");
    expect(run("sandbox", "--provider", "kwok", "--scenario", story)).toContain("story kept");
  });

  it("contains each folder of dist that tsc writes, and no other", () => {
    const sources = readdirSync(join(ROOT, "src"));
    const compiled = sources.filter((name) => existsSync(join(ROOT, "dist", name)));
    expect(readdirSync(join(home, "dist")).sort()).toEqual(compiled.sort());
  });

  it("contains no tests, sources or build leftovers", () => {
    expect(existsSync(join(home, "src"))).toBe(false);
    expect(existsSync(join(home, "test"))).toBe(false);
    expect(existsSync(join(home, "LICENSE"))).toBe(true);
    const shipped = readdirSync(join(home, "dist"), { recursive: true, encoding: "utf8" });
    expect(shipped.filter((name) => /tsbuildinfo|\.test\.js/.test(name))).toEqual([]);
  });
});
