/**
 * A large cluster for the sweep bench, from a fixed seed: 100 to 1,000 Deployments with every kind of constraint.
 * Each node has ten pods, one of them of a DaemonSet. Pods are only on nodes that their rules allow. The objects
 * are put into the cluster state one by one, as mirrors would do it.
 */
import type { DaemonSet } from "../src/apis/apps/kinds.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../src/apis/core/kinds.ts";
import type { Pod, PodSpec } from "../src/apis/core/pod.ts";
import type { NodePool } from "../src/apis/karpenter/nodepool.ts";
import type { PodDisruptionBudget } from "../src/apis/policy/kinds.ts";
import type { CSINode, StorageClass } from "../src/apis/storage/kinds.ts";
import { Random } from "../src/base/random.ts";
import { createPodProjection } from "../src/controllers/pod-projection.ts";
import type { SchedulingInput } from "../src/core/provisioning/scheduling-input.ts";
import type { ClusterState } from "../src/core/state/cluster.ts";
import { inputOf } from "./workload.ts";
import { upstreamMix } from "./workloads.ts";

const ZONES = ["test-zone-1", "test-zone-2", "test-zone-3"];
const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const WORKLOAD_PODS = 9;
const CPU = [100, 250, 500, 1_000, 1_500];
const MEMORY = [128, 256, 512, 1_024, 2_048, 4_096];
const CSI = "ebs.csi.aws.com";
const READY = { type: "Ready", status: "True" as const, reason: "Ready", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
const DEDICATED = { key: "dedicated", value: "batch", effect: "NoSchedule" as const };

/** Percentage of Deployments with each kind of constraint. */
const SHARES = {
  generic: 38,
  zoneSpread: 12,
  hostSpread: 8,
  together: 6,
  apart: 10,
  hostPort: 4,
  volume: 8,
  tolerant: 8,
  selector: 6,
} as const;
type Kind = keyof typeof SHARES;

interface Deployment {
  readonly name: string;
  readonly namespace: string;
  readonly kind: Kind;
  readonly cpuMilli: number;
  readonly memoryMi: number;
  /** The zone of all its pods, for the kinds `together` and `selector`. */
  readonly zone: string;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  readonly spec: Partial<PodSpec>;
  readonly perZone: Map<string, number>;
  pods: number;
}

export interface Drawn {
  /** The engine's input without nodes: they are in the cluster state. */
  readonly input: SchedulingInput;
  /** The NodePools as Kubernetes objects. */
  readonly natives: readonly NodePool[];
  readonly pdbs: readonly PodDisruptionBudget[];
  /** Puts a changed pod of a node into the state. */
  readonly change: (state: ClusterState, index: number) => void;
  /** Puts one more node with its pods into the state. */
  readonly join: (state: ClusterState, index: number) => void;
}

/**
 * How full nodes are. `loose`: from half to nearly full. `tight`: as full as possible, so that little can be
 * consolidated.
 */
export type Filling = "loose" | "tight";

export function drawCluster(nodes: number, filling: Filling): Drawn {
  const random = new Random("sweep");
  const deployments = Array.from({ length: Math.min(1_000, Math.max(100, nodes / 10)) }, (_, index) => drawDeployment(random, index));
  const tolerant = deployments.filter(({ kind }) => kind === "tolerant");
  const project = createPodProjection();
  const claims: PersistentVolumeClaim[] = [];
  const volumes: PersistentVolume[] = [];
  const csiNodes: CSINode[] = [];
  const natives = poolsFor();
  const input = inputFor(natives, claims, volumes, csiNodes);
  const join = (state: ClusterState, index: number) => {
    const zone = ZONES[index % ZONES.length] as string;
    const isDedicated = index % 10 === 9;
    const chosen = choose(random, isDedicated ? tolerant : deployments, zone);
    const name = nameOf(index);
    addNode(state, { name, zone, isDedicated, isSpot: index % 2 === 1, size: sizeFor(random, chosen, filling) });
    csiNodes.push({ metadata: { name }, spec: { drivers: [{ name: CSI, nodeID: name, allocatable: { count: 27 } }] } } as CSINode);
    for (const one of chosen) {
      const own = `${one.name}-${one.pods++}`;
      one.perZone.set(zone, (one.perZone.get(zone) ?? 0) + 1);
      if (one.kind === "volume") addVolume(claims, volumes, one.namespace, own, zone);
      state.updatePod(project(podOf(one, own, name)));
    }
    state.updatePod(project(agent(name)));
  };
  const change = (state: ClusterState, index: number) => {
    const { metadata, ...rest } = agent(nameOf(index));
    state.updatePod(project({ ...rest, metadata: { ...metadata, resourceVersion: "2", labels: { changed: "yes" } } }));
  };
  return { input, natives, change, pdbs: deployments.filter((_, index) => index % 2 === 0).map(guard), join };
}

function nameOf(index: number): string {
  return `node-${String(index).padStart(6, "0")}`;
}

function drawDeployment(random: Random, index: number): Deployment {
  let share = (index * 37) % 100;
  const kind = (Object.keys(SHARES) as Kind[]).find((one) => (share -= SHARES[one]) < 0) ?? "generic";
  const name = `app-${index}`;
  const zone = random.pick(ZONES);
  const doNotDisrupt = index % 200 === 0 ? { "karpenter.sh/do-not-disrupt": "true" } : undefined;
  return {
    name,
    namespace: `team-${index % 50}`,
    kind,
    cpuMilli: random.pick(CPU),
    memoryMi: random.pick(MEMORY),
    zone,
    annotations: doNotDisrupt,
    spec: specOf(kind, { app: name }, zone),
    perZone: new Map(),
    pods: 0,
  };
}

function specOf(kind: Kind, matchLabels: Record<string, string>, zone: string): Partial<PodSpec> {
  const required = (topologyKey: string) => ({ requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels } }] });
  const spread = (topologyKey: string, maxSkew: number) => ({
    topologySpreadConstraints: [{ maxSkew, topologyKey, whenUnsatisfiable: "DoNotSchedule" as const, labelSelector: { matchLabels } }],
  });
  switch (kind) {
    case "zoneSpread":
      return spread(ZONE, 1);
    case "hostSpread":
      return spread(HOSTNAME, 2);
    case "together":
      return { affinity: { podAffinity: required(ZONE) } };
    case "apart":
      return { affinity: { podAntiAffinity: required(HOSTNAME) } };
    case "tolerant":
      return { tolerations: [{ key: DEDICATED.key, operator: "Exists" }] };
    case "selector":
      return { nodeSelector: { [ZONE]: zone } };
    default:
      return {};
  }
}

/** Different Deployments whose pods may be in the zone. */
function choose(random: Random, from: readonly Deployment[], zone: string): readonly Deployment[] {
  const chosen = new Set<Deployment>();
  for (let tries = 0; chosen.size < WORKLOAD_PODS && tries < 200; tries++) {
    const one = from[random.int(from.length)] as Deployment;
    if (mayStandIn(one, zone)) chosen.add(one);
  }
  return [...chosen];
}

function mayStandIn({ kind, zone, perZone }: Deployment, here: string): boolean {
  if (kind === "together" || kind === "selector") return zone === here;
  if (kind !== "zoneSpread") return true;
  return (perZone.get(here) ?? 0) <= Math.min(...ZONES.map((one) => perZone.get(one) ?? 0));
}

/** The PodDisruptionBudget of a Deployment. Every fiftieth budget allows no eviction. */
function guard({ name, namespace }: Deployment, index: number): PodDisruptionBudget {
  return {
    metadata: { name, namespace },
    spec: { selector: { matchLabels: { app: name } }, maxUnavailable: 1 },
    status: { disruptionsAllowed: index % 50 === 0 ? 0 : 1 },
  };
}

function sizeFor(random: Random, chosen: readonly Deployment[], filling: Filling): number {
  const fill = filling === "tight" ? 1 : 0.5 + 0.45 * random.fraction();
  const cpu = chosen.reduce((sum, { cpuMilli }) => sum + cpuMilli, 200);
  const memory = chosen.reduce((sum, { memoryMi }) => sum + memoryMi, 200);
  return Math.max(1, Math.ceil(cpu / 1_000 / fill), Math.ceil(memory / 2_048 / fill));
}

interface Bare {
  readonly name: string;
  readonly zone: string;
  readonly isDedicated: boolean;
  readonly isSpot: boolean;
  readonly size: number;
}

function addNode(state: ClusterState, { name, zone, isDedicated, isSpot, size }: Bare): void {
  const labels = {
    "karpenter.sh/nodepool": isDedicated ? "dedicated" : "default",
    "karpenter.sh/registered": "true",
    "karpenter.sh/initialized": "true",
    "karpenter.sh/capacity-type": isSpot && zone !== "test-zone-3" ? "spot" : "on-demand",
    "node.kubernetes.io/instance-type": `fake-it-${size - 1}`,
    [ZONE]: zone,
    [HOSTNAME]: name,
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
  };
  const providerID = `bench://${name}`;
  const taints = isDedicated ? [DEDICATED] : [];
  const condition = { type: "Consolidatable", status: "True" as const, reason: "Consolidatable", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
  state.updateClaim({
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: { name, labels, uid: `claim-${name}` },
    spec: { requirements: [], taints, nodeClassRef: { group: "bench", kind: "Class", name: "default" } },
    status: { providerID, nodeName: name, conditions: [condition] },
  });
  const pods = String(10 * size);
  state.updateNode({
    metadata: { name, labels, uid: `node-${name}` },
    spec: { providerID, taints },
    status: {
      capacity: { cpu: String(size), memory: `${2 * size}Gi`, pods },
      allocatable: { cpu: `${size * 1_000 - 100}m`, memory: `${2_048 * size - 10}Mi`, pods },
      conditions: [{ type: "Ready", status: "True" }],
    },
  });
}

function podOf({ name: app, namespace, kind, cpuMilli, memoryMi, annotations, spec }: Deployment, name: string, nodeName: string): Pod {
  const ports = kind === "hostPort" ? [{ containerPort: 80, hostPort: 9_000 + Number(app.slice(4)) }] : undefined;
  const requests = { cpu: `${cpuMilli}m`, memory: `${memoryMi}Mi` };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      uid: `uid-${name}`,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { app },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: app, uid: `owner-${app}`, controller: true }],
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      ...spec,
      nodeName,
      containers: [{ name: "main", ...(ports === undefined ? {} : { ports }), resources: { requests } }],
      ...(kind === "volume" ? { volumes: [{ name: "data", persistentVolumeClaim: { claimName: name } }] } : {}),
    },
    status: { phase: "Running", startTime: "2026-01-01T00:00:00Z" },
  };
}

const AGENT = { tolerations: [{ operator: "Exists" as const }], containers: [{ name: "main", resources: { requests: { cpu: "100m", memory: "128Mi" } } }] };

/** A DaemonSet with a pod on each node. */
export const DAEMON_SET: DaemonSet = {
  metadata: { name: "agent", namespace: "kube-system", uid: "agent" },
  spec: { selector: { matchLabels: { app: "agent" } }, template: { metadata: { labels: { app: "agent" } }, spec: AGENT } },
};

function agent(nodeName: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `agent-${nodeName}`,
      namespace: "kube-system",
      uid: `uid-agent-${nodeName}`,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { app: "agent" },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "agent", controller: true }],
    },
    spec: { nodeName, ...AGENT },
    status: { phase: "Running", startTime: "2026-01-01T00:00:00Z" },
  };
}

function addVolume(claims: PersistentVolumeClaim[], volumes: PersistentVolume[], namespace: string, name: string, zone: string): void {
  claims.push({
    metadata: { name, namespace, annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
    spec: { volumeName: `pv-${name}`, storageClassName: "gp3" },
    status: { phase: "Bound" },
  });
  volumes.push({
    metadata: { name: `pv-${name}` },
    spec: { csi: { driver: CSI }, nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: "In", values: [zone] }] }] } } },
  });
}

function poolsFor(): readonly [NodePool, NodePool] {
  const [drawn] = upstreamMix("sweep", 0).nodePools as [NodePool];
  const open: NodePool = { ...drawn, status: { conditions: [READY] } };
  const { template } = open.spec;
  const spec = { ...open.spec, template: { ...template, spec: { ...template.spec, taints: [DEDICATED] } } };
  return [open, { ...open, metadata: { name: "dedicated" }, spec }];
}

function inputFor(nodePools: readonly NodePool[], claims: readonly PersistentVolumeClaim[], volumes: readonly PersistentVolume[], csiNodes: readonly CSINode[]): SchedulingInput {
  const names = ["kube-system", ...Array.from({ length: 50 }, (_, index) => `team-${index}`)];
  const gp3: StorageClass = { metadata: { name: "gp3" }, provisioner: CSI, volumeBindingMode: "WaitForFirstConsumer" };
  return {
    ...inputOf({ ...upstreamMix("sweep", 0), nodePools }),
    namespaces: names.map((name) => ({ metadata: { name } })),
    volumes: { claims, volumes, classes: [gp3], csiNodes },
  };
}
