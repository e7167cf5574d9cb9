/** EC2: subnets, security groups, zones. */
import type { Filter, Page, Paged, Tag } from "./call.ts";

/** `AvailableIpAddressCount` does not include addresses that AWS keeps for itself. */
export interface Subnet {
  readonly SubnetId: string;
  readonly VpcId: string;
  readonly AvailabilityZone: string;
  readonly AvailabilityZoneId?: string;
  readonly AvailableIpAddressCount: number;
  readonly MapPublicIpOnLaunch?: boolean;
  readonly CidrBlock?: string;
  readonly State?: string;
  readonly OwnerId?: string;
  readonly Tags: readonly Tag[];
}

/** By ids, or by filters with pages. */
export interface DescribeSubnetsInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly SubnetIds?: readonly string[];
}

/** In no fixed order. */
export interface DescribeSubnetsOutput extends Page {
  readonly Subnets: readonly Subnet[];
}

/** Names are unique within a VPC. */
export interface SecurityGroup {
  readonly GroupId: string;
  readonly GroupName: string;
  readonly VpcId?: string;
  readonly Description?: string;
  readonly OwnerId?: string;
  readonly Tags: readonly Tag[];
}

/** By ids, or by filters with pages. */
export interface DescribeSecurityGroupsInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly GroupIds?: readonly string[];
}

/** In no fixed order. */
export interface DescribeSecurityGroupsOutput extends Page {
  readonly SecurityGroups: readonly SecurityGroup[];
}

/** `ZoneName` differs between accounts, `ZoneId` does not. */
export interface AvailabilityZone {
  readonly ZoneName: string;
  readonly ZoneId: string;
  readonly ZoneType?: string;
  readonly State?: string;
  readonly RegionName?: string;
}

/** Without filters: the zones that the account may use. */
export interface DescribeAvailabilityZonesInput {
  readonly Filters?: readonly Filter[];
}

/** All of them; this call has no pages. */
export interface DescribeAvailabilityZonesOutput {
  readonly AvailabilityZones: readonly AvailabilityZone[];
}
