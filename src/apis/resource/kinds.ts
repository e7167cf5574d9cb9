/** The kinds of Dynamic Resource Allocation (DRA), `resource.k8s.io/v1`: the claims of pods, and the devices. */
import type { Kind, KubeObject } from "../meta.ts";

const GROUP = "resource.k8s.io";

/** Name of an attribute or capacity: `domain/name`. Without a domain it is the driver's own. */
export type QualifiedName = string;

/** A quantity as the API has it: `40Gi`. */
export type WireQuantity = string;

/** An attribute of a device. Exactly one member is set. */
export interface DeviceAttribute {
  readonly bool?: boolean;
  readonly int?: number;
  readonly string?: string;
  readonly version?: string;
}

/** How much of a capacity one claim may take from a shared device. */
export interface CapacityRequestPolicy {
  readonly default?: WireQuantity;
  readonly validValues?: readonly WireQuantity[];
  readonly validRange?: {
    readonly min: WireQuantity;
    readonly max?: WireQuantity;
    readonly step?: WireQuantity;
  };
}

export interface DeviceCapacity {
  readonly value: WireQuantity;
  readonly requestPolicy?: CapacityRequestPolicy;
}

/** Amounts that a device takes from a counter set of its pool, as a partition of a GPU does. */
export interface CounterConsumption {
  readonly counterSet: string;
  readonly counters: Readonly<Record<string, { readonly value: WireQuantity }>>;
}

export interface CounterSet {
  readonly name: string;
  readonly counters: Readonly<Record<string, { readonly value: WireQuantity }>>;
}

export interface DeviceTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: "None" | "NoSchedule" | "NoExecute";
  readonly timeAdded?: string;
}

export interface DeviceToleration {
  readonly key?: string;
  readonly operator?: "Exists" | "Equal";
  readonly value?: string;
  readonly effect?: "NoSchedule" | "NoExecute";
  readonly tolerationSeconds?: number;
}

interface NodeSelector {
  readonly nodeSelectorTerms: readonly {
    readonly matchExpressions?: readonly SelectorExpression[];
    readonly matchFields?: readonly SelectorExpression[];
  }[];
}

interface SelectorExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface Device {
  readonly name: string;
  readonly attributes?: Readonly<Record<QualifiedName, DeviceAttribute>>;
  readonly capacity?: Readonly<Record<QualifiedName, DeviceCapacity>>;
  readonly consumesCounters?: readonly CounterConsumption[];
  /** Several claims may share the device. Each takes a part of its capacity. */
  readonly allowMultipleAllocations?: boolean;
  readonly taints?: readonly DeviceTaint[];
  /** This field and the next two are used only if the slice has `perDeviceNodeSelection`. */
  readonly nodeName?: string;
  readonly nodeSelector?: NodeSelector;
  readonly allNodes?: boolean;
  readonly bindsToNode?: boolean;
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
}

/** Devices of one driver that belong to one pool. The slices of a pool's highest generation count. */
export interface ResourceSlice extends KubeObject {
  readonly spec: {
    readonly driver: string;
    readonly pool: {
      readonly name: string;
      readonly generation: number;
      readonly resourceSliceCount: number;
    };
    readonly nodeName?: string;
    readonly nodeSelector?: NodeSelector;
    readonly allNodes?: boolean;
    readonly perDeviceNodeSelection?: boolean;
    readonly devices?: readonly Device[];
    readonly sharedCounters?: readonly CounterSet[];
  };
}

export interface DeviceSelector {
  readonly cel?: { readonly expression: string };
}

/** What one request asks for. `count` is only for ExactCount, and defaults to 1. */
export interface ExactDeviceRequest {
  readonly deviceClassName: string;
  readonly selectors?: readonly DeviceSelector[];
  readonly allocationMode?: "ExactCount" | "All";
  readonly count?: number;
  readonly adminAccess?: boolean;
  readonly tolerations?: readonly DeviceToleration[];
  readonly capacity?: { readonly requests?: Readonly<Record<QualifiedName, WireQuantity>> };
}

/** Either `exactly` or `firstAvailable` is set. Of the latter, the first alternative that is available is taken. */
export interface DeviceRequest {
  readonly name: string;
  readonly exactly?: ExactDeviceRequest;
  readonly firstAvailable?: readonly (ExactDeviceRequest & { readonly name: string })[];
}

/**
 * The devices of these requests must have an equal attribute, or different ones. Without `requests` it
 * applies to all.
 */
export interface DeviceConstraint {
  readonly requests?: readonly string[];
  readonly matchAttribute?: QualifiedName;
  readonly distinctAttribute?: QualifiedName;
}

export interface DeviceClaim {
  readonly requests?: readonly DeviceRequest[];
  readonly constraints?: readonly DeviceConstraint[];
  readonly config?: readonly unknown[];
}

export interface DeviceAllocationResult {
  /** `request` or `request/subrequest`. */
  readonly request: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly adminAccess?: boolean;
  readonly tolerations?: readonly DeviceToleration[];
  /** Distinguishes the shares of one device. */
  readonly shareID?: string;
  readonly consumedCapacity?: Readonly<Record<QualifiedName, WireQuantity>>;
}

export interface ResourceClaim extends KubeObject {
  readonly spec: { readonly devices?: DeviceClaim };
  readonly status?: {
    readonly allocation?: {
      readonly devices?: {
        readonly results?: readonly DeviceAllocationResult[];
        readonly config?: readonly unknown[];
      };
      /** Nodes on which pods with this claim can run. Absent: all nodes. */
      readonly nodeSelector?: NodeSelector;
      readonly allocationTimestamp?: string;
    };
    readonly reservedFor?: readonly {
      readonly apiGroup?: string;
      readonly resource: string;
      readonly name: string;
      readonly uid: string;
    }[];
    readonly devices?: readonly unknown[];
  };
}

export interface ResourceClaimTemplate extends KubeObject {
  readonly spec: {
    readonly metadata?: Pick<KubeObject["metadata"], "labels" | "annotations">;
    readonly spec: ResourceClaim["spec"];
  };
}

export interface DeviceClass extends KubeObject {
  readonly spec: {
    readonly selectors?: readonly DeviceSelector[];
    readonly config?: readonly unknown[];
    /** Pods may ask for this extended resource instead of a claim (KEP-5004). */
    readonly extendedResourceName?: string;
  };
}
export const RESOURCE_SLICE = kindOf<ResourceSlice>("ResourceSlice", "resourceslices", false);
export const RESOURCE_CLAIM = kindOf<ResourceClaim>("ResourceClaim", "resourceclaims", true);
export const RESOURCE_CLAIM_TEMPLATE = kindOf<ResourceClaimTemplate>(
  "ResourceClaimTemplate",
  "resourceclaimtemplates",
  true,
);
export const DEVICE_CLASS = kindOf<DeviceClass>("DeviceClass", "deviceclasses", false);

function kindOf<T extends KubeObject>(kind: string, plural: string, namespaced: boolean): Kind<T> {
  return { group: GROUP, version: "v1", kind, plural, namespaced };
}
