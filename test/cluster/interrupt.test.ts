/** A run of these tests that is interrupted or killed leaves no process and no file. */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The programs are already built, but a control plane starts slowly on a busy machine. */
const LIMIT_MS = 180_000;

/** Processes with this folder in their command line. */
function programsIn(folder: string): readonly string[] {
  return execFileSync("ps", ["-eo", "stat=,args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(folder) && !line.startsWith("Z"));
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + LIMIT_MS;
  while (!holds()) {
    if (performance.now() > deadlineMs) throw new Error(`never happened: ${what}`);
    await sleep(100);
  }
}

it.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "a run that got %s from npm leaves no process behind",
  { timeout: 2 * LIMIT_MS },
  async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), "karpenter-interrupt-"));
    const npm = spawn("npm", ["run", "--silent", "test:cluster", "--", "karpenter.test"], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: folder },
      stdio: "ignore",
    });
    const ended = new Promise((resolve) => npm.once("exit", resolve));
    try {
      const runs = () => programsIn(folder).some((line) => line.includes("/kwok "));
      await until("the control plane runs", runs);
      expect(npm.exitCode).toBeNull();
      npm.kill(signal);
      await ended;
      await until("every program of it has ended", () => programsIn(folder).length === 0);
      expect(npm.exitCode).not.toBe(0);
      // Other files in this folder are tsx's cache.
      const ours = () => readdirSync(folder).filter((name) => name.startsWith("karpenter-"));
      await until("its files are gone", () => ours().length === 0);
    } finally {
      npm.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
