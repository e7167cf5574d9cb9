/**
 * The filter for ResourceClaims: they must exist and be usable on the node, or devices must be free there.
 * upstream: plugins/dynamicresources
 */
import type { NodeSelectorTerm } from "../../../apis/core/pod.ts";
import type { ResourceClaim } from "../../../apis/resource/kinds.ts";
import { type Allocation, allocate, TIMED_OUT } from "../devices/allocator.ts";
import { type DevicesInUse, devicesInUse } from "../devices/in-use.ts";
import { claimReferences, type DeviceObjects, podClaims } from "../devices/pod-claims.ts";
import { poolsFor } from "../devices/pools.ts";
import type { NodeInfo } from "../node-info.ts";
import { type Filter, type Prepared, SKIP, unresolvable } from "./filter.ts";
import { matchesAnyTerm } from "./node.ts";

/** Maximum number of pods that may use one claim. upstream: ResourceClaimReservedForMaxSize */
const MAX_CONSUMERS = 256;
const ELSEWHERE = unresolvable("resourceclaim not available on the node");
const NONE_LEFT = unresolvable("cannot allocate all claims");

/** Checks the claims of the pod, and finds devices for claims without an allocation. */
export const dynamicResources: Filter = {
  name: "DynamicResources",
  prepare({ pod }, { surroundings: { devices } }): Prepared {
    if (claimReferences(pod).length === 0) return SKIP;
    const found = podClaims(pod, devices);
    if ("message" in found) return { kind: "reject", message: found.message };
    const { claims } = found;
    if (claims.length === 0) return SKIP;
    const problem = claims
      .map((claim) => problemOf(claim, pod.metadata.uid ?? "", devices))
      .find((text) => text !== undefined);
    if (problem !== undefined) return { kind: "reject", message: problem };
    const open = claims.filter(({ status }) => status?.allocation === undefined);
    const inUse = devicesInUse(devices.claims());
    return {
      kind: "check",
      check(node) {
        // As upstream, new allocations are tried before existing ones are checked. So a failure to
        // allocate is the reason that is reported.
        const allocation =
          open.length === 0 ? undefined : allocationOn(node, open, { devices, inUse });
        if (allocation?.kind === "none") return NONE_LEFT;
        if (allocation?.kind === "error") {
          if (allocation.message === TIMED_OUT) return unresolvable(TIMED_OUT);
          throw new Error(`running "DynamicResources" filter plugin: ${allocation.message}`);
        }
        return claims.every((claim) => isAvailable(claim, node)) ? undefined : ELSEWHERE;
      },
    };
  },
};

/** The devices on the node for claims without an allocation. */
export function allocationOn(
  { name, labels }: NodeInfo,
  claims: readonly ResourceClaim[],
  { devices, inUse }: { readonly devices: DeviceObjects; readonly inUse: DevicesInUse },
): Allocation {
  const pools = poolsFor(devices.slices(), { name, labels });
  return allocate({ claims, pools, inUse, deviceClass: (name) => devices.deviceClass(name) });
}

/** Why the pod fits on no node because of this claim; undefined if there is no such reason. */
function problemOf(
  { spec, status }: ResourceClaim,
  podUid: string,
  devices: DeviceObjects,
): string | undefined {
  if (status?.allocation !== undefined) {
    const { reservedFor = [] } = status;
    const isOurs = reservedFor.some(({ uid }) => uid === podUid);
    return isOurs || reservedFor.length < MAX_CONSUMERS ? undefined : "resourceclaim in use";
  }
  for (const request of spec.devices?.requests ?? []) {
    const asks = [
      ...(request.exactly === undefined ? [] : [{ ...request.exactly, name: request.name }]),
      ...(request.firstAvailable ?? []).map((one) => ({
        ...one,
        name: `${request.name}/${one.name}`,
      })),
    ];
    for (const { name, deviceClassName } of asks)
      if (devices.deviceClass(deviceClassName) === undefined)
        return `request ${name}: device class ${deviceClassName} does not exist`;
  }
  return undefined;
}

function isAvailable({ status }: ResourceClaim, { name, labels }: NodeInfo): boolean {
  const terms = status?.allocation?.nodeSelector?.nodeSelectorTerms;
  return terms === undefined || matchesAnyTerm(terms as readonly NodeSelectorTerm[], labels, name);
}
