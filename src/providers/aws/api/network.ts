/** EC2: subnets, security groups, zones. */
import type { Filter, Page, Paged, Tag } from "./call.ts";

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

export interface DescribeSubnetsInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly SubnetIds?: readonly string[];
}

export interface DescribeSubnetsOutput extends Page {
  readonly Subnets: readonly Subnet[];
}

export interface SecurityGroup {
  readonly GroupId: string;
  readonly GroupName: string;
  readonly VpcId?: string;
  readonly Description?: string;
  readonly OwnerId?: string;
  readonly Tags: readonly Tag[];
}

export interface DescribeSecurityGroupsInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly GroupIds?: readonly string[];
}

export interface DescribeSecurityGroupsOutput extends Page {
  readonly SecurityGroups: readonly SecurityGroup[];
}

export interface AvailabilityZone {
  readonly ZoneName: string;
  readonly ZoneId: string;
  readonly ZoneType?: string;
  readonly State?: string;
  readonly RegionName?: string;
}

export interface DescribeAvailabilityZonesInput {
  readonly Filters?: readonly Filter[];
}

export interface DescribeAvailabilityZonesOutput {
  readonly AvailabilityZones: readonly AvailabilityZone[];
}
