/**
 * CreateFleet of type instant: resolve every (template, override) to a pool, order the pools by the
 * allocation strategy, launch from the first that can, and tell which pools could not. A pool that
 * fails is an item of `Errors`, never a failure of the call; a request that is wrong as a whole
 * (no such launch template) is refused.
 */
import type {
  CreateFleetInput,
  CreateFleetOutput,
  Ec2Api,
  FleetError,
  FleetInstance,
  FleetOverride,
  LaunchTemplateAndOverrides,
  LaunchTemplateConfig,
  LaunchTemplateData,
  Tag,
} from "../../providers/aws/api.ts";
import { AwsError } from "../../providers/aws/api.ts";
import { launch, liveIn } from "./instances.ts";
import { findTemplate, resolveVersion } from "./launch-templates.ts";
import { freeAddresses } from "./network.ts";
import { isAllowed } from "./policy.ts";
import { isOffered, spotPool } from "./prices.ts";
import { targetedReservation } from "./reservations.ts";
import type { Answers, AwsState, ImageRecord, SubnetRecord } from "./state.ts";
import { setTags } from "./state.ts";
import { checkTagKeys, tagsFor } from "./tags.ts";

interface Template {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly data: LaunchTemplateData;
  readonly config: LaunchTemplateConfig;
}

/** One (template, override) with what it costs; the thing a fleet launches from. */
interface Pool {
  readonly template: Template;
  readonly override: FleetOverride;
  readonly subnet: SubnetRecord | undefined;
  readonly priceMicroUsd: number;
  readonly depth: number;
  readonly priority: number;
  readonly position: number;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** CreateFleet. */
export function fleetCalls(state: AwsState): Pick<Answers<Ec2Api>, "createFleet"> {
  return { createFleet: (input) => createFleet(state, input) };
}

function createFleet(state: AwsState, input: CreateFleetInput): CreateFleetOutput {
  checkRequest(input);
  const asked = input.TargetCapacitySpecification.DefaultTargetCapacityType ?? "on-demand";
  // Reserved machines are bought like on-demand ones.
  const capacityType = asked === "spot" ? "spot" : "on-demand";
  const templates = input.LaunchTemplateConfigs.map((config) => resolveTemplate(state, config));
  const pools = orderPools(
    templates.flatMap((template) => poolsOf(state, template, capacityType)),
    capacityType,
    strategyOf(input, capacityType),
  );
  const fleetId = `fleet-${state.random.uuid()}`;
  const errors: FleetError[] = [];
  const launched: { readonly pool: Pool; readonly ids: string[] }[] = [];
  let missing = input.TargetCapacitySpecification.TotalTargetCapacity;
  for (const pool of pools) {
    if (missing === 0) break;
    const { ids, refusal } = launchFrom(state, pool, missing, capacityType, fleetId, input);
    if (ids.length > 0) launched.push({ pool, ids });
    if (refusal !== undefined) errors.push(toError(pool, refusal, capacityType));
    missing -= ids.length;
  }
  state.fleets.set(fleetId, {
    id: fleetId,
    createdMs: state.clock.now(),
    instanceIds: launched.flatMap(({ ids }) => ids),
  });
  setTags(state, fleetId, tagsFor(input.TagSpecifications, "fleet"));
  return {
    FleetId: fleetId,
    Instances: launched.map(({ pool, ids }) => toFleetInstance(pool, ids, capacityType)),
    Errors: errors,
  };
}

function checkRequest(input: CreateFleetInput): void {
  if (input.Type !== "instant") {
    throw new AwsError(
      "InvalidParameterValue",
      `Fleet type ${JSON.stringify(input.Type)} is not simulated; use instant`,
    );
  }
  const target = input.TargetCapacitySpecification?.TotalTargetCapacity;
  if (!Number.isInteger(target) || target < 1) {
    throw new AwsError(
      "InvalidParameterValue",
      `TotalTargetCapacity must be a positive integer, not ${JSON.stringify(target)}`,
    );
  }
  const capacityType = input.TargetCapacitySpecification.DefaultTargetCapacityType ?? "on-demand";
  if (!["on-demand", "spot", "capacity-block", "reserved-capacity"].includes(capacityType)) {
    throw new AwsError(
      "InvalidParameterValue",
      `DefaultTargetCapacityType ${JSON.stringify(capacityType)} is not valid`,
    );
  }
  if (input.LaunchTemplateConfigs === undefined || input.LaunchTemplateConfigs.length === 0) {
    throw new AwsError(
      "MissingParameter",
      "The request must contain the parameter LaunchTemplateConfigs",
    );
  }
  for (const specification of input.TagSpecifications ?? []) checkTagKeys(specification.Tags);
}

function resolveTemplate(state: AwsState, config: LaunchTemplateConfig): Template {
  const record = findTemplate(state, config.LaunchTemplateSpecification);
  const { data, number } = resolveVersion(record, config.LaunchTemplateSpecification.Version);
  return { id: record.id, name: record.name, version: number, data, config };
}

const NO_PRICE = Number.MAX_SAFE_INTEGER;

function poolsOf(state: AwsState, template: Template, capacityType: "on-demand" | "spot"): Pool[] {
  return (template.config.Overrides ?? []).map((override, position) => {
    const subnet = state.subnets.get(override.SubnetId);
    const spot =
      capacityType === "spot" && subnet !== undefined
        ? spotPool(state, override.InstanceType, subnet.zone)
        : undefined;
    const onDemand = state.catalogue.facts.get(override.InstanceType)?.onDemandMicroUsd;
    const price = capacityType === "spot" ? spot?.priceMicroUsd : onDemand;
    return {
      template,
      override,
      subnet,
      priceMicroUsd: price ?? NO_PRICE,
      depth: spot?.depth ?? 0,
      priority: override.Priority ?? NO_PRICE,
      position,
    };
  });
}

function strategyOf(input: CreateFleetInput, capacityType: "on-demand" | "spot"): string {
  const options = capacityType === "spot" ? input.SpotOptions : input.OnDemandOptions;
  return options?.AllocationStrategy ?? "lowest-price";
}

const STRATEGIES: Readonly<Record<"on-demand" | "spot", readonly string[]>> = {
  "on-demand": ["lowest-price", "prioritized"],
  spot: [
    "lowest-price",
    "diversified",
    "capacity-optimized",
    "capacity-optimized-prioritized",
    "price-capacity-optimized",
  ],
};

/**
 * The pools in the order the strategy tries them; ties fall by price, type, zone, then position.
 */
function orderPools(
  pools: readonly Pool[],
  capacityType: "on-demand" | "spot",
  strategy: string,
): Pool[] {
  if (!STRATEGIES[capacityType].includes(strategy)) {
    throw new AwsError(
      "InvalidParameterValue",
      `AllocationStrategy ${strategy} is not one of ${STRATEGIES[capacityType].join(", ")}`,
    );
  }
  const rank = rankOf(strategy, pools);
  return [...pools].sort(
    (a, b) =>
      rank(a) - rank(b) ||
      a.priceMicroUsd - b.priceMicroUsd ||
      compareText(a.override.InstanceType, b.override.InstanceType) ||
      compareText(a.subnet?.zone ?? "", b.subnet?.zone ?? "") ||
      a.position - b.position,
  );
}

// AWS does not publish its weighing of price against depth. Here the shallowest third of the pools
// comes last and the rest is ordered by price.
function rankOf(strategy: string, pools: readonly Pool[]): (pool: Pool) => number {
  switch (strategy) {
    case "prioritized":
      return (pool) => pool.priority;
    case "capacity-optimized":
      return (pool) => -pool.depth;
    case "capacity-optimized-prioritized":
      return (pool) => pool.priority;
    case "price-capacity-optimized": {
      const depths = pools.map((pool) => pool.depth).sort((a, b) => a - b);
      const shallow = depths[Math.floor(depths.length / 3)] ?? 0;
      return (pool) => (pool.depth < shallow ? 1 : 0);
    }
    default:
      return () => 0;
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function launchFrom(
  state: AwsState,
  pool: Pool,
  count: number,
  capacityType: "on-demand" | "spot",
  fleetId: string,
  input: CreateFleetInput,
): { readonly ids: string[]; readonly refusal?: Refusal } {
  const ids: string[] = [];
  const checked = checkPool(state, pool, capacityType);
  if ("code" in checked) return { ids, refusal: checked };
  const { image, subnet } = checked;
  const instanceType = pool.override.InstanceType;
  const place = { instanceType, zone: subnet.zone, capacityType };
  const { data } = pool.template;
  const tags = (resourceType: string): Tag[] => [
    ...tagsFor(
      [...(data.TagSpecifications ?? []), ...(input.TagSpecifications ?? [])],
      resourceType,
    ),
  ];
  const order = {
    type: instanceType,
    image,
    subnet,
    capacityType,
    data,
    securityGroupIds: securityGroupsOf(data),
    profileName: data.IamInstanceProfile?.Name,
    fleetId,
    instanceTags: [
      ...tags("instance"),
      { Key: "aws:ec2:fleet-id", Value: fleetId },
      { Key: "aws:ec2launchtemplate:id", Value: pool.template.id },
      { Key: "aws:ec2launchtemplate:version", Value: String(pool.template.version) },
    ],
    volumeTags: tags("volume"),
    interfaceTags: tags("network-interface"),
    spotRequestTags: tags("spot-instances-request"),
  };
  const target = data.CapacityReservationSpecification;
  while (ids.length < count) {
    let capacityReservationId: string | undefined;
    if (target?.CapacityReservationPreference === "capacity-reservations-only") {
      const id = target.CapacityReservationTarget?.CapacityReservationId;
      const found = targetedReservation(state, id, instanceType, subnet.zone);
      if (typeof found === "string") {
        const message = `The requested reservation does not have sufficient compatible and available capacity for this request: ${found}.`;
        return { ids, refusal: { code: "ReservationCapacityExceeded", message } };
      }
      capacityReservationId = found.CapacityReservationId;
    }
    const full = spreadRefusal(state, data, subnet.zone);
    if (full !== undefined) return { ids, refusal: full };
    const lack = capacityReservationId === undefined ? state.faults.lacking(place) : undefined;
    if (lack !== undefined) {
      const usual = noCapacity(instanceType, subnet.zone, capacityType);
      return {
        ids,
        refusal: { code: lack.code ?? usual.code, message: lack.message ?? usual.message },
      };
    }
    const record = launch(state, { ...order, capacityReservationId });
    if (record === undefined) return { ids, refusal: noAddress(subnet) };
    state.faults.launched(place);
    ids.push(record.id);
  }
  return { ids };
}

/** A spread group takes seven machines in a zone. */
function spreadRefusal(
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

function securityGroupsOf(data: LaunchTemplateData): string[] {
  const groups = (data.NetworkInterfaces ?? []).flatMap((item) => item.Groups ?? []);
  return [...new Set(groups.length > 0 ? groups : (data.SecurityGroupIds ?? []))];
}

/** Whether a pool can be launched from at all, with what it resolves to. */
function checkPool(
  state: AwsState,
  pool: Pool,
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
  const refusal = checkSecurity(state, pool.template.data, subnet);
  if (refusal !== undefined) return refusal;
  if (freeAddresses(subnet) <= 0) return noAddress(subnet);
  return { image, subnet };
}

function checkImage(state: AwsState, pool: Pool, arch: string): Refusal | ImageRecord {
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

function noCapacity(type: string, zone: string, capacityType: "on-demand" | "spot"): Refusal {
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

function noAddress(subnet: SubnetRecord): Refusal {
  return {
    code: "InsufficientFreeAddressesInSubnet",
    message: `There are not enough free addresses in subnet '${subnet.id}' to satisfy the requested number of instances.`,
  };
}

function templateAndOverrides(pool: Pool): LaunchTemplateAndOverrides {
  return {
    LaunchTemplateSpecification: {
      LaunchTemplateId: pool.template.id,
      Version: String(pool.template.version),
    },
    Overrides: {
      ...pool.override,
      ...(pool.subnet === undefined ? {} : { AvailabilityZone: pool.subnet.zone }),
    },
  };
}

function toError(pool: Pool, refusal: Refusal, Lifecycle: string): FleetError {
  return {
    ErrorCode: refusal.code,
    ErrorMessage: refusal.message,
    Lifecycle,
    LaunchTemplateAndOverrides: templateAndOverrides(pool),
  };
}

function toFleetInstance(pool: Pool, InstanceIds: string[], Lifecycle: string): FleetInstance {
  return {
    InstanceIds,
    InstanceType: pool.override.InstanceType,
    Lifecycle,
    LaunchTemplateAndOverrides: templateAndOverrides(pool),
  };
}
