/**
 * `npm run bench -- consolidation [N …] [--mix] [--ours]`: cost of asking whether a node can be removed or replaced by
 * a cheaper one. The disruption loop asks this about each node in a sweep. The cluster has N nodes with ten pods each,
 * over upstream's 400 fake types. `--mix`: pods of all topology kinds; otherwise they are generic. Upstream's
 * SimulateScheduling is asked about a few nodes of the same cluster, in its own process. `--ours` skips it. The answer
 * of karpenter-ts includes prices, upstream's does not. The column `set-up` is the cost at the start of a sweep.
 * `follow` is its cost if only 1 % of the nodes changed since the last sweep.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pod } from "../src/apis/core/pod.ts";
import { Random } from "../src/base/random.ts";
import type * as Candidates from "../src/core/disruption/candidates.ts";
import type { Candidate } from "../src/core/disruption/candidates.ts";
import type * as Consolidation from "../src/core/disruption/consolidation.ts";
import type * as Simulate from "../src/core/disruption/simulate.ts";
import type { SchedulingInput } from "../src/core/provisioning/scheduling-input.ts";
import type * as Views from "../src/core/state/node-view.ts";
import type { NodeView } from "../src/core/state/node-view.ts";
import { freeRound } from "./round.ts";
import { buildUpstream } from "./upstream-program.ts";
import { inputOf, type Workload } from "./workload.ts";
import { WORKLOADS } from "./workloads.ts";

const SIZES = [1_000, 5_000, 10_000];
const PODS = 10;
/** Number of nodes about which upstream is asked. One question can take a second. */
const ASKED_OF_UPSTREAM = 20;
const HEAD = [
  "nodes  ",
  "set-up ms",
  "follow ms",
  "sweep ms",
  "mean us",
  "p50 us",
  "p99 us",
  "cpu us",
  "delete",
  "replace",
  "RSS MB",
  "upstream p50 ms",
  "cpu ms",
  "ratio p50",
  "ratio cpu",
];

export const built = async <T>(path: string): Promise<T> =>
  (await import(new URL(`../dist/${path}`, import.meta.url).href)) as T;

export async function consolidation(args: readonly string[]): Promise<void> {
  spawnSync("npx", ["tsc", "-b", "src/core"], { stdio: "inherit" });
  const sizes = args.map(Number).filter((one) => one > 0);
  const folder = mkdtempSync(join(tmpdir(), "bench-consolidation-"));
  try {
    const upstream = args.includes("--ours") ? undefined : buildUpstream(folder, "./consolidation");
    console.log(HEAD.join("  "));
    for (const nodes of sizes.length > 0 ? sizes : SIZES) {
      const drawn = await draw(nodes, args.includes("--mix"));
      const ours = await measure(drawn);
      const theirs = upstream === undefined ? [] : oppose(upstream, folder, drawn, ours);
      const row = [...ours.shown, ...theirs];
      console.log(row.map((cell, at) => String(cell).padStart(HEAD[at]?.length ?? 0)).join("  "));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export interface Drawn {
  readonly workload: Workload;
  readonly templates: readonly Pod[];
  readonly views: readonly NodeView[];
  /** For each node, the index of the template of each of its pods. */
  readonly chosen: readonly (readonly number[])[];
  readonly input: SchedulingInput;
}

export async function draw(count: number, mix: boolean): Promise<Drawn> {
  const { nodeView } = await built<typeof Views>("core/state/node-view.js");
  const workload = await (WORKLOADS["U-mix-1k"] as () => Promise<Workload>)();
  const groups = mix ? workload.pods : workload.pods.slice(0, Math.ceil(workload.pods.length / 5));
  const templates = inputOf({ ...workload, pods: groups }).pods;
  const random = new Random("consolidation");
  const chosen = Array.from({ length: count }, () =>
    Array.from({ length: PODS }, () => random.int(templates.length)),
  );
  const views = chosen.map((own, index) => {
    const name = nameOf(index);
    const pods = own.map((template, at): Pod => {
      const sample = templates[template] as Pod;
      return {
        ...sample,
        metadata: { ...sample.metadata, name: `${name}-${at}`, uid: `${name}-${at}` },
        // The spec is frozen, as in the mirror.
        spec: Object.freeze({ ...sample.spec, nodeName: name }),
        status: { phase: "Running" },
      };
    });
    return viewOf(nodeView, name, pods, index);
  });
  return {
    workload,
    templates,
    views,
    chosen,
    input: { ...inputOf({ ...workload, pods: [] }), nodes: views },
  };
}

const nameOf = (index: number): string => `node-${String(index).padStart(6, "0")}`;

interface Measured {
  readonly p50Us: number;
  readonly cpuUs: number;
  readonly shown: readonly (string | number)[];
}

async function measure({ input, views }: Drawn): Promise<Measured> {
  const { candidateOf } = await built<typeof Candidates>("core/disruption/candidates.js");
  const { consolidateOne } = await built<typeof Consolidation>("core/disruption/consolidation.js");
  const { createSimulator } = await built<typeof Simulate>("core/disruption/simulate.js");
  const [pool] = input.pools;
  if (pool === undefined) throw new Error("the workload has a pool");
  const candidates = views.map((view) => candidateOf(view, view.claim as never, pool));
  const first = candidates[0] as Candidate;
  const [setUpMs, simulator] = timed(() => {
    const made = createSimulator(input);
    made.without([first]);
    return made;
  });
  const times: number[] = [];
  let deletes = 0;
  let replaces = 0;
  const asked = freeRound(simulator);
  const cpu = process.cpuUsage();
  const [sweepMs] = timed(() => {
    for (const candidate of candidates) {
      const [ms, found] = timed(() => consolidateOne(candidate, asked));
      times.push(ms * 1_000);
      if (!("message" in found)) found.replacements.length > 0 ? replaces++ : deletes++;
    }
  });
  const { user, system } = process.cpuUsage(cpu);
  // New views of 1 % of the nodes, as events would cause them.
  const changed = views.map((view, index) => (index % 100 === 0 ? { ...view } : view));
  const [followMs] = timed(() =>
    createSimulator({ ...input, nodes: changed }, simulator).without([candidates[1] as Candidate]),
  );
  times.sort((a, b) => a - b);
  const percentile = (share: number) => times[Math.floor(share * (times.length - 1))] as number;
  const cpuUs = (user + system) / candidates.length;
  const shown = [
    views.length,
    setUpMs.toFixed(0),
    followMs.toFixed(0),
    sweepMs.toFixed(0),
    ((sweepMs * 1_000) / candidates.length).toFixed(0),
    percentile(0.5).toFixed(0),
    percentile(0.99).toFixed(0),
    cpuUs.toFixed(0),
    deletes,
    replaces,
    (process.memoryUsage().rss / 2 ** 20).toFixed(0),
  ];
  return { p50Us: percentile(0.5), cpuUs, shown };
}

function timed<T>(act: () => T): readonly [ms: number, result: T] {
  const started = performance.now();
  const result = act();
  return [performance.now() - started, result];
}

/** Asks upstream about some nodes of the same cluster. */
function oppose(program: string, folder: string, drawn: Drawn, ours: Measured): readonly string[] {
  const { workload, templates, views, chosen } = drawn;
  const file = join(folder, "cluster.json");
  const nodes = views.map(({ name, labels, node }, index) => ({
    name,
    labels,
    capacity: node?.status?.capacity,
    allocatable: node?.status?.allocatable,
    pods: chosen[index],
  }));
  const bare = templates.map(({ metadata: { labels }, spec }) => ({ metadata: { labels }, spec }));
  writeFileSync(file, JSON.stringify({ nodePools: workload.nodePools, templates: bare, nodes }));
  const { status, stdout, stderr } = spawnSync(
    program,
    ["-candidates", String(ASKED_OF_UPSTREAM), file],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`upstream failed: ${stderr}`);
  const { ms, cpuMs } = JSON.parse(stdout) as {
    readonly ms: readonly number[];
    readonly cpuMs: number;
  };
  const median = ms.toSorted((a, b) => a - b)[Math.floor(ms.length / 2)] as number;
  const cpuEach = cpuMs / ms.length;
  return [
    median.toFixed(0),
    cpuEach.toFixed(0),
    `${((median * 1_000) / ours.p50Us).toFixed(0)}x`,
    `${((cpuEach * 1_000) / ours.cpuUs).toFixed(0)}x`,
  ];
}

/** A node of the smallest type that has 10 % more room than the pods need. */
function viewOf(
  build: typeof Views.nodeView,
  name: string,
  pods: readonly Pod[],
  index: number,
): NodeView {
  const cpu = pods.reduce(
    (sum, { spec }) => sum + amount(spec.containers[0]?.resources?.requests?.["cpu"]),
    0,
  );
  const memory = pods.reduce(
    (sum, { spec }) => sum + amount(spec.containers[0]?.resources?.requests?.["memory"]),
    0,
  );
  const size = Math.max(
    1,
    Math.ceil((1.1 * cpu) / 1_000 + 0.1),
    Math.ceil((1.1 * memory) / 2 / 1_024),
  );
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
  const allocatable = {
    cpu: `${size * 1_000 - 100}m`,
    memory: `${2_048 * size - 10}Mi`,
    pods: String(10 * size),
  };
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
      status: {
        providerID: `bench://${name}`,
        nodeName: name,
        conditions: [
          {
            type: "Consolidatable",
            status: "True",
            reason: "Consolidatable",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
      },
    },
    pods,
    marked: false,
    nominatedUntilMs: 0,
  });
}

function amount(text: unknown): number {
  return Number(String(text).replace(/[a-zA-Z]+$/, ""));
}
