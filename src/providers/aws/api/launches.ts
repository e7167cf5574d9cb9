/** EC2: launch templates and fleets. */
import type { Filter, Page, Paged, Tag } from "./call.ts";

/** Tags for the resources that a call creates, by type of resource. */
export interface TagSpecification {
  /**
   * The type of resource: `instance`, `volume`, `fleet`, `network-interface`, `launch-template` or
   * `spot-instances-request`.
   */
  readonly ResourceType: string;
  readonly Tags: readonly Tag[];
}

/** A volume of a launch template; sizes are whole GiB. */
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
    /** The size in GiB. */
    readonly VolumeSize?: number;
    readonly VolumeType?: string;
  };
}

/** Everything about an instance that CreateFleet does not override. */
export interface LaunchTemplateData {
  readonly BlockDeviceMappings?: readonly BlockDeviceMapping[];
  readonly IamInstanceProfile?: { readonly Name: string };
  readonly Monitoring?: { readonly Enabled: boolean };
  readonly ImageId?: string;
  /** The user data in base64. */
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
    /** Timeouts of tracked connections, in seconds. */
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
  /** Numbers of cores, and of threads on each core. EC2 needs both. */
  readonly CpuOptions?: {
    readonly NestedVirtualization?: string;
    readonly CoreCount?: number;
    readonly ThreadsPerCore?: number;
  };
  readonly EnclaveOptions?: { readonly Enabled: boolean };
  readonly CapacityReservationSpecification?: {
    /** Which reservations the instance may use: `capacity-reservations-only` or `none`. */
    readonly CapacityReservationPreference?: string;
    readonly CapacityReservationTarget?: { readonly CapacityReservationId: string };
  };
  /**
   * How the instance is bought, if not on demand or as spot: `capacity-block` or `interruptible-capacity-reservation`.
   */
  readonly InstanceMarketOptions?: { readonly MarketType: string };
  readonly TagSpecifications?: readonly TagSpecification[];
}

/** A launch template. Its name is unique in the account and region. */
export interface LaunchTemplate {
  readonly LaunchTemplateId: string;
  readonly LaunchTemplateName: string;
  readonly CreateTime?: string;
  readonly DefaultVersionNumber?: number;
  readonly LatestVersionNumber?: number;
  readonly Tags: readonly Tag[];
}

/**
 * The template to create. The call rejects with InvalidLaunchTemplateName.AlreadyExistsException if the name is in use.
 */
export interface CreateLaunchTemplateInput {
  readonly LaunchTemplateName: string;
  readonly LaunchTemplateData: LaunchTemplateData;
  readonly TagSpecifications?: readonly TagSpecification[];
  readonly DryRun?: boolean;
}

/** The created launch template with its first version. */
export interface CreateLaunchTemplateOutput {
  readonly LaunchTemplate: LaunchTemplate;
}

/** Which templates to describe: by names, or by filters with pages. */
export interface DescribeLaunchTemplatesInput extends Paged {
  /** Names of templates. An unknown name rejects with `InvalidLaunchTemplateName.NotFoundException`. */
  readonly LaunchTemplateNames?: readonly string[];
  readonly LaunchTemplateIds?: readonly string[];
  readonly Filters?: readonly Filter[];
}

/** A page of launch templates, in no fixed order. */
export interface DescribeLaunchTemplatesOutput extends Page {
  readonly LaunchTemplates: readonly LaunchTemplate[];
}

/** The template to delete, by name or by id. The call rejects if the template does not exist. */
export interface DeleteLaunchTemplateInput {
  readonly LaunchTemplateName?: string;
  readonly LaunchTemplateId?: string;
}

/** One instance type in one subnet. A lower `Priority` is tried first. */
export interface FleetOverride {
  readonly InstanceType: string;
  readonly SubnetId: string;
  readonly AvailabilityZone?: string;
  readonly ImageId?: string;
  readonly Priority?: number;
}

/** A launch template with the types and subnets that it may be used for. */
export interface LaunchTemplateConfig {
  readonly LaunchTemplateSpecification: {
    readonly LaunchTemplateName?: string;
    readonly LaunchTemplateId?: string;
    /** The version of the template: `$Latest`, `$Default` or a number. */
    readonly Version: string;
  };
  readonly Overrides: readonly FleetOverride[];
}

/** How the instances of a fleet are bought. */
export type FleetCapacityType = "on-demand" | "spot" | "capacity-block" | "reserved-capacity";

/** Input of a fleet of the type `instant`: the answer lists its instances and errors. */
export interface CreateFleetInput {
  /** A second call with the same token and input gets the first answer. */
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

/** Which template and override an instance or error belongs to. */
export interface LaunchTemplateAndOverrides {
  readonly LaunchTemplateSpecification?: {
    readonly LaunchTemplateName?: string;
    readonly LaunchTemplateId?: string;
    readonly Version?: string;
  };
  readonly Overrides?: Partial<FleetOverride>;
}

/** Instances that one override launched. */
export interface FleetInstance {
  readonly InstanceIds: readonly string[];
  readonly InstanceType: string;
  /** The capacity type: `on-demand` or `spot`. */
  readonly Lifecycle?: string;
  readonly LaunchTemplateAndOverrides?: LaunchTemplateAndOverrides;
}

/** An override that launched nothing. Several overrides may give the same error. */
export interface FleetError {
  readonly ErrorCode: string;
  readonly ErrorMessage: string;
  readonly LaunchTemplateAndOverrides?: LaunchTemplateAndOverrides;
  readonly Lifecycle?: string;
}

/** Answer of CreateFleet. It can have instances and errors at the same time. */
export interface CreateFleetOutput {
  readonly FleetId: string;
  readonly Instances: readonly FleetInstance[];
  readonly Errors: readonly FleetError[];
}
