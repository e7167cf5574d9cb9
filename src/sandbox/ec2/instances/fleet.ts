/**
 * CreateFleet of type `instant`. Each pair of template and override is a pool. The allocation strategy orders
 * the pools, and the fleet launches from the first pool that can. A pool that fails is listed in `Errors`;
 * the call itself still succeeds. Only a request that is wrong as a whole, such as one with a missing launch
 * template, is refused.
 */
import { compareText } from "../../../base/text-order.ts";
import type { Tag } from "../../../providers/aws/api/call.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type {
  CreateFleetInput,
  CreateFleetOutput,
  FleetError,
  FleetInstance,
  LaunchTemplateAndOverrides,
  LaunchTemplateConfig,
} from "../../../providers/aws/api/launches.ts";
import type { Answers, AwsState } from "../account/state.ts";
import { setTags } from "../account/state.ts";
import { checkTagKeys, tagsFor } from "../account/tags.ts";
import { spotPool } from "../market/prices.ts";
import { quotaRefusal } from "../market/quotas.ts";
import { targetedReservation } from "../market/reservations.ts";
import { launch } from "./instances.ts";
import { findTemplate, resolveVersion } from "./launch-templates.ts";
import {
  type CapacityPool,
  checkPool,
  noAddress,
  noCapacity,
  type Refusal,
  securityGroupsOf,
  spreadRefusal,
  type Template,
} from "./pool-checks.ts";

/** The simulated EC2 call CreateFleet. */
export function fleetCalls(state: AwsState): Pick<Answers<Ec2Api>, "createFleet"> {
  return { createFleet: (input) => createFleet(state, input) };
}

function createFleet(state: AwsState, input: CreateFleetInput): CreateFleetOutput {
  checkRequest(input);
  const asked = input.TargetCapacitySpecification.DefaultTargetCapacityType ?? "on-demand";
  // For an instance in a reservation, the capacity type of prices is on-demand.
  const capacityType = asked === "spot" ? "spot" : "on-demand";
  const templates = input.LaunchTemplateConfigs.map((config) => resolveTemplate(state, config));
  const pools = orderPools(
    templates.flatMap((template) => poolsOf(state, template, capacityType)),
    capacityType,
    strategyOf(input, capacityType),
  );
  const fleetId = `fleet-${state.random.uuid()}`;
  const errors: FleetError[] = [];
  const launched: { readonly pool: CapacityPool; readonly ids: string[] }[] = [];
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

function poolsOf(
  state: AwsState,
  template: Template,
  capacityType: "on-demand" | "spot",
): CapacityPool[] {
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

/** The pools in the order of the strategy. Equal ones are ordered by price, type, zone, then position. */
function orderPools(
  pools: readonly CapacityPool[],
  capacityType: "on-demand" | "spot",
  strategy: string,
): CapacityPool[] {
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

// AWS does not publish how it weighs price against depth. Here the shallowest third of the pools is last, and
// the other pools are ordered by price.
function rankOf(strategy: string, pools: readonly CapacityPool[]): (pool: CapacityPool) => number {
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

function launchFrom(
  state: AwsState,
  pool: CapacityPool,
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
    const quota = capacityReservationId === undefined ? quotaRefusal(state, place) : undefined;
    const full = quota ?? spreadRefusal(state, data, subnet.zone);
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

function templateAndOverrides(pool: CapacityPool): LaunchTemplateAndOverrides {
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

function toError(pool: CapacityPool, refusal: Refusal, Lifecycle: string): FleetError {
  return {
    ErrorCode: refusal.code,
    ErrorMessage: refusal.message,
    Lifecycle,
    LaunchTemplateAndOverrides: templateAndOverrides(pool),
  };
}

function toFleetInstance(
  pool: CapacityPool,
  InstanceIds: string[],
  Lifecycle: string,
): FleetInstance {
  return {
    InstanceIds,
    InstanceType: pool.override.InstanceType,
    Lifecycle,
    LaunchTemplateAndOverrides: templateAndOverrides(pool),
  };
}
