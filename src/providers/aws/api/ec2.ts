/** The calls of EC2. */
import type { Tag } from "./call.ts";
import type {
  DescribeImagesInput,
  DescribeImagesOutput,
  DescribeInstanceTypeOfferingsInput,
  DescribeInstanceTypeOfferingsOutput,
  DescribeInstanceTypesInput,
  DescribeInstanceTypesOutput,
  DescribeSpotPriceHistoryInput,
  DescribeSpotPriceHistoryOutput,
} from "./images-and-types.ts";
import type {
  DescribeInstanceStatusInput,
  DescribeInstanceStatusOutput,
  DescribeInstancesInput,
  DescribeInstancesOutput,
  RebootInstancesInput,
  RunInstancesInput,
  TerminateInstancesInput,
  TerminateInstancesOutput,
} from "./instances.ts";
import type {
  CreateFleetInput,
  CreateFleetOutput,
  CreateLaunchTemplateInput,
  CreateLaunchTemplateOutput,
  DeleteLaunchTemplateInput,
  DescribeLaunchTemplatesInput,
  DescribeLaunchTemplatesOutput,
} from "./launches.ts";
import type {
  DescribeAvailabilityZonesInput,
  DescribeAvailabilityZonesOutput,
  DescribeSecurityGroupsInput,
  DescribeSecurityGroupsOutput,
  DescribeSubnetsInput,
  DescribeSubnetsOutput,
} from "./network.ts";
import type {
  DescribeCapacityReservationsInput,
  DescribeCapacityReservationsOutput,
  DescribePlacementGroupsInput,
  DescribePlacementGroupsOutput,
} from "./reservations.ts";

/** Adds tags or overwrites their values. */
export interface CreateTagsInput {
  readonly Resources: readonly string[];
  readonly Tags: readonly Tag[];
}

/** The EC2 calls that are used. Field names are EC2's. */
export interface Ec2Api {
  describeSubnets(input: DescribeSubnetsInput): Promise<DescribeSubnetsOutput>;
  describeSecurityGroups(input: DescribeSecurityGroupsInput): Promise<DescribeSecurityGroupsOutput>;
  describeAvailabilityZones(
    input: DescribeAvailabilityZonesInput,
  ): Promise<DescribeAvailabilityZonesOutput>;
  describeImages(input: DescribeImagesInput): Promise<DescribeImagesOutput>;
  describeInstanceTypes(input: DescribeInstanceTypesInput): Promise<DescribeInstanceTypesOutput>;
  describeInstanceTypeOfferings(
    input: DescribeInstanceTypeOfferingsInput,
  ): Promise<DescribeInstanceTypeOfferingsOutput>;
  describeSpotPriceHistory(
    input: DescribeSpotPriceHistoryInput,
  ): Promise<DescribeSpotPriceHistoryOutput>;
  createLaunchTemplate(input: CreateLaunchTemplateInput): Promise<CreateLaunchTemplateOutput>;
  describeLaunchTemplates(
    input: DescribeLaunchTemplatesInput,
  ): Promise<DescribeLaunchTemplatesOutput>;
  deleteLaunchTemplate(input: DeleteLaunchTemplateInput): Promise<void>;
  createFleet(input: CreateFleetInput): Promise<CreateFleetOutput>;
  describeInstances(input: DescribeInstancesInput): Promise<DescribeInstancesOutput>;
  rebootInstances(input: RebootInstancesInput): Promise<void>;
  terminateInstances(input: TerminateInstancesInput): Promise<TerminateInstancesOutput>;
  createTags(input: CreateTagsInput): Promise<void>;
  describeCapacityReservations(
    input: DescribeCapacityReservationsInput,
  ): Promise<DescribeCapacityReservationsOutput>;
  describePlacementGroups(
    input: DescribePlacementGroupsInput,
  ): Promise<DescribePlacementGroupsOutput>;
  describeInstanceStatus(input: DescribeInstanceStatusInput): Promise<DescribeInstanceStatusOutput>;
  /** A dry run. Always rejects, with `DryRunOperation` if the call would have succeeded. */
  runInstances(input: RunInstancesInput): Promise<void>;
}
