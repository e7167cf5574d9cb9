/**
 * `npm run versions:record -- TEST…`: runs tests of test/cluster with this Node, and writes into `runs.json` that
 * they passed. Writes nothing if one fails. Then run `npm run generate`.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RUNS_FILE, type Run, recordedRuns, withRun } from "./runs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(`${ROOT}${file}`, "utf8");
const tests = process.argv.slice(2);
const unknown = tests.filter((one) => !existsSync(`${ROOT}test/cluster/${one}.test.ts`));

if (tests.length === 0 || unknown.length > 0) {
  process.stderr.write(`name tests of test/cluster, such as helm-install; unknown: ${unknown}\n`);
  process.exitCode = 1;
} else {
  const run = runOf();
  const files = tests.map((one) => `test/cluster/${one}.test.ts`);
  const vitest = `${ROOT}node_modules/vitest/vitest.mjs`;
  const args = [vitest, "run", "--config", "test/cluster/vitest.config.ts", ...files];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
  if (status === 0)
    writeFileSync(RUNS_FILE, `${JSON.stringify(withRun(recordedRuns(), run), null, 2)}\n`);
  else process.exitCode = status ?? 1;
}

function runOf(): Run {
  return {
    tests,
    kubernetes: found("test/cluster/go.mod", /k8s\.io\/kubernetes v([\d.]+)/),
    node: process.versions.node,
    ...(tests.includes("helm-upgrade")
      ? { upstream: found("test/cluster/live-cluster.ts", /UPSTREAM_VERSION = "v([\d.]+)"/) }
      : {}),
    on: new Date().toISOString().slice(0, 10),
  };
}

function found(file: string, pattern: RegExp): string {
  const version = pattern.exec(read(file))?.[1];
  if (version === undefined) throw new Error(`${file} does not say ${pattern.source}`);
  return version;
}
