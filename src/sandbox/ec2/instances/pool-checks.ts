/**
 * Whether a fleet can launch from a pool, and if not, why. The checks: permission, subnet, type and zone,
 * image, security groups and instance profile, volumes, free addresses, spread placement groups. Each refusal
 * has EC2's code and text.
 */
import type {
  FleetOverride,
  LaunchTemplateConfig,
  LaunchTemplateData,
} from "../../../providers/aws/api/launches.ts";
import { isAllowed } from "../account/policy.ts";
import type { AwsState, ImageRecord, SubnetRecord } from "../account/state.ts";
import { isOffered } from "../market/prices.ts";
import { liveIn, mappedDevices } from "./instances.ts";
import { freeAddresses } from "./network.ts";
import { volumeRefusal } from "./volume-checks.ts";

/** The version of a launch template that the fleet uses. */
export interface Template {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly data: LaunchTemplateData;
  readonly config: LaunchTemplateConfig;
}

/** A launch template with one override and its price. */
export interface CapacityPool {
  readonly template: Template;
  readonly override: FleetOverride;
  readonly subnet: SubnetRecord | undefined;
  readonly priceMicroUsd: number;
  readonly depth: number;
  readonly priority: number;
  readonly position: number;
}

/** An error of EC2: code and message. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** Checks whether a pool can launch, and finds its image and its subnet. */
export function checkPool(
  state: AwsState,
  pool: CapacityPool,
  capacityType: "on-demand" | "spot",
): Refusal | { readonly image: ImageRecord; readonly subnet: SubnetRecord } {
  const type = pool.override.InstanceType;
  const { subnet, template } = pool;
  const allowed = isAllowed(state.policy, {
    action: "ec2:RunInstances",
    resource: `arn:aws:ec2:${state.region}:${state.accountId}:launch-template/${template.id}`,
    tags: state.tags.get(template.id),
  });
  if (!allowed) {
    return {
      code: "UnauthorizedOperation",
      message: "You are not authorized to perform this operation.",
    };
  }
  if (subnet === undefined) {
    return {
      code: "InvalidSubnetID.NotFound",
      message: `The subnet ID '${pool.override.SubnetId}' does not exist`,
    };
  }
  const facts = state.catalogue.facts.get(type);
  if (facts === undefined) {
    return {
      code: "InvalidParameterValue",
      message: `Invalid value '${type}' for InstanceType.`,
    };
  }
  const zone = pool.override.AvailabilityZone;
  if (zone !== undefined && zone !== subnet.zone) {
    return {
      code: "InvalidParameterValue",
      message: `The availability zone '${zone}' is not the zone of subnet '${subnet.id}' (${subnet.zone})`,
    };
  }
  if (!isOffered(state, type, subnet.zone) || !facts.usageClasses.includes(capacityType)) {
    return {
      code: "Unsupported",
      message: `Your requested instance type (${type}) is not supported in your requested Availability Zone (${subnet.zone}).`,
    };
  }
  const image = checkImage(state, pool, facts.arch === "arm64" ? "arm64" : "x86_64");
  if ("code" in image) return image;
  const { data } = template;
  const refusal =
    checkSecurity(state, data, subnet) ??
    volumeRefusal(mappedDevices(image.blockDevices, data.BlockDeviceMappings));
  if (refusal !== undefined) return refusal;
  if (freeAddresses(subnet) <= 0) return noAddress(subnet);
  return { image, subnet };
}

function checkImage(state: AwsState, pool: CapacityPool, arch: string): Refusal | ImageRecord {
  const imageId = pool.override.ImageId ?? pool.template.data.ImageId;
  if (imageId === undefined) {
    return { code: "MissingParameter", message: "The request must contain the parameter ImageId" };
  }
  const record = state.images.get(imageId);
  if (record === undefined) {
    return {
      code: "InvalidAMIID.NotFound",
      message: `The image id '[${imageId}]' does not exist`,
    };
  }
  if (record.image.Architecture !== arch) {
    return {
      code: "InvalidParameterValue",
      message: `The architecture '${arch}' of the specified instance type does not match the architecture '${record.image.Architecture}' of the specified AMI. Specify an instance type and an AMI that have matching architectures, and try again.`,
    };
  }
  return record;
}

function checkSecurity(
  state: AwsState,
  data: LaunchTemplateData,
  subnet: SubnetRecord,
): Refusal | undefined {
  for (const id of securityGroupsOf(data)) {
    const group = state.securityGroups.get(id);
    if (group === undefined) {
      return {
        code: "InvalidGroup.NotFound",
        message: `The security group '${id}' does not exist`,
      };
    }
    if (group.vpcId !== subnet.vpcId) {
      return {
        code: "InvalidParameter",
        message: `Security group ${id} and subnet ${subnet.id} belong to different networks.`,
      };
    }
  }
  const name = data.IamInstanceProfile?.Name;
  if (name === undefined) return undefined;
  const profile = state.profiles.get(name);
  if (profile === undefined) {
    return {
      code: "InvalidParameterValue",
      message: `Value (${name}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name`,
    };
  }
  if (profile.role === undefined) {
    return {
      code: "InvalidParameterValue",
      message: `IAM Instance Profile "arn:aws:iam::${state.accountId}:instance-profile${profile.path}${name}" has no associated IAM Roles`,
    };
  }
  return undefined;
}

/** The error for a pool without capacity, with EC2's code and text. */
export function noCapacity(
  type: string,
  zone: string,
  capacityType: "on-demand" | "spot",
): Refusal {
  return capacityType === "spot"
    ? {
        code: "UnfulfillableCapacity",
        message:
          "Unable to fulfill capacity due to your request configuration. Please adjust your request and try again.",
      }
    : {
        code: "InsufficientInstanceCapacity",
        message: `We currently do not have sufficient ${type} capacity in the Availability Zone you requested (${zone}). Our system will be working on provisioning additional capacity.`,
      };
}

/** The error for a subnet without a free address. */
export function noAddress(subnet: SubnetRecord): Refusal {
  return {
    code: "InsufficientFreeAddressesInSubnet",
    message: `There are not enough free addresses in subnet '${subnet.id}' to satisfy the requested number of instances.`,
  };
}

/**
 * The error for a spread placement group that has seven instances in the zone, which is the limit. Undefined: there is
 * room.
 */
export function spreadRefusal(
  state: AwsState,
  { Placement }: LaunchTemplateData,
  zone: string,
): Refusal | undefined {
  const group = state.placementGroups.get(Placement?.GroupId ?? "");
  if (group?.Strategy !== "spread") return undefined;
  if (liveIn(state, group.GroupId).filter((one) => one.zone === zone).length < 7) return undefined;
  const message = `We currently do not have sufficient capacity: you have reached the limit of instances in this spread placement group in ${zone}.`;
  return { code: "InsufficientInstanceCapacity", message };
}

/** Ids of the security groups, from the network interfaces or from the template itself. */
export function securityGroupsOf(data: LaunchTemplateData): string[] {
  const groups = (data.NetworkInterfaces ?? []).flatMap((item) => item.Groups ?? []);
  return [...new Set(groups.length > 0 ? groups : (data.SecurityGroupIds ?? []))];
}
