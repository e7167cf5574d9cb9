/**
 * Plans one workload file once in this new process, and prints one line of JSON of the same form as `bench/upstream`'s.
 * The time covers all of `planBatch` under default settings: pod classes, topology, instance types, planning, and
 * building the claims.
 * `--greedy`: only upstream's greedy rules. `--validate`: then checks the plan with the validator (test/validator), and
 * reports its faults. It is bundled before it runs, as the image is (`ours-program.ts`).
 */

import { readFileSync } from "node:fs";
import { planOf } from "../src/cli/plan/plan.ts";
import { planBatch } from "../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER } from "../src/core/planner/planner-options.ts";
import { validate } from "../test/validator/validate.ts";
import { inputOf, readWorkload } from "./workload.ts";

const [path, ...modes] = process.argv.slice(2);
if (path === undefined) throw new Error("one workload file is needed");
const options = modes.includes("--greedy") ? GREEDY_PLANNER : DEFAULT_PLANNER;
const workload = readWorkload(path);
const input = inputOf(workload);
// As upstream's program does: collects garbage before the time is measured.
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
  threadMs:
    threadAfter === undefined || threadBefore === undefined
      ? undefined
      : threadAfter - threadBefore,
  nodes: result.newClaims.length,
  priceMicroUsdPerHour: result.newClaims.reduce((sum, one) => sum + one.cheapest.priceMicroUsd, 0),
  unschedulable: result.unschedulable.length,
  rssBytes: process.memoryUsage().rss,
  ...(modes.includes("--validate") ? { faults: faultsOf() } : {}),
};
process.stdout.write(`${JSON.stringify(report)}\n`);

/** Faults that the validator finds in the plan. It shares no code with the engine. */
function faultsOf(): string[] {
  const { nodePools, instanceTypes } = workload;
  const pools = nodePools.map((one) => ({ ...one, kind: "NodePool" }));
  const namespace = { kind: "Namespace", metadata: { name: "default" } };
  const pods = workload.pods.flatMap(({ name, count, template }) =>
    Array.from({ length: count }, (_, index) => ({
      kind: "Pod",
      metadata: { ...template.metadata, name: `${name}-${index}`, namespace: "default" },
      spec: template.spec,
    })),
  );
  const plan = planOf(result, input.pods.length, { parseMs: 0, solveMs });
  return validate({ manifests: [namespace, ...pools, ...pods], instanceTypes }, plan);
}

/**
 * CPU time of the planning thread, without compiler and garbage collector threads. Undefined on other systems than
 * Linux.
 */
function threadMs(): number | undefined {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(
      " ",
    );
    return Number(nanoseconds) / 1e6;
  } catch {
    return undefined;
  }
}
