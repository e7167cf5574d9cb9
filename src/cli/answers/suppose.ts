/** The cluster as it was read, with other NodePools, further objects and other numbers of replicas. */
import type { Found } from "../plan/documents.ts";
import type { Manifests } from "../plan/manifests.ts";
import type { ReadPicture } from "./read-picture.ts";
import { type ReplicaCount, withScales } from "./scales.ts";
import { withDrift, withPools } from "./what-if.ts";

/** What is supposed of objects. */
export interface SupposedObjects {
  /** NodePools in place of those with their names. */
  readonly pools: readonly Found[];
  readonly added: readonly Found[];
  readonly scales: readonly ReplicaCount[];
}

/** How a picture is made, by whoever has read `found`. */
export interface PictureMakers {
  readonly found: readonly Found[];
  readonly ofObjects: (found: readonly Found[]) => Promise<ReadPicture>;
  readonly ofManifests: (manifests: Manifests) => Promise<ReadPicture>;
}

/** `before` itself where nothing is supposed. Throws CliError for what the API server would refuse. */
export async function supposedPicture(
  before: ReadPicture,
  { pools, added, scales }: SupposedObjects,
  { found, ofObjects, ofManifests }: PictureMakers,
): Promise<ReadPicture> {
  if (pools.length === 0 && added.length === 0 && scales.length === 0) return before;
  const changed = await ofObjects([...withScales(withPools(found, pools), scales), ...added]);
  const manifests = withDrift(changed, pools);
  return manifests === changed.manifests ? changed : ofManifests(manifests);
}
