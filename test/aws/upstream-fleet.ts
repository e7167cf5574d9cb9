/**
 * What Karpenter in Go v1.15 leaves behind. In the account: a launch template, an instance profile and two
 * instances, with upstream's names and tags. In the cluster: the class, the pool, two claims and their Nodes, with
 * upstream's annotations and finalizers.
 */
import { EC2_NODE_CLASS } from "../../src/apis/aws/ec2nodeclass.ts";
import { NODE } from "../../src/apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { type Clock, toRfc3339 } from "../../src/base/clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { fromTagList } from "../../src/providers/aws/tags/tags.ts";
import type { User } from "../user.ts";
import { awsJson, type Moto, REGION } from "./moto.ts";
import { type Account, CLUSTER, ROLE } from "./moto-world.ts";

export const TEMPLATE = "karpenter.k8s.aws/10229783215098273461";
export const PROFILE = `${CLUSTER}_6283519402733621543`;
/**
 * The hash of the EC2NodeClass. Its value does not matter, because our operator ignores hashes of upstream's hash
 * version.
 */
const CLASS_HASH = "4950366118253097694";
/** The result of upstream's NodePool.Hash (sigs.k8s.io/karpenter v1.14.1) for the pool below. */
const POOL_HASH = "6821555240594823858";
const DISCOVERY = [{ tags: { "karpenter.sh/discovery": CLUSTER } }];
const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const CAPACITY = { cpu: "2", memory: "7577Mi", pods: "29", "ephemeral-storage": "20Gi" };
const ALLOCATABLE = { cpu: "1930m", memory: "6903Mi", pods: "29", "ephemeral-storage": "17Gi" };
const HASHES = {
  "karpenter.k8s.aws/ec2nodeclass-hash": CLASS_HASH,
  "karpenter.k8s.aws/ec2nodeclass-hash-version": "v6",
};
const POOL_HASHES = {
  "karpenter.sh/nodepool-hash": POOL_HASH,
  "karpenter.sh/nodepool-hash-version": "v3",
};
const REQUIREMENTS = [
  { key: "node.kubernetes.io/instance-type", operator: "In", values: ["m5.large"] },
  { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
  { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
];

export interface UpstreamFleet {
  readonly account: Account;
  readonly instanceIds: readonly string[];
  readonly zones: readonly string[];
  /** The tags that each instance had at its creation, by instance id. */
  readonly tags: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** Launches two instances as upstream does, by an instant fleet from its template, with the tags of a known node. */
async function launchFleet(
  { url, api }: Moto,
  account: Account,
  classUid: string,
): Promise<UpstreamFleet> {
  const aws = <T>(line: string, ...more: readonly string[]): Promise<T> =>
    awsJson<T>(url, [...line.split(" "), ...more]);
  const owned = {
    [`kubernetes.io/cluster/${CLUSTER}`]: "owned",
    "eks:eks-cluster-name": CLUSTER,
    "karpenter.k8s.aws/ec2nodeclass": "default",
  };
  const launched = { ...owned, "karpenter.sh/nodepool": "default" };
  await aws(
    `iam create-instance-profile --instance-profile-name ${PROFILE}`,
    ...["--path", `/karpenter/${REGION}/${CLUSTER}/${classUid}/`],
    ...["--tags", JSON.stringify(listOf({ ...owned, "topology.kubernetes.io/region": REGION }))],
  );
  await aws(
    `iam add-role-to-instance-profile --instance-profile-name ${PROFILE} --role-name ${ROLE}`,
  );
  const data = {
    ImageId: account.imageIds[0],
    IamInstanceProfile: { Name: PROFILE },
    SecurityGroupIds: [account.securityGroupId],
    UserData: Buffer.from("kind: NodeConfig").toString("base64"),
    MetadataOptions: { HttpTokens: "required" },
  };
  await aws(
    `ec2 create-launch-template --launch-template-name ${TEMPLATE}`,
    ...["--launch-template-data", JSON.stringify(data)],
    ...["--tag-specifications", tagged("launch-template", launched)],
  );
  const instanceIds: string[] = [];
  const zones: string[] = [];
  for (const at of [0, 1]) {
    const config = {
      LaunchTemplateSpecification: { LaunchTemplateName: TEMPLATE, Version: "$Latest" },
      Overrides: [{ InstanceType: "m5.large", SubnetId: account.subnetIds[at] }],
    };
    const { Instances } = await aws<{ Instances: { InstanceIds: string[] }[] }>(
      "ec2 create-fleet --type instant",
      ...["--launch-template-configs", JSON.stringify([config])],
      ...[
        "--target-capacity-specification",
        "TotalTargetCapacity=1,DefaultTargetCapacityType=on-demand",
      ],
      ...["--tag-specifications", tagged("instance", launched)],
    );
    const id = Instances[0]?.InstanceIds[0] ?? "";
    await useGroup({ url }, account, id);
    const named = { Name: nodeNameOf(at), "karpenter.sh/nodeclaim": `default-${at}` };
    await aws(`ec2 create-tags --resources ${id} --tags`, JSON.stringify(listOf(named)));
    instanceIds.push(id);
  }
  const { Reservations } = await api.ec2.describeInstances({});
  const all = new Map(
    Reservations.flatMap(({ Instances }) => Instances.map((one) => [one.InstanceId, one])),
  );
  for (const id of instanceIds) zones.push(all.get(id)?.Placement.AvailabilityZone ?? "");
  const tags = new Map([...all].map(([id, one]) => [id, fromTagList(one.Tags)]));
  return { account, instanceIds, zones, tags };
}

/** Makes upstream's objects and their instances, and a Deployment with a pod on each node. */
export async function upstreamFleet(
  { user, client, clock }: { user: User; client: KubeClient; clock: Clock },
  moto: Moto,
  account: Account,
): Promise<UpstreamFleet> {
  const at = toRfc3339(clock.now());
  const make = async (object: object): Promise<KubeObject> => {
    const [made] = await user.apply(object as KubeObject);
    if (made === undefined) throw new Error("nothing was applied");
    return made;
  };
  const nodeClass = await make(NODE_CLASS);
  const fleet = await launchFleet(moto, account, nodeClass.metadata.uid ?? "");
  const body = { status: classStatus(fleet, at) };
  await client.patch(EC2_NODE_CLASS, { name: "default" }, { type: "merge", body }, "status");
  const pool = await make(POOL);
  for (const index of fleet.instanceIds.keys()) {
    const claim = (await make(claimOf(index, fleet, pool.metadata.uid))) as NodeClaim;
    const { name } = claim.metadata;
    const status = claimStatus(index, fleet, at);
    await client.patch(NODE_CLAIM, { name }, { type: "merge", body: { status } }, "status");
    await joinNode(client, clock, { ...claim, status } as NodeClaim);
  }
  await make(workload());
  return fleet;
}

const NODE_CLASS = {
  apiVersion: "karpenter.k8s.aws/v1",
  kind: "EC2NodeClass",
  metadata: {
    name: "default",
    annotations: HASHES,
    finalizers: ["karpenter.k8s.aws/termination"],
  },
  spec: {
    amiFamily: "AL2023",
    amiSelectorTerms: DISCOVERY,
    subnetSelectorTerms: DISCOVERY,
    securityGroupSelectorTerms: DISCOVERY,
    role: ROLE,
  },
};
const CLAIM_SPEC = { nodeClassRef: CLASS_REF, requirements: REQUIREMENTS, expireAfter: "720h" };
const POOL = {
  apiVersion: "karpenter.sh/v1",
  kind: "NodePool",
  metadata: { name: "default", annotations: POOL_HASHES },
  spec: {
    template: { spec: CLAIM_SPEC },
    disruption: { consolidationPolicy: "WhenEmptyOrUnderutilized", consolidateAfter: "0s" },
  },
};

function classStatus({ account }: UpstreamFleet, at: string): object {
  const ready = ["AMIs", "InstanceProfile", "SecurityGroups", "Subnets"].map(
    (one) => `${one}Ready`,
  );
  return {
    instanceProfile: PROFILE,
    securityGroups: [{ id: account.securityGroupId, name: "nodes" }],
    conditions: conditionsOf(["Ready", ...ready], at),
  };
}

function claimOf(index: number, { zones }: UpstreamFleet, poolUid: string | undefined): object {
  const owner = { apiVersion: "karpenter.sh/v1", kind: "NodePool", name: "default", uid: poolUid };
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: {
      name: `default-${index}`,
      labels: labelsOf(zones[index] ?? ""),
      annotations: {
        ...HASHES,
        ...POOL_HASHES,
        "karpenter.k8s.aws/tagged": "true",
        "karpenter.k8s.aws/instance-profile-name": PROFILE,
      },
      finalizers: ["karpenter.sh/termination"],
      ownerReferences: [{ ...owner, blockOwnerDeletion: true }],
    },
    spec: CLAIM_SPEC,
  };
}

function claimStatus(index: number, { account, zones, instanceIds }: UpstreamFleet, at: string) {
  return {
    providerID: `aws:///${zones[index]}/${instanceIds[index]}`,
    nodeName: nodeNameOf(index),
    imageID: account.imageIds[0],
    capacity: CAPACITY,
    allocatable: ALLOCATABLE,
    conditions: conditionsOf(["Launched", "Registered", "Initialized", "Ready"], at),
  };
}

function conditionsOf(types: readonly string[], lastTransitionTime: string) {
  return types.map((type) => ({
    ...{ type, status: "True" as const, reason: type, message: "" },
    lastTransitionTime,
  }));
}

/** Gives an instance the nodes' security group, as a launch template does on EC2. */
export async function useGroup({ url }: Pick<Moto, "url">, account: Account, id: string) {
  const ids = ["--instance-id", id, "--groups", account.securityGroupId];
  await awsJson(url, ["ec2", "modify-instance-attribute", ...ids]);
}

/** Creates the Node of a launched claim. From then on the sandbox plays its kubelet. */
export async function joinNode(client: KubeClient, clock: Clock, claim: NodeClaim): Promise<void> {
  const { providerID = "", nodeName } = claim.status ?? {};
  const name = nodeName || `node-${claim.metadata.name}`;
  const isKnown = nodeName !== undefined && nodeName !== "";
  const at = toRfc3339(clock.now());
  await client.create(NODE, {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        ...claim.metadata.labels,
        "kubernetes.io/hostname": name,
        ...(isKnown
          ? { "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true" }
          : {}),
      },
      ...(isKnown ? { finalizers: ["karpenter.sh/termination"] } : {}),
    },
    spec: {
      providerID,
      ...(isKnown ? {} : { taints: [{ key: "karpenter.sh/unregistered", effect: "NoExecute" }] }),
    },
    status: {
      capacity: CAPACITY,
      allocatable: ALLOCATABLE,
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "KubeletReady",
          message: "",
          lastTransitionTime: at,
        },
      ],
    },
  } as never);
}

function nodeNameOf(index: number): string {
  return `ip-172-31-${index}-10.ec2.internal`;
}

function labelsOf(zone: string): Readonly<Record<string, string>> {
  return {
    "karpenter.sh/nodepool": "default",
    "karpenter.sh/capacity-type": "on-demand",
    "karpenter.k8s.aws/ec2nodeclass": "default",
    "node.kubernetes.io/instance-type": "m5.large",
    "topology.kubernetes.io/zone": zone,
    "topology.kubernetes.io/region": REGION,
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
  };
}

/** A Deployment of two pods that need one node each. */
function workload(): object {
  const labels = { app: "web" };
  const podAntiAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { labelSelector: { matchLabels: labels }, topologyKey: "kubernetes.io/hostname" },
    ],
  };
  const resources = { requests: { cpu: "1", memory: "1Gi" } };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { "karpenter.sh/nodepool": "default" },
          affinity: { podAntiAffinity },
          containers: [{ name: "web", image: "pause", resources }],
        },
      },
    },
  };
}

function tagged(resource: string, tags: Readonly<Record<string, string>>): string {
  return JSON.stringify([{ ResourceType: resource, Tags: listOf(tags) }]);
}

function listOf(tags: Readonly<Record<string, string>>) {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}
