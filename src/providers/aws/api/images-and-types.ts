/** EC2: images, instance types, where these are sold, and for how much on spot. */
import type { Filter, Page, Paged, Tag } from "./call.ts";

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
