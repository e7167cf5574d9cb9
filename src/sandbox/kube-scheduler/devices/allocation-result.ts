/**
 * What the scheduler writes to a ResourceClaim after it chose devices.
 * upstream: dynamic-resource-allocation/structured, pkg/scheduler/framework/plugins/dynamicresources
 */
import type { DeviceAllocationResult, ResourceClaim } from "../../../apis/resource/kinds.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { ChosenDevice } from "./allocator.ts";
import { quantityOf } from "./capacity.ts";

type Status = NonNullable<ResourceClaim["status"]>;
type AllocationOfClaim = NonNullable<Status["allocation"]>;

/** The allocation in the claim's status. `shareId` creates the id of one share of a shared device. */
export function allocationOf(
  { spec }: ResourceClaim,
  chosen: readonly ChosenDevice[],
  { nodeName, shareId }: { readonly nodeName: string; readonly shareId: () => string },
): AllocationOfClaim {
  const config = [...classConfig(chosen), ...claimConfig(spec, chosen)];
  const nodeSelector = selectorOf(chosen, nodeName);
  return {
    devices: {
      results: chosen.map((one) => resultOf(one, shareId)),
      ...(config.length === 0 ? {} : { config }),
    },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  };
}

function resultOf(one: ChosenDevice, shareId: () => string): DeviceAllocationResult {
  const { request, slice, device, isAdmin, tolerations, consumed } = one;
  return {
    request,
    driver: slice.spec.driver,
    pool: slice.spec.pool.name,
    device: device.name,
    ...(isAdmin ? { adminAccess: true } : {}),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(consumed === undefined ? {} : { shareID: shareId() }),
    ...(consumed === undefined || consumed.size === 0
      ? {}
      : {
          consumedCapacity: Object.fromEntries([...consumed].map(([k, v]) => [k, quantityOf(v)])),
        }),
  };
}

/** The configuration of each class, once, with all requests that use the class. */
function classConfig(chosen: readonly ChosenDevice[]): readonly object[] {
  const requestsByClass = new Map<ChosenDevice["deviceClass"], Set<string>>();
  for (const { deviceClass, request } of chosen)
    requestsByClass.set(
      deviceClass,
      (requestsByClass.get(deviceClass) ?? new Set<string>()).add(request),
    );
  return [...requestsByClass].flatMap(([{ spec }, requests]) =>
    (spec.config ?? []).map((one) => ({
      source: "FromClass",
      requests: [...requests],
      ...(one as object),
    })),
  );
}

/** The configuration that applies to allocated requests or their alternatives. */
function claimConfig(
  { devices }: ResourceClaim["spec"],
  chosen: readonly ChosenDevice[],
): object[] {
  const served = new Set(
    chosen.flatMap(({ request }) => [request, request.split("/")[0] as string]),
  );
  return ((devices?.config ?? []) as readonly { readonly requests?: readonly string[] }[])
    .filter(({ requests = [] }) => requests.length === 0 || requests.some((one) => served.has(one)))
    .map((one) => ({ source: "FromClaim", ...one }));
}

/**
 * The nodes on which the allocation is usable: this node if a device is local to it, otherwise all nodes that
 * the slices select.
 */
function selectorOf(
  chosen: readonly ChosenDevice[],
  nodeName: string,
): AllocationOfClaim["nodeSelector"] {
  const terms = new Map<string, unknown>();
  const fields = new Map<string, unknown>();
  for (const { device, slice } of chosen) {
    const place = slice.spec.perDeviceNodeSelection === true ? device : slice.spec;
    if ((place.nodeName ?? "") !== "" || device.bindsToNode === true) {
      const own = { key: "metadata.name", operator: "In", values: [nodeName] };
      return { nodeSelectorTerms: [{ matchFields: [own] }] };
    }
    const [term] = place.nodeSelector?.nodeSelectorTerms ?? [];
    for (const one of term?.matchExpressions ?? []) terms.set(canonicalJson(one), one);
    for (const one of term?.matchFields ?? []) fields.set(canonicalJson(one), one);
  }
  if (terms.size + fields.size === 0) return undefined;
  const term = {
    ...(terms.size === 0 ? {} : { matchExpressions: [...terms.values()] }),
    ...(fields.size === 0 ? {} : { matchFields: [...fields.values()] }),
  };
  return { nodeSelectorTerms: [term] } as AllocationOfClaim["nodeSelector"];
}
