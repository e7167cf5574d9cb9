/**
 * Every AWS call the provider may make, in one place: whoever writes an IAM policy or simulates AWS reads
 * this file alone, hence its length. Shapes are our own minimal ones with AWS's member names (as in SDK
 * v3). Times are RFC 3339 text. Calls with `NextToken` answer one page: `allPages` joins them. Refusals
 * reject with `AwsError`. `sdk.ts` is the real implementation; `sandbox/ec2` answers in process. The
 * permissions that these calls need are in `deploy/aws`; a test compares the two.
 */

/** AWS refused or could not be reached. `code` is AWS's own (`InvalidInstanceID.NotFound`). */
export class AwsError extends Error {
  override readonly name = "AwsError";
  readonly code: string;
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The call it answers, in AWS's spelling; set where calls go out. */
  action: string | undefined;

  constructor(code: string, message: string, status = 400, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
  }
}

export interface Tag {
  readonly Key: string;
  readonly Value: string;
}

/** `tag:<key>`, `tag-key`, `subnet-id`, …; values are ORed and may hold `*` and `?`; filters are ANDed. */
export interface Filter {
  readonly Name: string;
  readonly Values: readonly string[];
}

interface Paged {
  readonly MaxResults?: number;
  readonly NextToken?: string;
}

interface Page {
  /** Absent on the last page. */
  readonly NextToken?: string;
}

// ---------------------------------------------------------------- EC2: network

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

// ---------------------------------------------------------------- EC2: images and types

export interface Image {
  readonly ImageId: string;
  readonly Name: string;
  /** `x86_64`, `arm64`. */
  readonly Architecture: string;
  readonly CreationDate: string;
  readonly DeprecationTime?: string;
  readonly OwnerId?: string;
  readonly ImageOwnerAlias?: string;
  readonly State?: string;
  readonly Description?: string;
  readonly PlatformDetails?: string;
  readonly RootDeviceName?: string;
  readonly Tags: readonly Tag[];
}

export interface DescribeImagesInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly ImageIds?: readonly string[];
  /** Account ids, `self`, `amazon`. */
  readonly Owners?: readonly string[];
  readonly IncludeDeprecated?: boolean;
}

export interface DescribeImagesOutput extends Page {
  readonly Images: readonly Image[];
}

export interface NetworkCard {
  readonly NetworkCardIndex: number;
  readonly MaximumNetworkInterfaces: number;
}

export interface GpuDevice {
  readonly Name: string;
  readonly Manufacturer: string;
  readonly Count: number;
  readonly MemoryInfo?: { readonly SizeInMiB: number };
}

export interface InstanceTypeInfo {
  readonly InstanceType: string;
  readonly SupportedUsageClasses: readonly string[];
  readonly SupportedVirtualizationTypes: readonly string[];
  readonly BareMetal: boolean;
  readonly BurstablePerformanceSupported?: boolean;
  /** `nitro`, `xen`; absent for bare metal. */
  readonly Hypervisor?: string;
  readonly ProcessorInfo: {
    readonly Manufacturer?: string;
    readonly SupportedArchitectures: readonly string[];
    readonly SustainedClockSpeedInGhz?: number;
    readonly SupportedFeatures?: readonly string[];
  };
  readonly VCpuInfo: { readonly DefaultVCpus: number; readonly DefaultCores?: number };
  readonly MemoryInfo: { readonly SizeInMiB: number };
  readonly InstanceStorageSupported?: boolean;
  readonly InstanceStorageInfo?: {
    readonly TotalSizeInGB: number;
    /** `required`, `supported`, `unsupported`. */
    readonly NvmeSupport?: string;
  };
  readonly EbsInfo?: {
    readonly EbsOptimizedSupport?: string;
    readonly EbsOptimizedInfo?: {
      readonly BaselineBandwidthInMbps?: number;
      readonly MaximumBandwidthInMbps?: number;
      readonly BaselineIops?: number;
      readonly MaximumIops?: number;
    };
  };
  readonly NetworkInfo: {
    readonly MaximumNetworkInterfaces: number;
    readonly MaximumNetworkCards?: number;
    readonly DefaultNetworkCardIndex?: number;
    readonly NetworkCards?: readonly NetworkCard[];
    readonly Ipv4AddressesPerInterface: number;
    readonly Ipv6AddressesPerInterface?: number;
    readonly EncryptionInTransitSupported?: boolean;
    readonly EfaSupported?: boolean;
    readonly EfaInfo?: { readonly MaximumEfaInterfaces: number };
    readonly EnaSupport?: string;
    readonly NetworkPerformance?: string;
  };
  readonly GpuInfo?: {
    readonly Gpus: readonly GpuDevice[];
    readonly TotalGpuMemoryInMiB?: number;
  };
  readonly InferenceAcceleratorInfo?: {
    readonly Accelerators: readonly {
      readonly Name: string;
      readonly Manufacturer: string;
      readonly Count: number;
    }[];
  };
  readonly NeuronInfo?: {
    readonly NeuronDevices: readonly {
      readonly Name: string;
      readonly Count: number;
      readonly CoreInfo?: { readonly Count: number; readonly Version?: number };
    }[];
  };
  readonly PlacementGroupInfo?: { readonly SupportedStrategies: readonly string[] };
  /** `supported`, `unsupported`. */
  readonly NitroEnclavesSupport?: string;
}

export interface DescribeInstanceTypesInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly InstanceTypes?: readonly string[];
  /** Answers with error code `DryRunOperation` when allowed. */
  readonly DryRun?: boolean;
}

export interface DescribeInstanceTypesOutput extends Page {
  readonly InstanceTypes: readonly InstanceTypeInfo[];
}

export interface InstanceTypeOffering {
  readonly InstanceType: string;
  readonly LocationType: string;
  /** The zone name when `LocationType` is `availability-zone`. */
  readonly Location: string;
}

export interface DescribeInstanceTypeOfferingsInput extends Paged {
  readonly LocationType: "availability-zone";
  readonly Filters?: readonly Filter[];
}

export interface DescribeInstanceTypeOfferingsOutput extends Page {
  readonly InstanceTypeOfferings: readonly InstanceTypeOffering[];
}

export interface SpotPrice {
  readonly InstanceType: string;
  readonly AvailabilityZone: string;
  readonly ProductDescription: string;
  /** Decimal US dollars an hour, as text. */
  readonly SpotPrice: string;
  readonly Timestamp: string;
}

export interface DescribeSpotPriceHistoryInput extends Paged {
  readonly StartTime?: string;
  readonly EndTime?: string;
  readonly InstanceTypes?: readonly string[];
  readonly ProductDescriptions?: readonly string[];
  readonly Filters?: readonly Filter[];
}

export interface DescribeSpotPriceHistoryOutput extends Page {
  readonly SpotPriceHistory: readonly SpotPrice[];
}

// ---------------------------------------------------------------- EC2: what is set aside

export interface CapacityReservation {
  readonly CapacityReservationId: string;
  readonly OwnerId?: string;
  readonly InstanceType: string;
  readonly AvailabilityZone: string;
  readonly AvailabilityZoneId?: string;
  /** `active`, `expired`, `cancelled`, … */
  readonly State: string;
  readonly TotalInstanceCount?: number;
  readonly AvailableInstanceCount: number;
  /** `open`, `targeted`. */
  readonly InstanceMatchCriteria?: string;
  /** `default`, `capacity-block`; absent means default. */
  readonly ReservationType?: string;
  readonly EndDate?: string;
  /** EC2 may take it back with a warning. */
  readonly Interruptible?: boolean;
  readonly Tags: readonly Tag[];
}

export interface DescribeCapacityReservationsInput extends Paged {
  /** Unknown ids reject with `InvalidCapacityReservationId.NotFound`. Not together with `MaxResults`. */
  readonly CapacityReservationIds?: readonly string[];
  readonly Filters?: readonly Filter[];
}

export interface DescribeCapacityReservationsOutput extends Page {
  readonly CapacityReservations: readonly CapacityReservation[];
}

export interface PlacementGroup {
  readonly GroupId: string;
  readonly GroupName: string;
  /** `cluster`, `partition`, `spread`. */
  readonly Strategy: string;
  readonly State?: string;
  readonly PartitionCount?: number;
  readonly Tags: readonly Tag[];
}

export interface DescribePlacementGroupsInput {
  /** Unknown ids and names reject with `InvalidPlacementGroup.Unknown`. */
  readonly GroupIds?: readonly string[];
  readonly GroupNames?: readonly string[];
  readonly Filters?: readonly Filter[];
}

export interface DescribePlacementGroupsOutput {
  readonly PlacementGroups: readonly PlacementGroup[];
}

// ---------------------------------------------------------------- EC2: launch

export interface TagSpecification {
  /** `instance`, `volume`, `fleet`, `network-interface`, `launch-template`, `spot-instances-request`. */
  readonly ResourceType: string;
  readonly Tags: readonly Tag[];
}

export interface BlockDeviceMapping {
  readonly DeviceName: string;
  readonly Ebs?: {
    readonly DeleteOnTermination?: boolean;
    readonly Encrypted?: boolean;
    readonly Iops?: number;
    readonly KmsKeyId?: string;
    readonly SnapshotId?: string;
    readonly Throughput?: number;
    /** MiB a second at which a volume loads its snapshot. */
    readonly VolumeInitializationRate?: number;
    /** GiB. */
    readonly VolumeSize?: number;
    readonly VolumeType?: string;
  };
}

export interface LaunchTemplateData {
  readonly BlockDeviceMappings?: readonly BlockDeviceMapping[];
  readonly IamInstanceProfile?: { readonly Name: string };
  readonly Monitoring?: { readonly Enabled: boolean };
  readonly ImageId?: string;
  /** Base64. */
  readonly UserData?: string;
  readonly SecurityGroupIds?: readonly string[];
  readonly NetworkInterfaces?: readonly {
    readonly DeviceIndex: number;
    readonly NetworkCardIndex?: number;
    readonly InterfaceType?: string;
    readonly Groups?: readonly string[];
    readonly AssociatePublicIpAddress?: boolean;
    readonly Ipv6AddressCount?: number;
    readonly PrimaryIpv6?: boolean;
    readonly Ipv4PrefixCount?: number;
    readonly Ipv6PrefixCount?: number;
    /** Seconds. */
    readonly ConnectionTrackingSpecification?: {
      readonly TcpEstablishedTimeout?: number;
      readonly UdpStreamTimeout?: number;
      readonly UdpTimeout?: number;
    };
  }[];
  readonly MetadataOptions?: {
    readonly HttpEndpoint?: string;
    readonly HttpProtocolIpv6?: string;
    readonly HttpPutResponseHopLimit?: number;
    readonly HttpTokens?: string;
    readonly InstanceMetadataTags?: string;
  };
  readonly Placement?: {
    readonly Tenancy?: string;
    readonly GroupId?: string;
    readonly PartitionNumber?: number;
  };
  readonly CpuOptions?: { readonly NestedVirtualization?: string };
  readonly EnclaveOptions?: { readonly Enabled: boolean };
  readonly CapacityReservationSpecification?: {
    /** `capacity-reservations-only`, `none`. */
    readonly CapacityReservationPreference?: string;
    readonly CapacityReservationTarget?: { readonly CapacityReservationId: string };
  };
  /** `capacity-block`, `interruptible-capacity-reservation`. */
  readonly InstanceMarketOptions?: { readonly MarketType: string };
  readonly TagSpecifications?: readonly TagSpecification[];
}

export interface LaunchTemplate {
  readonly LaunchTemplateId: string;
  readonly LaunchTemplateName: string;
  readonly CreateTime?: string;
  readonly DefaultVersionNumber?: number;
  readonly LatestVersionNumber?: number;
  readonly Tags: readonly Tag[];
}

export interface CreateLaunchTemplateInput {
  readonly LaunchTemplateName: string;
  readonly LaunchTemplateData: LaunchTemplateData;
  readonly TagSpecifications?: readonly TagSpecification[];
  readonly DryRun?: boolean;
}

export interface CreateLaunchTemplateOutput {
  readonly LaunchTemplate: LaunchTemplate;
}

export interface DescribeLaunchTemplatesInput extends Paged {
  /** Unknown names reject with `InvalidLaunchTemplateName.NotFoundException`. */
  readonly LaunchTemplateNames?: readonly string[];
  readonly LaunchTemplateIds?: readonly string[];
  readonly Filters?: readonly Filter[];
}

export interface DescribeLaunchTemplatesOutput extends Page {
  readonly LaunchTemplates: readonly LaunchTemplate[];
}

export interface DeleteLaunchTemplateInput {
  readonly LaunchTemplateName?: string;
  readonly LaunchTemplateId?: string;
}

export interface FleetOverride {
  readonly InstanceType: string;
  readonly SubnetId: string;
  readonly AvailabilityZone?: string;
  readonly ImageId?: string;
  readonly Priority?: number;
}

export interface LaunchTemplateConfig {
  readonly LaunchTemplateSpecification: {
    readonly LaunchTemplateName?: string;
    readonly LaunchTemplateId?: string;
    /** `$Latest`, `$Default` or a number. */
    readonly Version: string;
  };
  readonly Overrides: readonly FleetOverride[];
}

export type FleetCapacityType = "on-demand" | "spot" | "capacity-block" | "reserved-capacity";

export interface CreateFleetInput {
  /** A repeated one with the same input gets the first answer again. */
  readonly ClientToken?: string;
  readonly Type: "instant";
  readonly Context?: string;
  readonly LaunchTemplateConfigs: readonly LaunchTemplateConfig[];
  readonly TargetCapacitySpecification: {
    readonly TotalTargetCapacity: number;
    readonly DefaultTargetCapacityType: FleetCapacityType;
  };
  readonly ReservedCapacityOptions?: { readonly ReservationTypes: readonly string[] };
  readonly OnDemandOptions?: { readonly AllocationStrategy: string };
  readonly SpotOptions?: { readonly AllocationStrategy: string };
  readonly TagSpecifications?: readonly TagSpecification[];
  readonly DryRun?: boolean;
}

export interface LaunchTemplateAndOverrides {
  readonly LaunchTemplateSpecification?: {
    readonly LaunchTemplateName?: string;
    readonly LaunchTemplateId?: string;
    readonly Version?: string;
  };
  readonly Overrides?: Partial<FleetOverride>;
}

export interface FleetInstance {
  readonly InstanceIds: readonly string[];
  readonly InstanceType: string;
  /** `on-demand`, `spot`. */
  readonly Lifecycle?: string;
  readonly LaunchTemplateAndOverrides?: LaunchTemplateAndOverrides;
}

export interface FleetError {
  readonly ErrorCode: string;
  readonly ErrorMessage: string;
  readonly LaunchTemplateAndOverrides?: LaunchTemplateAndOverrides;
  readonly Lifecycle?: string;
}

export interface CreateFleetOutput {
  readonly FleetId: string;
  readonly Instances: readonly FleetInstance[];
  readonly Errors: readonly FleetError[];
}

// ---------------------------------------------------------------- EC2: instances

export type InstanceStateName =
  | "pending"
  | "running"
  | "shutting-down"
  | "terminated"
  | "stopping"
  | "stopped";

export interface Instance {
  readonly InstanceId: string;
  readonly InstanceType: string;
  readonly ImageId: string;
  readonly State: { readonly Name: InstanceStateName };
  readonly LaunchTime: string;
  readonly Placement: {
    readonly AvailabilityZone: string;
    readonly Tenancy?: string;
    readonly GroupId?: string;
    readonly PartitionNumber?: number;
  };
  /** Of the capacity reservation it runs in. */
  readonly CapacityReservationId?: string;
  readonly SubnetId?: string;
  readonly VpcId?: string;
  readonly PrivateDnsName?: string;
  readonly PrivateIpAddress?: string;
  readonly SecurityGroups: readonly { readonly GroupId: string; readonly GroupName?: string }[];
  readonly IamInstanceProfile?: { readonly Arn: string; readonly Id?: string };
  /** `spot`, `capacity-block`, `interruptible-capacity-reservation`; absent for on-demand. */
  readonly InstanceLifecycle?: string;
  readonly SpotInstanceRequestId?: string;
  readonly Architecture?: string;
  readonly Monitoring?: { readonly State: string };
  readonly BlockDeviceMappings?: readonly {
    readonly DeviceName: string;
    readonly Ebs?: { readonly VolumeId: string; readonly DeleteOnTermination?: boolean };
  }[];
  readonly NetworkInterfaces?: readonly {
    readonly NetworkInterfaceId: string;
    readonly InterfaceType?: string;
    readonly SubnetId?: string;
  }[];
  readonly Tags: readonly Tag[];
}

export interface DescribeInstancesInput extends Paged {
  /** Unknown ids reject with `InvalidInstanceID.NotFound`. Not together with `MaxResults`. */
  readonly InstanceIds?: readonly string[];
  readonly Filters?: readonly Filter[];
}

export interface DescribeInstancesOutput extends Page {
  readonly Reservations: readonly { readonly Instances: readonly Instance[] }[];
}

/** Only ever asked for as a trial: `DryRun`. */
export interface RunInstancesInput {
  readonly MinCount: number;
  readonly MaxCount: number;
  readonly InstanceType: string;
  readonly ImageId: string;
  readonly SubnetId: string;
  readonly SecurityGroupIds?: readonly string[];
  readonly IamInstanceProfile?: { readonly Name: string };
  readonly TagSpecifications?: readonly TagSpecification[];
  readonly DryRun: true;
}

export interface StatusDetail {
  /** `reachability` */
  readonly Name?: string;
  /** `passed`, `failed`, `insufficient-data`, `initializing`. */
  readonly Status?: string;
  readonly ImpairedSince?: string;
}

export interface InstanceStatus {
  readonly InstanceId: string;
  readonly InstanceStatus?: {
    readonly Status?: string;
    readonly Details?: readonly StatusDetail[];
  };
  readonly SystemStatus?: { readonly Status?: string; readonly Details?: readonly StatusDetail[] };
  readonly Events?: readonly {
    readonly Code?: string;
    readonly Description?: string;
    readonly NotBefore?: string;
  }[];
}

export interface DescribeInstanceStatusInput extends Paged {
  readonly InstanceIds?: readonly string[];
  readonly Filters?: readonly Filter[];
}

export interface DescribeInstanceStatusOutput extends Page {
  readonly InstanceStatuses: readonly InstanceStatus[];
}

export interface TerminateInstancesInput {
  readonly InstanceIds: readonly string[];
}

export interface InstanceStateChange {
  readonly InstanceId: string;
  readonly CurrentState: { readonly Name: InstanceStateName };
  readonly PreviousState: { readonly Name: InstanceStateName };
}

export interface TerminateInstancesOutput {
  readonly TerminatingInstances: readonly InstanceStateChange[];
}

export interface CreateTagsInput {
  readonly Resources: readonly string[];
  readonly Tags: readonly Tag[];
}

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
  terminateInstances(input: TerminateInstancesInput): Promise<TerminateInstancesOutput>;
  createTags(input: CreateTagsInput): Promise<void>;
  describeCapacityReservations(
    input: DescribeCapacityReservationsInput,
  ): Promise<DescribeCapacityReservationsOutput>;
  describePlacementGroups(
    input: DescribePlacementGroupsInput,
  ): Promise<DescribePlacementGroupsOutput>;
  describeInstanceStatus(input: DescribeInstanceStatusInput): Promise<DescribeInstanceStatusOutput>;
  /** A trial: rejects with `DryRunOperation` when it would have succeeded. */
  runInstances(input: RunInstancesInput): Promise<void>;
}

// ---------------------------------------------------------------- SSM

export interface GetParameterInput {
  readonly Name: string;
}

export interface GetParameterOutput {
  readonly Parameter: { readonly Name: string; readonly Value: string; readonly Version?: number };
}

export interface SsmApi {
  /** Unknown names reject with `ParameterNotFound`. */
  getParameter(input: GetParameterInput): Promise<GetParameterOutput>;
}

// ---------------------------------------------------------------- IAM

export interface Role {
  readonly RoleName: string;
  readonly Arn: string;
  readonly Path?: string;
  readonly CreateDate?: string;
}

export interface InstanceProfile {
  readonly InstanceProfileName: string;
  readonly Arn: string;
  readonly Path?: string;
  readonly InstanceProfileId?: string;
  readonly CreateDate?: string;
  readonly Roles: readonly Role[];
  readonly Tags?: readonly Tag[];
}

export interface GetInstanceProfileInput {
  readonly InstanceProfileName: string;
}

export interface InstanceProfileOutput {
  readonly InstanceProfile: InstanceProfile;
}

export interface CreateInstanceProfileInput {
  readonly InstanceProfileName: string;
  readonly Path?: string;
  readonly Tags?: readonly Tag[];
}

export interface TagInstanceProfileInput {
  readonly InstanceProfileName: string;
  readonly Tags: readonly Tag[];
}

export interface InstanceProfileRoleInput {
  readonly InstanceProfileName: string;
  readonly RoleName: string;
}

export interface DeleteInstanceProfileInput {
  readonly InstanceProfileName: string;
}

export interface ListInstanceProfilesInput {
  readonly PathPrefix: string;
  readonly Marker?: string;
}

/** IAM pages by its own words. */
export interface ListInstanceProfilesOutput {
  readonly InstanceProfiles: readonly InstanceProfile[];
  readonly IsTruncated?: boolean;
  readonly Marker?: string;
}

/** Unknown names reject with `NoSuchEntity`, existing ones with `EntityAlreadyExists`. */
export interface IamApi {
  getInstanceProfile(input: GetInstanceProfileInput): Promise<InstanceProfileOutput>;
  listInstanceProfiles(input: ListInstanceProfilesInput): Promise<ListInstanceProfilesOutput>;
  createInstanceProfile(input: CreateInstanceProfileInput): Promise<InstanceProfileOutput>;
  tagInstanceProfile(input: TagInstanceProfileInput): Promise<void>;
  addRoleToInstanceProfile(input: InstanceProfileRoleInput): Promise<void>;
  removeRoleFromInstanceProfile(input: InstanceProfileRoleInput): Promise<void>;
  deleteInstanceProfile(input: DeleteInstanceProfileInput): Promise<void>;
}

// ---------------------------------------------------------------- EKS, Pricing, STS

/** The members are lower-case on the wire, as in the SDK. */
export interface EksCluster {
  readonly name: string;
  readonly arn?: string;
  readonly version?: string;
  readonly endpoint?: string;
  readonly status?: string;
  /** Base64 PEM. */
  readonly certificateAuthority?: { readonly data?: string };
  readonly kubernetesNetworkConfig?: {
    readonly serviceIpv4Cidr?: string;
    readonly serviceIpv6Cidr?: string;
    readonly ipFamily?: string;
  };
}

export interface DescribeClusterInput {
  readonly name: string;
}

export interface DescribeClusterOutput {
  readonly cluster: EksCluster;
}

export interface EksApi {
  /** Unknown names reject with `ResourceNotFoundException`. */
  describeCluster(input: DescribeClusterInput): Promise<DescribeClusterOutput>;
}

export interface PricingFilter {
  readonly Type: "TERM_MATCH";
  readonly Field: string;
  readonly Value: string;
}

export interface GetProductsInput extends Paged {
  readonly ServiceCode: "AmazonEC2";
  readonly Filters: readonly PricingFilter[];
}

export interface GetProductsOutput extends Page {
  /** One JSON document a product, as text: `product.attributes.instanceType`, `terms.OnDemand…`. */
  readonly PriceList: readonly string[];
}

export interface PricingApi {
  getProducts(input: GetProductsInput): Promise<GetProductsOutput>;
}

export interface GetCallerIdentityOutput {
  readonly Account: string;
  readonly Arn: string;
  readonly UserId: string;
}

export interface StsApi {
  getCallerIdentity(input: Readonly<Record<string, never>>): Promise<GetCallerIdentityOutput>;
}

// ---------------------------------------------------------------- SQS

export interface GetQueueUrlInput {
  readonly QueueName: string;
}

export interface GetQueueUrlOutput {
  readonly QueueUrl: string;
}

export interface ReceiveMessageInput {
  readonly QueueUrl: string;
  /** At most 10. */
  readonly MaxNumberOfMessages?: number;
  /** Long polling: how long the answer may wait for a first message. At most 20. */
  readonly WaitTimeSeconds?: number;
  /** How long received messages stay hidden from others. */
  readonly VisibilityTimeout?: number;
  readonly MessageSystemAttributeNames?: readonly string[];
  readonly MessageAttributeNames?: readonly string[];
}

export interface QueueMessage {
  readonly MessageId: string;
  /** Names this receipt of the message: what a deletion needs. */
  readonly ReceiptHandle: string;
  readonly Body: string;
  /** `SentTimestamp` (epoch milliseconds as text), if asked for. */
  readonly Attributes?: Readonly<Record<string, string>>;
}

export interface ReceiveMessageOutput {
  readonly Messages: readonly QueueMessage[];
}

export interface DeleteMessageBatchInput {
  readonly QueueUrl: string;
  /** At most 10; `Id` is the caller's own. */
  readonly Entries: readonly { readonly Id: string; readonly ReceiptHandle: string }[];
}

export interface DeleteMessageBatchOutput {
  readonly Successful: readonly { readonly Id: string }[];
  readonly Failed: readonly {
    readonly Id: string;
    readonly Code: string;
    readonly Message?: string;
  }[];
}

/** Missing queues reject with `QueueDoesNotExist`, a missing permission with `AccessDenied`. */
export interface SqsApi {
  getQueueUrl(input: GetQueueUrlInput): Promise<GetQueueUrlOutput>;
  /** An aborted wait rejects or answers nothing; what it would have brought stays in the queue. */
  receiveMessage(
    input: ReceiveMessageInput,
    options?: { readonly signal?: AbortSignal },
  ): Promise<ReceiveMessageOutput>;
  deleteMessageBatch(input: DeleteMessageBatchInput): Promise<DeleteMessageBatchOutput>;
}

// ---------------------------------------------------------------- ARC zonal shift

export interface GetManagedResourceInput {
  /** The cluster's ARN. */
  readonly resourceIdentifier: string;
}

/** Whether traffic really keeps away: a shift may be overruled by another of the same resource. */
export type ShiftStatus = "APPLIED" | "NOT_APPLIED";

export interface ZonalShift {
  readonly appliedStatus: ShiftStatus;
  /** A zone id: `use1-az1`. */
  readonly awayFrom: string;
  readonly expiryTime: string;
}

/** AWS's own shift: lasts until AWS ends it. */
export interface ZonalAutoshift {
  readonly appliedStatus: ShiftStatus;
  readonly awayFrom: string;
}

export interface GetManagedResourceOutput {
  readonly zonalShifts: readonly ZonalShift[];
  readonly autoshifts: readonly ZonalAutoshift[];
}

/** The members are lower-case on the wire. */
export interface ZonalShiftApi {
  /** A cluster without zonal shift rejects with `ResourceNotFoundException`. */
  getManagedResource(input: GetManagedResourceInput): Promise<GetManagedResourceOutput>;
}

/** All of AWS that the provider knows. */
export interface AwsApi {
  readonly ec2: Ec2Api;
  readonly ssm: SsmApi;
  readonly iam: IamApi;
  readonly eks: EksApi;
  readonly pricing: PricingApi;
  readonly sts: StsApi;
  readonly sqs: SqsApi;
  readonly zonalShift: ZonalShiftApi;
}

/** Joins all pages of a paged call: `next` is called with each token until none is left. */
export async function allPages<P extends Page>(
  next: (token: { NextToken?: string }) => Promise<P>,
): Promise<readonly P[]> {
  const pages: P[] = [];
  let token: string | undefined;
  do {
    const page = await next(token === undefined ? {} : { NextToken: token });
    pages.push(page);
    token = page.NextToken === "" ? undefined : page.NextToken;
  } while (token !== undefined);
  return pages;
}
