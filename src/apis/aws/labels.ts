/**
 * Labels, annotations and tags of the AWS provider. upstream: provider's pkg/apis/v1/labels.go, and the
 * v1alpha1 names that alpha objects still carry.
 */

export const LABEL_NODECLASS = "karpenter.k8s.aws/ec2nodeclass";
export const LABEL_TOPOLOGY_ZONE_ID = "topology.k8s.aws/zone-id";

export const LABEL_INSTANCE_HYPERVISOR = "karpenter.k8s.aws/instance-hypervisor";
export const LABEL_INSTANCE_ENCRYPTION_IN_TRANSIT =
  "karpenter.k8s.aws/instance-encryption-in-transit-supported";
export const LABEL_INSTANCE_CATEGORY = "karpenter.k8s.aws/instance-category";
export const LABEL_INSTANCE_FAMILY = "karpenter.k8s.aws/instance-family";
export const LABEL_INSTANCE_GENERATION = "karpenter.k8s.aws/instance-generation";
export const LABEL_INSTANCE_SIZE = "karpenter.k8s.aws/instance-size";
export const LABEL_INSTANCE_CPU = "karpenter.k8s.aws/instance-cpu";
export const LABEL_INSTANCE_CPU_MANUFACTURER = "karpenter.k8s.aws/instance-cpu-manufacturer";
export const LABEL_INSTANCE_CPU_SUSTAINED_CLOCK_SPEED_MHZ =
  "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz";
export const LABEL_INSTANCE_MEMORY = "karpenter.k8s.aws/instance-memory";
export const LABEL_INSTANCE_EBS_BANDWIDTH = "karpenter.k8s.aws/instance-ebs-bandwidth";
export const LABEL_INSTANCE_NETWORK_BANDWIDTH = "karpenter.k8s.aws/instance-network-bandwidth";
export const LABEL_INSTANCE_LOCAL_NVME = "karpenter.k8s.aws/instance-local-nvme";
export const LABEL_INSTANCE_PODS = "karpenter.k8s.aws/instance-pods";
export const LABEL_INSTANCE_GPU_NAME = "karpenter.k8s.aws/instance-gpu-name";
export const LABEL_INSTANCE_GPU_MANUFACTURER = "karpenter.k8s.aws/instance-gpu-manufacturer";
export const LABEL_INSTANCE_GPU_COUNT = "karpenter.k8s.aws/instance-gpu-count";
export const LABEL_INSTANCE_GPU_MEMORY = "karpenter.k8s.aws/instance-gpu-memory";
export const LABEL_INSTANCE_ACCELERATOR_NAME = "karpenter.k8s.aws/instance-accelerator-name";
export const LABEL_INSTANCE_ACCELERATOR_MANUFACTURER =
  "karpenter.k8s.aws/instance-accelerator-manufacturer";
export const LABEL_INSTANCE_ACCELERATOR_COUNT = "karpenter.k8s.aws/instance-accelerator-count";
export const LABEL_INSTANCE_CAPABILITY_FLEX = "karpenter.k8s.aws/instance-capability-flex";
export const LABEL_INSTANCE_TENANCY = "karpenter.k8s.aws/instance-tenancy";
export const LABEL_NITRO_SANDBOX = "karpenter.k8s.aws/nitro-sandbox";
export const LABEL_CAPACITY_RESERVATION_TYPE = "karpenter.k8s.aws/capacity-reservation-type";
export const LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE =
  "karpenter.k8s.aws/capacity-reservation-interruptible";
export const LABEL_PLACEMENT_GROUP_ID = "karpenter.k8s.aws/placement-group-id";
export const LABEL_PLACEMENT_GROUP_PARTITION = "karpenter.k8s.aws/placement-group-partition";
export const LABEL_CAPACITY_RESERVATION_ID = "karpenter.k8s.aws/capacity-reservation-id";

/** What the provider adds to the labels that are never restricted. */
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

export const ANNOTATION_EC2NODECLASS_HASH = "karpenter.k8s.aws/ec2nodeclass-hash";
export const ANNOTATION_EC2NODECLASS_HASH_VERSION = "karpenter.k8s.aws/ec2nodeclass-hash-version";
export const ANNOTATION_NODETEMPLATE_HASH = "karpenter.k8s.aws/nodetemplate-hash";
export const ANNOTATION_INSTANCE_PROFILE = "karpenter.k8s.aws/instance-profile-name";
export const ANNOTATION_INSTANCE_TAGGED = "karpenter.k8s.aws/tagged";
/** Conversion between v1beta1 and v1 (spec: generations 9). */
export const ANNOTATION_UBUNTU_COMPATIBILITY = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu";
export const ANNOTATION_ALIAS_VERSION_COMPATIBILITY =
  "compatibility.karpenter.k8s.aws/v1-alias-version";
/** Our own: JSON of the v1 fields of a class that v1beta1 has no place for. */
export const ANNOTATION_V1_ONLY = "compatibility.karpenter.k8s.aws/v1-only";

export const EC2NODECLASS_TERMINATION_FINALIZER = "karpenter.k8s.aws/termination";
