/** DescribeInstanceTypes and DescribeInstanceTypeOfferings, answered from the catalogue. */

import { fieldOf } from "../../../base/json.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type { InstanceTypeInfo } from "../../../providers/aws/api/images-and-types.ts";
import type { AvailabilityZone } from "../../../providers/aws/api/network.ts";
import { applyFilters, pageOf } from "../account/filters.ts";
import type { Answers, AwsState } from "../account/state.ts";
import { isOffered } from "./prices.ts";

type TypeCalls = Pick<Answers<Ec2Api>, "describeInstanceTypes" | "describeInstanceTypeOfferings">;

const TYPE_FILTERS: ReadonlySet<string> = new Set([
  "instance-type",
  "bare-metal",
  "burstable-performance-supported",
  "hypervisor",
  "processor-info.supported-architecture",
  "supported-virtualization-type",
  "supported-usage-class",
  "instance-storage-supported",
  "vcpu-info.default-vcpus",
  "memory-info.size-in-mib",
  "network-info.efa-supported",
]);

/** The name of a zone for each location type in a request. */
const LOCATIONS: Readonly<Record<string, (zone: AvailabilityZone) => string>> = {
  region: (zone) => zone.RegionName ?? "",
  "availability-zone": (zone) => zone.ZoneName,
  "availability-zone-id": (zone) => zone.ZoneId,
};

const OFFERING_FILTERS: ReadonlySet<string> = new Set(["instance-type", "location"]);
const TYPE_PAGE = 100;
const OFFERING_PAGE = 1000;

/** The two calls about instance types. */
export function instanceTypeCalls(state: AwsState): TypeCalls {
  return {
    describeInstanceTypes(input) {
      const names = input.InstanceTypes ?? [];
      const infos =
        names.length === 0 ? allTypes(state) : names.map((name) => typeNamed(state, name));
      const kept = applyFilters(infos, input.Filters, TYPE_FILTERS, (info) => ({
        tags: undefined,
        fields: filterFields(info),
      }));
      const page = pageOf(kept, input, { limit: TYPE_PAGE, defaultSize: TYPE_PAGE });
      return { InstanceTypes: page.items, ...page.next };
    },
    describeInstanceTypeOfferings(input) {
      const { LocationType = "region" } = input;
      const locationOf = fieldOf(LOCATIONS, LocationType);
      if (locationOf === undefined) {
        const message = `LocationType ${LocationType} is not one of ${Object.keys(LOCATIONS).join(", ")}`;
        throw new AwsError("InvalidParameterValue", message);
      }
      const offerings = state.catalogue.names.flatMap((InstanceType) => {
        const zones = state.zones.filter((zone) => isOffered(state, InstanceType, zone.ZoneName));
        return [...new Set(zones.map(locationOf))].map((Location) => ({
          ...{ InstanceType, LocationType, Location },
        }));
      });
      const kept = applyFilters(offerings, input.Filters, OFFERING_FILTERS, (offering) => ({
        tags: undefined,
        fields: { "instance-type": offering.InstanceType, location: offering.Location },
      }));
      const page = pageOf(kept, input, { limit: OFFERING_PAGE, defaultSize: OFFERING_PAGE });
      return { InstanceTypeOfferings: page.items, ...page.next };
    },
  };
}

function allTypes(state: AwsState): InstanceTypeInfo[] {
  return state.catalogue.names.map((name) => typeNamed(state, name));
}

function typeNamed(state: AwsState, name: string): InstanceTypeInfo {
  const info = state.catalogue.info(name);
  if (info !== undefined) return info;
  throw new AwsError(
    "InvalidInstanceType",
    `The following supplied instance types do not exist: [${name}]`,
  );
}

function filterFields(
  info: InstanceTypeInfo,
): Record<string, string | readonly string[] | undefined> {
  return {
    "instance-type": info.InstanceType,
    "bare-metal": String(info.BareMetal),
    "burstable-performance-supported": String(info.BurstablePerformanceSupported ?? false),
    hypervisor: info.Hypervisor,
    "processor-info.supported-architecture": info.ProcessorInfo.SupportedArchitectures,
    "supported-virtualization-type": info.SupportedVirtualizationTypes,
    "supported-usage-class": info.SupportedUsageClasses,
    "instance-storage-supported": String(info.InstanceStorageSupported ?? false),
    "vcpu-info.default-vcpus": String(info.VCpuInfo.DefaultVCpus),
    "memory-info.size-in-mib": String(info.MemoryInfo.SizeInMiB),
    "network-info.efa-supported": String(info.NetworkInfo.EfaSupported ?? false),
  };
}
