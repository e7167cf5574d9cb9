/**
 * Holds the NodeOverlays in effect, and wraps the cloud provider so that they apply: it returns the changed prices and
 * capacities, and launches with them. A pool can launch nothing until its overlays have been evaluated, because an
 * overlay may change the prices.
 * upstream: pkg/cloudprovider/overlay, pkg/controllers/nodeoverlay
 */
import { poolIdOfClaim } from "../../apis/hub/claim.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeOverlay } from "../../apis/karpenter/nodeoverlay.ts";
import type { CloudProvider } from "../../core/cloudprovider/cloud-provider.ts";
import { UnevaluatedNodePoolError } from "../../core/cloudprovider/errors.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import { layOverlays } from "../../core/cloudprovider/overlays.ts";
import { poolLabels } from "../../core/provisioning/manifest.ts";

type Types = readonly InstanceType[];

/** Applies the valid NodeOverlays to the prices and capacities of instance types. */
export class Overlays {
  #accepted: readonly NodeOverlay[] = [];
  #pools: ReadonlyMap<string, Pool> = new Map();
  /** Results of {@link lay}: by pool id, then by the list that the cloud returned. */
  #laid = new Map<string, WeakMap<Types, Types>>();

  /** Makes these overlays (those with the highest weight first) effective for these pools. */
  replace(accepted: readonly NodeOverlay[], pools: readonly Pool[]): void {
    this.#accepted = accepted;
    this.#pools = new Map(pools.map((pool) => [pool.id, pool]));
    this.#laid = new Map();
  }

  /**
   * The pool's instance types with overlays. Throws UnevaluatedNodePoolError if the pool's overlays are not evaluated
   * yet.
   */
  lay(poolId: string, types: Types): Types {
    const pool = this.#pools.get(poolId);
    if (pool === undefined) {
      const name = poolId.slice(poolId.indexOf("/") + 1);
      throw new UnevaluatedNodePoolError(`nodepool "${name}" is awaiting evaluation`);
    }
    const known = this.#laid.get(poolId) ?? new WeakMap<Types, Types>();
    this.#laid.set(poolId, known);
    const laid =
      known.get(types) ??
      layOverlays({ pool, labels: poolLabels(pool), instanceTypes: types }, this.#accepted);
    known.set(types, laid);
    return laid;
  }
}

/** Wraps the cloud provider so that overlays apply to what pools can launch. */
export function overlaidCloud(cloud: CloudProvider, overlays: Overlays): CloudProvider {
  return {
    name: cloud.name,
    nodeClassKinds: cloud.nodeClassKinds,
    wellKnownLabels: cloud.wellKnownLabels,
    // A getter, because tests replace the policies later.
    get repairPolicies() {
      return cloud.repairPolicies;
    },
    create: (claim) => {
      const poolId = poolIdOfClaim(claim);
      if (poolId === undefined) return cloud.create(claim);
      return cloud.create(claim, (types) => overlays.lay(poolId, types));
    },
    takeOver: (claim, providerId) => {
      const poolId = poolIdOfClaim(claim);
      if (poolId === undefined) return cloud.takeOver(claim, providerId);
      return cloud.takeOver(claim, providerId, (types) => overlays.lay(poolId, types));
    },
    delete: (claim) => cloud.delete(claim),
    reboot: (claim, operation) => cloud.reboot(claim, operation),
    get: (providerId) => cloud.get(providerId),
    list: () => cloud.list(),
    quotaRoom: () => cloud.quotaRoom(),
    labelsOfRunning: (claim) => cloud.labelsOfRunning(claim),
    isTypeGone: (claim) => cloud.isTypeGone(claim),
    isDrifted: (claim) => cloud.isDrifted(claim),
    isTakenBack: (claim) => cloud.isTakenBack(claim),
    // The cloud is called first, so that its errors are not hidden by an error of the overlays.
    getInstanceTypes: async (pool) => overlays.lay(pool.id, await cloud.getInstanceTypes(pool)),
  };
}
