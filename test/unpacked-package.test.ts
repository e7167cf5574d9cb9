/** The programs of the npm package say in one sentence why they cannot start, where it was only unpacked. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";

const BIN = fileURLToPath(new URL("../bin", import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-unpacked-"));
  cpSync(BIN, join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
});
afterEach(() => rmSync(folder, { recursive: true }));

function started() {
  const program = join(folder, "bin/karpenter.js");
  const { status, stderr } = spawnSync(process.execPath, [program], { encoding: "utf8" });
  return { status, stderr };
}

it("the command says that it is not built", () => {
  const stderr = "karpenter: the programs are not built yet: run npm run build\n";
  expect(started()).toEqual({ status: 1, stderr });
});

it("the command names the package that is missing, and another way", () => {
  mkdirSync(join(folder, "dist/cli"), { recursive: true });
  writeFileSync(join(folder, "dist/cli/main.js"), 'import "no-such-package";\n');
  const { status, stderr } = started();
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^karpenter: the package no-such-package is not installed: .*karpenter-bundle of the release.*\n$/,
  );
});

it("the command still shows a failure of its own code", () => {
  mkdirSync(join(folder, "dist/cli"), { recursive: true });
  writeFileSync(join(folder, "dist/cli/main.js"), 'import "./gone.js";\n');
  expect(started().stderr).toContain("ERR_MODULE_NOT_FOUND");
});
