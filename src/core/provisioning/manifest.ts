/**
 * What a planned claim looks like as an object: the NodeClaim (or Machine) that is sent to the API.
 * Building it is a decision, so it stands here; sending it is one call elsewhere.
 */
import type { KubeObject } from "../../apis/meta.ts";
import type { PlannedClaim } from "./result.ts";

/**
 * The native object of the pool's generation, named `<pool>-<nameSuffix>`.
 */
export function claimManifest(planned: PlannedClaim, nameSuffix: string): KubeObject {
  return { metadata: { name: `${planned.pool.name}-${nameSuffix}` } };
}
