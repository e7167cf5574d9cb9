/**
 * Labels, annotations and tags of the AWS provider. The names of v1alpha1 are included, because v1alpha5 objects still
 * have them.
 * upstream: provider's pkg/apis/v1/labels.go
 */

/** The name of the EC2NodeClass, as a tag of instances and a label of nodes. */
export const LABEL_NODECLASS = "karpenter.k8s.aws/ec2nodeclass";
/** The zone by AWS's id, such as `usw2-az1`, which is equal in all accounts. */
export const LABEL_TOPOLOGY_ZONE_ID = "topology.k8s.aws/zone-id";

/** The hypervisor: `nitro`, `xen`, or empty for bare metal. */
export const LABEL_INSTANCE_HYPERVISOR = "karpenter.k8s.aws/instance-hypervisor";
/** Whether traffic between instances of this type is encrypted: `true` or `false`. */
export const LABEL_INSTANCE_ENCRYPTION_IN_TRANSIT =
  "karpenter.k8s.aws/instance-encryption-in-transit-supported";
/** The letters at the start of the instance family, before the generation: `c`, `m`, `r`, `inf`. */
export const LABEL_INSTANCE_CATEGORY = "karpenter.k8s.aws/instance-category";
/** The instance family, such as `m5`. */
export const LABEL_INSTANCE_FAMILY = "karpenter.k8s.aws/instance-family";
/** The generation of the family, as a number that `Gt` and `Lt` can compare. */
export const LABEL_INSTANCE_GENERATION = "karpenter.k8s.aws/instance-generation";
/** The size, such as `2xlarge`. */
export const LABEL_INSTANCE_SIZE = "karpenter.k8s.aws/instance-size";
/** Number of vCPUs. */
export const LABEL_INSTANCE_CPU = "karpenter.k8s.aws/instance-cpu";
/** The manufacturer of the CPU: `aws`, `intel` or `amd`. */
export const LABEL_INSTANCE_CPU_MANUFACTURER = "karpenter.k8s.aws/instance-cpu-manufacturer";
/** The sustained clock speed of the CPU in MHz. */
export const LABEL_INSTANCE_CPU_SUSTAINED_CLOCK_SPEED_MHZ =
  "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz";
/** The memory in MiB. */
export const LABEL_INSTANCE_MEMORY = "karpenter.k8s.aws/instance-memory";
/** The maximum bandwidth to EBS volumes in Mbit/s. */
export const LABEL_INSTANCE_EBS_BANDWIDTH = "karpenter.k8s.aws/instance-ebs-bandwidth";
/** The baseline network bandwidth in Mbit/s. */
export const LABEL_INSTANCE_NETWORK_BANDWIDTH = "karpenter.k8s.aws/instance-network-bandwidth";
/** The size of the instance store in GB. Absent: the type has none. */
export const LABEL_INSTANCE_LOCAL_NVME = "karpenter.k8s.aws/instance-local-nvme";
/** The most pods that can run on the node. */
export const LABEL_INSTANCE_PODS = "karpenter.k8s.aws/instance-pods";
/** The GPU model, such as `t4`. Absent: the type has no GPU. */
export const LABEL_INSTANCE_GPU_NAME = "karpenter.k8s.aws/instance-gpu-name";
/** The manufacturer of the GPUs, such as `nvidia`. */
export const LABEL_INSTANCE_GPU_MANUFACTURER = "karpenter.k8s.aws/instance-gpu-manufacturer";
/** Number of GPUs. */
export const LABEL_INSTANCE_GPU_COUNT = "karpenter.k8s.aws/instance-gpu-count";
/** The memory of one GPU in MiB. */
export const LABEL_INSTANCE_GPU_MEMORY = "karpenter.k8s.aws/instance-gpu-memory";
/** The accelerator model, such as `inferentia`. Absent: the type has no accelerator. */
export const LABEL_INSTANCE_ACCELERATOR_NAME = "karpenter.k8s.aws/instance-accelerator-name";
/** The manufacturer of the accelerators, such as `aws`. */
export const LABEL_INSTANCE_ACCELERATOR_MANUFACTURER =
  "karpenter.k8s.aws/instance-accelerator-manufacturer";
/** Number of accelerators. */
export const LABEL_INSTANCE_ACCELERATOR_COUNT = "karpenter.k8s.aws/instance-accelerator-count";
/** `true` for flex types such as `m7i-flex`. */
export const LABEL_INSTANCE_CAPABILITY_FLEX = "karpenter.k8s.aws/instance-capability-flex";
/** The tenancy of the instance: `default` or `dedicated`. */
export const LABEL_INSTANCE_TENANCY = "karpenter.k8s.aws/instance-tenancy";
/**
 * `true` for types that can run Nitro Enclaves. Upstream removed it in v1.15; pools that name it still work
 * here.
 */
export const LABEL_NITRO_SANDBOX = "karpenter.k8s.aws/nitro-sandbox";
/** The kind of the capacity reservation: `default` or `capacity-block`. */
export const LABEL_CAPACITY_RESERVATION_TYPE = "karpenter.k8s.aws/capacity-reservation-type";
/** Whether AWS may take the reservation back: `true` or `false`. */
export const LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE =
  "karpenter.k8s.aws/capacity-reservation-interruptible";
/** The placement group of the instance. */
export const LABEL_PLACEMENT_GROUP_ID = "karpenter.k8s.aws/placement-group-id";
/** The number of the partition in the placement group, from 1. */
export const LABEL_PLACEMENT_GROUP_PARTITION = "karpenter.k8s.aws/placement-group-partition";
/** The id of the capacity reservation that the instance was launched into. */
export const LABEL_CAPACITY_RESERVATION_ID = "karpenter.k8s.aws/capacity-reservation-id";

/** The labels that the provider adds to the well-known ones. Users may use them in all pools and claims. */
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

/** Hash of the class's fields that cause static drift. A claim with another hash has drifted. */
export const ANNOTATION_EC2NODECLASS_HASH = "karpenter.k8s.aws/ec2nodeclass-hash";
/** Version of the way in which the hash is computed. Hashes of different versions are not compared. */
export const ANNOTATION_EC2NODECLASS_HASH_VERSION = "karpenter.k8s.aws/ec2nodeclass-hash-version";
/** Marks a claim whose instance has the tag of the cluster name, which older instances lack. */
export const ANNOTATION_CLUSTER_NAME_TAGGED = "compatibility.karpenter.k8s.aws/cluster-name-tagged";
/** Hash of the fields of an AWSNodeTemplate that cause static drift. */
export const ANNOTATION_NODETEMPLATE_HASH = "karpenter.k8s.aws/nodetemplate-hash";
/** The instance profile that the claim was launched with. */
export const ANNOTATION_INSTANCE_PROFILE = "karpenter.k8s.aws/instance-profile-name";
/** Marks a claim whose instance has the tags with the names of its claim and node. */
export const ANNOTATION_INSTANCE_TAGGED = "karpenter.k8s.aws/tagged";
/**
 * Annotation on a class: how ResourceClaims share the GPUs of its nodes. A number, `memory`, `unlimited` or `disabled`.
 */
export const ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY = "karpenter.k8s.aws/nvidia-consumable-capacity";
/**
 * Annotations with values that v1 or v1beta1 has no field for. The conversion writes them, so that converting back
 * restores the values.
 */
export const ANNOTATION_UBUNTU_COMPATIBILITY = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu";
export const ANNOTATION_ALIAS_VERSION_COMPATIBILITY =
  "compatibility.karpenter.k8s.aws/v1-alias-version";
/** JSON of the v1 fields of a class that v1beta1 does not have; karpenter-ts only. */
export const ANNOTATION_V1_ONLY = "compatibility.karpenter.k8s.aws/v1-only";

/** Finalizer that keeps a deleted class until no claim uses it. */
export const EC2NODECLASS_TERMINATION_FINALIZER = "karpenter.k8s.aws/termination";
