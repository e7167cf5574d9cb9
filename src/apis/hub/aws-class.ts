/**
 * The common form of AWS node classes: one type for EC2NodeClass, AWSNodeTemplate and the provider block of a
 * Provisioner. Selectors are terms, and the defaults of the API version are filled in. Conversion to it never fails;
 * validation reports problems elsewhere.
 */
import { amiTerms, securityGroupTerms, subnetTerms } from "../aws/alpha-selectors.ts";
import {
  AWS_NODE_TEMPLATE,
  type AWSNodeTemplate,
  type AwsProviderBlock,
} from "../aws/awsnodetemplate.ts";
import type {
  AmiSelectorTerm,
  BlockDeviceMapping,
  CapacityReservationSelectorTerm,
  ConnectionTracking,
  EC2NodeClass,
  MetadataOptions,
  NetworkInterface,
  SecurityGroupSelectorTerm,
  SubnetSelectorTerm,
} from "../aws/ec2nodeclass.ts";
import {
  ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY,
  ANNOTATION_UBUNTU_COMPATIBILITY,
} from "../aws/labels.ts";
import { condition } from "../karpenter/conditions.ts";
import type { KubeletConfiguration } from "../karpenter/kubelet.ts";
import { contentHash } from "../karpenter/nodepool-hash.ts";
import { PROVISIONER, type Provisioner } from "../karpenter/provisioner.ts";
import type { Generation } from "./generation.ts";
import { identityOf } from "./identity.ts";
import { CLASS_SHAPE, type Sound, sound } from "./shape.ts";
import { nodePoolGeneration } from "./to-pool.ts";

/** The operating system family of the image. `Custom` needs selector terms and its own user data. */
export type AmiFamily =
  | "AL2"
  | "AL2023"
  | "Bottlerocket"
  | "Ubuntu"
  | "Windows2019"
  | "Windows2022"
  | "Windows2025"
  | "Custom";

/** The image family for each name in an alias. */
export const ALIAS_FAMILIES: Readonly<Record<string, AmiFamily>> = {
  al2: "AL2",
  al2023: "AL2023",
  bottlerocket: "Bottlerocket",
  windows2019: "Windows2019",
  windows2022: "Windows2022",
  windows2025: "Windows2025",
};

/** An image id that the conversion to v1 writes for the Ubuntu family of v1beta1, which v1 does not have. */
export const PLACEHOLDER_AMI_ID = "ami-placeholder";

/** The AWS settings of nodes, read from an object of any API version. */
export interface AwsClass {
  readonly generation: Generation;
  /**
   * An id that is unique among the classes of all API versions: `ec2nodeclass/x`, `awsnodetemplate/x`, `provisioner/x`
   * (inline).
   */
  readonly id: string;
  readonly name: string;
  readonly uid: string;
  readonly observedGeneration: number;
  readonly deleting: boolean;
  readonly ready: boolean;
  /** Fields of the spec with a wrong type. Absent: there are none. A class with such fields is never ready. */
  readonly unreadable?: string;
  readonly amiFamily: AmiFamily;
  /**
   * Terms that select images; they are alternatives. A term with `alias` is the only term. Empty: the newest images of
   * the family.
   */
  readonly amiTerms: readonly AmiSelectorTerm[];
  /**
   * Whether well-known labels among an image's tags limit the instance types for that image. True only for
   * AWSNodeTemplate.
   */
  readonly amiTagRequirements: boolean;
  readonly subnetTerms: readonly SubnetSelectorTerm[];
  readonly securityGroupTerms: readonly SecurityGroupSelectorTerm[];
  /**
   * The IAM role of nodes. If role and instance profile are missing, the settings' default profile is used (v1alpha5
   * only).
   */
  readonly role: string | undefined;
  readonly instanceProfile: string | undefined;
  /** The name of an existing launch template, which is used unchanged. Set only for AWSNodeTemplate. */
  readonly launchTemplateName: string | undefined;
  readonly userData: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly nameTag: "atLaunch" | "afterRegistration";
  /** Volumes of the instance. Empty: the default devices of the image family. */
  readonly blockDeviceMappings: readonly BlockDeviceMapping[];
  readonly metadataOptions: Required<MetadataOptions>;
  readonly instanceStorePolicy: "RAID0" | undefined;
  readonly detailedMonitoring: boolean;
  readonly associatePublicIpAddress: boolean | undefined;
  readonly context: string | undefined;
  /** Terms that select capacity reservations; they are alternatives. Empty: no reservations are used. */
  readonly reservationTerms: readonly CapacityReservationSelectorTerm[];
  readonly placementGroup: { readonly id?: string; readonly name?: string } | undefined;
  /** Additional network interfaces. Empty: the instance has one interface. */
  readonly networkInterfaces: readonly NetworkInterface[];
  readonly connectionTracking: ConnectionTracking | undefined;
  readonly nestedVirtualization: "enabled" | "disabled" | undefined;
  /** Number of cores to use, with `threadsPerCore` threads each. Undefined: all that the instance type has. */
  readonly coreCount: number | undefined;
  readonly threadsPerCore: number | undefined;
  /** Whether instances can run Nitro Enclaves. */
  readonly enclaves: boolean;
  readonly ipPrefixCount: number | undefined;
  /** How ResourceClaims share GPUs, as the class's annotation says. */
  readonly gpuSharing: string | undefined;
  /** Kubelet settings; v1 only. In older API versions they are in the pool. */
  readonly kubelet: KubeletConfiguration | undefined;
  /** What the selectors of the class matched before, as its status says. */
  readonly selectedBefore: SelectedBefore;
  /** Hash of the fields that cause static drift. A claim with another hash has drifted. */
  readonly hash: string;
}

/**
 * IDs in the status of a class: what its selectors matched when the status was written. Empty where the condition of
 * the part is older than the spec.
 */
export interface SelectedBefore {
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly amis: readonly string[];
  readonly reservations: readonly string[];
}

/** Converts an EC2NodeClass (in v1 form), an AWSNodeTemplate, or a Provisioner with an inline provider. */
export function toAwsClass(native: EC2NodeClass | AWSNodeTemplate | Provisioner): AwsClass {
  if (native.kind === AWS_NODE_TEMPLATE.kind) return fromTemplate(native as AWSNodeTemplate);
  if (native.kind === PROVISIONER.kind) return fromInline(native as Provisioner);
  const { value, problems } = soundClass(native as EC2NodeClass);
  const read = fromNodeClass(value);
  return problems.length === 0 ? read : { ...read, ready: false, unreadable: problems.join("; ") };
}

/** The parts of a stored EC2NodeClass with correct types, and a problem for each other part. */
export function soundClass(native: EC2NodeClass): Sound<EC2NodeClass> {
  return sound(native, CLASS_SHAPE);
}

/** The family of the images: Ubuntu if the annotation says so, else that of the spec, else the alias's, else Custom. */
function amiFamilyOf(native: EC2NodeClass): AmiFamily {
  const { amiFamily, amiSelectorTerms } = native.spec;
  if (native.metadata.annotations?.[ANNOTATION_UBUNTU_COMPATIBILITY] !== undefined) return "Ubuntu";
  if (amiFamily !== undefined) return amiFamily as AmiFamily;
  const alias = amiSelectorTerms?.find((term) => term.alias !== undefined)?.alias;
  return ALIAS_FAMILIES[alias?.split("@")[0]?.toLowerCase() ?? ""] ?? "Custom";
}

function fromNodeClass(native: EC2NodeClass): AwsClass {
  const { spec } = native;
  return {
    ...identityOf(native, "ec2nodeclass"),
    generation: nodePoolGeneration(native),
    ready: condition(native, "Ready")?.status === "True",
    amiFamily: amiFamilyOf(native),
    amiTerms: (spec.amiSelectorTerms ?? []).filter((term) => term.id !== PLACEHOLDER_AMI_ID),
    amiTagRequirements: false,
    subnetTerms: spec.subnetSelectorTerms ?? [],
    securityGroupTerms: spec.securityGroupSelectorTerms ?? [],
    role: spec.role,
    instanceProfile: spec.instanceProfile,
    launchTemplateName: undefined,
    userData: spec.userData,
    tags: spec.tags ?? {},
    nameTag: "afterRegistration",
    blockDeviceMappings: spec.blockDeviceMappings ?? [],
    metadataOptions: metadataOptions(spec.metadataOptions, 1),
    instanceStorePolicy: spec.instanceStorePolicy,
    detailedMonitoring: spec.detailedMonitoring ?? false,
    associatePublicIpAddress: spec.associatePublicIPAddress,
    context: spec.context,
    reservationTerms: spec.capacityReservationSelectorTerms ?? [],
    placementGroup: spec.placementGroupSelector,
    networkInterfaces: spec.networkInterfaces ?? [],
    connectionTracking: spec.connectionTracking,
    nestedVirtualization: spec.cpuOptions?.nestedVirtualization,
    coreCount: spec.cpuOptions?.coreCount,
    threadsPerCore: spec.cpuOptions?.threadsPerCore,
    enclaves: spec.enclaveOptions?.enabled ?? false,
    ipPrefixCount: spec.ipPrefixCount,
    gpuSharing: native.metadata.annotations?.[ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY],
    kubelet: spec.kubelet,
    selectedBefore: selectedBefore(native),
    hash: contentHash(staticPart(spec)),
  };
}

function fromTemplate(native: AWSNodeTemplate): AwsClass {
  const spec: AWSNodeTemplate["spec"] = native.spec ?? {};
  return {
    ...identityOf(native, "awsnodetemplate"),
    ...fromBlock(spec),
    amiTerms: amiTerms(spec.amiSelector),
    userData: spec.userData,
    detailedMonitoring: spec.detailedMonitoring ?? false,
    selectedBefore: NONE_BEFORE,
    hash: contentHash(staticPart({ ...spec })),
  };
}

function fromInline(native: Provisioner): AwsClass {
  const block: AwsProviderBlock = native.spec?.provider ?? {};
  return {
    ...identityOf(native, "provisioner"),
    ...fromBlock(block),
    amiTerms: [],
    userData: undefined,
    detailedMonitoring: false,
    selectedBefore: NONE_BEFORE,
    hash: contentHash(staticPart({ ...block })),
  };
}

function fromBlock(block: AwsProviderBlock) {
  return {
    generation: "alpha",
    ready: true,
    amiFamily: (block.amiFamily ?? "AL2") as AmiFamily,
    amiTagRequirements: true,
    subnetTerms: subnetTerms(block.subnetSelector),
    securityGroupTerms: securityGroupTerms(block.securityGroupSelector),
    role: undefined,
    instanceProfile: block.instanceProfile,
    launchTemplateName: block.launchTemplate,
    tags: block.tags ?? {},
    nameTag: "atLaunch",
    blockDeviceMappings: block.blockDeviceMappings ?? [],
    metadataOptions: metadataOptions(block.metadataOptions, 2),
    instanceStorePolicy: undefined,
    associatePublicIpAddress: undefined,
    context: block.context,
    reservationTerms: [],
    placementGroup: undefined,
    networkInterfaces: [],
    connectionTracking: undefined,
    nestedVirtualization: undefined,
    coreCount: undefined,
    threadsPerCore: undefined,
    enclaves: false,
    ipPrefixCount: undefined,
    gpuSharing: undefined,
    kubelet: undefined,
  } as const;
}

/** The metadata options. Missing ones get the defaults of their API version. */
function metadataOptions(
  written: MetadataOptions | undefined,
  hopLimit: number,
): Required<MetadataOptions> {
  return {
    httpEndpoint: written?.httpEndpoint ?? "enabled",
    httpProtocolIPv6: written?.httpProtocolIPv6 ?? "disabled",
    httpPutResponseHopLimit: written?.httpPutResponseHopLimit ?? hopLimit,
    httpTokens: written?.httpTokens ?? "required",
  };
}

/**
 * Fields that do not cause static drift. For selectors, drift compares the resources that they find, not their text.
 * apiVersion and kind are not settings.
 */
const NOT_STATIC: readonly string[] = [
  "subnetSelectorTerms",
  "securityGroupSelectorTerms",
  "amiSelectorTerms",
  "capacityReservationSelectorTerms",
  "subnetSelector",
  "securityGroupSelector",
  "amiSelector",
  "ipPrefixCount",
  "apiVersion",
  "kind",
];

function staticPart(spec: object): unknown {
  return Object.fromEntries(Object.entries(spec).filter(([key]) => !NOT_STATIC.includes(key)));
}

const NONE_BEFORE: SelectedBefore = { subnets: [], securityGroups: [], amis: [], reservations: [] };

/** An AWSNodeTemplate has no conditions, so its status does not tell of which spec it is. */
function selectedBefore(native: EC2NodeClass): SelectedBefore {
  const written = (native.status ?? {}) as Readonly<Record<string, unknown>>;
  const ids = (field: string, type: string): readonly string[] => {
    const list = written[field];
    const seen = condition(native, type)?.observedGeneration;
    if (!Array.isArray(list) || seen !== (native.metadata.generation ?? 0)) return [];
    return list.flatMap((one) => (typeof one?.id === "string" ? [one.id] : []));
  };
  return {
    subnets: ids("subnets", "SubnetsReady"),
    securityGroups: ids("securityGroups", "SecurityGroupsReady"),
    amis: ids("amis", "AMIsReady"),
    reservations: ids("capacityReservations", "CapacityReservationsReady"),
  };
}
