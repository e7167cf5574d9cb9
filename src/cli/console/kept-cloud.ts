/**
 * Caches what NodePools can launch. Building the catalogue of a region takes a second, and the console needs it on
 * each refresh. It is built again if node classes, prices or the region change.
 */
import type { Pool } from "../../apis/hub/pool.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import type { Cloud } from "../plan/aws-catalogue.ts";
import type { ReadFacts } from "../plan/facts.ts";
import type { Manifests } from "../plan/manifests.ts";
import { regionOf } from "../plan/region.ts";
import { cloudOf } from "../plan/sources.ts";

/** Most lists of NodePools for which a region is kept: those of the cluster, and those that What if asks about. */
const MOST_REGIONS = 16;

/** Returns a function that gives the same cloud object until its inputs change. */
export function keptCloud(): (manifests: Manifests, facts?: ReadFacts) => Promise<Cloud> {
  const regions = new Map<string, string | undefined>();
  let key = "";
  let cloud: Cloud | undefined;
  return async (manifests, facts) => {
    // Only nodes of pools are searched for a region, because searching all pods takes long.
    const ofPools = versionsOf(manifests.pools);
    if (!regions.has(ofPools)) {
      if (regions.size >= MOST_REGIONS) regions.clear();
      regions.set(ofPools, regionOf(manifests));
    }
    const now = JSON.stringify([regions.get(ofPools), facts, versionsOf(manifests.nodeClasses)]);
    if (cloud === undefined || now !== key) {
      cloud = remembering(await cloudOf({}, manifests, facts));
      key = now;
    }
    return cloud;
  };
}

function versionsOf(objects: Manifests["pools"] | Manifests["nodeClasses"]): string {
  return objects
    .map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`)
    .join();
}

/** Caches instance types by the pool's class and kubelet settings. It returns the same list each time. */
function remembering(cloud: Cloud): Cloud {
  const known = new Map<string, Promise<readonly InstanceType[]>>();
  const typesOf = (pool: Pool): Promise<readonly InstanceType[]> => {
    const { id, classRef, kubelet, inlineProvider } = pool;
    const key = JSON.stringify([id, classRef, kubelet, inlineProvider]);
    const types = known.get(key) ?? cloud.typesOf(pool);
    known.set(key, types);
    return types;
  };
  return { ...cloud, typesOf };
}
