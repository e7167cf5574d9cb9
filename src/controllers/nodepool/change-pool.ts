/** A small change of a pool that may meet other writers: made anew on the newest object. */
import type { KubeObject } from "../../apis/meta.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import { patchObject } from "../../kube/patch-object.ts";
import type { StoredPool } from "../pools.ts";
import type { World } from "../world.ts";

/** Resolves `undefined` when the pool is gone; rejects after the third lost race. */
export async function changePool(
  world: Pick<World, "kube">,
  { kind, native }: StoredPool,
  change: (native: KubeObject) => KubeObject,
): Promise<KubeObject | undefined> {
  let latest = native;
  for (let attempt = 0; ; attempt++) {
    try {
      return await patchObject(world.kube, kind, latest, change(latest));
    } catch (error) {
      if (!isConflict(error) || attempt === 2) throw error;
    }
    try {
      latest = await world.kube.get(kind, { name: native.metadata.name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
