/**
 * Claims as they will be after the scheduler's writes. A decision counts at once, so that the next pod does
 * not get the same devices.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { keyOf } from "../../../apis/meta.ts";
import type { ResourceClaim } from "../../../apis/resource/kinds.ts";
import { allocationOn } from "../filters/devices.ts";
import type { NodeInfo } from "../node-info.ts";
import { allocationOf } from "./allocation-result.ts";
import { devicesInUse } from "./in-use.ts";
import { type DeviceObjects, podClaims } from "./pod-claims.ts";

/** Protects an allocated claim from deletion. upstream: resourceapi.Finalizer */
export const CLAIM_FINALIZER = "resource.kubernetes.io/delete-protection";

/** A claim before and after a write. */
export interface ClaimWrite {
  readonly before: ResourceClaim;
  readonly after: ResourceClaim;
}

export class AssumedClaims {
  readonly #claims = new Map<string, ResourceClaim>();

  /** The claims with the assumed changes applied. */
  over(objects: DeviceObjects): DeviceObjects {
    const current = (claim: ResourceClaim): ResourceClaim => {
      const assumed = this.#claims.get(keyOf(claim));
      return assumed?.metadata.uid === claim.metadata.uid ? (assumed ?? claim) : claim;
    };
    return {
      ...objects,
      claim: (namespace, name) => {
        const claim = objects.claim(namespace, name);
        return claim === undefined ? undefined : current(claim);
      },
      claims: () => objects.claims().map(current),
    };
  }

  assume(writes: readonly ClaimWrite[]): void {
    for (const { after } of writes) this.#claims.set(keyOf(after), after);
  }

  /** Call when the writes are done or have failed. */
  forget(writes: readonly ClaimWrite[]): void {
    for (const { after } of writes)
      if (this.#claims.get(keyOf(after)) === after) this.#claims.delete(keyOf(after));
  }
}

/**
 * The writes to the claims of a pod that was placed on this node. Throws if the claims cannot be allocated
 * there any more.
 */
export function claimWrites(
  pod: Pod,
  node: NodeInfo,
  { devices, shareId }: { readonly devices: DeviceObjects; readonly shareId: () => string },
): readonly ClaimWrite[] {
  const found = podClaims(pod, devices);
  if ("message" in found) throw new Error(found.message);
  const open = found.claims.filter(({ status }) => status?.allocation === undefined);
  const allocation =
    open.length === 0
      ? undefined
      : allocationOn(node, open, { devices, inUse: devicesInUse(devices.claims()) });
  if (allocation !== undefined && allocation.kind !== "found")
    throw new Error(
      `claims of pod ${keyOf(pod)} cannot be allocated on node ${node.name} any more`,
    );
  const { name, uid = "" } = pod.metadata;
  return found.claims.flatMap((before) => {
    const { reservedFor = [], ...status } = before.status ?? {};
    const chosen = allocation?.byClaim[open.indexOf(before)];
    const isReserved = reservedFor.some((one) => one.uid === uid);
    if (chosen === undefined && isReserved) return [];
    const { finalizers = [] } = before.metadata;
    const fresh = chosen && allocationOf(before, chosen, { nodeName: node.name, shareId });
    const after: ResourceClaim = {
      ...before,
      metadata: finalizers.includes(CLAIM_FINALIZER)
        ? before.metadata
        : { ...before.metadata, finalizers: [...finalizers, CLAIM_FINALIZER] },
      status: {
        ...status,
        ...(fresh === undefined ? {} : { allocation: fresh }),
        reservedFor: isReserved ? reservedFor : [...reservedFor, { resource: "pods", name, uid }],
      },
    };
    return [{ before, after }];
  });
}
