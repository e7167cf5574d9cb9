/**
 * The kind EC2NodeClass (karpenter.k8s.aws/v1 and v1beta1): the AWS settings of nodes. Code uses the v1 form.
 * upstream: provider's pkg/apis/v1/ec2nodeclass.go
 */
import type { KubeletConfiguration } from "../karpenter/kubelet.ts";
import type { RequirementSpec } from "../karpenter/nodepool.ts";
import type { Condition, Kind, KubeObject } from "../meta.ts";

type Tags = Readonly<Record<string, string>>;

/** Selects subnets by an id or by tags. All tags must match; the value `*` matches any value. */
export interface SubnetSelectorTerm {
  readonly id?: string;
  readonly tags?: Tags;
}

/** Selects security groups by id, name or tags. All tags must match; the value `*` matches any value. */
export interface SecurityGroupSelectorTerm {
  readonly id?: string;
  readonly name?: string;
  readonly tags?: Tags;
}

/** Selects images by id, by alias, by SSM parameter, or by name, owner and tags together. */
export interface AmiSelectorTerm {
  readonly id?: string;
  readonly name?: string;
  readonly owner?: string;
  readonly tags?: Tags;
  /** A family and version such as `al2023@latest`. It must be the only term in the list; v1 only. */
  readonly alias?: string;
  readonly ssmParameter?: string;
}

/** An EBS volume. `volumeSize` is a quantity. Only some volume types accept `iops` and `throughput` (MiB/s). */
export interface BlockDevice {
  readonly deleteOnTermination?: boolean;
  readonly encrypted?: boolean;
  readonly iops?: number;
  readonly kmsKeyID?: string;
  readonly snapshotID?: string;
  readonly throughput?: number;
  readonly volumeInitializationRate?: number;
  /** A quantity such as `20Gi`. v1alpha5 also allows numbers. */
  readonly volumeSize?: string | number;
  readonly volumeType?: string;
}

/** A volume of the instance. The volume with `rootVolume` counts for ephemeral storage. */
export interface BlockDeviceMapping {
  readonly deviceName?: string;
  readonly rootVolume?: boolean;
  readonly ebs?: BlockDevice;
}

/** Access to the instance metadata service. The fields are those of EC2's launch templates. */
export interface MetadataOptions {
  readonly httpEndpoint?: "enabled" | "disabled";
  readonly httpProtocolIPv6?: "enabled" | "disabled";
  readonly httpPutResponseHopLimit?: number;
  readonly httpTokens?: "required" | "optional";
}

/** Selects capacity reservations by id, or by tags or match criteria, with an optional owner and zone. */
export interface CapacityReservationSelectorTerm {
  readonly id?: string;
  /** The zone of the reservation; karpenter-ts only. */
  readonly availabilityZone?: string;
  readonly ownerID?: string;
  readonly instanceMatchCriteria?: string;
  readonly tags?: Tags;
}

/** An additional network interface of the instance. `efa-only` carries no IP traffic. */
export interface NetworkInterface {
  readonly networkCardIndex: number;
  readonly deviceIndex: number;
  readonly interfaceType: "interface" | "efa-only";
}

/** Timeouts of tracked connections, in seconds. */
export interface ConnectionTracking {
  readonly tcpEstablishedTimeout?: number;
  readonly udpStreamTimeout?: number;
  readonly udpTimeout?: number;
}

/** What the controller found in AWS for the selectors of the class. */
export interface EC2NodeClassStatus {
  readonly subnets?: readonly {
    readonly id: string;
    readonly zone: string;
    readonly zoneID?: string;
  }[];
  readonly securityGroups?: readonly { readonly id: string; readonly name?: string }[];
  readonly amis?: readonly {
    readonly id: string;
    readonly name?: string;
    readonly deprecated?: boolean;
    readonly requirements: readonly RequirementSpec[];
  }[];
  readonly instanceProfile?: string;
  readonly capacityReservations?: readonly {
    readonly id: string;
    readonly availabilityZone: string;
    readonly instanceType: string;
    readonly instanceMatchCriteria: string;
    readonly ownerID: string;
    readonly reservationType: string;
    readonly interruptible: boolean;
    readonly state: "active" | "expiring";
    readonly endTime?: string;
  }[];
  readonly conditions?: readonly Condition[];
}

/** The fields that both API versions have. */
interface EC2NodeClassSpecBase {
  readonly subnetSelectorTerms: readonly SubnetSelectorTerm[];
  readonly securityGroupSelectorTerms: readonly SecurityGroupSelectorTerm[];
  readonly amiSelectorTerms?: readonly AmiSelectorTerm[];
  readonly amiFamily?: string;
  readonly associatePublicIPAddress?: boolean;
  readonly userData?: string;
  readonly role?: string;
  readonly instanceProfile?: string;
  readonly tags?: Tags;
  readonly blockDeviceMappings?: readonly BlockDeviceMapping[];
  readonly instanceStorePolicy?: "RAID0";
  readonly detailedMonitoring?: boolean;
  readonly metadataOptions?: MetadataOptions;
  readonly context?: string;
}

/** An EC2NodeClass of karpenter.k8s.aws/v1. upstream: pkg/apis/v1/ec2nodeclass.go of the AWS provider. */
export interface EC2NodeClass extends KubeObject {
  readonly spec: EC2NodeClassSpecBase & {
    readonly kubelet?: KubeletConfiguration;
    readonly capacityReservationSelectorTerms?: readonly CapacityReservationSelectorTerm[];
    readonly placementGroupSelector?: { readonly id?: string; readonly name?: string };
    readonly ipPrefixCount?: number;
    readonly networkInterfaces?: readonly NetworkInterface[];
    readonly connectionTracking?: ConnectionTracking;
    readonly cpuOptions?: {
      readonly nestedVirtualization?: "enabled" | "disabled";
      /** Number of cores of the instance. This and `threadsPerCore` are karpenter-ts only. */
      readonly coreCount?: number;
      readonly threadsPerCore?: number;
    };
    readonly enclaveOptions?: { readonly enabled: boolean };
  };
  readonly status?: EC2NodeClassStatus;
}

/** An EC2NodeClass of v1beta1. It has no aliases and no kubelet block, and `amiFamily` selects the image. */
export interface EC2NodeClassV1Beta1 extends KubeObject {
  readonly spec: EC2NodeClassSpecBase;
  readonly status?: EC2NodeClassStatus;
}

export const EC2_NODE_CLASS: Kind<EC2NodeClass> = {
  group: "karpenter.k8s.aws",
  version: "v1",
  kind: "EC2NodeClass",
  plural: "ec2nodeclasses",
  namespaced: false,
};
