/** What a static pool asks for, read past the mirror: before machines are bought for it, and before one ends. */
import { toPool } from "../../apis/hub/to-pool.ts";
import type { NodePool } from "../../apis/karpenter/nodepool.ts";
import type { Provisioner } from "../../apis/karpenter/provisioner.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { StoredPool } from "../pools.ts";
import type { World } from "../world.ts";

/**
 * The replicas of this very pool; undefined: it is gone, leaves, is another one of that name or is static no more. A
 * claim of a pool that is gone has no owner: Kubernetes deletes it at once, and its machine would be bought again and
 * again.
 */
export async function liveReplicas(
  { kube }: Pick<World, "kube">,
  { kind, native }: StoredPool,
): Promise<number | undefined> {
  try {
    const live = await kube.get(kind, { name: native.metadata.name });
    const isSame = live.metadata.uid === native.metadata.uid;
    const { replicas, deleting } = toPool(live as NodePool | Provisioner);
    return isSame && !deleting ? replicas : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
