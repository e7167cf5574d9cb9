/** The kinds of Dynamic Resource Allocation (DRA), `resource.k8s.io/v1`: claims of pods, and what devices there are. */
import type { Kind, KubeObject } from "../meta.ts";

const GROUP = "resource.k8s.io";

/** A full attribute or capacity name is `domain/name`; without a domain, the driver's own. */
export type QualifiedName = string;

/** A quantity as the API has it: `40Gi`. */
export type WireQuantity = string;

/** Exactly one member is set. */
export interface DeviceAttribute {
  readonly bool?: boolean;
  readonly int?: number;
  readonly string?: string;
  readonly version?: string;
}

/** How much of a capacity one claim may take of a device that several claims share. */
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

/** What a device takes of a counter set of its pool, as a slice of a partitioned GPU does. */
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
  /** Several claims may have the device, each a part of its capacity. */
  readonly allowMultipleAllocations?: boolean;
  readonly taints?: readonly DeviceTaint[];
  /** The next three only where the slice has `perDeviceNodeSelection`. */
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

/** What one request asks; `count` only with ExactCount, where it defaults to 1. */
export interface ExactDeviceRequest {
  readonly deviceClassName: string;
  readonly selectors?: readonly DeviceSelector[];
  readonly allocationMode?: "ExactCount" | "All";
  readonly count?: number;
  readonly adminAccess?: boolean;
  readonly tolerations?: readonly DeviceToleration[];
  readonly capacity?: { readonly requests?: Readonly<Record<QualifiedName, WireQuantity>> };
}

/** One of `exactly` and `firstAvailable`; of the latter the first that can be had is taken. */
export interface DeviceRequest {
  readonly name: string;
  readonly exactly?: ExactDeviceRequest;
  readonly firstAvailable?: readonly (ExactDeviceRequest & { readonly name: string })[];
}

/** Devices of these requests (none named: of all) agree in, or differ by, an attribute. */
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
  /** Tells parts of one shared device apart. */
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
      /** Where pods that use the claim can run. Absent: everywhere. */
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
