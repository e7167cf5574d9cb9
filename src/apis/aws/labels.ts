/**
 * Labels, annotations and tags of the AWS provider. upstream: provider's pkg/apis/v1/labels.go, and the
 * v1alpha1 names, which v1alpha5 objects still have.
 */

/** On instances and nodes: the name of the EC2NodeClass. */
export const LABEL_NODECLASS = "karpenter.k8s.aws/ec2nodeclass";
/** The zone by AWS's id, such as `usw2-az1`, which is equal in all accounts. */
export const LABEL_TOPOLOGY_ZONE_ID = "topology.k8s.aws/zone-id";

/** `nitro`, `xen`, or empty for bare metal. */
export const LABEL_INSTANCE_HYPERVISOR = "karpenter.k8s.aws/instance-hypervisor";
/** `true` or `false`. */
export const LABEL_INSTANCE_ENCRYPTION_IN_TRANSIT =
  "karpenter.k8s.aws/instance-encryption-in-transit-supported";
/** The letters of the family before the generation: `c`, `m`, `r`, `inf`. */
export const LABEL_INSTANCE_CATEGORY = "karpenter.k8s.aws/instance-category";
/** Such as `m5`. */
export const LABEL_INSTANCE_FAMILY = "karpenter.k8s.aws/instance-family";
/** A number, for `Gt` and `Lt`. */
export const LABEL_INSTANCE_GENERATION = "karpenter.k8s.aws/instance-generation";
/** Such as `2xlarge`. */
export const LABEL_INSTANCE_SIZE = "karpenter.k8s.aws/instance-size";
/** Number of vCPUs. */
export const LABEL_INSTANCE_CPU = "karpenter.k8s.aws/instance-cpu";
/** `aws`, `intel` or `amd`. */
export const LABEL_INSTANCE_CPU_MANUFACTURER = "karpenter.k8s.aws/instance-cpu-manufacturer";
/** MHz. */
export const LABEL_INSTANCE_CPU_SUSTAINED_CLOCK_SPEED_MHZ =
  "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz";
/** MiB. */
export const LABEL_INSTANCE_MEMORY = "karpenter.k8s.aws/instance-memory";
/** Mbit/s, at most. */
export const LABEL_INSTANCE_EBS_BANDWIDTH = "karpenter.k8s.aws/instance-ebs-bandwidth";
/** Mbit/s, baseline. */
export const LABEL_INSTANCE_NETWORK_BANDWIDTH = "karpenter.k8s.aws/instance-network-bandwidth";
/** GB of instance store; absent without one. */
export const LABEL_INSTANCE_LOCAL_NVME = "karpenter.k8s.aws/instance-local-nvme";
/** The most pods that the node takes. */
export const LABEL_INSTANCE_PODS = "karpenter.k8s.aws/instance-pods";
/** Such as `t4`; absent without a GPU. */
export const LABEL_INSTANCE_GPU_NAME = "karpenter.k8s.aws/instance-gpu-name";
/** Such as `nvidia`. */
export const LABEL_INSTANCE_GPU_MANUFACTURER = "karpenter.k8s.aws/instance-gpu-manufacturer";
/** Number of GPUs. */
export const LABEL_INSTANCE_GPU_COUNT = "karpenter.k8s.aws/instance-gpu-count";
/** MiB of one GPU. */
export const LABEL_INSTANCE_GPU_MEMORY = "karpenter.k8s.aws/instance-gpu-memory";
/** Such as `inferentia`; absent without one. */
export const LABEL_INSTANCE_ACCELERATOR_NAME = "karpenter.k8s.aws/instance-accelerator-name";
/** Such as `aws`. */
export const LABEL_INSTANCE_ACCELERATOR_MANUFACTURER =
  "karpenter.k8s.aws/instance-accelerator-manufacturer";
/** Number of accelerators. */
export const LABEL_INSTANCE_ACCELERATOR_COUNT = "karpenter.k8s.aws/instance-accelerator-count";
/** `true` for flex types such as `m7i-flex`. */
export const LABEL_INSTANCE_CAPABILITY_FLEX = "karpenter.k8s.aws/instance-capability-flex";
/** `default` or `dedicated`. */
export const LABEL_INSTANCE_TENANCY = "karpenter.k8s.aws/instance-tenancy";
/**
 * `true` for types that can run Nitro Enclaves. Upstream removed it in v1.15; pools that name it still work
 * here.
 */
export const LABEL_NITRO_SANDBOX = "karpenter.k8s.aws/nitro-sandbox";
/** `default` or `capacity-block`. */
export const LABEL_CAPACITY_RESERVATION_TYPE = "karpenter.k8s.aws/capacity-reservation-type";
/** `true` or `false`. */
export const LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE =
  "karpenter.k8s.aws/capacity-reservation-interruptible";
/** The placement group of the instance. */
export const LABEL_PLACEMENT_GROUP_ID = "karpenter.k8s.aws/placement-group-id";
/** The partition, from 1. */
export const LABEL_PLACEMENT_GROUP_PARTITION = "karpenter.k8s.aws/placement-group-partition";
/** The reservation that the instance was launched into. */
export const LABEL_CAPACITY_RESERVATION_ID = "karpenter.k8s.aws/capacity-reservation-id";

/** The labels that the provider adds to the well-known ones, which users may always use. */
export const AWS_WELL_KNOWN_LABELS: readonly string[] = [
  LABEL_INSTANCE_HYPERVISOR,
  LABEL_INSTANCE_ENCRYPTION_IN_TRANSIT,
  LABEL_INSTANCE_CATEGORY,
  LABEL_INSTANCE_FAMILY,
  LABEL_INSTANCE_GENERATION,
  LABEL_INSTANCE_SIZE,
  LABEL_INSTANCE_CPU,
  LABEL_INSTANCE_CPU_MANUFACTURER,
  LABEL_INSTANCE_CPU_SUSTAINED_CLOCK_SPEED_MHZ,
  LABEL_INSTANCE_MEMORY,
  LABEL_INSTANCE_EBS_BANDWIDTH,
  LABEL_INSTANCE_NETWORK_BANDWIDTH,
  LABEL_INSTANCE_LOCAL_NVME,
  LABEL_INSTANCE_PODS,
  LABEL_INSTANCE_GPU_NAME,
  LABEL_INSTANCE_GPU_MANUFACTURER,
  LABEL_INSTANCE_GPU_COUNT,
  LABEL_INSTANCE_GPU_MEMORY,
  LABEL_INSTANCE_ACCELERATOR_NAME,
  LABEL_INSTANCE_ACCELERATOR_MANUFACTURER,
  LABEL_INSTANCE_ACCELERATOR_COUNT,
  LABEL_INSTANCE_CAPABILITY_FLEX,
  LABEL_INSTANCE_TENANCY,
  LABEL_NITRO_SANDBOX,
  LABEL_CAPACITY_RESERVATION_ID,
  LABEL_CAPACITY_RESERVATION_TYPE,
  LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE,
  LABEL_PLACEMENT_GROUP_ID,
  LABEL_PLACEMENT_GROUP_PARTITION,
  LABEL_TOPOLOGY_ZONE_ID,
];

/** Hash of the class's static fields. A claim with another hash has drifted. */
export const ANNOTATION_EC2NODECLASS_HASH = "karpenter.k8s.aws/ec2nodeclass-hash";
/** Version of the hash's rules. Hashes of different versions are not compared. */
export const ANNOTATION_EC2NODECLASS_HASH_VERSION = "karpenter.k8s.aws/ec2nodeclass-hash-version";
/** Marks a claim whose instance has the tag of the cluster name, which older instances lack. */
export const ANNOTATION_CLUSTER_NAME_TAGGED = "compatibility.karpenter.k8s.aws/cluster-name-tagged";
/** Hash of an AWSNodeTemplate's static fields. */
export const ANNOTATION_NODETEMPLATE_HASH = "karpenter.k8s.aws/nodetemplate-hash";
/** The instance profile that the claim was launched with. */
export const ANNOTATION_INSTANCE_PROFILE = "karpenter.k8s.aws/instance-profile-name";
/** Marks a claim whose instance has the tags with the names of its claim and node. */
export const ANNOTATION_INSTANCE_TAGGED = "karpenter.k8s.aws/tagged";
/** On a class: how claims share the GPUs of its nodes. A number, `memory`, `unlimited` or `disabled`. */
export const ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY = "karpenter.k8s.aws/nvidia-consumable-capacity";
/** Annotations that conversion between v1beta1 and v1 writes, so that nothing is lost on the way back. */
export const ANNOTATION_UBUNTU_COMPATIBILITY = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu";
export const ANNOTATION_ALIAS_VERSION_COMPATIBILITY =
  "compatibility.karpenter.k8s.aws/v1-alias-version";
/** karpenter-ts only: JSON of the v1 fields of a class that v1beta1 does not have. */
export const ANNOTATION_V1_ONLY = "compatibility.karpenter.k8s.aws/v1-only";

/** Keeps a deleted class until no claim uses it. */
export const EC2NODECLASS_TERMINATION_FINALIZER = "karpenter.k8s.aws/termination";
