/**
 * When a registered node counts as initialized: it is Ready, has no startup taints and no ephemeral taints, and has
 * every requested resource. If devices were planned for it, their DRA drivers must have published them.
 * upstream: pkg/controllers/nodeclaim/lifecycle/initialization.go
 */
import { isReadyNode, type Node } from "../../apis/core/node.ts";
import { formatTaint, isSameTaint } from "../../apis/core/tolerations.ts";
import { REQUESTED_DRA_DRIVERS_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { ResourceSlice } from "../../apis/resource/kinds.ts";
import { parseResources } from "../../apis/resources.ts";
import { publishedDrivers } from "../devices/inventory.ts";
import { isEphemeralTaint } from "../scheduling/taints.ts";

/** Whether the node is initialized, or the first condition that it does not meet. */
export type Initialization =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly reason:
        | "NodeNotReady"
        | "StartupTaintsExist"
        | "KnownEphemeralTaintsExist"
        | "ResourceNotRegistered"
        | "DRADriverPoolsNotPublished";
      readonly message: string;
    };

/**
 * Whether the node is initialized. `slices`: the ResourceSlices that DRA drivers have published. Undefined: devices are
 * not checked.
 */
export function initialization(
  claim: NodeClaim,
  node: Node,
  slices?: readonly ResourceSlice[],
): Initialization {
  if (!isReadyNode(node)) {
    return { ok: false, reason: "NodeNotReady", message: "Node status is NotReady" };
  }
  const taints = node.spec?.taints ?? [];
  const startup = taints.find((taint) =>
    (claim.spec.startupTaints ?? []).some((one) => isSameTaint(one, taint)),
  );
  if (startup !== undefined) {
    const message = `StartupTaint "${formatTaint(startup)}" still exists`;
    return { ok: false, reason: "StartupTaintsExist", message };
  }
  const ephemeral = taints.find(isEphemeralTaint);
  if (ephemeral !== undefined) {
    const message = `KnownEphemeralTaint "${formatTaint(ephemeral)}" still exists`;
    return { ok: false, reason: "KnownEphemeralTaintsExist", message };
  }
  const missing = missingResource(claim, node);
  if (missing !== undefined) {
    const message = `Resource "${missing}" was requested but not registered`;
    return { ok: false, reason: "ResourceNotRegistered", message };
  }
  const driver = slices && unpublishedDriver(claim, node, slices);
  if (driver !== undefined) {
    const message = `DRA driver "${driver}" has not published a complete resource pool`;
    return { ok: false, reason: "DRADriverPoolsNotPublished", message };
  }
  return { ok: true };
}

/**
 * The first DRA driver whose devices were planned for the node but that has not published a complete pool of devices
 * there. Undefined: there is none.
 */
function unpublishedDriver(
  { metadata: { annotations } }: NodeClaim,
  node: Node,
  slices: readonly ResourceSlice[],
): string | undefined {
  const drivers = annotations?.[REQUESTED_DRA_DRIVERS_ANNOTATION_KEY] ?? "";
  if (drivers === "") return undefined;
  const published = publishedDrivers(slices, node.metadata.name);
  return drivers.split(",").find((driver) => !published.has(driver));
}

/**
 * The first requested resource that the node does not have yet. Undefined: it has all. A device plugin reports its
 * resource as 0, or not at all, until it has started.
 */
function missingResource(claim: NodeClaim, node: Node): string | undefined {
  const requested = parseResources(claim.spec.resources?.requests);
  const allocatable = parseResources(node.status?.allocatable);
  return Object.keys(requested)
    .sort()
    .find((name) => (requested[name] ?? 0) > 0 && (allocatable[name] ?? 0) === 0);
}
