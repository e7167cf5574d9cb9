/** The cluster of `turns.ts`: the objects of the sweep's cluster, in the state in which controllers leave them. */
import { NODE, type Node } from "../src/apis/core/node.ts";
import { POD, type Pod } from "../src/apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { NODE_POOL, type NodePool } from "../src/apis/karpenter/nodepool.ts";
import type { Kind, KubeObject } from "../src/apis/meta.ts";
import type { SchedulingInput } from "../src/core/provisioning/scheduling-input.ts";
import type { ClusterState } from "../src/core/state/cluster.ts";
import { DAEMON_SET, drawCluster } from "./sweep-cluster.ts";

export const HASH = "karpenter.sh/nodepool-hash";
const HASH_VERSION = "karpenter.sh/nodepool-hash-version";
export const CREATED = "2026-01-01T00:00:00Z";
export const CLASS: Kind = { group: "bench", version: "v1", kind: "Class", plural: "classes", namespaced: false };

export interface TurnsCluster {
  readonly input: SchedulingInput;
  readonly pools: readonly KubeObject[];
  readonly claims: readonly NodeClaim[];
  readonly nodes: readonly Node[];
  /** Objects by the plural of their kind. */
  readonly objects: ReadonlyMap<string, readonly KubeObject[]>;
}

export function turnsCluster(count: number): TurnsCluster {
  const { input, natives, pdbs, join } = drawCluster(count, "tight");
  const pools = natives.map(asClassed);
  const claims: NodeClaim[] = [];
  const nodes: Node[] = [];
  const pods: Pod[] = [];
  const recorder = {
    updateClaim: (claim: NodeClaim) => claims.push(asStored(claim)),
    updateNode: ({ metadata, ...node }: Node) =>
      nodes.push({ ...node, metadata: { ...metadata, creationTimestamp: CREATED, resourceVersion: "1" } }),
    updatePod: (pod: Pod) => pods.push(pod),
  } as unknown as ClusterState;
  for (let index = 0; index < count; index++) join(recorder, index);
  const { claims: volumeClaims, volumes, classes, csiNodes } = input.volumes;
  const objects = new Map<string, readonly KubeObject[]>([
    [NODE_POOL.plural, pools],
    [CLASS.plural, [nodeClass]],
    [NODE_CLAIM.plural, claims],
    [NODE.plural, nodes],
    [POD.plural, pods],
    ["daemonsets", [DAEMON_SET]],
    ["poddisruptionbudgets", pdbs],
    ["namespaces", input.namespaces],
    ["persistentvolumeclaims", volumeClaims],
    ["persistentvolumes", volumes],
    ["storageclasses", classes],
    ["csinodes", csiNodes],
  ]);
  return { input, pools, claims, nodes, objects };
}

const nodeClass = {
  kind: CLASS.kind,
  metadata: { name: "default", generation: 1, resourceVersion: "1" },
  status: { conditions: [{ type: "Ready", status: "True" }] },
} as unknown as KubeObject;

function asClassed({ metadata, spec, ...pool }: NodePool) {
  const { name } = metadata;
  const annotations = { [HASH_VERSION]: "v2" };
  const nodeClassRef = { group: CLASS.group, kind: CLASS.kind, name: "default" };
  const { template } = spec;
  return {
    ...pool,
    kind: "NodePool",
    metadata: { ...metadata, annotations, uid: name, generation: 1, resourceVersion: "1" },
    spec: { ...spec, template: { ...template, spec: { ...template.spec, nodeClassRef } } },
  };
}

/** The claim with the fields that its controllers write. */
function asStored({ metadata, spec, status, ...claim }: NodeClaim): NodeClaim {
  const conditions = ["Launched", "Registered", "Initialized"].map((type) => ({
    type,
    status: "True" as const,
    reason: type,
    message: "",
    lastTransitionTime: CREATED,
  }));
  const annotations = { [HASH]: "old", [HASH_VERSION]: "v2" };
  const finalizers = ["karpenter.sh/termination"];
  return {
    ...claim,
    metadata: { ...metadata, annotations, creationTimestamp: CREATED, resourceVersion: "1", finalizers },
    spec: { ...spec, expireAfter: "876000h" },
    status: { ...status, conditions: [...conditions, ...(status?.conditions ?? [])] },
  };
}
