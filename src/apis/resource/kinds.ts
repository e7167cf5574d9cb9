/** The kinds of Dynamic Resource Allocation (DRA), `resource.k8s.io/v1`: the claims of pods, and the devices. */
import type { Kind, KubeObject } from "../meta.ts";

const GROUP = "resource.k8s.io";

/** The name of an attribute or capacity, as `domain/name`. A name without a domain belongs to the driver. */
export type QualifiedName = string;

/** A quantity as text, such as `40Gi`. */
export type WireQuantity = string;

/** An attribute of a device. Exactly one member is set. */
export interface DeviceAttribute {
  readonly bool?: boolean;
  readonly int?: number;
  readonly string?: string;
  readonly version?: string;
}

/** How much of a capacity one claim may use of a shared device. */
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

/** Amounts that a device uses of a counter set of its pool, as a partition of a GPU does. */
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
  /** Whether several claims may share the device. If so, each uses a part of its capacity. */
  readonly allowMultipleAllocations?: boolean;
  readonly taints?: readonly DeviceTaint[];
  /**
   * The nodes that have the device. This field and the next two are used only if the slice has
   * `perDeviceNodeSelection`.
   */
  readonly nodeName?: string;
  readonly nodeSelector?: NodeSelector;
  readonly allNodes?: boolean;
  readonly bindsToNode?: boolean;
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
}

/** Devices of one driver that belong to one pool. Only the slices with the pool's highest generation count. */
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

/** A request for devices. `count` is only for ExactCount, and defaults to 1. */
export interface ExactDeviceRequest {
  readonly deviceClassName: string;
  readonly selectors?: readonly DeviceSelector[];
  readonly allocationMode?: "ExactCount" | "All";
  readonly count?: number;
  readonly adminAccess?: boolean;
  readonly tolerations?: readonly DeviceToleration[];
  readonly capacity?: { readonly requests?: Readonly<Record<QualifiedName, WireQuantity>> };
}

/**
 * A request of a claim. Either `exactly` or `firstAvailable` is set. Of the latter, the first alternative that is
 * available is used.
 */
export interface DeviceRequest {
  readonly name: string;
  readonly exactly?: ExactDeviceRequest;
  readonly firstAvailable?: readonly (ExactDeviceRequest & { readonly name: string })[];
}

/**
 * A constraint on the devices of these requests: they must have the same value of an attribute, or different values.
 * Without `requests` it applies to all.
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
  /** The request that the device was allocated for, as `request` or `request/subrequest`. */
  readonly request: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly adminAccess?: boolean;
  readonly tolerations?: readonly DeviceToleration[];
  /** Distinguishes the parts of one shared device. */
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
    /** An extended resource that pods may request instead of using a claim (KEP-5004). */
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
