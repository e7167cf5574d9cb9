/** The cluster as read, with changed NodePools, additional objects and changed replicas. */
import type { Found } from "../plan/documents.ts";
import type { Manifests } from "../plan/manifests.ts";
import type { ReadPicture } from "./read-picture.ts";
import { type ReplicaCount, withScales } from "./scales.ts";
import { withDrift, withObjects } from "./what-if.ts";

/** The assumed changes to objects. */
export interface SupposedObjects {
  /** NodePools that replace those with the same names. */
  readonly pools: readonly Found[];
  /** Objects that are applied: they replace those of the same kind and name. */
  readonly added: readonly Found[];
  readonly scales: readonly ReplicaCount[];
}

/** Functions that build a picture of the cluster from objects. */
export interface PictureMakers {
  readonly found: readonly Found[];
  readonly ofObjects: (found: readonly Found[]) => Promise<ReadPicture>;
  readonly ofManifests: (manifests: Manifests) => Promise<ReadPicture>;
}

/**
 * The picture of the cluster with the assumed changes. Returns `before` itself if nothing is changed. Throws CliError
 * for objects that the API server would refuse.
 */
export async function supposedPicture(
  before: ReadPicture,
  { pools, added, scales }: SupposedObjects,
  { found, ofObjects, ofManifests }: PictureMakers,
): Promise<ReadPicture> {
  if (pools.length === 0 && added.length === 0 && scales.length === 0) return before;
  const scaled = withScales(withObjects(found, pools), scales);
  const changed = await ofObjects(withObjects(scaled, added));
  const manifests = withDrift(changed, pools);
  return manifests === changed.manifests ? changed : ofManifests(manifests);
}
