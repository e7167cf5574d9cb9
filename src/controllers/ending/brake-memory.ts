/**
 * Stores the count of the brake (core/safety/brake.ts), which limits deletions within a time, for the time after a
 * restart and for the next leader. Each deletion is written on a pool before it happens. Before its first deletion, a
 * process reads the counts of others from the API server. A process that cannot read or write them deletes nothing.
 */

import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import { INVOLUNTARY_ENDS_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { Brake } from "../../core/safety/brake.ts";
import { newestRelease, shownBrake } from "../../core/safety/brake-condition.ts";
import { endsText, keptEnds } from "../../core/safety/brake-memory.ts";
import { nativePools } from "../mirrors.ts";
import { changePool, listPools, poolById } from "../pools.ts";
import type { World } from "../world.ts";
import { earlierNow, laterNow } from "./two-clocks.ts";

type Needed = Pick<World, "kube" | "mirrors" | "clock" | "clockSkewMs" | "brake">;

const recalled = new WeakMap<Brake, Promise<void>>();
/** The write in progress. Writes run one after the other, because each contains the whole count. */
const writing = new WeakMap<Brake, Promise<void>>();

/** Adds the deletions that other processes counted, once for each process. Rejects while the pools cannot be read. */
export function recallBrake(world: Needed): Promise<void> {
  const known = recalled.get(world.brake);
  if (known !== undefined) return known;
  const reading = recall(world);
  recalled.set(world.brake, reading);
  reading.catch(() => recalled.delete(world.brake));
  return reading;
}

async function recall(world: Needed): Promise<void> {
  const { kube, mirrors, clock, brake } = world;
  // Kinds without pools are not listed, because their API version may not be installed.
  const kinds = POOL_KINDS.filter((kind) => nativePools({ mirrors }, kind).size > 0);
  const lists = await Promise.all(kinds.map((kind) => kube.list(kind as Kind)));
  const pools = lists.flatMap(({ items }) => items as readonly KubeObject[]);
  const nowMs = earlierNow(world);
  const releasedMs = newestRelease(pools, nowMs);
  const elapsedMs = (atMs: number): number => clock.elapsedMs() - Math.max(0, nowMs - atMs);
  brake.recall(
    keptEnds(pools)
      .filter((atMs) => atMs > releasedMs)
      .map(elapsedMs),
  );
  const shown = shownBrake(pools, nowMs);
  if (shown !== undefined) brake.resume(elapsedMs(shown.sinceMs));
}

/** Writes the counted deletions on a pool. Writes nothing if there is no pool. */
export function keepBrakeCount(world: World): Promise<void> {
  const before = writing.get(world.brake) ?? Promise.resolve();
  const written = before.catch(() => undefined).then(() => write(world));
  writing.set(world.brake, written);
  return written;
}

async function write(world: World): Promise<void> {
  const { brake, clock } = world;
  const bearer = listPools(world).find(({ deleting }) => !deleting);
  const stored = bearer === undefined ? undefined : poolById(world, bearer.id);
  if (stored === undefined) return;
  const aheadMs = laterNow(world) - clock.elapsedMs();
  const text = endsText(brake.counted(clock.elapsedMs()).map((atMs) => atMs + aheadMs));
  await changePool(world, stored, (one) => ({
    ...one,
    metadata: {
      ...one.metadata,
      annotations: { ...one.metadata.annotations, [INVOLUNTARY_ENDS_ANNOTATION_KEY]: text },
    },
  }));
}
