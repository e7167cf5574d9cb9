/**
 * A cloud in memory for controller tests. Every launch takes the cheapest type that the claim allows. A test
 * can make it refuse a launch, forget an instance, or terminate slowly.
 */
import type { Pool } from "../apis/hub/pool.ts";
import {
  ARCH_LABEL_KEY,
  CAPACITY_TYPE_LABEL_KEY,
  CLUSTER_UID_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  OS_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../apis/karpenter/labels.ts";
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import type { Kind, KubeObject } from "../apis/meta.ts";
import { formatResources, subtractResources } from "../apis/resources.ts";
import { type Clock, toRfc3339 } from "../base/clock.ts";
import type { CloudProvider } from "../core/cloudprovider/cloud-provider.ts";
import { NodeClaimNotFoundError } from "../core/cloudprovider/errors.ts";
import type { InstanceType } from "../core/cloudprovider/instance-type.ts";
import type { RepairPolicy } from "../core/cloudprovider/repair-policy.ts";

/** The node class kind of the fake cloud. */
export const FAKE_NODE_CLASS: Kind = {
  group: "karpenter.test.sh",
  version: "v1alpha1",
  kind: "TestNodeClass",
  plural: "testnodeclasses",
  namespaced: false,
};

/** The node class kind of Machines, so that tests can use Machines too. */
const FAKE_NODE_TEMPLATE: Kind = {
  group: "karpenter.k8s.aws",
  version: "v1alpha1",
  kind: "AWSNodeTemplate",
  plural: "awsnodetemplates",
  namespaced: false,
};

/** A cloud in memory, for tests of controllers. */
export interface FakeCloud extends CloudProvider {
  readonly instances: Map<string, NodeClaim>;
  /** Errors for the next calls of `create`, one each. */
  readonly refusals: Error[];
  /** Number of calls of `create`, including refused ones. */
  creates: number;
  /** Ids of the calls of `reboot`, in order. */
  readonly reboots: string[];
  /** Errors for the next calls of `reboot`, one each. */
  readonly rebootRefusals: Error[];
  /** Number of `delete` calls until an instance is gone. Default 1. */
  endsAfter: number;
  repairPolicies: readonly RepairPolicy[];
  /** The instance types for a pool. A test can replace it, for example to throw. */
  instanceTypes: (pool: Pool) => readonly InstanceType[];
}

const GIB = 1_073_741_824;

/** The type `c-4x` for 4 cpu: 8 Gi, 110 pods, 0.1 dollars for each cpu and hour, in zone-a and zone-b. */
function fakeInstanceType(cpu: number): InstanceType {
  return {
    name: `c-${cpu}x`,
    labels: {
      [INSTANCE_TYPE_LABEL_KEY]: [`c-${cpu}x`],
      [ARCH_LABEL_KEY]: ["amd64"],
      [OS_LABEL_KEY]: ["linux"],
      [TOPOLOGY_ZONE_LABEL_KEY]: ["zone-a", "zone-b"],
      [CAPACITY_TYPE_LABEL_KEY]: ["on-demand"],
    },
    capacity: { cpu: cpu * 1_000, memory: cpu * 2 * GIB, pods: 110, "ephemeral-storage": 20 * GIB },
    overhead: { cpu: 100 },
    offerings: ["zone-a", "zone-b"].map((zone) => ({
      zone,
      capacityType: "on-demand" as const,
      priceMicroUsd: cpu * 100_000,
      available: true,
    })),
  };
}

/** A cloud without instances. */
export function fakeCloud(clock: Clock): FakeCloud {
  const instances = new Map<string, NodeClaim>();
  const ending = new Map<string, number>();
  const types = [1, 2, 4, 8, 16].map(fakeInstanceType);
  const refusals: Error[] = [];
  const gone = (id: string): NodeClaimNotFoundError =>
    new NodeClaimNotFoundError(`no ${id}`, { isEnded: true });

  const cloud: FakeCloud = {
    name: "fake",
    wellKnownLabels: [],
    nodeClassKinds: [FAKE_NODE_CLASS, FAKE_NODE_TEMPLATE],
    repairPolicies: [],
    instances,
    refusals,
    ...fakeReboots(),
    creates: 0,
    endsAfter: 1,
    instanceTypes: () => types,
    create: async (claim) => {
      cloud.creates++;
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      const type = typeOf(claim, types);
      const providerID = `fake:///${claim.metadata.name}`;
      const zone = valuesOf(claim, TOPOLOGY_ZONE_LABEL_KEY)?.[0] ?? "zone-a";
      const launched: NodeClaim = {
        metadata: {
          name: "",
          creationTimestamp: toRfc3339(clock.now()),
          labels: {
            ...claim.metadata.labels,
            [INSTANCE_TYPE_LABEL_KEY]: type.name,
            [ARCH_LABEL_KEY]: "amd64",
            [OS_LABEL_KEY]: "linux",
            [TOPOLOGY_ZONE_LABEL_KEY]: zone,
            [CAPACITY_TYPE_LABEL_KEY]: "on-demand",
          },
        },
        spec: claim.spec,
        status: {
          providerID,
          imageID: "image-1",
          capacity: formatResources(type.capacity),
          allocatable: formatResources(subtractResources(type.capacity, type.overhead)),
        },
      };
      instances.set(providerID, launched);
      return launched;
    },
    delete: async (claim) => {
      const id = claim.status?.providerID ?? "";
      if (!instances.has(id)) throw gone(id);
      const polls = (ending.get(id) ?? 0) + 1;
      ending.set(id, polls);
      if (polls >= cloud.endsAfter) instances.delete(id);
    },
    get: async (id) => {
      const found = instances.get(id);
      if (found === undefined) throw gone(id);
      return found;
    },
    list: async () => [...instances.values()],
    getInstanceTypes: async (pool) => cloud.instanceTypes(pool),
    ...UNEVENTFUL,
  };
  return cloud;
}

/** The parts of the cloud provider that do nothing here. */
const UNEVENTFUL: Pick<
  FakeCloud,
  "takeOver" | "quotaRoom" | "labelsOfRunning" | "isTypeGone" | "isDrifted" | "isTakenBack"
> = {
  takeOver: async () => undefined,
  quotaRoom: () => new Map(),
  labelsOfRunning: async () => ({}),
  isTypeGone: async () => true,
  isDrifted: async () => undefined,
  isTakenBack: () => false,
};

function fakeReboots(): Pick<FakeCloud, "reboots" | "rebootRefusals" | "reboot"> {
  const reboots: string[] = [];
  const rebootRefusals: Error[] = [];
  const reboot = async (_claim: NodeClaim, operation: string) => {
    const refusal = rebootRefusals.shift();
    if (refusal !== undefined) throw refusal;
    reboots.push(operation);
  };
  return { reboots, rebootRefusals, reboot };
}

function valuesOf(claim: NodeClaim, key: string): readonly string[] | undefined {
  const found = claim.spec.requirements.find((one) => one.key === key && one.operator === "In");
  return found?.values;
}

function typeOf(claim: NodeClaim, types: readonly InstanceType[]): InstanceType {
  const names = valuesOf(claim, INSTANCE_TYPE_LABEL_KEY);
  const found = types.find(({ name }) => names === undefined || names.includes(name));
  if (found === undefined) throw new Error(`fake cloud has none of ${names?.join(", ")}`);
  return found;
}

/**
 * The instance with the UID of the cluster's namespace kube-system, as a cloud lists an instance of this
 * cluster.
 */
export function ofCluster(instance: NodeClaim, clusterUid: string): NodeClaim {
  const annotations = { ...instance.metadata.annotations, [CLUSTER_UID_KEY]: clusterUid };
  return { ...instance, metadata: { ...instance.metadata, annotations } };
}

/** The namespace kube-system. Its UID identifies the cluster. */
export function kubeSystem(clusterUid: string): KubeObject {
  return { metadata: { name: "kube-system", uid: clusterUid } };
}
