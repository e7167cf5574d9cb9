/**
 * The CreateFleet call of a launch, and what its answer means. Pure. One configuration a launch template,
 * one override a type and zone. upstream: pkg/providers/instance (spec: upstream-aws 5.3)
 */
import type {
  CreateFleetInput,
  FleetError,
  FleetOverride,
  LaunchTemplateConfig,
  Subnet,
} from "../api.ts";
import { type Tags, toTagList } from "../tags/tags.ts";
import type { Candidate } from "./candidates.ts";

/** Types that share a launch template. */
export interface TemplateGroup {
  readonly templateName: string;
  /** Absent for an unmanaged template, which has its own. */
  readonly imageId: string | undefined;
  readonly types: readonly Candidate[];
}

export interface FleetRequest {
  readonly capacityType: "on-demand" | "spot";
  readonly groups: readonly TemplateGroup[];
  readonly subnets: ReadonlyMap<string, Subnet>;
  readonly tags: Tags;
  readonly context: string | undefined;
}

export function fleetInput(request: FleetRequest): CreateFleetInput {
  const { capacityType, context } = request;
  const tags = toTagList(request.tags);
  const options =
    capacityType === "spot"
      ? { SpotOptions: { AllocationStrategy: "price-capacity-optimized" } }
      : { OnDemandOptions: { AllocationStrategy: "lowest-price" } };
  return {
    Type: "instant",
    ...(context === undefined ? {} : { Context: context }),
    LaunchTemplateConfigs: request.groups.map((group) => config(group, request.subnets)),
    TargetCapacitySpecification: {
      TotalTargetCapacity: 1,
      DefaultTargetCapacityType: capacityType,
    },
    ...options,
    TagSpecifications: ["instance", "volume", "fleet"].map((ResourceType) => ({
      ResourceType,
      Tags: tags,
    })),
  };
}

function config(
  { templateName, imageId, types }: TemplateGroup,
  subnets: ReadonlyMap<string, Subnet>,
): LaunchTemplateConfig {
  const Overrides: FleetOverride[] = [];
  for (const { type, offerings } of types) {
    for (const { zone } of offerings) {
      const subnet = subnets.get(zone);
      if (subnet === undefined) continue;
      Overrides.push({
        InstanceType: type.name,
        SubnetId: subnet.SubnetId,
        AvailabilityZone: zone,
        ...(imageId === undefined ? {} : { ImageId: imageId }),
      });
    }
  }
  return {
    LaunchTemplateSpecification: { LaunchTemplateName: templateName, Version: "$Latest" },
    Overrides,
  };
}

/** `code: message`, each once, in order of first appearance. */
export function describeFleetErrors(errors: readonly FleetError[]): string {
  const texts = errors.map(({ ErrorCode, ErrorMessage }) => `${ErrorCode}: ${ErrorMessage}`);
  return [...new Set(texts)].join("; ");
}
