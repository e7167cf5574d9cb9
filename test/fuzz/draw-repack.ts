/**
 * Small random clusters that can be repacked: nodes of one family with free room, pods with different ratios of
 * cores to memory, and three families to choose from. Some pods have topology rules, PodDisruptionBudgets and
 * do-not-disrupt. `drawUnrelated` makes pending pods that have nothing to do with the repack.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";
import {
  snapshotNode,
  snapshotPdb,
  snapshotPod,
  snapshotPool,
} from "../../src/testing/snapshots.ts";
import type { Json } from "../validator/kubernetes.ts";

const GIB_PER_CPU = { c: 2, m: 4, r: 8 };
const ZONES = ["a", "b"];
const HOSTNAME = "kubernetes.io/hostname";
const ZONE = "topology.kubernetes.io/zone";
const APPS = ["api", "batch", "cache", "web"];
/** A NodePool without nodes. */
const APART = "apart";

export const REPACK_TYPES: readonly Json[] = Object.entries(GIB_PER_CPU).flatMap(([family, gib]) =>
  [2, 4, 8, 16].map((cpu) => {
    const priceMicroUsdPerHour = cpu * 30_000 + cpu * gib * 4_000;
    return {
      name: `${family}-${cpu}`,
      labels: { "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux" },
      capacity: { cpu: String(cpu), memory: `${gib * cpu}Gi`, pods: "110" },
      overhead: { cpu: "100m", memory: "200Mi" },
      offerings: ZONES.flatMap((zone) => [
        { zone, capacityType: "on-demand", priceMicroUsdPerHour },
        { zone, capacityType: "spot", priceMicroUsdPerHour: priceMicroUsdPerHour * 0.4 },
      ]),
    };
  }),
);

/** Price of the node of `snapshotNode`. */
export function priceOfNode({ metadata: { labels } }: Json): number {
  const type = REPACK_TYPES.find(({ name }) => name === labels["node.kubernetes.io/instance-type"]);
  const bought = labels["karpenter.sh/capacity-type"];
  return type?.offerings.find(({ capacityType }: Json) => capacityType === bought)
    .priceMicroUsdPerHour;
}

export function drawRepack(seed: number): KubeObject[] {
  const random = new Random(`repack/${seed}`);
  const oneIn = (times: number) => random.int(times) === 0;
  const names = ["one", "two"].slice(0, 1 + random.int(2));
  const pools = [...names, APART].map((name) =>
    snapshotPool({
      name,
      capacityTypes: oneIn(4) ? ["on-demand", "spot"] : ["on-demand"],
      disruption: { budgets: [{ nodes: random.pick(["100%", "50%", "3", "1"]) }] },
    }),
  );
  // All pods of an app have the same template.
  const templates = APPS.map((app) => ({ app, spec: drawSpec(app, names, random) }));
  const nodes = Array.from({ length: 2 + random.int(6) }, (_, at) => `node-${at}`).flatMap(
    (name) => {
      const pool = random.pick(names);
      const cpu = random.pick([4, 8, 16]);
      const annotations = oneIn(10) ? { "karpenter.sh/do-not-disrupt": "true" } : {};
      const capacityType = oneIn(6) ? "spot" : "on-demand";
      const node = snapshotNode(name, {
        pool,
        cpu,
        zone: random.pick(ZONES),
        annotations,
        capacityType,
      });
      const free = { cpu: cpu * 1_000 - 100, gib: cpu * 4 - 0.2 };
      const pods = Array.from({ length: 1 + random.int(cpu / 2) }, (_, at) => {
        const { app, spec } = random.pick(templates);
        if (spec.pool !== undefined && spec.pool !== pool) return [];
        if (spec.cpu > free.cpu || spec.gib > free.gib) return [];
        free.cpu -= spec.cpu;
        free.gib -= spec.gib;
        return [snapshotPod(`${name}-${at}`, { app, node: name, spec: spec.written })];
      });
      return [...node, ...pods.flat()];
    },
  );
  const pdbs = APPS.filter(() => oneIn(4)).map((app) => snapshotPdb(app, random.int(6)));
  return [...pools, ...nodes, ...pdbs];
}

interface DrawnSpec {
  readonly cpu: number;
  readonly gib: number;
  /** The only NodePool that allows the pod. */
  readonly pool: string | undefined;
  readonly written: Readonly<Record<string, unknown>>;
}

function drawSpec(app: string, pools: readonly string[], random: Random): DrawnSpec {
  const oneIn = (times: number) => random.int(times) === 0;
  const cpu = random.pick([200, 500, 1_000, 2_000, 3_000]);
  const gib = random.pick([0.5, 1, 3, 6]);
  const pool = oneIn(3) ? random.pick(pools) : undefined;
  const labelSelector = { matchLabels: { app } };
  const apart = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: HOSTNAME, labelSelector }],
    },
  };
  const written = {
    ...specOf(cpu, gib, pool),
    ...(oneIn(6) ? { affinity: apart } : {}),
    ...(oneIn(6)
      ? {
          topologySpreadConstraints: [
            { topologyKey: ZONE, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule", labelSelector },
          ],
        }
      : {}),
  };
  return { cpu, gib, pool, written };
}

function specOf(cpu: number, gib: number, pool: string | undefined) {
  const requests = { cpu: `${cpu}m`, memory: `${gib * 1_024}Mi` };
  return {
    containers: [{ name: "main", image: "pause", resources: { requests } }],
    ...(pool === undefined ? {} : { nodeSelector: { "karpenter.sh/nodepool": pool } }),
  };
}

/**
 * Three pending pods: one too large for any machine, one that no NodePool allows, and one for a NodePool of its own.
 */
export function drawUnrelated(): KubeObject[] {
  const elsewhere = {
    ...specOf(100, 0.5, undefined),
    nodeSelector: { "example.com/disk": "fast" },
  };
  return [
    snapshotPod("too-large", { app: "other", spec: specOf(500_000, 1, undefined) }),
    snapshotPod("elsewhere", { app: "other", spec: elsewhere }),
    snapshotPod("apart", { app: "other", spec: specOf(900, 2, APART) }),
  ];
}
