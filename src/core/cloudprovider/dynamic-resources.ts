/**
 * The devices that a new node of one instance type will publish (DRA). They are templates of ResourceSlices, because no
 * node publishes them yet. upstream: pkg/cloudprovider/dynamicresources.go
 */
import type { CounterSet, Device } from "../../apis/resource/kinds.ts";

/** The slices of one pool that a driver will publish for the node. */
export interface DevicePoolTemplate {
  /** Such as `gpu.nvidia.com`. */
  readonly driver: string;
  /** Name of the pool in the templates of all types. The node's real pool will have another name. */
  readonly pool: string;
  readonly devices: readonly Device[];
  readonly sharedCounters?: readonly CounterSet[];
}

/**
 * Devices that will have the same value of the attribute, such as a driver version. The value is known only once the
 * node runs.
 */
export interface AttributeBinding {
  /** Full name: `gpu.nvidia.com/driverVersion`. */
  readonly attribute: string;
  /** Two or more devices, each by driver, pool and name. */
  readonly devices: readonly {
    readonly driver: string;
    readonly pool: string;
    readonly device: string;
  }[];
}

export interface DynamicResources {
  readonly pools: readonly DevicePoolTemplate[];
  readonly bindings: readonly AttributeBinding[];
}
