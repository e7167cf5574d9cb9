/**
 * Our engine on one workload file, once, in this cold process: prints a line of JSON that has the
 * shape of `bench/upstream`'s. The time covers the whole of `planBatch` under default settings, so the
 * planner too (`--greedy`: upstream's rules alone): sorting pods into classes, setting up topology and
 * types, planning, building the claims. It is bundled before it runs, as the image is (`ours-program.ts`). `--validate`: afterwards the plan goes before the validator
 * (test/validator), and what is wrong with it is in the report.
 */
import { planBatch } from "../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER } from "../src/core/planner/planner-options.ts";
import { readFileSync } from "node:fs";
import { planOf } from "../src/cli/plan/plan.ts";
import { validate } from "../test/validator/validate.ts";
import { inputOf, readWorkload } from "./workload.ts";

const [path, ...modes] = process.argv.slice(2);
if (path === undefined) throw new Error("one workload file is needed");
const options = modes.includes("--greedy") ? GREEDY_PLANNER : DEFAULT_PLANNER;
const workload = readWorkload(path);
const input = inputOf(workload);
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
  ...(modes.includes("--validate") ? { faults: faultsOf() } : {}),
};
process.stdout.write(`${JSON.stringify(report)}\n`);

/** What the validator has against the plan. It shares no code with the engine. */
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

/** Cpu time of the thread that plans, without the compiler's and the collector's; only Linux tells. */
function threadMs(): number | undefined {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return undefined;
  }
}
