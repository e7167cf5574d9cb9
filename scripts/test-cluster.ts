/**
 * `npm run test:cluster [-- --where-possible] [name …]`: builds the real control plane if needed, and runs the
 * tests of test/cluster whose path contains a name; without names all.
 * Whatever ends the run, an interrupt or a kill included, nothing that it started stays. Each step is a process
 * group that ends with our standard input, and temporary files are in one folder.
 * `--where-possible` is for machines without Go or without access to its modules: it says so in one line and exits
 * with 0.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isBuilt, isGoHere, MODULES, NO_GO } from "../test/cluster/binaries.ts";
import { goEnv } from "../test/cluster/go-env.ts";
import { END_WITH_STDIN } from "../test/cluster/tied.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MINUTE_MS = 60_000;
/** Time limit of each step. On two cores the longest build takes four minutes, and all tests twenty. */
const DOWNLOAD_LIMIT_MS = 5 * MINUTE_MS;
const BUILD_LIMIT_MS = 30 * MINUTE_MS;
const TEST_LIMIT_MS = Number(process.env["CLUSTER_LIMIT_MINUTES"] ?? 40) * MINUTE_MS;
/** Time for a process to end after it was asked to. Then it is killed. */
const PATIENCE_MS = 10_000;

const asked = process.argv.slice(2);
const wherePossible = asked.includes("--where-possible");
const names = asked.filter((one) => one !== "--where-possible");
const temporary = mkdtempSync(join(tmpdir(), "karpenter-test-cluster-"));
const env = { ...process.env, TMPDIR: temporary };
let step: ChildProcess | undefined;
let interrupted = false;

for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, interrupt);
// A killed npm sends no signal, so a changed parent process is the sign.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && interrupt(), 500).unref();

try {
  process.exitCode = await all();
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

async function all(): Promise<number> {
  const missing = await whyNotBuilt();
  if (missing !== undefined) {
    process.stderr.write(`no real control plane here: ${missing}\n`);
    return wherePossible ? 0 : 1;
  }
  const steps: readonly (readonly [readonly string[], number])[] = [
    [["--import", "tsx", join(ROOT, "scripts", "cluster.ts"), "build"], BUILD_LIMIT_MS],
    [[join(ROOT, "node_modules", "typescript", "bin", "tsc"), "-b"], BUILD_LIMIT_MS],
    [[join(ROOT, "node_modules", "vitest", "vitest.mjs"), ...vitestArguments()], TEST_LIMIT_MS],
  ];
  for (const [args, limitMs] of steps) {
    const code = await run(process.execPath, ["--import", END_WITH_STDIN, ...args], limitMs);
    if (code !== 0) return code;
  }
  return 0;
}

function vitestArguments(): readonly string[] {
  return ["run", "--config", join(ROOT, "test", "cluster", "vitest.config.ts"), ...names];
}

/** Why the programs cannot be built. Undefined if they are built already, or if Go and its modules are here. */
async function whyNotBuilt(): Promise<string | undefined> {
  if (isBuilt()) return undefined;
  if (!isGoHere()) return NO_GO;
  for (const module of MODULES) {
    // Hides go's long errors; this script prints one line instead.
    const code = await run("go", ["mod", "download"], DOWNLOAD_LIMIT_MS, {
      cwd: module,
      stdio: "ignore",
    });
    if (code !== 0)
      return `its Go modules cannot be had (\`go mod download\` in ${relative(ROOT, module)} says why)`;
  }
  return undefined;
}

/** The step's exit code; 124 if it took too long and was ended. */
function run(
  program: string,
  args: readonly string[],
  limitMs: number,
  { cwd = ROOT, stdio = "inherit" }: { cwd?: string; stdio?: "inherit" | "ignore" } = {},
): Promise<number> {
  if (interrupted) return Promise.resolve(130);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: goEnv(env),
      detached: true,
      stdio: ["pipe", stdio, stdio],
    });
    step = child;
    let late = false;
    const limit = setTimeout(() => {
      late = true;
      process.stderr.write(
        `${program} ${args.join(" ")}: ended after ${limitMs / MINUTE_MS} min\n`,
      );
      end(child);
    }, limitMs);
    child.once("error", reject);
    child.once("exit", (code) => {
      clearTimeout(limit);
      // Ends processes that the step started and did not wait for.
      signal(child, "SIGKILL");
      step = undefined;
      if (interrupted) resolve(130);
      else resolve(late ? 124 : (code ?? 1));
    });
  });
}

function interrupt(): void {
  interrupted = true;
  if (step !== undefined) end(step);
}

function end(child: ChildProcess): void {
  signal(child, "SIGTERM");
  setTimeout(() => signal(child, "SIGKILL"), PATIENCE_MS).unref();
}

/** Sends the signal to the whole process group. */
function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // No process of the group is left.
  }
}
