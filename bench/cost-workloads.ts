/**
 * The workloads of `npm run bench -- cost`, on the AWS catalogue. Pods are those of upstream's benchmarks and
 * end-to-end suite, in four kinds of NodePool. The workloads U-mix are upstream's mix with all its topology rules. If
 * OPENB_CSV names its file, a public GPU trace is one more.
 */
import { group, wide } from "./pod-groups.ts";
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

const CLOSE = 0.05;
/**
 * Allowed price above the lower bound for mixed pods, as a share of the bound. It is larger than for other pods,
 * because the lower bound ignores topology.
 */
const MIXED = 0.15;
const TRACE = 0.12;

export interface CostWorkload {
  readonly workload: Workload;
  /** How much our plan may cost above the lower bound, as a share of the bound. */
  readonly mostOver: number;
}

export async function costWorkloads(): Promise<CostWorkload[]> {
  const generic = await made("A-generic");
  const pods: Readonly<Record<string, readonly PodGroup[]>> = {
    "A-generic": generic.pods,
    "A-wide": wide(),
    "A-homogeneous": [group("same", 10_000, 900, 3_100)],
    "A-basic": [group("small", 500, 900, 3_100), group("large", 500, 3_500, 28 * 1_024)],
  };
  const workloads = Object.entries(pods).flatMap(([name, groups]) =>
    Object.entries(SHAPES).map(([shape, requirements]) => ({
      workload: on(generic, `${name}, ${shape}`, groups, requirements),
      mostOver: CLOSE,
    })),
  );
  for (const name of ["U-mix-1k", "U-mix-5k", "U-mix-10k", "U-mix-20k"]) workloads.push({ workload: await made(name), mostOver: MIXED });
  if (process.env["OPENB_CSV"] !== undefined) workloads.push({ workload: await made("T-openb"), mostOver: TRACE });
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
