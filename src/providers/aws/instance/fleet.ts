/**
 * The input of CreateFleet for a launch, and the meaning of its answer. Pure. Each launch template is one
 * configuration, each type and zone one override.
 * upstream: pkg/providers/instance
 */

import type { CapacityType } from "../../../core/cloudprovider/instance-type.ts";
import type {
  CreateFleetInput,
  FleetCapacityType,
  FleetError,
  FleetOverride,
  LaunchTemplateConfig,
} from "../api/launches.ts";
import type { Subnet } from "../api/network.ts";
import { describeRefusal } from "../errors.ts";
import { type Tags, toTagList } from "../tags/tags.ts";
import type { LaunchCandidate } from "./candidates.ts";

/** Types that share a launch template. */
export interface TemplateGroup {
  readonly templateName: string;
  /** The image's id. Absent: the class names its own launch template, which defines the image. */
  readonly imageId: string | undefined;
  readonly types: readonly LaunchCandidate[];
  /** The reservation that the launch template targets. */
  readonly reservation?: ReservationTarget | undefined;
}

/** The capacity reservation that a fleet launches into. */
export interface ReservationTarget {
  readonly id: string;
  /** The kind of reservation: `default`, `capacity-block` or `interruptible`. */
  readonly kind: string;
}

/** One launch: templates, subnets and tags. */
export interface FleetRequest {
  readonly capacityType: CapacityType;
  readonly groups: readonly TemplateGroup[];
  readonly subnets: ReadonlyMap<string, Subnet>;
  readonly tags: Tags;
  readonly context: string | undefined;
  /** Whether a NodeOverlay changed prices. EC2 does not know these, so the overrides get priorities. */
  readonly pricesAreOverlaid: boolean;
}

/** The CreateFleet input for a launch. Prices of a NodeOverlay select the prioritized strategies. */
export function fleetInput(request: FleetRequest): CreateFleetInput {
  const { capacityType, context, pricesAreOverlaid } = request;
  const tags = toTagList(request.tags);
  const kind = request.groups[0]?.reservation?.kind;
  return {
    Type: "instant",
    ...(context === undefined ? {} : { Context: context }),
    LaunchTemplateConfigs: request.groups.map((group) => config(group, request)),
    TargetCapacitySpecification: {
      TotalTargetCapacity: 1,
      DefaultTargetCapacityType: capacityTypeOf(capacityType, kind),
    },
    ...optionsOf(capacityType, kind, pricesAreOverlaid),
    TagSpecifications: ["instance", "volume", "fleet"].map((ResourceType) => ({
      ResourceType,
      Tags: tags,
    })),
  };
}

/** Ordinary reservations are bought as on-demand: only the launch template names the reservation. */
function capacityTypeOf(capacityType: CapacityType, kind: string | undefined): FleetCapacityType {
  if (capacityType !== "reserved") return capacityType;
  if (kind === "capacity-block") return "capacity-block";
  return kind === "interruptible" ? "reserved-capacity" : "on-demand";
}

function optionsOf(
  capacityType: CapacityType,
  kind: string | undefined,
  pricesAreOverlaid: boolean,
): Partial<CreateFleetInput> {
  if (capacityType === "spot") {
    const AllocationStrategy = pricesAreOverlaid
      ? "capacity-optimized-prioritized"
      : "price-capacity-optimized";
    return { SpotOptions: { AllocationStrategy } };
  }
  if (kind === "capacity-block") return {};
  if (kind === "interruptible") {
    const ReservationTypes = ["interruptible-capacity-reservation"];
    return { ReservedCapacityOptions: { ReservationTypes } };
  }
  const AllocationStrategy = pricesAreOverlaid ? "prioritized" : "lowest-price";
  return { OnDemandOptions: { AllocationStrategy } };
}

function config(
  { templateName, imageId, types }: TemplateGroup,
  { subnets, pricesAreOverlaid }: Pick<FleetRequest, "subnets" | "pricesAreOverlaid">,
): LaunchTemplateConfig {
  const Overrides: FleetOverride[] = [];
  for (const { type, offerings } of types) {
    for (const { zone, priceMicroUsd } of offerings) {
      const subnet = subnets.get(zone);
      if (subnet === undefined) continue;
      Overrides.push({
        InstanceType: type.name,
        SubnetId: subnet.SubnetId,
        AvailabilityZone: zone,
        ...(imageId === undefined ? {} : { ImageId: imageId }),
        ...(pricesAreOverlaid ? { Priority: priceMicroUsd } : {}),
      });
    }
  }
  return {
    LaunchTemplateSpecification: { LaunchTemplateName: templateName, Version: "$Latest" },
    Overrides,
  };
}

/** Each error once as `code: message`, in the order of first appearance. */
export function describeFleetErrors(errors: readonly FleetError[]): string {
  const texts = errors.map((one) => describeRefusal(one.ErrorCode, one.ErrorMessage));
  return [...new Set(texts)].join("; ");
}
