/** EC2: images, instance types, the zones that offer them, and spot prices. */
import type { Filter, Page, Paged, Tag } from "./call.ts";

/** An AMI. Times are RFC 3339. */
export interface Image {
  readonly ImageId: string;
  readonly Name: string;
  /** The processor architecture: `x86_64` or `arm64`. */
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

/** Which images to describe. If filters and ids are given, an image must match both. */
export interface DescribeImagesInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly ImageIds?: readonly string[];
  /** Owners of the images: account ids, `self`, `amazon`. */
  readonly Owners?: readonly string[];
  readonly IncludeDeprecated?: boolean;
  readonly IncludeDisabled?: boolean;
}

/** A page of images, in no fixed order. */
export interface DescribeImagesOutput extends Page {
  readonly Images: readonly Image[];
}

/** A network card of an instance type. Card 0 has the primary interface. */
export interface NetworkCard {
  readonly NetworkCardIndex: number;
  readonly MaximumNetworkInterfaces: number;
}

/** One model of GPU of an instance type, and how many of it. */
export interface GpuDevice {
  readonly Name: string;
  readonly Manufacturer: string;
  readonly Count: number;
  readonly MemoryInfo?: { readonly SizeInMiB: number };
}

/** Hardware of an instance type. Sizes are in MiB or GB, as the field's name says. */
export interface InstanceTypeInfo {
  readonly InstanceType: string;
  readonly SupportedUsageClasses: readonly string[];
  readonly SupportedVirtualizationTypes: readonly string[];
  readonly BareMetal: boolean;
  readonly BurstablePerformanceSupported?: boolean;
  /** The hypervisor: `nitro` or `xen`. Absent for bare metal. */
  readonly Hypervisor?: string;
  readonly ProcessorInfo: {
    readonly Manufacturer?: string;
    readonly SupportedArchitectures: readonly string[];
    readonly SustainedClockSpeedInGhz?: number;
    readonly SupportedFeatures?: readonly string[];
  };
  readonly VCpuInfo: {
    readonly DefaultVCpus: number;
    readonly DefaultCores?: number;
    readonly DefaultThreadsPerCore?: number;
    /** The values that a launch may choose. Absent: there is no choice. */
    readonly ValidCores?: readonly number[];
    readonly ValidThreadsPerCore?: readonly number[];
  };
  readonly MemoryInfo: { readonly SizeInMiB: number };
  readonly InstanceStorageSupported?: boolean;
  readonly InstanceStorageInfo?: {
    readonly TotalSizeInGB: number;
    readonly Disks?: readonly { readonly Count?: number }[];
    /** Whether the disks are NVMe devices: `required`, `supported` or `unsupported`. */
    readonly NvmeSupport?: string;
  };
  readonly EbsInfo?: {
    /** Volumes that can be attached, the root volume among them. */
    readonly MaximumEbsAttachments?: number;
    /** `shared`: network interfaces and NVMe disks take slots, too; `dedicated`: they do not. */
    readonly AttachmentLimitType?: string;
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
  /** Whether the type can run Nitro enclaves: `supported` or `unsupported`. */
  readonly NitroEnclavesSupport?: string;
}

/** Which types to describe. Without filters and names: every type of the region. */
export interface DescribeInstanceTypesInput extends Paged {
  readonly Filters?: readonly Filter[];
  readonly InstanceTypes?: readonly string[];
  /** Whether to check only the permission. If it is granted, the call rejects with `DryRunOperation`. */
  readonly DryRun?: boolean;
}

/** A page of instance types, in no fixed order. */
export interface DescribeInstanceTypesOutput extends Page {
  readonly InstanceTypes: readonly InstanceTypeInfo[];
}

/** A location that offers the type. It need not have capacity now. */
export interface InstanceTypeOffering {
  readonly InstanceType: string;
  readonly LocationType: string;
  /** The zone name when `LocationType` is `availability-zone`. */
  readonly Location: string;
}

/** Which offerings to describe. Locations are zone names. */
export interface DescribeInstanceTypeOfferingsInput extends Paged {
  readonly LocationType: "availability-zone";
  readonly Filters?: readonly Filter[];
}

/** A page of offerings, one for each type and zone. */
export interface DescribeInstanceTypeOfferingsOutput extends Page {
  readonly InstanceTypeOfferings: readonly InstanceTypeOffering[];
}

/** The price from `Timestamp` on, until the next one for the same type, zone and product. */
export interface SpotPrice {
  readonly InstanceType: string;
  readonly AvailabilityZone: string;
  readonly ProductDescription: string;
  /** The price in decimal US dollars an hour, as text. */
  readonly SpotPrice: string;
  readonly Timestamp: string;
}

/** Which spot prices to describe. Times are RFC 3339. A start time of now gives the current prices. */
export interface DescribeSpotPriceHistoryInput extends Paged {
  readonly StartTime?: string;
  readonly EndTime?: string;
  readonly InstanceTypes?: readonly string[];
  readonly ProductDescriptions?: readonly string[];
  readonly Filters?: readonly Filter[];
}

/**
 * A page of spot prices. It may have several prices for a type, zone and product. The one with the latest `Timestamp`
 * counts.
 */
export interface DescribeSpotPriceHistoryOutput extends Page {
  readonly SpotPriceHistory: readonly SpotPrice[];
}
