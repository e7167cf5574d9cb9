/**
 * The workloads of the bench, created from a fixed seed.
 * - `U-`: those of upstream's scheduling_benchmark_test.go over 400 types. One fifth each: generic pods, zone spread,
 * host spread, zone affinity, host anti-affinity. Also 4,000 equal pods with preferences.
 * - `A-`: such pods on the AWS catalogue (amd64, on-demand, families c, m and r after generation 2).
 * - `H-`: equal pods. `P-`: hard cases (pathological.ts). `T-openb`: a public trace on all amd64 types, if its file is
 * available.
 */
import type { PodTemplateSpec } from "../src/apis/apps/kinds.ts";
import type { NodePool } from "../src/apis/karpenter/nodepool.ts";
import { Random } from "../src/base/random.ts";
import { awsCatalogue } from "../src/cli/plan/aws-catalogue.ts";
import { sortManifests } from "../src/cli/plan/manifests.ts";
import { toPool } from "../src/apis/hub/to-pool.ts";
import { PATHOLOGICAL } from "./pathological.ts";
import { group, openbPods, wide } from "./pod-groups.ts";
import { describeType, type PodGroup, type Workload } from "./workload.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const LABELS = ["a", "b", "c", "d", "e", "f", "g"];
const CPU = ["100m", "250m", "500m", "1000m", "1500m"];
const MEMORY = ["100Mi", "256Mi", "512Mi", "1024Mi", "2048Mi", "4096Mi"];
const FAKE_TYPES = 400;

type Make = () => Promise<Workload>;

/** The workloads by name, in the order of the table. */
export const WORKLOADS: Readonly<Record<string, Make>> = {
  "U-mix-1k": async () => upstreamMix("U-mix-1k", 1_000),
  "U-mix-5k": async () => upstreamMix("U-mix-5k", 5_000),
  "U-mix-10k": async () => upstreamMix("U-mix-10k", 10_000),
  "U-mix-20k": async () => upstreamMix("U-mix-20k", 20_000),
  "U-mix-100k": async () => upstreamMix("U-mix-100k", 100_000),
  "U-pref-respect": async () => preferences("U-pref-respect", "Respect"),
  "U-pref-ignore": async () => preferences("U-pref-ignore", "Ignore"),
  "U-generic-1M": async () => onFakes("U-generic-1M", drawPods([generic], 1_000_000)),
  "A-generic": async () => onAws("A-generic", drawPods([generic], 10_000)),
  "A-mix": async () => onAws("A-mix", drawPods(KINDS, 5_000)),
  "A-wide": async () => onAws("A-wide", wide()),
  "H-10k": async () => onAws("H-10k", [group("same", 10_000, 900, 3_100)]),
  "H-1M": async () => onAws("H-1M", [group("same", 1_000_000, 900, 3_100)]),
  "T-openb": async () => onAws("T-openb", openbPods(tracePath()), AMD64),
  ...PATHOLOGICAL,
};

/** The workload of upstream's benchmark with `count` pods. `types`: number of fake instance types. */
export function upstreamMix(name: string, count: number, types = FAKE_TYPES): Workload {
  return onFakes(name, drawPods(KINDS, count), types);
}

function onFakes(name: string, pods: readonly PodGroup[], types = FAKE_TYPES): Workload {
  const instanceTypes = fakeTypes(types);
  return { name, preferencePolicy: "Respect", instanceTypes, nodePools: [nodePool()], pods };
}

/** The path of the trace, from the environment variable OPENB_CSV. */
function tracePath(): string {
  const path = process.env["OPENB_CSV"];
  if (path === undefined) throw new Error("T-openb: set OPENB_CSV to the file openb_pod_list of Alibaba's cluster-trace-gpu-v2023");
  return path;
}

const AMD64 = [
  { key: "kubernetes.io/arch", operator: "In" as const, values: ["amd64"] },
  { key: "karpenter.sh/capacity-type", operator: "In" as const, values: ["on-demand"] },
];
const CMR = [
  { key: "karpenter.k8s.aws/instance-category", operator: "In" as const, values: ["c", "m", "r"] },
  { key: "karpenter.k8s.aws/instance-generation", operator: "Gt" as const, values: ["2"] },
  ...AMD64,
];

async function onAws(name: string, pods: readonly PodGroup[], requirements: Parameters<typeof nodePool>[0] = CMR): Promise<Workload> {
  return onPool(name, pods, nodePool(requirements));
}

/** Pods of one pool on the AWS catalogue. */
export async function onPool(name: string, pods: readonly PodGroup[], pool: NodePool): Promise<Workload> {
  const aws = await awsCatalogue("us-east-1", sortManifests([]));
  const types = await aws.typesOf(toPool(pool));
  return {
    name,
    preferencePolicy: "Respect",
    instanceTypes: types.filter(({ offerings }) => offerings.length > 0).map(describeType),
    nodePools: [pool],
    pods,
  };
}

/** Upstream's fake types: each has one core and 2 Gi more than the one before, and five offerings at one price. */
function fakeTypes(count = FAKE_TYPES): unknown[] {
  return Array.from({ length: count }, (_, index) => {
    const size = index + 1;
    const large = size > 4;
    const at = (zone: number, capacityType: string) => ({
      zone: `test-zone-${zone}`,
      capacityType,
      priceMicroUsdPerHour: Math.round(314_748.3648 * size),
    });
    return {
      name: `fake-it-${index}`,
      labels: {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": ["linux", "windows", "darwin"],
        size: large ? "large" : "small",
        special: large ? "optional" : [],
        integer: String(size),
      },
      capacity: { cpu: String(size), memory: `${2 * size}Gi`, pods: String(10 * size) },
      overhead: { cpu: "100m", memory: "10Mi" },
      offerings: [at(1, "spot"), at(2, "spot"), at(1, "on-demand"), at(2, "on-demand"), at(3, "on-demand")],
    };
  });
}

function nodePool(
  requirements: NodePool["spec"]["template"]["spec"]["requirements"] = [],
): NodePool {
  const nodeClassRef = { group: "bench.karpenter.sh", kind: "BenchClass", name: "default" };
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name: "default" },
    spec: {
      template: { spec: { requirements, nodeClassRef, expireAfter: "Never" } },
      limits: { cpu: "1000000000", memory: "1000000000Gi" },
      disruption: { consolidateAfter: "0s", consolidationPolicy: "WhenEmptyOrUnderutilized" },
    },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  } as NodePool;
}

/** Labels and other fields of a pod of this kind. */
type Kind = (random: Random) => {
  readonly labels: Record<string, string>;
  readonly spec?: Partial<PodTemplateSpec["spec"]>;
};

const generic: Kind = (random) => ({ labels: { "my-label": random.pick(LABELS) } });
const spread =
  (topologyKey: string): Kind =>
  (random) => {
    const labels = { "my-label": random.pick(LABELS) };
    const labelSelector = { matchLabels: { "my-label": random.pick(LABELS) } };
    const constraint = { maxSkew: 1, topologyKey, labelSelector };
    const whenUnsatisfiable = "DoNotSchedule" as const;
    return { labels, spec: { topologySpreadConstraints: [{ ...constraint, whenUnsatisfiable }] } };
  };
const together: Kind = (random) => {
  const labels = { "my-affininity": random.pick(LABELS) };
  return { labels, spec: { affinity: { podAffinity: required(ZONE, labels) } } };
};
const apart: Kind = () => {
  const labels = { app: "nginx" };
  return { labels, spec: { affinity: { podAntiAffinity: required(HOSTNAME, labels) } } };
};
const KINDS: readonly Kind[] = [generic, spread(ZONE), spread(HOSTNAME), together, apart];

function required(topologyKey: string, matchLabels: Record<string, string>) {
  return {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey, labelSelector: { matchLabels } },
    ],
  };
}

/**
 * Pods in equal shares of the kinds. The random numbers are drawn in the order label, CPU, memory; equal pods form a
 * group.
 */
function drawPods(kinds: readonly Kind[], count: number): PodGroup[] {
  const random = new Random(42);
  const groups = new Map<string, { count: number; template: PodTemplateSpec }>();
  for (let index = 0; index < count; index++) {
    const kind = kinds[Math.floor((index * kinds.length) / count)] as Kind;
    const { labels, spec = {} } = kind(random);
    const requests = { cpu: random.pick(CPU), memory: random.pick(MEMORY) };
    const template = { metadata: { labels }, spec: { ...spec, containers: [container(requests)] } };
    const key = JSON.stringify(template);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { count: 1, template });
    else group.count++;
  }
  return [...groups.values()].map((group, index) => ({ name: `pod-${index}`, ...group }));
}

function container(requests: Record<string, string>) {
  return { name: "main", image: "pause", resources: { requests } };
}

function preferences(name: string, preferencePolicy: "Respect" | "Ignore"): Workload {
  const labels = { app: "nginx" };
  const avoid = (weight: number, topologyKey: string) => ({
    weight,
    podAffinityTerm: { topologyKey, labelSelector: { matchLabels: labels } },
  });
  const zone = { key: ZONE, operator: "In" as const, values: ["test-zone-1"] };
  const affinity = {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchExpressions: [zone] } },
      ],
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [avoid(10, ZONE), avoid(1, HOSTNAME)],
    },
  };
  const containers = [container({ cpu: "500m", memory: "1024Mi" })];
  const template = { metadata: { labels }, spec: { affinity, containers } };
  const pods = [{ name: "pod", count: 4_000, template }];
  return { name, preferencePolicy, instanceTypes: fakeTypes(), nodePools: [nodePool()], pods };
}
