/** EC2: subnets, security groups, zones. */
import type { Filter, Page, Paged, Tag } from "./call.ts";

/** A subnet. `AvailableIpAddressCount` does not include addresses that AWS keeps for itself. */
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

/** Which subnets to describe: by ids, or by filters with pages. */
export interface DescribeSubnetsInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly SubnetIds?: readonly string[];
}

/** A page of subnets, in no fixed order. */
export interface DescribeSubnetsOutput extends Page {
  readonly Subnets: readonly Subnet[];
}

/** A security group. Its name is unique within a VPC. */
export interface SecurityGroup {
  readonly GroupId: string;
  readonly GroupName: string;
  readonly VpcId?: string;
  readonly Description?: string;
  readonly OwnerId?: string;
  readonly Tags: readonly Tag[];
}

/** Which security groups to describe: by ids, or by filters with pages. */
export interface DescribeSecurityGroupsInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly GroupIds?: readonly string[];
}

/** A page of security groups, in no fixed order. */
export interface DescribeSecurityGroupsOutput extends Page {
  readonly SecurityGroups: readonly SecurityGroup[];
}

/** A zone. Its `ZoneName` differs between accounts, its `ZoneId` does not. */
export interface AvailabilityZone {
  readonly ZoneName: string;
  readonly ZoneId: string;
  readonly ZoneType?: string;
  readonly State?: string;
  readonly RegionName?: string;
}

/** Which zones to describe. Without filters: the zones that the account may use. */
export interface DescribeAvailabilityZonesInput {
  readonly Filters?: readonly Filter[];
}

/** The zones. This call has no pages. */
export interface DescribeAvailabilityZonesOutput {
  readonly AvailabilityZones: readonly AvailabilityZone[];
}
