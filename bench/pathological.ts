/**
 * Workloads that are hard to plan, with names that begin with `P-`. Each must be planned quickly, because real clusters
 * have such workloads. They use no random numbers, so each run is equal.
 */
import type { PodTemplateSpec } from "../src/apis/apps/kinds.ts";
import type { NodePool } from "../src/apis/karpenter/nodepool.ts";
import type { PodGroup, Workload } from "./workload.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const ZONES = ["a", "b", "c", "d", "e"];

export const PATHOLOGICAL: Readonly<Record<string, () => Promise<Workload>>> = {
  "P-antiaff": async () => make("P-antiaff", [group("pod", 20_000, apart())]),
  "P-zonalskew": async () =>
    make("P-zonalskew", [group("pod", 10_000, spread(ZONE, { app: "web" }))], {
      types: types(200, ["e"]),
    }),
  "P-affchain": async () => make("P-affchain", chain(500, 40)),
  "P-300groups": async () => make("P-300groups", overlapping(300, 10_000)),
  "P-nodepools": async () =>
    make("P-nodepools", sized("pod", 10_000), { types: types(1_400), pools: hundredPools() }),
  "P-limits": async () => make("P-limits", sized("pod", 15_000), { pools: [pool({ limits: { cpu: "64" } })] }),
  "P-minvalues": async () =>
    make("P-minvalues", sized("pod", 10_000), {
      pools: [
        pool({
          requirements: [
            { key: "node.kubernetes.io/instance-type", operator: "Exists", minValues: 30 },
          ],
        }),
      ],
    }),
  "P-unschedulable": async () =>
    make("P-unschedulable", [
      ...sized("lost", 15_000, { nodeSelector: { "example.com/nowhere": "x" } }),
      ...sized("good", 500),
    ]),
  "P-500good": async () => make("P-500good", sized("good", 500)),
};

function make(
  name: string,
  pods: readonly PodGroup[],
  options: { readonly types?: unknown[]; readonly pools?: NodePool[] } = {},
): Workload {
  const { types: instanceTypes = types(400), pools: nodePools = [pool()] } = options;
  return { name, preferencePolicy: "Respect", instanceTypes, nodePools, pods };
}

type Spec = Partial<PodTemplateSpec["spec"]>;

interface Shape {
  readonly labels?: Record<string, string>;
  readonly spec?: Spec;
  readonly cpu?: string;
  readonly memory?: string;
}

function group(name: string, count: number, shape: Shape): PodGroup {
  const { labels = {}, spec = {}, cpu = "500m", memory = "1Gi" } = shape;
  const containers = [{ name: "main", image: "pause", resources: { requests: { cpu, memory } } }];
  return { name, count, template: { metadata: { labels }, spec: { ...spec, containers } } };
}

/** Pods of fifty different sizes. */
function sized(name: string, count: number, spec: Spec = {}): PodGroup[] {
  return Array.from({ length: 50 }, (_, index) =>
    group(`${name}-${index}`, count / 50, {
      spec,
      cpu: `${100 + 37 * index}m`,
      memory: `${128 + 61 * ((index * 7) % 50)}Mi`,
    }),
  );
}

const term = (topologyKey: string, matchLabels: Record<string, string>) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels } }],
});

function apart(): Shape {
  const labels = { app: "nginx" };
  return { labels, spec: { affinity: { podAntiAffinity: term(HOSTNAME, labels) } } };
}

function spread(topologyKey: string, labels: Record<string, string>): Shape {
  const labelSelector = { matchLabels: labels };
  const constraint = { maxSkew: 1, topologyKey, whenUnsatisfiable: "DoNotSchedule" as const };
  return { labels, spec: { topologySpreadConstraints: [{ ...constraint, labelSelector }] } };
}

/**
 * Groups in a chain. Each group has affinity to the next one, which is smaller and therefore tried later. The last
 * group must be in zone a.
 */
function chain(links: number, pods: number): PodGroup[] {
  return Array.from({ length: links }, (_, index) => {
    const labels = { link: String(index) };
    const next = { link: String(index + 1) };
    const affinity =
      index === links - 1
        ? { nodeSelector: { [ZONE]: "a" } }
        : { affinity: { podAffinity: term(ZONE, next) } };
    return group(`link-${index}`, pods, { labels, spec: affinity, cpu: `${2_000 - 3 * index}m` });
  });
}

/** Pods with three labels each. For each value of each label there is a zone spread. */
function overlapping(groups: number, pods: number): PodGroup[] {
  const third = groups / 3;
  return Array.from({ length: third }, (_, index) => {
    const labels = { x: `${index}`, y: `${(index * 7) % third}`, z: `${(index * 13) % third}` };
    const topologySpreadConstraints = Object.entries(labels).map(([key, value]) => ({
      maxSkew: 1,
      topologyKey: ZONE,
      whenUnsatisfiable: "DoNotSchedule" as const,
      labelSelector: { matchLabels: { [key]: value } },
    }));
    return group(`pod-${index}`, pods / third, { labels, spec: { topologySpreadConstraints } });
  });
}

/** Instance types. Offerings in the zones `closed` are listed but not available. */
function types(count: number, closed: readonly string[] = []): unknown[] {
  return Array.from({ length: count }, (_, index) => {
    const size = 1 + (index % 100);
    const family = Math.floor(index / 100);
    return {
      name: `f${family}-${size}`,
      labels: { "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", family: `f${family}` },
      capacity: { cpu: String(size), memory: `${2 * size}Gi`, pods: String(Math.min(110, 10 * size)) },
      overhead: { cpu: "100m", memory: "100Mi" },
      offerings: [...ZONES.slice(0, 4 + closed.length)].map((zone) => ({
        zone,
        capacityType: "on-demand",
        priceMicroUsdPerHour: size * 48_000 + family * 10,
        available: !closed.includes(zone),
      })),
    };
  });
}

interface PoolShape {
  readonly name?: string;
  readonly weight?: number;
  readonly limits?: Record<string, string>;
  readonly requirements?: NodePool["spec"]["template"]["spec"]["requirements"];
  readonly taints?: NodePool["spec"]["template"]["spec"]["taints"];
}

function pool(shape: PoolShape = {}): NodePool {
  const { name = "default", weight, limits, requirements = [], taints = [] } = shape;
  const nodeClassRef = { group: "bench.karpenter.sh", kind: "BenchClass", name: "default" };
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: { spec: { requirements, taints, nodeClassRef, expireAfter: "Never" } },
      ...(weight === undefined ? {} : { weight }),
      ...(limits === undefined ? {} : { limits }),
      disruption: { consolidateAfter: "0s", consolidationPolicy: "WhenEmptyOrUnderutilized" },
    },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  } as NodePool;
}

/** A hundred NodePools. One is for all pods. The others have higher weights, and taints that no pod tolerates. */
function hundredPools(): NodePool[] {
  return Array.from({ length: 100 }, (_, index) =>
    pool({
      name: `team-${String(index).padStart(2, "0")}`,
      weight: index + 1,
      taints: index === 0 ? [] : [{ key: "team", value: `${index}`, effect: "NoSchedule" }],
    }),
  );
}
