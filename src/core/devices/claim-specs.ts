/**
 * Reads the device requests of a ResourceClaim: classes, selectors, amounts. A claim that cannot be planned gives a
 * text with the reason.
 */
import type {
  DeviceClaim,
  DeviceClass,
  DeviceConstraint,
  DeviceToleration,
  ExactDeviceRequest,
} from "../../apis/resource/kinds.ts";
import { type DeviceAmounts, NO_AMOUNTS, requestedOf } from "./capacity.ts";
import type { Selector, SelectorCache } from "./selectors.ts";

/**
 * The most devices of one claim.
 * upstream: resource.k8s.io AllocationResultsMaxSize
 */
export const MOST_RESULTS = 32;

/** One way to satisfy a request: its only way (`exactly`), or an entry of `firstAvailable`. */
export interface Alternative {
  /** The name of the request, or `request/alternative`. */
  readonly name: string;
  readonly className: string;
  /** The selectors of the DeviceClass, followed by those of the request. */
  readonly selectors: readonly Selector[];
  /** How many of `selectors` belong to the DeviceClass. */
  readonly ofClass: number;
  /** Whether the request is for all devices that match. */
  readonly wantsAll: boolean;
  /** Number of devices. Unused if `wantsAll` is true. */
  readonly count: number;
  /** Whether the request only monitors devices (`adminAccess`). Then other requests may still use them. */
  readonly adminAccess: boolean;
  readonly tolerations: readonly DeviceToleration[];
  readonly capacity: DeviceAmounts;
}

export interface ClaimSpec {
  /** For each request: its alternatives, in order. */
  readonly requests: readonly (readonly Alternative[])[];
  readonly constraints: readonly DeviceConstraint[];
}

/** The facts that are needed to read claims. */
export interface ClassReader {
  readonly classes: ReadonlyMap<string, DeviceClass>;
  readonly selectors: SelectorCache;
}

/** Reads the spec of a claim. If the claim cannot be planned, returns the reason as a text. */
export function claimSpec(
  { requests = [], constraints = [] }: DeviceClaim,
  reader: ClassReader,
): ClaimSpec | string {
  const read: Alternative[][] = [];
  for (const { name, exactly, firstAvailable } of requests) {
    const alternatives: Alternative[] = [];
    const ways =
      exactly === undefined
        ? (firstAvailable ?? []).map((one) => ({ ...one, name: `${name}/${one.name}` }))
        : [{ ...exactly, name }];
    if (ways.length === 0) return `request ${name} has neither exactly nor firstAvailable`;
    for (const way of ways) {
      const alternative = alternativeOf(way, reader);
      if (typeof alternative === "string") return `request ${way.name}: ${alternative}`;
      alternatives.push(alternative);
    }
    read.push(alternatives);
  }
  const isAmbiguous = constraints.some(
    (one) => (one.matchAttribute === undefined) === (one.distinctAttribute === undefined),
  );
  if (isAmbiguous) return "a constraint has neither matchAttribute nor distinctAttribute alone";
  const least = read.reduce((sum, ways) => sum + Math.min(...ways.map(leastDevices)), 0);
  if (least > MOST_RESULTS)
    return `asks for at least ${least} devices, and a claim may have at most ${MOST_RESULTS}`;
  return { requests: read, constraints };
}

function leastDevices({ wantsAll, count }: Alternative): number {
  return wantsAll ? 1 : count;
}

function alternativeOf(
  request: ExactDeviceRequest & { readonly name: string },
  { classes, selectors }: ClassReader,
): Alternative | string {
  const { deviceClassName: className, allocationMode = "ExactCount" } = request;
  const deviceClass = classes.get(className);
  if (deviceClass === undefined) return `DeviceClass ${className} does not exist`;
  if (allocationMode !== "ExactCount" && allocationMode !== "All")
    return `allocation mode ${String(allocationMode)} is not supported`;
  const { selectors: ofClass = [] } = deviceClass.spec;
  const own = request.selectors ?? [];
  const compiled = [...ofClass, ...own].map((one) => selectors.of(one));
  const at = compiled.findIndex(({ problem }) => problem !== undefined);
  if (at >= 0) {
    const { expression, problem } = compiled[at] as Selector;
    const where = at < ofClass.length ? `DeviceClass ${className}: ` : "";
    return `${where}selector ${JSON.stringify(expression)} is not valid: ${problem}`;
  }
  const { capacity: { requests } = {} } = request;
  return {
    name: request.name,
    className,
    selectors: compiled,
    ofClass: ofClass.length,
    wantsAll: allocationMode === "All",
    count: request.count ?? 1,
    adminAccess: request.adminAccess === true,
    tolerations: request.tolerations ?? [],
    capacity: requests === undefined ? NO_AMOUNTS : requestedOf(requests),
  };
}
