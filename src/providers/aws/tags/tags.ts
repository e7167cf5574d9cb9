/**
 * Tags of launched instances and their resources, for each generation. Karpenter finds its instances by its own tags,
 * so these replace a user's tags with the same keys. Only `Name` may be set by the user.
 */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { claimGeneration } from "../../../apis/hub/claim.ts";
import {
  CLUSTER_UID_KEY,
  NODEPOOL_LABEL_KEY,
  PROVISIONER_NAME_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import type { Tag } from "../api/call.ts";

/** The tag of instances of older generations with the cluster's name. */
export const MANAGED_BY_TAG = "karpenter.sh/managed-by";
/** The tag of v1 instances with the cluster's name. */
export const EKS_CLUSTER_TAG = "eks:eks-cluster-name";
/** The tag of instances with the name of the node class. */
export const NODECLASS_TAG = "karpenter.k8s.aws/ec2nodeclass";
/** The tag of instances with the name of the claim. */
export const NODECLAIM_TAG = "karpenter.sh/nodeclaim";
/** The tag of instances with the ClientToken of the call that launched them. */
export const LAUNCH_TAG = "karpenter.sh/launch";
/** The tag of launch templates with the cluster whose controller may delete them. */
export const TEMPLATE_CLUSTER_TAG = "karpenter.k8s.aws/cluster";
const NAME_TAG = "Name";

/** Tags of a resource: the value by key. */
export type Tags = Readonly<Record<string, string>>;

/** The tag key by which EKS finds the resources of a cluster. Its value is `owned`. */
export function clusterTag(clusterName: string): string {
  return `kubernetes.io/cluster/${clusterName}`;
}

/** Settings on which the tags of instances depend. */
export interface TagSettings {
  readonly clusterName: string;
  /** `aws.tags`: for everything launched for v1alpha5 and v1beta1. Tags of the class win over them. */
  readonly tags: Tags;
  /** UID of the namespace kube-system. Undefined: it is not known, so there is no such tag. */
  readonly clusterUid: string | undefined;
}

/** Tags for instance, volumes, fleet, network interface, spot request and launch template. */
export function launchTags(nodeClass: AwsClass, claim: NodeClaim, settings: TagSettings): Tags {
  const { clusterName } = settings;
  const labels = claim.metadata.labels ?? {};
  const { clusterUid } = settings;
  const cluster = {
    [clusterTag(clusterName)]: "owned",
    ...(clusterUid === undefined ? {} : { [CLUSTER_UID_KEY]: clusterUid }),
  };
  const nodePool = { [NODEPOOL_LABEL_KEY]: labels[NODEPOOL_LABEL_KEY] ?? "" };
  switch (claimGeneration(claim)) {
    case "alpha": {
      const provisioner = labels[PROVISIONER_NAME_LABEL_KEY] ?? "";
      return {
        [NAME_TAG]: `${PROVISIONER_NAME_LABEL_KEY}/${provisioner}`,
        ...settings.tags,
        ...nodeClass.tags,
        ...cluster,
        [PROVISIONER_NAME_LABEL_KEY]: provisioner,
        [MANAGED_BY_TAG]: clusterName,
      };
    }
    case "beta":
      return {
        ...settings.tags,
        ...nodeClass.tags,
        ...cluster,
        ...nodePool,
        [MANAGED_BY_TAG]: clusterName,
        [NODECLASS_TAG]: nodeClass.name,
      };
    case "v1":
      return {
        ...nodeClass.tags,
        ...cluster,
        ...nodePool,
        [EKS_CLUSTER_TAG]: clusterName,
        [NODECLASS_TAG]: nodeClass.name,
      };
  }
}

/** Tags to add once the node is known. Keys that the instance already has do not change. */
export function registrationTags(claim: NodeClaim, existing: Tags, clusterName: string): Tags {
  const generation = claimGeneration(claim);
  const wanted: Record<string, string> = {
    ...(generation === "alpha" ? {} : { [NAME_TAG]: claim.status?.nodeName ?? "" }),
    ...(generation === "alpha" ? {} : { [NODECLAIM_TAG]: claim.metadata.name }),
    ...(generation === "v1" ? { [EKS_CLUSTER_TAG]: clusterName } : {}),
  };
  return Object.fromEntries(Object.entries(wanted).filter(([key]) => existing[key] === undefined));
}

/** The tags as the list that AWS takes, by key. */
export function toTagList(tags: Tags): readonly Tag[] {
  return Object.keys(tags)
    .sort()
    .map((Key) => ({ Key, Value: tags[Key] as string }));
}

/** The tags as an object. If a key occurs twice, the last value counts. */
export function fromTagList(tags: readonly Tag[]): Tags {
  return Object.fromEntries(tags.map(({ Key, Value }) => [Key, Value]));
}

/**
 * Whether the tags belong to another cluster, or may do so because the UID of this cluster is not known. Two clusters
 * may have the same name.
 */
export function isAnothers(
  tags: readonly Tag[] | undefined,
  clusterUid: string | undefined,
): boolean {
  const tagged = fromTagList(tags ?? [])[CLUSTER_UID_KEY];
  return tagged !== undefined && tagged !== clusterUid;
}
