/** Builds the Go programs that run upstream's engine, from the modules in bench/upstream. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { goEnv } from "../test/cluster/go-env.ts";

const MODULE = fileURLToPath(new URL("upstream", import.meta.url));

/** Builds the program into `folder` and returns its path. Undefined if that fails; the reason is printed to stdout. */
export function buildUpstream(folder: string, of = "."): string | undefined {
  const program = join(folder, "upstream");
  const { status, error, stderr } = spawnSync("go", ["build", "-o", program, of], {
    cwd: MODULE,
    env: goEnv(),
    encoding: "utf8",
  });
  if (status === 0) return program;
  const why =
    error === undefined ? String(stderr).trim().split("\n").at(-1) : "Go is not installed";
  process.stdout.write(`upstream could not be built and is left out: ${why}\n`);
  return undefined;
}
