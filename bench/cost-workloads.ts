/**
 * The workloads of `npm run bench -- cost`: pods of upstream's benchmarks and end-to-end suite on the
 * AWS catalogue, in four shapes of NodePool; upstream's mix with all its rules; and a public GPU
 * trace where its file is at hand (Alibaba cluster-trace-gpu-v2023, openb_pod_list: columns cpu_milli,
 * memory_mib, num_gpu).
 */
import { readFileSync } from "node:fs";
import type { PodGroup, Workload } from "./workload.ts";
import { WORKLOADS } from "./workloads.ts";

type Requirement = { readonly key: string; readonly operator: string; readonly values?: readonly string[] };

const CATEGORY = "karpenter.k8s.aws/instance-category";
const GENERATION = "karpenter.k8s.aws/instance-generation";
const CPU = "karpenter.k8s.aws/instance-cpu";
const BASE: readonly Requirement[] = [
  { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
  { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
];
const CMR: readonly Requirement[] = [...BASE, { key: CATEGORY, operator: "In", values: ["c", "m", "r"] }];
const newer = (than: string): Requirement => ({ key: GENERATION, operator: "Gt", values: [than] });
const SMALL: Requirement = { key: CPU, operator: "Lt", values: ["33"] };

const SHAPES: Readonly<Record<string, readonly Requirement[]>> = {
  "c, m, r": [...CMR, newer("2")],
  "≤ 32 cpu": [...CMR, newer("2"), SMALL],
  "generation ≥ 7": [...CMR, newer("6")],
  "generation ≥ 7, ≤ 32 cpu": [...CMR, newer("6"), SMALL],
};

/** cpu in milli and memory in Mi of upstream's wideDeployments. */
const WIDE_CPU = [
  240, 450, 650, 900, 1400, 1900, 2400, 2800, 3300, 3700, 2300, 900, 1300, 2800, 1800, 1850, 3300, 3800, 225, 450, 700,
  900, 1300, 1800, 2400, 2800, 3400, 3800, 3300, 2800,
];
const WIDE_MEMORY = [
  300, 400, 700, 1024, 2048, 4096, 8192, 4096, 16384, 10240, 65536, 30720, 32768, 32768, 30720, 20480, 30720, 300, 500,
  750, 1024, 2048, 4096, 8192, 16384, 32768, 28672, 65536, 13312, 24576,
];

export async function costWorkloads(openb: string | undefined): Promise<Workload[]> {
  const generic = await made("A-generic");
  const pods: Readonly<Record<string, readonly PodGroup[]>> = {
    "A-generic": generic.pods,
    "A-wide": WIDE_CPU.map((cpu, index) => group(`wide-${index}`, index < 10 ? 334 : 333, cpu, WIDE_MEMORY[index] as number)),
    "A-homogeneous": [group("same", 10_000, 900, 3_100)],
    "A-basic": [group("small", 500, 900, 3_100), group("large", 500, 3_500, 28 * 1_024)],
  };
  const workloads = Object.entries(pods).flatMap(([name, groups]) =>
    Object.entries(SHAPES).map(([shape, requirements]) => on(generic, `${name}, ${shape}`, groups, requirements)),
  );
  workloads.push(await made("U-mix-10k"));
  if (openb !== undefined) workloads.push(on(generic, "T-openb, amd64", openbPods(openb), BASE));
  return workloads;
}

async function made(name: string): Promise<Workload> {
  const make = WORKLOADS[name];
  if (make === undefined) throw new Error(`there is no workload ${name}`);
  return make();
}

function on(base: Workload, name: string, pods: readonly PodGroup[], requirements: readonly Requirement[]): Workload {
  const nodePools = base.nodePools.map((pool) => {
    const template = { ...pool.spec.template, spec: { ...pool.spec.template.spec, requirements } };
    return { ...pool, spec: { ...pool.spec, template } } as Workload["nodePools"][number];
  });
  return { ...base, name, pods, nodePools };
}

function group(name: string, count: number, cpuMilli: number, memoryMi: number, gpus = 0): PodGroup {
  const amounts = { cpu: `${cpuMilli}m`, memory: `${memoryMi}Mi`, ...(gpus > 0 ? { "nvidia.com/gpu": String(gpus) } : {}) };
  const resources = { requests: amounts, ...(gpus > 0 ? { limits: { "nvidia.com/gpu": String(gpus) } } : {}) };
  const containers = [{ name: "main", image: "pause", resources }];
  return { name, count, template: { metadata: { labels: { app: name } }, spec: { containers } } } as PodGroup;
}

function openbPods(path: string): PodGroup[] {
  const [head = "", ...lines] = readFileSync(path, "utf8").trim().split("\n");
  const columns = head.split(",");
  const [cpu, memory, gpu] = ["cpu_milli", "memory_mib", "num_gpu"].map((name) => {
    const at = columns.indexOf(name);
    if (at < 0) throw new Error(`${path}: no column ${name}`);
    return at;
  }) as [number, number, number];
  const counts = new Map<string, number>();
  for (const line of lines) {
    const cells = line.split(",");
    const key = [cells[cpu], cells[memory], cells[gpu]].join();
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count], index) => {
    const [cpuMilli = 0, memoryMi = 0, gpus = 0] = key.split(",").map(Number);
    return group(`openb-${index}`, count, cpuMilli, memoryMi, gpus);
  });
}
