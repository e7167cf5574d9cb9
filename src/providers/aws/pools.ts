/** The pools of the cluster, for events that are published on each pool. */
import type { Pool } from "../../apis/hub/pool.ts";
import { POOL_KINDS, toPool } from "../../apis/hub/to-pool.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { Mirrors } from "../../kube/mirror/mirror.ts";

/** Pools by kind, then name. `native` has its kind set, because an event needs it. */
export function poolsIn(
  mirrors: Mirrors,
): readonly { readonly native: KubeObject; readonly pool: Pool }[] {
  return POOL_KINDS.flatMap((kind) =>
    mirrors
      .of(kind)
      .list()
      .map((native) => ({ native: { ...native, kind: kind.kind }, pool: toPool(native) })),
  );
}
