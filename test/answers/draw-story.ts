/**
 * Small random clusters, as a user would apply them, and one change to each: one more workload, another NodePool,
 * another price, removed nodes, a zone that fails, or consolidation that is turned on. Equal seeds give equal stories.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";

export const ZONE = "topology.kubernetes.io/zone";
export const ZONES = ["test-zone-a", "test-zone-b"];
const PAUSED = "karpenter.sh/disruption-paused";

export type Change =
  | { readonly kind: "add"; readonly object: KubeObject }
  | { readonly kind: "drift" | "narrow" | "loose"; readonly pool: KubeObject }
  /** The price of the type of one node changes. */
  | { readonly kind: "price"; readonly factor: number }
  | { readonly kind: "zone" | "nodes" };

/**
 * `drift`: the NodePool changes, so its nodes drift. `narrow`: the NodePool no longer allows some of the types.
 * `loose`: the NodePool was paused and is resumed.
 */
export const CHANGES: readonly Change["kind"][] = [
  "add",
  "drift",
  "narrow",
  "loose",
  "price",
  "zone",
  "nodes",
];

export interface Story {
  readonly objects: readonly KubeObject[];
  /** Deployments that are scaled down once all pods run, so that nodes can be consolidated. */
  readonly scaled: readonly { readonly name: string; readonly replicas: number }[];
  readonly change: Change;
}

export function drawStory(seed: number): Story {
  const random = new Random(`story/${seed}`);
  const kind = CHANGES[seed % CHANGES.length] as Change["kind"];
  const names = ["blue", "green"].slice(0, 1 + random.int(2));
  const pools = names.map((name) => drawPool(random, name, kind === "loose"));
  const apps = Array.from({ length: 2 + random.int(4) }, (_, at) =>
    drawApp(random, `app-${at}`, names, RULES[kind]),
  );
  const scaled = apps.flatMap(({ name, replicas }) =>
    replicas > 1 && random.int(2) === 0 ? [{ name, replicas: 1 + random.int(replicas - 1) }] : [],
  );
  return {
    objects: [NODE_CLASS, ...pools, ...apps.flatMap((app) => app.objects)],
    scaled,
    change: drawChange(random, kind, names, pools),
  };
}

export const NODE_CLASS: KubeObject = {
  apiVersion: "karpenter.kwok.sh/v1alpha1",
  kind: "KWOKNodeClass",
  metadata: { name: "default" },
  spec: {},
} as KubeObject;

function drawChange(
  random: Random,
  kind: Change["kind"],
  names: readonly string[],
  pools: readonly PoolObject[],
): Change {
  const pool = random.pick(pools);
  switch (kind) {
    case "add":
      return { kind, object: drawApp(random, "more", names, RULES[kind]).objects[0] as KubeObject };
    case "drift":
      return { kind, pool: relabelled(pool) };
    case "narrow":
      return {
        kind,
        pool: requiring(
          pool,
          CPU,
          random.pick([
            ["2", "4"],
            ["8", "16"],
          ]),
        ),
      };
    case "loose":
      return { kind, pool: { ...pool, metadata: { name: pool.metadata.name } } };
    case "price":
      return { kind, factor: random.pick([0.3, 0.6, 2, 4]) };
    case "zone":
    case "nodes":
      return { kind };
  }
}

const CPU = "karpenter.kwok.sh/instance-cpu";
const FAMILY = "karpenter.kwok.sh/instance-family";

export interface PoolObject extends KubeObject {
  readonly spec: { readonly template: Template; readonly disruption: object };
}

interface Template {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly nodeClassRef: object;
    readonly requirements: readonly { readonly key: string }[];
  };
}

/** A NodePool of small kwok instance types. `paused`: it has the annotation that pauses disruption. */
export function drawPool(random: Random, name: string, paused: boolean): PoolObject {
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name, ...(paused ? { annotations: { [PAUSED]: "true" } } : {}) },
    spec: {
      template: {
        metadata: { labels: { team: name, ours: "yes" } },
        spec: {
          nodeClassRef: { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" },
          requirements: [
            isIn("kubernetes.io/arch", ["amd64"]),
            isIn("kubernetes.io/os", ["linux"]),
            isIn(ZONE, ZONES),
            isIn("karpenter.sh/capacity-type", random.pick([["on-demand"], ["on-demand", "spot"]])),
            isIn(FAMILY, random.pick([["c"], ["c", "s"], ["c", "s", "m"]])),
            isIn(
              CPU,
              random.pick([
                ["2", "4", "8", "16"],
                ["4", "8", "16"],
              ]),
            ),
          ],
        },
      },
      disruption: {
        consolidationPolicy: random.pick(["WhenEmpty", "WhenEmptyOrUnderutilized"]),
        consolidateAfter: "30s",
        budgets: [{ nodes: random.pick(["100%", "1"]) }],
      },
    },
  };
}

function isIn(key: string, values: readonly string[]) {
  return { key, operator: "In", values };
}

function relabelled(pool: PoolObject): PoolObject {
  const { template } = pool.spec;
  const labels = { ...template.metadata.labels, release: "next" };
  return { ...pool, spec: { ...pool.spec, template: { ...template, metadata: { labels } } } };
}

function requiring(pool: PoolObject, key: string, values: readonly string[]): PoolObject {
  const { template } = pool.spec;
  const others = template.spec.requirements.filter((one) => one.key !== key);
  const requirements = [...others, isIn(key, values)];
  const spec = { ...template.spec, requirements };
  return { ...pool, spec: { ...pool.spec, template: { ...template, spec } } };
}

/**
 * Rules that the apps of a story may have.
 * - `guards`: PodDisruptionBudgets and do-not-disrupt. A simulation that removes nodes by hand ignores them.
 * - `spreads`: topology spread. kube-scheduler counts only the zones of existing nodes, a plan also counts zones that
 *   new nodes may have.
 */
interface Rules {
  readonly guards: boolean;
  readonly spreads: boolean;
}
export const ALL: Rules = { guards: true, spreads: true };
const UNGUARDED: Rules = { guards: false, spreads: false };
const RULES: Readonly<Record<Change["kind"], Rules>> = {
  add: { guards: true, spreads: false },
  drift: ALL,
  narrow: ALL,
  loose: ALL,
  price: ALL,
  zone: UNGUARDED,
  nodes: UNGUARDED,
};

/** A Deployment of one to five pods, sometimes with a PodDisruptionBudget. */
export function drawApp(random: Random, name: string, pools: readonly string[], rules: Rules) {
  const labels = { app: name };
  const replicas = 1 + random.int(5);
  const cpu = random.pick(["200m", "500m", "900m", "1500m", "3"]);
  const memory = random.pick(["128Mi", "1Gi", "4Gi"]);
  const spread = {
    maxSkew: 1,
    topologyKey: random.pick([ZONE, "kubernetes.io/hostname"]),
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: { matchLabels: labels },
  };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: {
          labels,
          ...(random.int(12) === 0 && rules.guards
            ? { annotations: { "karpenter.sh/do-not-disrupt": "true" } }
            : {}),
        },
        spec: {
          nodeSelector: random.int(2) === 0 ? { ours: "yes" } : { team: random.pick(pools) },
          terminationGracePeriodSeconds: 1,
          containers: [{ name: "c", image: "pause", resources: { requests: { cpu, memory } } }],
          ...(random.int(5) === 0 && rules.spreads ? { topologySpreadConstraints: [spread] } : {}),
        },
      },
    },
  };
  const guard = {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace: "default" },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  };
  return {
    name,
    replicas,
    objects: [
      deployment,
      ...(random.int(4) === 0 && rules.guards ? [guard] : []),
    ] as unknown as KubeObject[],
  };
}
