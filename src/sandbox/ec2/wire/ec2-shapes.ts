/**
 * EC2's query protocol as tables: the members of each structure, with their name on the wire and their type.
 * There is one line for each structure. `Tags=tagSet:[Tag]` means: the member `Tags` is called `tagSet` on the
 * wire and is a list of `Tag`. Types are `n` number, `b` boolean, `t` time (RFC 3339 text), or a structure's
 * name; without a type it is text. Brackets mean a list. If the element of an item is not called `item`, its
 * name follows the brackets. A parameter that is not in the table is refused.
 */
import { capitalised, compileShapes, uncapitalised } from "./shape.ts";

/** Structures of requests. The name on the wire is a form key. Without `=` it equals the member's name. */
export const EC2_REQUESTS = compileShapes(
  `
DescribeSubnetsRequest: Filters=Filter:[Filter] SubnetIds=SubnetId:[s] NextToken MaxResults:n
    DryRun:b
DescribeSecurityGroupsRequest: GroupIds=GroupId:[s] NextToken MaxResults:n DryRun:b
    Filters=Filter:[Filter]
DescribeAvailabilityZonesRequest: DryRun:b Filters=Filter:[Filter]
DescribeImagesRequest: ImageIds=ImageId:[s] Owners=Owner:[s] IncludeDeprecated:b IncludeDisabled:b MaxResults:n
    NextToken DryRun:b Filters=Filter:[Filter]
DescribeInstanceTypesRequest: DryRun:b InstanceTypes=InstanceType:[s] Filters=Filter:[Filter]
    MaxResults:n NextToken
DescribeInstanceTypeOfferingsRequest: DryRun:b LocationType Filters=Filter:[Filter] MaxResults:n
    NextToken
DescribeSpotPriceHistoryRequest: DryRun:b StartTime:t EndTime:t InstanceTypes=InstanceType:[s]
    ProductDescriptions=ProductDescription:[s] Filters=Filter:[Filter] MaxResults:n NextToken
CreateLaunchTemplateRequest: LaunchTemplateName LaunchTemplateData:TemplateDataRequest DryRun:b
    ClientToken TagSpecifications=TagSpecification:[TagSpecification]
DescribeLaunchTemplatesRequest: DryRun:b LaunchTemplateIds=LaunchTemplateId:[s]
    LaunchTemplateNames=LaunchTemplateName:[s] Filters=Filter:[Filter] NextToken MaxResults:n
DeleteLaunchTemplateRequest: DryRun:b LaunchTemplateId LaunchTemplateName
CreateFleetRequest: LaunchTemplateConfigs:[FleetConfig]
    TargetCapacitySpecification:TargetCapacity DryRun:b ClientToken
    SpotOptions:AllocationOptions OnDemandOptions:AllocationOptions Type
    TagSpecifications=TagSpecification:[TagSpecification] Context
    ReservedCapacityOptions:ReservedOptions
ReservedOptions: ReservationTypes=ReservationType:[s]
DescribeInstancesRequest: InstanceIds=InstanceId:[s] DryRun:b Filters=Filter:[Filter] NextToken
    MaxResults:n
RebootInstancesRequest: InstanceIds=InstanceId:[s] DryRun:b
TerminateInstancesRequest: InstanceIds=InstanceId:[s] DryRun:b
CreateTagsRequest: Resources=ResourceId:[s] Tags=Tag:[Tag] DryRun:b
DeleteTagsRequest: Resources=ResourceId:[s] DryRun:b Tags=Tag:[Tag]
DescribeTagsRequest: DryRun:b Filters=Filter:[Filter] MaxResults:n NextToken
DescribeVolumesRequest: VolumeIds=VolumeId:[s] DryRun:b Filters=Filter:[Filter] NextToken
    MaxResults:n
DescribeLaunchTemplateVersionsRequest: DryRun:b LaunchTemplateId LaunchTemplateName
    Versions=LaunchTemplateVersion:[s]
Filter: Name Values=Value:[s]
TemplateDataRequest: IamInstanceProfile:ProfileRequest
    BlockDeviceMappings=BlockDeviceMapping:[DeviceRequest]
    NetworkInterfaces=NetworkInterface:[InterfaceRequest] ImageId Monitoring:MonitoringRequest
    Placement:PlacementRequest UserData TagSpecifications=TagSpecification:[TagSpecification]
    SecurityGroupIds=SecurityGroupId:[s] MetadataOptions:MetadataRequest CpuOptions:CpuOptions EnclaveOptions:EnclaveOptions
    CapacityReservationSpecification:ReservationSpecification
    InstanceMarketOptions:MarketOptions
CpuOptions: NestedVirtualization CoreCount:n ThreadsPerCore:n
EnclaveOptions: Enabled:b
ReservationSpecification: CapacityReservationPreference CapacityReservationTarget:ReservationTarget
ReservationTarget: CapacityReservationId
MarketOptions: MarketType
ConnectionTracking: TcpEstablishedTimeout:n UdpStreamTimeout:n UdpTimeout:n
ProfileRequest: Name
DeviceRequest: DeviceName Ebs:EbsRequest
EbsRequest: Encrypted:b DeleteOnTermination:b Iops:n KmsKeyId SnapshotId VolumeSize:n VolumeType
    Throughput:n VolumeInitializationRate:n
InterfaceRequest: AssociatePublicIpAddress:b DeviceIndex:n Groups=SecurityGroupId:[s]
    InterfaceType Ipv6AddressCount:n NetworkCardIndex:n PrimaryIpv6:b Ipv4PrefixCount:n
    Ipv6PrefixCount:n ConnectionTrackingSpecification:ConnectionTracking
MonitoringRequest: Enabled:b
PlacementRequest: Tenancy GroupId PartitionNumber:n
TagSpecification: ResourceType Tags=Tag:[Tag]
MetadataRequest: HttpTokens HttpPutResponseHopLimit:n HttpEndpoint HttpProtocolIpv6
    InstanceMetadataTags
FleetConfig: LaunchTemplateSpecification:TemplateReference Overrides:[FleetOverride]
TemplateReference: LaunchTemplateId LaunchTemplateName Version
FleetOverride: InstanceType SubnetId AvailabilityZone Priority:n ImageId
TargetCapacity: TotalTargetCapacity:n DefaultTargetCapacityType
AllocationOptions: AllocationStrategy
Tag: Key Value
DescribeRegionsRequest: DryRun:b
DescribeVpcsRequest: DryRun:b Filters=Filter:[Filter]
DescribeSpotInstanceRequestsRequest: DryRun:b Filters=Filter:[Filter]
CreatePlacementGroupRequest: DryRun:b GroupName Strategy PartitionCount:n
CreateCapacityReservationRequest: DryRun:b ClientToken InstanceType InstancePlatform AvailabilityZone
    InstanceCount:n InstanceMatchCriteria TagSpecifications:[TagSpecification]
StopInstancesRequest: InstanceIds=InstanceId:[s] DryRun:b
DeregisterImageRequest: ImageId DryRun:b
DescribeCapacityReservationsRequest: CapacityReservationIds=CapacityReservationId:[s] DryRun:b
    Filters=Filter:[Filter] MaxResults:n NextToken
DescribePlacementGroupsRequest: DryRun:b Filters=Filter:[Filter] GroupNames=GroupName:[s]
    GroupIds=GroupId:[s]
DescribeInstanceStatusRequest: InstanceIds=InstanceId:[s] DryRun:b Filters=Filter:[Filter]
    MaxResults:n NextToken IncludeAllInstances:b
RunInstancesRequest: MinCount:n MaxCount:n InstanceType ImageId SubnetId ClientToken DryRun:b
    SecurityGroupIds=SecurityGroupId:[s] IamInstanceProfile:ProfileRequest
    TagSpecifications=TagSpecification:[TagSpecification]
`,
  capitalised,
);

/**
 * Structures of responses. The name on the wire is an XML element. Without `=` it is the member's name with a
 * small first letter.
 */
export const EC2_RESPONSES = compileShapes(
  `
DescribeSubnetsResult: NextToken Subnets=subnetSet:[Subnet]
DescribeSecurityGroupsResult: NextToken SecurityGroups=securityGroupInfo:[SecurityGroup]
DescribeAvailabilityZonesResult: AvailabilityZones=availabilityZoneInfo:[AvailabilityZone]
DescribeImagesResult: NextToken Images=imagesSet:[Image]
DescribeInstanceTypesResult: InstanceTypes=instanceTypeSet:[InstanceTypeInfo] NextToken
DescribeInstanceTypeOfferingsResult:
    InstanceTypeOfferings=instanceTypeOfferingSet:[InstanceTypeOffering] NextToken
DescribeSpotPriceHistoryResult: NextToken SpotPriceHistory=spotPriceHistorySet:[SpotPrice]
CreateLaunchTemplateResult: LaunchTemplate:LaunchTemplate
DescribeLaunchTemplatesResult: LaunchTemplates:[LaunchTemplate] NextToken
DeleteLaunchTemplateResult: LaunchTemplate:LaunchTemplate
CreateFleetResult: FleetId Errors=errorSet:[FleetError]
    Instances=fleetInstanceSet:[FleetInstance]
DescribeInstancesResult: NextToken Reservations=reservationSet:[Reservation]
TerminateInstancesResult: TerminatingInstances=instancesSet:[InstanceStateChange]
DescribeTagsResult: NextToken Tags=tagSet:[TagDescription]
DescribeVolumesResult: NextToken Volumes=volumeSet:[Volume]
DescribeLaunchTemplateVersionsResult:
    LaunchTemplateVersions=launchTemplateVersionSet:[LaunchTemplateVersion] NextToken
Tag: Key Value
Subnet: AvailabilityZoneId OwnerId Tags=tagSet:[Tag] SubnetId State VpcId CidrBlock
    AvailableIpAddressCount:n AvailabilityZone MapPublicIpOnLaunch:b
SecurityGroup: GroupId OwnerId Tags=tagSet:[Tag] VpcId GroupName Description=groupDescription
AvailabilityZone: RegionName ZoneName ZoneId ZoneType State=zoneState
Image: PlatformDetails Description ImageOwnerAlias Name RootDeviceName Tags=tagSet:[Tag]
    DeprecationTime ImageId State=imageState OwnerId=imageOwnerId CreationDate Architecture
InstanceTypeInfo: InstanceType SupportedUsageClasses:[s] SupportedVirtualizationTypes:[s]
    BareMetal:b Hypervisor ProcessorInfo:ProcessorInfo VCpuInfo:VCpuInfo MemoryInfo:MemoryInfo
    InstanceStorageSupported:b InstanceStorageInfo:InstanceStorageInfo EbsInfo:EbsInfo
    NetworkInfo:NetworkInfo GpuInfo:GpuInfo PlacementGroupInfo:PlacementGroupInfo
    InferenceAcceleratorInfo:InferenceAcceleratorInfo BurstablePerformanceSupported:b
    NitroEnclavesSupport NeuronInfo:NeuronInfo
ProcessorInfo: SupportedArchitectures:[s] SustainedClockSpeedInGhz:n SupportedFeatures:[s]
    Manufacturer
VCpuInfo: DefaultVCpus:n DefaultCores:n DefaultThreadsPerCore:n ValidCores:[n]
    ValidThreadsPerCore:[n]
MemoryInfo: SizeInMiB:n
InstanceStorageInfo: TotalSizeInGB:n NvmeSupport
EbsInfo: EbsOptimizedSupport EbsOptimizedInfo:EbsOptimizedInfo MaximumEbsAttachments:n
    AttachmentLimitType
EbsOptimizedInfo: BaselineBandwidthInMbps:n BaselineIops:n MaximumBandwidthInMbps:n
    MaximumIops:n
NetworkInfo: NetworkPerformance MaximumNetworkInterfaces:n MaximumNetworkCards:n
    DefaultNetworkCardIndex:n NetworkCards:[NetworkCardInfo] Ipv4AddressesPerInterface:n
    Ipv6AddressesPerInterface:n EnaSupport EfaSupported:b EfaInfo:EfaInfo
    EncryptionInTransitSupported:b
NetworkCardInfo: NetworkCardIndex:n MaximumNetworkInterfaces:n
EfaInfo: MaximumEfaInterfaces:n
GpuInfo: Gpus:[GpuDeviceInfo] TotalGpuMemoryInMiB:n
GpuDeviceInfo: Name Manufacturer Count:n MemoryInfo:GpuDeviceMemoryInfo
GpuDeviceMemoryInfo: SizeInMiB:n
InferenceAcceleratorInfo: Accelerators:[InferenceDeviceInfo]member
InferenceDeviceInfo: Count:n Name Manufacturer
NeuronInfo: NeuronDevices:[NeuronDeviceInfo]
NeuronDeviceInfo: Count:n Name CoreInfo:NeuronDeviceCoreInfo
NeuronDeviceCoreInfo: Count:n Version:n
PlacementGroupInfo: SupportedStrategies:[s]
InstanceTypeOffering: InstanceType LocationType Location
SpotPrice: AvailabilityZone InstanceType ProductDescription SpotPrice Timestamp:t
LaunchTemplate: LaunchTemplateId LaunchTemplateName CreateTime:t DefaultVersionNumber:n
    LatestVersionNumber:n Tags=tagSet:[Tag]
FleetInstance: LaunchTemplateAndOverrides:TemplateAndOverrides Lifecycle InstanceIds:[s]
    InstanceType
FleetError: LaunchTemplateAndOverrides:TemplateAndOverrides Lifecycle ErrorCode ErrorMessage
TemplateAndOverrides: LaunchTemplateSpecification:TemplateReference Overrides:FleetOverride
TemplateReference: LaunchTemplateId LaunchTemplateName Version
FleetOverride: InstanceType SubnetId AvailabilityZone Priority:n ImageId
Reservation: ReservationId OwnerId Instances=instancesSet:[Instance]
Instance: Architecture BlockDeviceMappings=blockDeviceMapping:[InstanceDevice]
    IamInstanceProfile:IamInstanceProfile InstanceLifecycle
    NetworkInterfaces=networkInterfaceSet:[InstanceInterface]
    SecurityGroups=groupSet:[GroupIdentifier] SpotInstanceRequestId Tags=tagSet:[Tag] InstanceId
    ImageId State=instanceState:InstanceState PrivateDnsName InstanceType LaunchTime:t
    Placement:Placement Monitoring:Monitoring SubnetId VpcId PrivateIpAddress
    PublicIpAddress=ipAddress PublicDnsName=dnsName MetadataOptions:InstanceMetadata
    CapacityReservationId
InstanceMetadata: State HttpTokens HttpPutResponseHopLimit:n HttpEndpoint HttpProtocolIpv6
    InstanceMetadataTags
InstanceState: Code:n Name
Placement: Tenancy AvailabilityZone GroupId PartitionNumber:n
GroupIdentifier: GroupId GroupName
IamInstanceProfile: Arn Id
Monitoring: State
InstanceDevice: DeviceName Ebs:InstanceEbs
InstanceEbs: DeleteOnTermination:b VolumeId
InstanceInterface: NetworkInterfaceId SubnetId InterfaceType
InstanceStateChange: InstanceId CurrentState:InstanceState PreviousState:InstanceState
TagDescription: Key ResourceId ResourceType Value
Volume: Iops:n Tags=tagSet:[Tag] VolumeType Throughput:n VolumeId Size:n AvailabilityZone
    State=status CreateTime:t Attachments=attachmentSet:[VolumeAttachment] Encrypted:b
VolumeAttachment: DeleteOnTermination:b VolumeId InstanceId Device State=status
LaunchTemplateVersion: LaunchTemplateId LaunchTemplateName VersionNumber:n CreateTime:t
    DefaultVersion:b LaunchTemplateData:TemplateData
TemplateData: IamInstanceProfile:TemplateProfile
    BlockDeviceMappings=blockDeviceMappingSet:[TemplateDevice]
    NetworkInterfaces=networkInterfaceSet:[TemplateInterface] ImageId
    Monitoring:TemplateMonitoring Placement:TemplatePlacement UserData
    TagSpecifications=tagSpecificationSet:[TemplateTags] SecurityGroupIds=securityGroupIdSet:[s]
    MetadataOptions:TemplateMetadata CpuOptions:CpuOptions EnclaveOptions:EnclaveOptions
    CapacityReservationSpecification:ReservationSpecification
    InstanceMarketOptions:MarketOptions
CpuOptions: NestedVirtualization CoreCount:n ThreadsPerCore:n
EnclaveOptions: Enabled:b
ReservationSpecification: CapacityReservationPreference CapacityReservationTarget:ReservationTarget
ReservationTarget: CapacityReservationId
MarketOptions: MarketType
ConnectionTracking: TcpEstablishedTimeout:n UdpStreamTimeout:n UdpTimeout:n
TemplateProfile: Name
TemplateDevice: DeviceName Ebs:TemplateEbs
TemplateEbs: Encrypted:b DeleteOnTermination:b Iops:n KmsKeyId SnapshotId VolumeSize:n
    VolumeType Throughput:n VolumeInitializationRate:n
TemplateInterface: AssociatePublicIpAddress:b DeviceIndex:n Groups=groupSet:[s]groupId InterfaceType
    Ipv6AddressCount:n NetworkCardIndex:n PrimaryIpv6:b Ipv4PrefixCount:n Ipv6PrefixCount:n
    ConnectionTrackingSpecification:ConnectionTracking
TemplateMonitoring: Enabled:b
TemplatePlacement: Tenancy GroupId PartitionNumber:n
TemplateTags: ResourceType Tags=tagSet:[Tag]
TemplateMetadata: HttpTokens HttpPutResponseHopLimit:n HttpEndpoint HttpProtocolIpv6
    InstanceMetadataTags
DescribeCapacityReservationsResult: NextToken
    CapacityReservations=capacityReservationSet:[CapacityReservation]
CapacityReservation: CapacityReservationId OwnerId InstanceType AvailabilityZone AvailabilityZoneId
    State TotalInstanceCount:n AvailableInstanceCount:n InstanceMatchCriteria ReservationType
    EndDate:t Interruptible:b Tags=tagSet:[Tag]
DescribePlacementGroupsResult: PlacementGroups=placementGroupSet:[PlacementGroup]
PlacementGroup: GroupId GroupName Strategy State PartitionCount:n Tags=tagSet:[Tag]
DescribeInstanceStatusResult: NextToken InstanceStatuses=instanceStatusSet:[InstanceStatus]
InstanceStatus: InstanceId AvailabilityZone InstanceState:InstanceState
    InstanceStatus:StatusSummary SystemStatus:StatusSummary Events=eventsSet:[StatusEvent]
StatusSummary: Status Details:[StatusDetail]
StatusDetail: Name Status ImpairedSince:t
StatusEvent: Code Description NotBefore:t
RunInstancesResult:
DescribeRegionsResult: Regions=regionInfo:[Region]
Region: RegionName Endpoint=regionEndpoint OptInStatus
DescribeVpcsResult: Vpcs=vpcSet:[Vpc]
Vpc: VpcId State CidrBlock IsDefault:b OwnerId Tags=tagSet:[Tag]
DescribeSpotInstanceRequestsResult: SpotInstanceRequests=spotInstanceRequestSet:[SpotRequest]
SpotRequest: SpotInstanceRequestId InstanceId State Type CreateTime:t LaunchedAvailabilityZone
    Tags=tagSet:[Tag]
CreatePlacementGroupResult: PlacementGroup:PlacementGroup
CreateCapacityReservationResult: CapacityReservation:CapacityReservation
StopInstancesResult: StoppingInstances=instancesSet:[InstanceStateChange]
DeregisterImageResult: Return=return:b
CreateTagsResult:
DeleteTagsResult:
`,
  uncapitalised,
);
