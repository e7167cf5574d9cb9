/**
 * Clusters as files, for tests of `explain` and `simulate`: a pool, its nodes with claims, and pods, as an
 * API server would return them. Equal calls give equal objects.
 */
import type { Taint } from "../apis/core/node.ts";
import type { KubeObject } from "../apis/meta.ts";

/** The clock in tests of `explain` and `simulate`. */
export const SNAPSHOT_AT = "2026-01-05T12:00:00Z";

/**
 * Instance types with 2, 4, 8 and 16 cpu in two zones. A cpu costs 0.05 dollars an hour on-demand, and 0.02 on spot.
 */
export const SNAPSHOT_TYPES: string = JSON.stringify(
  [2, 4, 8, 16].map((cpu) => ({
    name: `m-${cpu}`,
    labels: { "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux" },
    capacity: { cpu: String(cpu), memory: `${4 * cpu}Gi`, pods: "110" },
    overhead: { cpu: "100m", memory: "200Mi" },
    offerings: ["a", "b"].flatMap((zone) => [
      { zone, capacityType: "on-demand", priceMicroUsdPerHour: cpu * 50_000 },
      { zone, capacityType: "spot", priceMicroUsdPerHour: cpu * 20_000 },
    ]),
  })),
);

/** Fields of a NodePool manifest. */
export interface SnapshotPoolOptions {
  readonly name?: string;
  readonly disruption?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  readonly capacityTypes?: readonly string[];
  readonly replicas?: number;
  readonly taints?: readonly Taint[];
}

/** A NodePool as kubectl prints it, for tests of the commands. */
export function snapshotPool(options: SnapshotPoolOptions = {}): KubeObject {
  const { name = "default", disruption = {}, annotations, limits, replicas } = options;
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name, uid: `uid-${name}`, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
          requirements: [
            {
              key: "karpenter.sh/capacity-type",
              operator: "In",
              values: options.capacityTypes ?? ["on-demand"],
            },
          ],
          expireAfter: "720h",
          ...(options.taints === undefined ? {} : { taints: options.taints }),
        },
      },
      disruption: {
        consolidationPolicy: "WhenEmptyOrUnderutilized",
        consolidateAfter: "0s",
        budgets: [{ nodes: "100%" }],
        ...disruption,
      },
      ...(limits === undefined ? {} : { limits }),
      ...(replicas === undefined ? {} : { replicas }),
    },
    status: { conditions: [ready("2026-01-01T00:00:00Z")] },
  } as KubeObject;
}

/** Fields of a node with its claim. */
export interface SnapshotNodeOptions {
  readonly pool?: string;
  readonly cpu?: number;
  readonly zone?: string;
  readonly capacityType?: string;
  /**
   * The instance types in the claim's requirements, given by their cpu. Default: the node's type and all larger ones.
   */
  readonly asked?: readonly number[];
  /** The requests of the NodeClaim. */
  readonly requests?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly claimAnnotations?: Readonly<Record<string, string>>;
  readonly createdAt?: string;
  /** Conditions that are True, and since when. Default: Consolidatable. */
  readonly conditions?: Readonly<Record<string, string>>;
  readonly lastPodEventAt?: string;
  /** `spec.expireAfter` of the claim. Default: 720h. */
  readonly expireAfter?: string;
  /** When the deletion of node and claim began. */
  readonly deletedAt?: string;
}

/** A Node that is Ready, and its claim. */
export function snapshotNode(name: string, options: SnapshotNodeOptions = {}): KubeObject[] {
  const { pool = "default", cpu = 4, zone = "a", capacityType = "on-demand" } = options;
  const { createdAt = "2026-01-02T00:00:00Z" } = options;
  const labels = {
    "karpenter.sh/nodepool": pool,
    "karpenter.sh/capacity-type": capacityType,
    "node.kubernetes.io/instance-type": `m-${cpu}`,
    "topology.kubernetes.io/zone": zone,
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
  };
  const capacity = { cpu: String(cpu), memory: `${4 * cpu}Gi`, pods: "110" };
  const allocatable = { ...capacity, cpu: `${cpu * 1000 - 100}m`, memory: `${4096 * cpu - 200}Mi` };
  return [
    snapshotClaim(name, options, { cpu, createdAt, labels, capacity, allocatable }),
    {
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name,
        uid: `uid-node-${name}`,
        creationTimestamp: createdAt,
        labels: {
          ...labels,
          "kubernetes.io/hostname": name,
          "karpenter.sh/registered": "true",
          "karpenter.sh/initialized": "true",
        },
        ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
        ...going(options),
      },
      spec: { providerID: `test://${name}` },
      status: { capacity, allocatable, conditions: [ready(createdAt)] },
    } as KubeObject,
  ];
}

/** Fields that the node and its claim share. */
interface Alike {
  readonly cpu: number;
  readonly createdAt: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

function snapshotClaim(
  name: string,
  options: SnapshotNodeOptions,
  { cpu, createdAt, labels, capacity, allocatable }: Alike,
): KubeObject {
  const conditions = {
    Launched: createdAt,
    Registered: createdAt,
    Initialized: createdAt,
    ...(options.conditions ?? { Consolidatable: createdAt }),
    Ready: createdAt,
  };
  const asked = options.asked ?? [2, 4, 8, 16].filter((one) => one >= cpu);
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: {
      name,
      uid: `uid-claim-${name}`,
      labels,
      creationTimestamp: createdAt,
      ...(options.claimAnnotations === undefined ? {} : { annotations: options.claimAnnotations }),
      ...going(options),
    },
    spec: {
      requirements: [
        {
          key: "node.kubernetes.io/instance-type",
          operator: "In",
          values: asked.map((one) => `m-${one}`),
        },
        {
          key: "karpenter.sh/capacity-type",
          operator: "In",
          values: [labels["karpenter.sh/capacity-type"]],
        },
      ],
      resources: { requests: options.requests ?? { cpu: "1", pods: "1" } },
      nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
      expireAfter: options.expireAfter ?? "720h",
    },
    status: {
      providerID: `test://${name}`,
      nodeName: name,
      capacity,
      allocatable,
      ...(options.lastPodEventAt === undefined ? {} : { lastPodEventTime: options.lastPodEventAt }),
      conditions: Object.entries(conditions).map(([type, at]) => ({
        type,
        status: "True",
        reason: type,
        message: "",
        lastTransitionTime: at,
      })),
    },
  } as KubeObject;
}

function going({ deletedAt }: SnapshotNodeOptions) {
  if (deletedAt === undefined) return {};
  return { deletionTimestamp: deletedAt, finalizers: ["karpenter.sh/termination"] };
}

/** Fields of a pod manifest. */
export interface SnapshotPodOptions {
  readonly node?: string;
  readonly cpu?: string;
  readonly app?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly createdAt?: string;
}

/** A pod of a ReplicaSet named after `app`. Without a node it is pending and unschedulable. */
export function snapshotPod(name: string, options: SnapshotPodOptions = {}): KubeObject {
  const { node, cpu = "500m", app = "web", createdAt = "2026-01-01T23:00:00Z" } = options;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "shop",
      uid: `uid-${name}`,
      labels: { app },
      creationTimestamp: createdAt,
      ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: app,
          uid: `uid-${app}`,
          controller: true,
        },
      ],
    },
    spec: {
      containers: [{ name: "main", image: "pause", resources: { requests: { cpu } } }],
      ...(node === undefined ? {} : { nodeName: node }),
      ...options.spec,
    },
    status:
      node === undefined
        ? {
            phase: "Pending",
            conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
          }
        : {
            phase: "Running",
            startTime: createdAt,
            conditions: [{ type: "PodScheduled", status: "True" }, ready(createdAt)],
          },
  } as KubeObject;
}

/** A node with 8 cpu for each letter. One pod uses 5 of them, so three such pods need 16 cpu. */
export function snapshotSparse(names: string): KubeObject[] {
  return [...names].flatMap((node) => [
    ...snapshotNode(node, { cpu: 8 }),
    snapshotPod(`${node}-0`, { node, cpu: "5" }),
  ]);
}

/** A PodDisruptionBudget for `app` that allows this number of disruptions. */
export function snapshotPdb(app: string, disruptionsAllowed: number): KubeObject {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: app, namespace: "shop", uid: `uid-pdb-${app}` },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app } } },
    status: {
      disruptionsAllowed,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    },
  } as KubeObject;
}

function ready(at: string) {
  return { type: "Ready", status: "True", reason: "Ready", message: "", lastTransitionTime: at };
}
