/**
 * `npm run bench -- consolidation [--nodes N …] [--mix]`: what it costs to ask of each node of a cluster
 * whether it could go, its pods elsewhere or on something cheaper: the question that the disruption loop
 * asks in a sweep. N nodes with ten pods each over upstream's 400 fake types; `--mix` has pods of all
 * topology kinds, else they are generic. Set-up is what a sweep pays once.
 */
import type { Pod } from "../src/apis/core/pod.ts";
import { Random } from "../src/base/random.ts";
import type { Candidate } from "../src/core/disruption/candidates.ts";
import type * as Candidates from "../src/core/disruption/candidates.ts";
import type * as Consolidation from "../src/core/disruption/consolidation.ts";
import type * as Simulate from "../src/core/disruption/simulate.ts";
import type { NodeView } from "../src/core/state/node-view.ts";
import type * as Views from "../src/core/state/node-view.ts";
import { inputOf } from "./workload.ts";
import { WORKLOADS } from "./workloads.ts";
import { spawnSync } from "node:child_process";

const SIZES = [1_000, 5_000, 10_000];
const PODS = 10;

const built = async <T>(path: string): Promise<T> =>
  (await import(new URL(`../dist/${path}`, import.meta.url).href)) as T;

export async function consolidation(args: readonly string[]): Promise<void> {
  spawnSync("npx", ["tsc", "-b", "src/core"], { stdio: "inherit" });
  const sizes = args.map(Number).filter((one) => one > 0);
  const mix = args.includes("--mix");
  const head = ["nodes  ", "set-up ms", "again ms", "candidates", "sweep ms", "mean us", "p50 us", "p99 us", "delete", "replace", "RSS MB"];
  console.log(head.join("  "));
  for (const nodes of sizes.length > 0 ? sizes : SIZES) {
    const row = await measure(nodes, mix);
    console.log(row.map((cell, at) => String(cell).padStart(head[at]?.length ?? 0)).join("  "));
  }
}

async function measure(count: number, mix: boolean): Promise<readonly (string | number)[]> {
  const { nodeView } = await built<typeof Views>("core/state/node-view.js");
  const { candidateOf } = await built<typeof Candidates>("core/disruption/candidates.js");
  const { consolidate } = await built<typeof Consolidation>("core/disruption/consolidation.js");
  const { createSimulator } = await built<typeof Simulate>("core/disruption/simulate.js");
  const workload = await (WORKLOADS["U-mix-1k"] as () => Promise<Parameters<typeof inputOf>[0]>)();
  const groups = mix ? workload.pods : workload.pods.slice(0, Math.ceil(workload.pods.length / 5));
  const drawn = inputOf({ ...workload, pods: groups }).pods;
  const base = inputOf({ ...workload, pods: [] });
  const random = new Random("consolidation");
  const views: NodeView[] = [];
  for (let index = 0; index < count; index++) {
    const name = `node-${String(index).padStart(6, "0")}`;
    const pods = Array.from({ length: PODS }, (_, at): Pod => {
      const sample = drawn[random.int(drawn.length)] as Pod;
      return {
        ...sample,
        metadata: { ...sample.metadata, name: `${name}-${at}`, uid: `${name}-${at}` },
        spec: { ...sample.spec, nodeName: name },
        status: { phase: "Running" },
      };
    });
    views.push(viewOf(nodeView, name, pods, index));
  }
  const [pool] = base.pools;
  if (pool === undefined) throw new Error("the workload has a pool");
  const input = { ...base, nodes: views };
  const started = performance.now();
  const simulator = createSimulator(input);
  const candidates = views.map((view) => candidateOf(view, view.claim as never, pool));
  simulator.without([candidates[0] as Candidate]);
  const setUpMs = performance.now() - started;
  const again = performance.now();
  createSimulator(input).without([candidates[0] as Candidate]);
  const setUpAgainMs = performance.now() - again;
  const methodInput = {
    simulator,
    spotToSpot: false,
    backingOff: new Set<string>(),
    objection: () => undefined,
    balancedTotals: () => new Map(),
  } as unknown as Parameters<typeof consolidate>[1];
  const times: number[] = [];
  let deletes = 0;
  let replaces = 0;
  const begin = performance.now();
  for (const candidate of candidates) {
    const at = performance.now();
    const found = consolidate([candidate], methodInput);
    times.push((performance.now() - at) * 1_000);
    if (!("message" in found)) found.replacements.length > 0 ? replaces++ : deletes++;
  }
  const sweepMs = performance.now() - begin;
  times.sort((a, b) => a - b);
  const percentile = (share: number) => (times[Math.floor(share * (times.length - 1))] as number).toFixed(0);
  return [
    count,
    setUpMs.toFixed(0),
    setUpAgainMs.toFixed(0),
    candidates.length,
    sweepMs.toFixed(0),
    ((sweepMs * 1_000) / candidates.length).toFixed(0),
    percentile(0.5),
    percentile(0.99),
    deletes,
    replaces,
    (process.memoryUsage().rss / 2 ** 20).toFixed(0),
  ];
}

/** A node of the smallest type that holds the pods, and a tenth more. */
function viewOf(build: typeof Views.nodeView, name: string, pods: readonly Pod[], index: number): NodeView {
  const cpu = pods.reduce((sum, { spec }) => sum + amount(spec.containers[0]?.resources?.requests?.["cpu"]), 0);
  const memory = pods.reduce((sum, { spec }) => sum + amount(spec.containers[0]?.resources?.requests?.["memory"]), 0);
  const size = Math.max(1, Math.ceil((1.1 * cpu) / 1_000 + 0.1), Math.ceil((1.1 * memory) / 2 / 1_024));
  const labels = {
    "karpenter.sh/nodepool": "default",
    "karpenter.sh/registered": "true",
    "karpenter.sh/initialized": "true",
    "karpenter.sh/capacity-type": "on-demand",
    "node.kubernetes.io/instance-type": `fake-it-${size - 1}`,
    "topology.kubernetes.io/zone": `test-zone-${1 + (index % 3)}`,
    "kubernetes.io/hostname": name,
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
  };
  const amounts = { cpu: String(size), memory: `${2 * size}Gi`, pods: String(10 * size) };
  const allocatable = { cpu: `${size * 1_000 - 100}m`, memory: `${2_048 * size - 10}Mi`, pods: String(10 * size) };
  const metadata = { name, labels };
  return build({
    node: {
      metadata,
      spec: { providerID: `bench://${name}` },
      status: { capacity: amounts, allocatable, conditions: [{ type: "Ready", status: "True" }] },
    },
    claim: {
      apiVersion: "karpenter.sh/v1",
      kind: "NodeClaim",
      metadata,
      spec: { requirements: [], nodeClassRef: { group: "bench", kind: "Class", name: "default" } },
      status: { providerID: `bench://${name}`, nodeName: name },
    },
    pods,
    marked: false,
    nominatedUntilMs: 0,
  });
}

function amount(text: unknown): number {
  return Number(String(text).replace(/[a-zA-Z]+$/, ""));
}
