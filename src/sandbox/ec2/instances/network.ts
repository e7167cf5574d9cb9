/** Subnets, security groups and zones, and the addresses that instances take from a subnet. */

import { AwsError } from "../../../providers/aws/api/call.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type { SecurityGroup, Subnet } from "../../../providers/aws/api/network.ts";
import { applyFilters, pageOf } from "../account/filters.ts";
import type { Answers, AwsState, SecurityGroupRecord, SubnetRecord } from "../account/state.ts";
import { tagsOf } from "../account/state.ts";

type NetworkCalls = Pick<
  Answers<Ec2Api>,
  "describeSubnets" | "describeSecurityGroups" | "describeAvailabilityZones"
>;

const SUBNET_FILTERS: ReadonlySet<string> = new Set([
  "subnet-id",
  "vpc-id",
  "availability-zone",
  "availabilityZone",
  "availability-zone-id",
  "state",
  "cidr-block",
  "map-public-ip-on-launch",
  "owner-id",
]);

const SECURITY_GROUP_FILTERS: ReadonlySet<string> = new Set([
  "group-id",
  "group-name",
  "vpc-id",
  "description",
  "owner-id",
]);

const ZONE_FILTERS: ReadonlySet<string> = new Set([
  "zone-name",
  "zone-id",
  "zone-type",
  "region-name",
  "state",
]);

/** The network's describe calls. */
export function networkCalls(state: AwsState): NetworkCalls {
  return {
    describeSubnets(input) {
      const wanted = pick(state.subnets, input.SubnetIds, "InvalidSubnetID.NotFound", "subnet ID");
      const kept = applyFilters(wanted, input.Filters, SUBNET_FILTERS, (subnet) => ({
        tags: state.tags.get(subnet.id),
        fields: {
          "subnet-id": subnet.id,
          "vpc-id": subnet.vpcId,
          "availability-zone": subnet.zone,
          availabilityZone: subnet.zone,
          "availability-zone-id": subnet.zoneId,
          state: "available",
          "cidr-block": subnet.cidr,
          "map-public-ip-on-launch": String(subnet.isPublic),
          "owner-id": state.accountId,
        },
      }));
      const page = pageOf(kept, input, { limit: 1000 });
      return { Subnets: page.items.map((subnet) => toSubnet(state, subnet)), ...page.next };
    },
    describeSecurityGroups(input) {
      const code = "InvalidGroup.NotFound";
      const wanted = pick(state.securityGroups, input.GroupIds, code, "security group");
      const kept = applyFilters(wanted, input.Filters, SECURITY_GROUP_FILTERS, (group) => ({
        tags: state.tags.get(group.id),
        fields: {
          "group-id": group.id,
          "group-name": group.name,
          "vpc-id": group.vpcId,
          description: group.description,
          "owner-id": state.accountId,
        },
      }));
      const page = pageOf(kept, input, { limit: 1000 });
      return { SecurityGroups: page.items.map((group) => toGroup(state, group)), ...page.next };
    },
    describeAvailabilityZones(input) {
      const kept = applyFilters(state.zones, input.Filters, ZONE_FILTERS, (zone) => ({
        tags: undefined,
        fields: {
          "zone-name": zone.ZoneName,
          "zone-id": zone.ZoneId,
          "zone-type": zone.ZoneType,
          "region-name": zone.RegionName,
          state: zone.State,
        },
      }));
      return { AvailabilityZones: kept };
    },
  };
}

/** The records with the given ids, or all. Throws an error with `code` for an unknown id. */
export function pick<T>(
  table: ReadonlyMap<string, T>,
  ids: readonly string[] | undefined,
  code: string,
  noun: string,
): T[] {
  if (ids === undefined || ids.length === 0) return [...table.values()];
  const missing = ids.filter((id) => !table.has(id));
  if (missing.length > 0) {
    throw new AwsError(code, `The ${noun} '${missing.join(", ")}' does not exist`);
  }
  // Returns each record once, in the order of the table and not of the request.
  const wanted = new Set(ids);
  return [...table].filter(([id]) => wanted.has(id)).map(([, record]) => record);
}

function toSubnet(state: AwsState, subnet: SubnetRecord): Subnet {
  return {
    SubnetId: subnet.id,
    VpcId: subnet.vpcId,
    AvailabilityZone: subnet.zone,
    AvailabilityZoneId: subnet.zoneId,
    AvailableIpAddressCount: freeAddresses(subnet),
    MapPublicIpOnLaunch: subnet.isPublic,
    CidrBlock: subnet.cidr,
    State: "available",
    OwnerId: state.accountId,
    Tags: tagsOf(state, subnet.id),
  };
}

function toGroup(state: AwsState, group: SecurityGroupRecord): SecurityGroup {
  return {
    GroupId: group.id,
    GroupName: group.name,
    VpcId: group.vpcId,
    Description: group.description,
    OwnerId: state.accountId,
    Tags: tagsOf(state, group.id),
  };
}

/** EC2 reserves the first four addresses and the last one of each subnet. */
const FIRST_USABLE = 4;
const RESERVED = 5;

/** The number of addresses that are still free. */
export function freeAddresses(subnet: SubnetRecord): number {
  return subnet.freeOverride ?? subnet.size - RESERVED - subnet.used.size;
}

/** Takes the next free address. Undefined if the subnet is full. */
export function takeAddress(
  subnet: SubnetRecord,
): { readonly offset: number; readonly ip: string } | undefined {
  if (freeAddresses(subnet) <= 0) return undefined;
  const usable = subnet.size - RESERVED;
  for (let tried = 0; tried < usable; tried++) {
    const offset = FIRST_USABLE + ((subnet.nextOffset - FIRST_USABLE + tried) % usable);
    if (subnet.used.has(offset)) continue;
    subnet.used.add(offset);
    subnet.nextOffset = offset + 1;
    if (subnet.freeOverride !== undefined) subnet.freeOverride--;
    return { offset, ip: dotted(subnet.firstAddress + offset) };
  }
  return undefined;
}

/** Makes an address free again. */
export function releaseAddress(subnet: SubnetRecord, offset: number): void {
  if (!subnet.used.delete(offset)) return;
  if (subnet.freeOverride !== undefined) subnet.freeOverride++;
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}

/** Parses a CIDR such as `10.0.32.0/19`. */
export function parseCidr(cidr: string): { readonly firstAddress: number; readonly size: number } {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr);
  if (match === null) {
    throw new AwsError("InvalidParameterValue", `Value (${cidr}) for cidrBlock is invalid.`);
  }
  const [a = 0, b = 0, c = 0, d = 0, bits = 32] = match.slice(1).map(Number);
  return { firstAddress: ((a << 24) | (b << 16) | (c << 8) | d) >>> 0, size: 2 ** (32 - bits) };
}
