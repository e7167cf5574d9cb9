/** Reads and writes pools of every API version: NodePools and Provisioners. Both are read as the flat type `Pool`. */

import { isOfClassKinds, type Pool } from "../apis/hub/pool.ts";
import { POOL_KINDS, toPool } from "../apis/hub/to-pool.ts";
import {
  type ConditionChange,
  condition,
  withCondition,
  withLoneCondition,
  withoutCondition,
} from "../apis/karpenter/conditions.ts";
import type { NodePool } from "../apis/karpenter/nodepool.ts";
import type { Provisioner } from "../apis/karpenter/provisioner.ts";
import type { Kind, KubeObject } from "../apis/meta.ts";
import { createMergePatch } from "../base/json.ts";
import { changeObject } from "../kube/client/change-object.ts";
import { getIfThere } from "../kube/client/get-if-there.ts";
import { type Request, type Source, source } from "../kube/manager/controller.ts";
import { nativePools } from "./mirrors.ts";
import type { World } from "./world.ts";

/** A pool with the object from which it was read. A patch is computed against that object. */
export interface StoredPool {
  readonly kind: Kind;
  readonly native: KubeObject;
  readonly pool: Pool;
}

const converted = new WeakMap<KubeObject, Pool>();

function hub(native: KubeObject): Pool {
  let pool = converted.get(native);
  if (pool === undefined) {
    pool = toPool(native as NodePool | Provisioner);
    converted.set(native, pool);
  }
  return pool;
}

function kindOfId(id: string): Kind | undefined {
  const word = id.slice(0, id.indexOf("/"));
  return POOL_KINDS.find(({ kind }) => kind.toLowerCase() === word);
}

/** The stored object and the `Pool` read from it. Undefined: it was deleted or is invalid. */
export function readPool(world: Pick<World, "mirrors">, request: Request): StoredPool | undefined {
  const kind = POOL_KINDS.find((one) => one.kind === request.kind);
  const native = kind === undefined ? undefined : nativePools(world, kind).get(request.name);
  if (kind === undefined || native === undefined) return undefined;
  return { kind, native, pool: hub(native) };
}

/** The pool with this `Pool.id`, such as `nodepool/default` or `provisioner/default`. */
export function poolById(world: Pick<World, "mirrors">, id: string): StoredPool | undefined {
  const kind = kindOfId(id);
  return kind === undefined
    ? undefined
    : readPool(world, { kind: kind.kind, name: id.slice(id.indexOf("/") + 1) });
}

/**
 * The same pool, read from the API server. Undefined: it is gone, is being deleted, or another pool has its name. No
 * instance may be launched for such a pool, because Kubernetes deletes the pool's claims.
 */
export async function livePool(
  { kube }: Pick<World, "kube">,
  { kind, native }: Pick<StoredPool, "kind" | "native">,
): Promise<Pool | undefined> {
  const live = await getIfThere(kube, kind, { name: native.metadata.name });
  if (live === undefined || live.metadata.uid !== native.metadata.uid) return undefined;
  const pool = hub(live);
  return pool.deleting ? undefined : pool;
}

/** All pools whose node class belongs to this provider, sorted by kind and name. */
export function listPools(world: Pick<World, "mirrors" | "cloud">): readonly Pool[] {
  return allPools(world).filter((pool) => isManagedPool(world, pool));
}

/** All pools, including those of other providers, sorted by kind and name. */
export function allPools(world: Pick<World, "mirrors">): readonly Pool[] {
  return POOL_KINDS.flatMap((kind) => nativePools(world, kind).list().map(hub));
}

/** Whether the pool's node class belongs to this provider. */
export function isManagedPool(world: Pick<World, "cloud">, pool: Pool): boolean {
  return isOfClassKinds(pool, world.cloud.nodeClassKinds);
}

/** Whether both versions of a pool are the same, except for readiness. */
export function asksTheSame(before: KubeObject, now: KubeObject): boolean {
  const [was, is] = [before, now].map((native) => ({ ...hub(native), ready: true }));
  return createMergePatch(was, is) === undefined;
}

/** The request that reconciles the pool. */
export function poolRequest(pool: Pool): Request {
  return { kind: pool.generation === "alpha" ? "Provisioner" : "NodePool", name: pool.name };
}

/** Watches NodePools and Provisioners. */
export function poolSources(): readonly Source[] {
  return POOL_KINDS.map((kind) => source(kind as Kind));
}

/**
 * Changes a pool that others may also write. After a conflict `change` is applied again to the newest object. Resolves
 * to `undefined` if the pool is gone; rejects after the third conflict.
 */
export function changePool(
  world: Pick<World, "kube">,
  { kind, native }: StoredPool,
  change: (native: KubeObject) => KubeObject,
): Promise<KubeObject | undefined> {
  return changeObject(world.kube, kind, native, change);
}

type Shown = Pick<ConditionChange, "status" | "reason" | "message">;

/**
 * Sets a condition of this type, which a pool has only while there is something to say. `shown` undefined: removes it.
 * A Provisioner has no condition Ready, so that is not computed for it.
 */
export async function showOnPool(
  world: Pick<World, "kube" | "clock">,
  stored: StoredPool,
  { type, shown }: { readonly type: string; readonly shown: Shown | undefined },
): Promise<void> {
  const { native, pool } = stored;
  const withIt = pool.generation === "alpha" ? withLoneCondition : withCondition;
  if (shown !== undefined) {
    const nowMs = world.clock.now();
    await changePool(world, stored, (one) => withIt(one, { type, ...shown }, nowMs));
  } else if (condition(native, type) !== undefined)
    await changePool(world, stored, (one) => withoutCondition(one, type));
}
