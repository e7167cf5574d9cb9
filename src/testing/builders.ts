/**
 * Objects for tests, with fixed and valid defaults for all fields that a test does not set. No random names
 * and no clocks: equal calls give equal objects.
 */
import type { Node } from "../apis/core/node.ts";
import type { Pod } from "../apis/core/pod.ts";
import type { Pool } from "../apis/hub/pool.ts";
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import type { NodePool } from "../apis/karpenter/nodepool.ts";
import type { Resources } from "../apis/resources.ts";
import type { InstanceType, Offering } from "../core/cloudprovider/instance-type.ts";
import type {
  PoolInput,
  SchedulingInput,
  SchedulingOptions,
} from "../core/provisioning/scheduling-input.ts";
import { nodeView as buildNodeView, type NodeView } from "../core/state/node-view.ts";

const CREATED_AT = "2026-01-01T00:00:00Z";
/** The zones of instance types in tests. */
export const ZONES = ["zone-a", "zone-b", "zone-c"] as const;

type Labels = Readonly<Record<string, string>>;

/** Fields of a test pod. All other fields have fixed, valid defaults. */
export interface PodOptions {
  readonly name?: string;
  readonly namespace?: string;
  readonly labels?: Labels;
  readonly annotations?: Labels;
  readonly cpu?: string;
  readonly memory?: string;
  /** Further resource requests, by name. */
  readonly requests?: Labels;
  readonly nodeName?: string;
  readonly spec?: Partial<Pod["spec"]>;
  readonly owner?: { readonly kind: string; readonly name: string; readonly apiVersion?: string };
  readonly status?: Pod["status"];
}

/** A pod. It is pending and unschedulable, unless `nodeName` is set. */
export function pod(options: PodOptions = {}): Pod {
  const {
    name = "pod",
    namespace = "default",
    labels = {},
    cpu = "100m",
    memory = "128Mi",
  } = options;
  const running = options.nodeName !== undefined;
  const { owner } = options;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      uid: `uid-${namespace}-${name}`,
      creationTimestamp: CREATED_AT,
      labels,
      ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
      ...(owner === undefined
        ? {}
        : {
            ownerReferences: [
              { apiVersion: "apps/v1", uid: `uid-${owner.name}`, controller: true, ...owner },
            ],
          }),
    },
    spec: {
      containers: [
        {
          name: "main",
          image: "pause",
          resources: { requests: { cpu, memory, ...options.requests } },
        },
      ],
      ...(running ? { nodeName: options.nodeName as string } : {}),
      ...options.spec,
    },
    status: options.status ?? {
      phase: running ? "Running" : "Pending",
      conditions: running
        ? [{ type: "PodScheduled", status: "True" }]
        : [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
    },
  };
}

/** `count` pods named `<name>-0`, `<name>-1`, … */
export function pods(count: number, options: PodOptions = {}): Pod[] {
  const { name = "pod" } = options;
  return Array.from({ length: count }, (_, index) => pod({ ...options, name: `${name}-${index}` }));
}

/** Fields of a test node. */
export interface NodeOptions {
  readonly name?: string;
  readonly providerId?: string;
  readonly labels?: Labels;
  readonly annotations?: Labels;
  readonly taints?: NonNullable<NonNullable<Node["spec"]>["taints"]>;
  readonly unschedulable?: boolean;
  readonly capacity?: Labels;
  readonly allocatable?: Labels;
}

/** A ready 4-cpu node in zone-a. */
export function node(options: NodeOptions = {}): Node {
  const { name = "node" } = options;
  const capacity = { cpu: "4", memory: "16Gi", pods: "110", ...options.capacity };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      uid: `uid-${name}`,
      creationTimestamp: CREATED_AT,
      labels: {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": "zone-a",
        ...options.labels,
      },
      ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
    },
    spec: {
      providerID: options.providerId ?? `test://${name}`,
      ...(options.taints === undefined ? {} : { taints: options.taints }),
      ...(options.unschedulable === undefined ? {} : { unschedulable: options.unschedulable }),
    },
    status: {
      capacity,
      allocatable: { ...capacity, ...options.allocatable },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

/** A launched, registered and initialized claim of pool `default`. */
export function nodeClaim(
  options: Partial<NodeClaim["spec"]> & {
    readonly name?: string;
    readonly pool?: string;
    readonly labels?: Labels;
    readonly annotations?: Labels;
    readonly status?: NodeClaim["status"];
    readonly metadata?: Partial<NodeClaim["metadata"]>;
  } = {},
): NodeClaim {
  const {
    name = "claim",
    pool: owner = "default",
    labels,
    annotations,
    status,
    metadata,
    ...spec
  } = options;
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: {
      name,
      uid: `uid-${name}`,
      creationTimestamp: CREATED_AT,
      labels: { "karpenter.sh/nodepool": owner, ...labels },
      ...(annotations === undefined ? {} : { annotations }),
      ...metadata,
    },
    spec: {
      requirements: [],
      nodeClassRef: { group: "test.sh", kind: "TestClass", name: "default" },
      expireAfter: "720h",
      ...spec,
    },
    status: status ?? { providerID: `test://${name}` },
  };
}

/** The hub form of a NodePool without limits or taints. */
export function pool(options: Partial<Pool> = {}): Pool {
  const { name = "default", generation = "v1" } = options;
  return {
    generation,
    id: `${generation === "alpha" ? "provisioner" : "nodepool"}/${name}`,
    name,
    uid: `uid-${name}`,
    observedGeneration: 1,
    deleting: false,
    ready: true,
    labels: {},
    annotations: {},
    taints: [],
    startupTaints: [],
    requirements: [],
    classRef: { group: "test.sh", kind: "TestClass", name: "default" },
    kubelet: undefined,
    inlineProvider: undefined,
    limits: {},
    weight: 0,
    replicas: undefined,
    disruption: {
      policy: "WhenEmptyOrUnderutilized",
      consolidateAfter: 0,
      expireAfter: 720 * 3_600_000,
      expireMode: "forceful",
      budgets: [{ nodes: "10%" }],
    },
    terminationGracePeriodMs: undefined,
    hash: "1",
    ...options,
  };
}

/** A NodePool as a user writes it, with the condition Ready. */
export function nodePool(
  options: {
    readonly name?: string;
    readonly spec?: Partial<NodePool["spec"]>;
    readonly template?: Partial<NodePool["spec"]["template"]["spec"]>;
  } = {},
): NodePool {
  const { name = "default" } = options;
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name, uid: `uid-${name}`, generation: 1, creationTimestamp: CREATED_AT },
    spec: {
      template: {
        spec: {
          requirements: [],
          nodeClassRef: { group: "test.sh", kind: "TestClass", name: "default" },
          expireAfter: "720h",
          ...options.template,
        },
      },
      disruption: {
        consolidateAfter: "0s",
        consolidationPolicy: "WhenEmptyOrUnderutilized",
        budgets: [{ nodes: "10%" }],
      },
      ...options.spec,
    },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  };
}

/**
 * An instance type with three zones, spot and on-demand. It costs 0.05 dollars for each cpu and hour, on spot 70 % of
 * that.
 */
export function instanceType(
  options: {
    readonly name?: string;
    readonly cpu?: number;
    readonly memoryGi?: number;
    readonly pods?: number;
    readonly arch?: string;
    readonly zones?: readonly string[];
    readonly capacityTypes?: readonly Offering["capacityType"][];
    readonly labels?: InstanceType["labels"];
    readonly capacity?: Resources;
    readonly overhead?: Resources;
    readonly priceMicroUsd?: number;
    readonly offerings?: readonly Offering[];
  } = {},
): InstanceType {
  const { cpu = 4, arch = "amd64", zones = ZONES, capacityTypes = ["on-demand", "spot"] } = options;
  const { memoryGi = cpu * 4 } = options;
  const { name = `m-${cpu}x` } = options;
  const priceMicroUsd = options.priceMicroUsd ?? cpu * 50_000;
  const offerings =
    options.offerings ??
    zones.flatMap((zone) =>
      capacityTypes.map((capacityType) => ({
        zone,
        capacityType,
        priceMicroUsd: capacityType === "spot" ? (priceMicroUsd * 7) / 10 : priceMicroUsd,
        available: true,
      })),
    );
  return {
    name,
    labels: {
      "node.kubernetes.io/instance-type": [name],
      "kubernetes.io/arch": [arch],
      "kubernetes.io/os": ["linux"],
      "topology.kubernetes.io/zone": [...new Set(offerings.map((one) => one.zone))],
      "karpenter.sh/capacity-type": [...new Set(offerings.map((one) => one.capacityType))],
      ...options.labels,
    },
    capacity: {
      cpu: cpu * 1_000,
      memory: memoryGi * 2 ** 30,
      pods: options.pods ?? 110,
      ...options.capacity,
    },
    overhead: options.overhead ?? {},
    offerings,
  };
}

/** A view of an unmanaged node, or of a managed one when `claim` is given. */
export function nodeView(
  options: {
    readonly node?: NodeOptions;
    readonly claim?: NodeClaim;
    readonly pods?: readonly Pod[];
    readonly deleting?: boolean;
    readonly nominatedUntilMs?: number;
  } = {},
): NodeView {
  return buildNodeView({
    node: node(options.node),
    claim: options.claim,
    pods: options.pods ?? [],
    marked: options.deleting ?? false,
    nominatedUntilMs: options.nominatedUntilMs ?? 0,
  });
}

/** A pool with instance types, and no usage yet. */
export function poolInput(
  options: Partial<Pool> = {},
  instanceTypes: readonly InstanceType[] = [2, 4, 8, 16].map((cpu) => instanceType({ cpu })),
): PoolInput {
  return { pool: pool(options), instanceTypes, usage: {} };
}

/** Defaults of the scheduler's options, for tests. */
export const SCHEDULING_OPTIONS: SchedulingOptions = {
  preferencePolicy: "Respect",
  minValuesPolicy: "Strict",
  maxInstanceTypes: 600,
  wellKnownLabels: [],
};

/** A scheduler input with one pool of four types; `options` replace parts of it. */
export function schedulingInput(options: Partial<SchedulingInput> = {}): SchedulingInput {
  return {
    nowMs: 0,
    pods: [],
    pools: [poolInput()],
    nodes: [],
    daemonPods: [],
    namespaces: [],
    volumes: { claims: [], volumes: [], classes: [], csiNodes: [] },
    options: SCHEDULING_OPTIONS,
    ...options,
  };
}
