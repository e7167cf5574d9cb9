/**
 * Converts instances to claims: after a launch, and when instances are listed. Labels describe the launched instance,
 * not what was requested.
 * upstream: pkg/cloudprovider instanceToNodeClaim
 */
import {
  LABEL_CAPACITY_RESERVATION_ID,
  LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE,
  LABEL_CAPACITY_RESERVATION_TYPE,
  LABEL_INSTANCE_TENANCY,
  LABEL_PLACEMENT_GROUP_ID,
  LABEL_PLACEMENT_GROUP_PARTITION,
  LABEL_TOPOLOGY_ZONE_ID,
} from "../../../apis/aws/labels.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  CLUSTER_UID_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  NODEPOOL_LABEL_KEY,
  PROVISIONER_NAME_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { NODE_CLAIM, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { apiVersionOf } from "../../../apis/meta.ts";
import { formatResources, type Resources } from "../../../apis/resources.ts";
import type {
  CapacityType,
  InstanceType,
  Offering,
} from "../../../core/cloudprovider/instance-type.ts";
import type { Instance } from "../api/instances.ts";
import { fromTagList } from "../tags/tags.ts";
import { allocatable } from "./candidates.ts";

/** The result of a launch. */
export interface Launched {
  readonly instanceId: string;
  readonly type: InstanceType;
  readonly zone: string;
  readonly capacityType: CapacityType;
  /** The offering that the instance was launched from. */
  readonly offering: Offering | undefined;
  readonly tenancy: string | undefined;
  readonly placement: { readonly groupId: string; readonly partition?: number } | undefined;
  readonly imageId: string;
  /** The number of EFA interfaces of the instance. */
  readonly efaCount: number;
}

const EFA = "vpc.amazonaws.com/efa";

/** The provider id of an instance: `aws:///us-east-1a/i-0123`. */
function providerId(zone: string, instanceId: string): string {
  return `aws:///${zone}/${instanceId}`;
}

/** The instance id in a provider id. Undefined: it is not an EC2 instance. */
export function instanceIdOf(id: string): string | undefined {
  return /^aws:\/\/\/[^/]*\/(i-[^/]+)$/.exec(id)?.[1];
}

/** Labels that the offering or the launch decides, not the type. */
const FROM_OFFERING = [
  LABEL_TOPOLOGY_ZONE_ID,
  LABEL_CAPACITY_RESERVATION_ID,
  LABEL_CAPACITY_RESERVATION_TYPE,
  LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE,
  LABEL_PLACEMENT_GROUP_ID,
  LABEL_PLACEMENT_GROUP_PARTITION,
];

/** Labels of the type with one value, then those that the offering and the launch decide. */
function launchedLabels(launched: Launched): Record<string, string> {
  const { type, zone, capacityType, tenancy, placement } = launched;
  const labels: Record<string, string> = {};
  for (const key of Object.keys(type.labels)) {
    const values = type.labels[key] ?? [];
    if (values.length === 1) labels[key] = values[0] as string;
  }
  for (const key of FROM_OFFERING) delete labels[key];
  const offering = launched.offering ?? type.offerings.find((one) => one.zone === zone);
  Object.assign(labels, offering?.labels);
  if (LABEL_INSTANCE_TENANCY in type.labels && tenancy !== undefined) {
    labels[LABEL_INSTANCE_TENANCY] = tenancy;
  }
  if (placement !== undefined) {
    labels[LABEL_PLACEMENT_GROUP_ID] = placement.groupId;
    if (placement.partition !== undefined) {
      labels[LABEL_PLACEMENT_GROUP_PARTITION] = String(placement.partition);
    }
  }
  labels[TOPOLOGY_ZONE_LABEL_KEY] = zone;
  labels[CAPACITY_TYPE_LABEL_KEY] = capacityType;
  return labels;
}

/** `claim` with the status and labels of its instance. */
export function launchedClaim(
  claim: NodeClaim,
  launched: Launched,
  annotations: Readonly<Record<string, string>>,
): NodeClaim {
  const { type, zone, instanceId, imageId, efaCount } = launched;
  return {
    ...claim,
    metadata: {
      ...claim.metadata,
      labels: { ...claim.metadata.labels, ...launchedLabels(launched) },
      annotations: { ...claim.metadata.annotations, ...annotations },
    },
    status: {
      ...claim.status,
      providerID: providerId(zone, instanceId),
      imageID: imageId,
      capacity: formatResources(shown(type.capacity, efaCount)),
      allocatable: formatResources(shown(allocatable(type), efaCount)),
    },
  };
}

/** Resources without zeros. EFA counts only the interfaces that the instance has. */
function shown(resources: Resources, efaCount: number): Resources {
  const amounts: Record<string, number> = { ...resources };
  if (EFA in amounts) amounts[EFA] = efaCount;
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== 0));
}

/**
 * A claim without name and capacity, and without labels that are known only with its class. `deletionTimestamp` is set
 * if the instance is being terminated.
 */
export function instanceClaim(instance: Instance, nowText: string): NodeClaim {
  const zone = instance.Placement.AvailabilityZone;
  const tags = fromTagList(instance.Tags);
  const spot =
    instance.SpotInstanceRequestId !== undefined || instance.InstanceLifecycle === "spot";
  // Instances never join open reservations by themselves, so an instance in a reservation was launched into it.
  const reserved = instance.CapacityReservationId;
  const labels: Record<string, string> = {
    [INSTANCE_TYPE_LABEL_KEY]: instance.InstanceType,
    [TOPOLOGY_ZONE_LABEL_KEY]: zone,
    [CAPACITY_TYPE_LABEL_KEY]: spot ? "spot" : reserved === undefined ? "on-demand" : "reserved",
    ...(reserved === undefined ? {} : { [LABEL_CAPACITY_RESERVATION_ID]: reserved }),
  };
  for (const key of [NODEPOOL_LABEL_KEY, PROVISIONER_NAME_LABEL_KEY]) {
    if (tags[key] !== undefined) labels[key] = tags[key];
  }
  const going = ["shutting-down", "terminated"].includes(instance.State.Name);
  return {
    apiVersion: apiVersionOf(NODE_CLAIM),
    kind: NODE_CLAIM.kind,
    metadata: {
      name: "",
      labels,
      ...(tags[CLUSTER_UID_KEY] === undefined
        ? {}
        : { annotations: { [CLUSTER_UID_KEY]: tags[CLUSTER_UID_KEY] } }),
      creationTimestamp: instance.LaunchTime,
      ...(going ? { deletionTimestamp: nowText } : {}),
    },
    spec: { requirements: [], nodeClassRef: { group: "", kind: "", name: "" } },
    status: {
      providerID: providerId(zone, instance.InstanceId),
      imageID: instance.ImageId,
      // The Node's name, unless the image makes the kubelet register under another name.
      ...(instance.PrivateDnsName ? { nodeName: instance.PrivateDnsName } : {}),
    },
  };
}
