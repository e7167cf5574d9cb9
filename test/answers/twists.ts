/**
 * Adds one more feature to random clusters: leaving nodes, static NodePools, v1alpha5 objects, budget schedules that
 * begin and end while a command waits, volumes with a zone, or nodes with few volume slots.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { toRfc3339 } from "../../src/base/clock.ts";
import { Random } from "../../src/base/random.ts";

export const TWISTS = ["plain", "leaving", "static", "alpha", "windows", "volumes"] as const;
export type Twist = (typeof TWISTS)[number];

/** Milliseconds after the full minute at which the cluster is read. */
export const OFFSETS_MS: Readonly<Record<Twist, number>> = {
  plain: 0,
  leaving: 0,
  static: 0,
  alpha: 0,
  // The next minute begins between the proposal and its validation.
  windows: 50_000,
  volumes: 0,
};

const POOL = "karpenter.sh/nodepool";
const ZONE = "topology.kubernetes.io/zone";

// biome-ignore lint/suspicious/noExplicitAny: drawn objects of many kinds, taken apart as data
type Loose = any;

/** The cluster with the twist. Equal seeds give equal clusters. */
export function twisted(
  objects: readonly KubeObject[],
  twist: Twist,
  seed: number,
  nowMs: number,
): readonly KubeObject[] {
  const random = new Random(`${twist}/${seed}`);
  switch (twist) {
    case "plain":
      return objects;
    case "leaving":
      return withLeaving(random, objects, nowMs);
    case "static":
      return withStatic(random, objects);
    case "alpha":
      return withAlpha(random, objects);
    case "windows":
      return withWindows(random, objects);
    case "volumes":
      return withVolumes(random, objects);
  }
}

function withLeaving(random: Random, objects: readonly KubeObject[], nowMs: number) {
  const going = new Set(namesOf(objects, "Node").filter(() => random.int(4) === 0));
  const mark = {
    deletionTimestamp: toRfc3339(nowMs - 20_000),
    finalizers: ["karpenter.sh/termination"],
  };
  return objects.map((object) =>
    ["Node", "NodeClaim"].includes(object.kind as string) && going.has(object.metadata.name)
      ? { ...object, metadata: { ...object.metadata, ...mark } }
      : object,
  );
}

/**
 * Makes NodePools static, with as many replicas as they have nodes. Adding and removing static nodes is not tested
 * here.
 */
function withStatic(random: Random, objects: readonly KubeObject[]) {
  const fixed = new Set(
    poolsOf(objects, (pool) => !isBeta(pool) && random.int(3) > 0).map(
      ({ metadata }) => metadata.name,
    ),
  );
  return objects.map((object: Loose) => {
    const owner = object.metadata.labels?.[POOL];
    if (object.kind === "NodePool" && fixed.has(object.metadata.name)) {
      const { limits: _, ...spec } = object.spec;
      const replicas = objects.filter(
        ({ kind, metadata }) =>
          kind === "NodeClaim" && metadata.labels?.[POOL] === object.metadata.name,
      ).length;
      return { ...object, spec: { ...spec, replicas } };
    }
    // Static nodes are disrupted only by drift, so drift is frequent here.
    if (object.kind === "NodeClaim" && fixed.has(owner) && random.int(2) === 0)
      return drifted(object);
    return object;
  });
}

function drifted(claim: Loose) {
  const { conditions } = claim.status;
  if (conditions.some(({ type }: Loose) => type === "Drifted")) return claim;
  const since = claim.metadata.creationTimestamp;
  const drift = { type: "Drifted", status: "True", reason: "Drifted", message: "" };
  return {
    ...claim,
    status: {
      ...claim.status,
      conditions: [...conditions, { ...drift, lastTransitionTime: since }],
    },
  };
}

const MACHINE_WORDS = ["Launched", "Registered", "Initialized", "Empty", "Expired", "Drifted"];

function withAlpha(random: Random, objects: readonly KubeObject[]) {
  const alpha = new Set(
    poolsOf(objects, () => random.int(3) > 0).map(({ metadata }) => metadata.name),
  );
  const full = new Set(objects.map((object: Loose) => object.spec?.nodeName));
  return objects.map((object: Loose) => {
    const { kind, metadata, spec } = object;
    if (kind === "NodePool" && alpha.has(metadata.name)) return provisioner(random, object);
    if (!alpha.has(metadata.labels?.[POOL])) return object;
    const { [POOL]: owner, ...labels } = metadata.labels;
    const own = {
      ...object,
      metadata: { ...metadata, labels: { ...labels, "karpenter.sh/provisioner-name": owner } },
    };
    if (kind !== "NodeClaim") return own;
    const { nodeClassRef: _, expireAfter: __, ...rest } = spec;
    const conditions = object.status.conditions.filter(
      ({ type }: Loose) => !["Consolidatable", "Empty"].includes(type),
    );
    if (!full.has(metadata.name)) conditions.push({ ...conditions[0], type: "Empty" });
    const { "compatibility.karpenter.sh/generation": ___, ...annotations } =
      metadata.annotations ?? {};
    return {
      ...own,
      metadata: { ...own.metadata, annotations },
      apiVersion: "karpenter.sh/v1alpha5",
      kind: "Machine",
      spec: { ...rest, machineTemplateRef: { name: "default" } },
      status: {
        ...object.status,
        conditions: conditions.map((one: Loose) => ({
          ...one,
          type: MACHINE_WORDS.includes(one.type) ? `Machine${one.type}` : one.type,
        })),
      },
    };
  });
}

function provisioner(random: Random, { metadata, spec }: Loose): KubeObject {
  const { "compatibility.karpenter.sh/generation": _, ...annotations } = metadata.annotations ?? {};
  return {
    apiVersion: "karpenter.sh/v1alpha5",
    kind: "Provisioner",
    metadata: { ...metadata, annotations },
    spec: {
      providerRef: { name: "default" },
      requirements: spec.template.spec.requirements,
      ...random.pick([
        { consolidation: { enabled: true } },
        { consolidation: { enabled: true }, ttlSecondsUntilExpired: 2_592_000 },
        { ttlSecondsAfterEmpty: 30 },
        { ttlSecondsAfterEmpty: 30, ttlSecondsUntilExpired: 2_592_000 },
      ]),
      ...(spec.limits === undefined ? {} : { limits: { resources: spec.limits } }),
    },
  } as KubeObject;
}

function withWindows(random: Random, objects: readonly KubeObject[]) {
  return objects.map((object: Loose) => {
    if (object.kind !== "NodePool") return object;
    const [first, ...others] = object.spec.disruption.budgets;
    const window = {
      nodes: random.pick(["0", "0", "1", "50%"]),
      ...random.pick([
        // Four budgets: one ends, one begins, one is active, one is inactive.
        { schedule: "0 8 * * *", duration: "1m" },
        { schedule: "1 8 * * *", duration: "1h" },
        { schedule: "0 0 * * *", duration: "9h" },
        { schedule: "30 9 * * 1-5", duration: "30m" },
      ]),
      ...(random.int(3) === 0
        ? { reasons: [random.pick(["Empty", "Drifted", "Underutilized"])] }
        : {}),
    };
    const disruption = { ...object.spec.disruption, budgets: [first, window, ...others] };
    return { ...object, spec: { ...object.spec, disruption } };
  });
}

const DRIVER = "disk.test";

function withVolumes(random: Random, objects: readonly KubeObject[]) {
  const zones = new Map(
    objects
      .filter(({ kind }) => kind === "Node")
      .map(({ metadata }) => [metadata.name, metadata.labels?.[ZONE]]),
  );
  const disks: KubeObject[] = [];
  const changed = objects.map((object: Loose) => {
    if (object.kind !== "Pod" || random.int(2) === 0) return object;
    const { name, namespace } = object.metadata;
    const zone = zones.get(object.spec.nodeName) ?? random.pick(["a", "b"]);
    disks.push(...disk(name, namespace, zone));
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: name } }];
    return { ...object, spec: { ...object.spec, volumes } };
  });
  const csiNodes = [...zones.keys()].map(
    (name): Loose => ({
      apiVersion: "storage.k8s.io/v1",
      kind: "CSINode",
      metadata: { name },
      spec: {
        drivers: [
          {
            name: DRIVER,
            nodeID: name,
            topologyKeys: [ZONE],
            allocatable: { count: random.pick([1, 2, 3, 20]) },
          },
        ],
      },
    }),
  );
  const storageClass = {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "disk" },
    provisioner: DRIVER,
    volumeBindingMode: "WaitForFirstConsumer",
  } as KubeObject;
  return [...changed, ...disks, ...csiNodes, storageClass];
}

function disk(name: string, namespace: string, zone: string): KubeObject[] {
  const capacity = { storage: "1Gi" };
  const shared = { accessModes: ["ReadWriteOnce"], storageClassName: "disk" };
  return [
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace, annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
      spec: { ...shared, resources: { requests: capacity }, volumeName: `disk-${name}` },
      status: { phase: "Bound" },
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: `disk-${name}` },
      spec: {
        ...shared,
        capacity,
        csi: { driver: DRIVER, volumeHandle: name },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: ZONE, operator: "In", values: [zone] }] },
            ],
          },
        },
      },
    },
  ] as unknown as KubeObject[];
}

function isBeta({ metadata }: KubeObject): boolean {
  return metadata.annotations?.["compatibility.karpenter.sh/generation"] === "v1beta1";
}

function poolsOf(objects: readonly KubeObject[], isChosen: (pool: KubeObject) => boolean) {
  return objects.filter((object) => object.kind === "NodePool" && isChosen(object));
}

function namesOf(objects: readonly KubeObject[], kind: string): readonly string[] {
  return objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
}
