/**
 * The devices (DRA) that a new node of an instance type will publish. They are described like ResourceSlices, because
 * no node publishes them yet.
 * upstream: pkg/cloudprovider/dynamicresources.go
 */
import type { CounterSet, Device } from "../../apis/resource/kinds.ts";

/** The slices of one pool that a driver will publish for the node. */
export interface DevicePoolTemplate {
  /** The name of the driver, such as `gpu.nvidia.com`. */
  readonly driver: string;
  /** The name of the pool in this description. The pool that the node publishes will have another name. */
  readonly pool: string;
  readonly devices: readonly Device[];
  readonly sharedCounters?: readonly CounterSet[];
}

/**
 * Devices that will have equal values of the attribute, such as a driver version. The value itself is known only once
 * the node runs.
 */
export interface AttributeBinding {
  /** The full name of the attribute, such as `gpu.nvidia.com/driverVersion`. */
  readonly attribute: string;
  /** Two or more devices, each named by driver, pool and device. */
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
