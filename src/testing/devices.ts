/** Builders of devices and claims for tests. */
import type {
  Device,
  DeviceClaim,
  DeviceClass,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from "../apis/resource/kinds.ts";
import type { DynamicResources } from "../core/cloudprovider/dynamic-resources.ts";
import type { DeviceFacts } from "../core/devices/device-facts.ts";
import { compileDeviceSelector } from "../readers/device-selectors.ts";

/** The driver of devices in tests. */
export const DRIVER = "gpu.test";
/** The class of all its devices. */
export const GPU_CLASS: DeviceClass = {
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: { name: "gpu" },
  spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] },
};

/** Devices `gpu-0`, `gpu-1`, …, `count` of them. They are equal except for `more`. */
export function gpus(
  count: number,
  more: (index: number) => Partial<Device> = () => ({}),
): Device[] {
  return Array.from({ length: count }, (_, index) => ({ name: `gpu-${index}`, ...more(index) }));
}

/** The only slice of a pool. It is for all nodes unless `more` says otherwise. */
export function slice(
  pool: string,
  devices: readonly Device[],
  more: Partial<ResourceSlice["spec"]> & { readonly slice?: string; readonly owner?: string } = {},
): ResourceSlice {
  const { slice: name = pool, owner, ...spec } = more;
  const isOpen = ["nodeName", "nodeSelector", "perDeviceNodeSelection"].every(
    (key) => !(key in spec),
  );
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: {
      name,
      ...(owner === undefined
        ? {}
        : { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: owner, uid: owner }] }),
    },
    spec: {
      driver: DRIVER,
      pool: { name: pool, generation: 1, resourceSliceCount: 1 },
      ...(isOpen ? { allNodes: true } : {}),
      devices,
      ...spec,
    },
  };
}

/** The devices that a node of an instance type will publish: one pool of the test driver. */
export function templates(
  devices: readonly Device[],
  more: Partial<DynamicResources["pools"][number]> &
    Partial<Pick<DynamicResources, "bindings">> = {},
): DynamicResources {
  const { bindings = [], ...pool } = more;
  return { pools: [{ driver: DRIVER, pool: "gpus", devices, ...pool }], bindings };
}

/** The spec of a claim with one request `gpu`; `more` can replace the requests. */
export function deviceClaim(
  request: Partial<ExactDeviceRequest> = {},
  more: Partial<DeviceClaim> = {},
): DeviceClaim {
  return {
    requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", ...request } }],
    ...more,
  };
}

/** A ResourceClaim of namespace `default`. */
export function resourceClaim(
  name: string,
  devices: DeviceClaim = deviceClaim(),
  status?: ResourceClaim["status"],
): ResourceClaim {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name, namespace: "default", uid: `uid-${name}` },
    spec: { devices },
    ...(status === undefined ? {} : { status }),
  };
}

/** A ResourceClaimTemplate of namespace `default`. */
export function claimTemplate(
  name: string,
  devices: DeviceClaim = deviceClaim(),
): ResourceClaimTemplate {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: { name, namespace: "default" },
    spec: { spec: { devices } },
  };
}

/** A CEL selector for devices. */
export function cel(expression: string) {
  return { cel: { expression } };
}

/** The facts about devices that planning needs, with the class `gpu`. */
export function deviceFacts(more: Partial<DeviceFacts> = {}): DeviceFacts {
  return {
    slices: [],
    claims: [],
    templates: [],
    classes: [GPU_CLASS],
    compile: compileDeviceSelector,
    ...more,
  };
}

/** The part of a pod's spec with claims: `template:NAME`, or the name of a claim. */
export function claimsOf(...names: readonly string[]) {
  return {
    resourceClaims: names.map((name, at) =>
      name.startsWith("template:")
        ? { name: `c${at}`, resourceClaimTemplateName: name.slice("template:".length) }
        : { name: `c${at}`, resourceClaimName: name },
    ),
  };
}
