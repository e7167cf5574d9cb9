/**
 * Our engine on one workload file, once, in this cold process: prints a line of JSON that has the
 * shape of `bench/upstream`'s. The time covers the whole of `planBatch` under default settings, so the
 * planner too (`--greedy`: upstream's rules alone): sorting pods into classes, setting up topology and
 * types, planning, building the claims. What is timed is what `tsc` built: running TypeScript directly
 * would time its loader's additions too.
 */
import type { planBatch as PlanBatch } from "../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER } from "../src/core/planner/planner-options.ts";
import { readFileSync } from "node:fs";
import { inputOf, readWorkload } from "./workload.ts";

const [path, mode] = process.argv.slice(2);
if (path === undefined) throw new Error("one workload file is needed");
const built = new URL("../dist/core/planner/plan-batch.js", import.meta.url);
const { planBatch } = (await import(built.href)) as { planBatch: typeof PlanBatch };
const options = mode === "--greedy" ? GREEDY_PLANNER : DEFAULT_PLANNER;
const input = inputOf(readWorkload(path));
// As upstream's does: what came before leaves no garbage to whom is timed.
globalThis.gc?.();
const threadBefore = threadMs();
const cpuBefore = process.cpuUsage();
const start = performance.now();
const result = planBatch(input, options);
const solveMs = performance.now() - start;
const threadAfter = threadMs();
const cpu = process.cpuUsage(cpuBefore);
const report = {
  pods: input.pods.length,
  workers: 1,
  setupMs: 0,
  solveMs,
  cpuMs: (cpu.user + cpu.system) / 1_000,
  threadMs: threadAfter === undefined || threadBefore === undefined ? undefined : threadAfter - threadBefore,
  nodes: result.newClaims.length,
  priceMicroUsdPerHour: result.newClaims.reduce((sum, one) => sum + one.cheapest.priceMicroUsd, 0),
  unschedulable: result.unschedulable.length,
  rssBytes: process.memoryUsage().rss,
};
process.stdout.write(`${JSON.stringify(report)}\n`);

/** Cpu time of the thread that plans, without the compiler's and the collector's; only Linux tells. */
function threadMs(): number | undefined {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return undefined;
  }
}
