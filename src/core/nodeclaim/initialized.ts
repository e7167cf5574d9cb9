/**
 * When a registered node counts as initialized: it is Ready, has no startup taint and no ephemeral taint left, and
 * has every requested resource.
 * upstream: pkg/controllers/nodeclaim/lifecycle/initialization.go
 */
import type { Node } from "../../apis/core/node.ts";
import { formatTaint, isSameTaint } from "../../apis/core/tolerations.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { parseResources } from "../../apis/resources.ts";
import { isEphemeralTaint } from "../scheduling/taints.ts";

/** Whether the node is initialized, or the first thing that is missing. */
export type Initialization =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly reason:
        | "NodeNotReady"
        | "StartupTaintsExist"
        | "KnownEphemeralTaintsExist"
        | "ResourceNotRegistered";
      readonly message: string;
    };

/** upstream: pkg/controllers/nodeclaim/lifecycle/initialization.go. */
export function initialization(claim: NodeClaim, node: Node): Initialization {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  if (ready !== "True") {
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
  return { ok: true };
}

/** A device appears when its plugin has started. Until then its amount is 0 or absent. */
function missingResource(claim: NodeClaim, node: Node): string | undefined {
  const requested = parseResources(claim.spec.resources?.requests);
  const allocatable = parseResources(node.status?.allocatable);
  return Object.keys(requested)
    .sort()
    .find((name) => (requested[name] ?? 0) > 0 && (allocatable[name] ?? 0) === 0);
}
