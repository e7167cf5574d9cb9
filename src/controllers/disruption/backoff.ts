/**
 * Remembers the back-off of pools whose replacements failed (core/disruption/failed-pools.ts). It is in memory, and
 * also in annotations of the pools, so that the next process knows it.
 */
import type { Pool } from "../../apis/hub/pool.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import {
  backoffAfter,
  backoffOn,
  hasBackoff,
  isForgotten,
  isWritten,
  type PoolBackoff,
  withBackoff,
} from "../../core/disruption/failed-pools.ts";
import { changePool, listPools, poolById } from "../pools.ts";
import { poolFields } from "../words.ts";
import type { World } from "../world.ts";

interface KnownBackoff {
  readonly wait: PoolBackoff;
  /** UID of the pool that failed. A new pool of the same name has no back-off. Absent until the pool is first read. */
  readonly uid?: string | undefined;
  /** Whether the annotation was seen on the pool. If it is missing after that, a person has removed it. */
  readonly isStored: boolean;
}

/** The back-offs of all pools, by pool id. */
export class Backoff {
  readonly #waits = new Map<string, KnownBackoff>();

  /** Records that the replacements of a command failed. Called once for each command. */
  failed(poolIds: Iterable<string>, nowMs: number): void {
    for (const id of new Set(poolIds)) {
      const known = this.#waits.get(id);
      const isFirst = known === undefined || isForgotten(known.wait, nowMs);
      const failures = isFirst ? 1 : known.wait.failures + 1;
      this.#waits.set(id, { ...known, wait: backoffAfter(failures, nowMs), isStored: false });
    }
  }

  /** Lets the back-off of the pools begin now, because the rollback of the failed command is done. */
  waitFrom(poolIds: Iterable<string>, nowMs: number): void {
    for (const id of new Set(poolIds)) {
      const known = this.#waits.get(id);
      if (known === undefined) continue;
      const wait = backoffAfter(known.wait.failures, nowMs);
      this.#waits.set(id, { ...known, wait, isStored: false });
    }
  }

  succeeded(poolIds: Iterable<string>): void {
    for (const id of poolIds) this.#waits.delete(id);
  }

  /** Pools that may launch no replacements now, by id, with the time when their back-off ends. */
  pools(nowMs: number): ReadonlyMap<string, number> {
    const ends = [...this.#waits].map(([id, { wait }]) => [id, wait.untilMs] as const);
    return new Map(ends.filter(([, untilMs]) => nowMs < untilMs));
  }

  /** Reads the back-offs that another process wrote on the pools. */
  learn(world: World): void {
    for (const { id } of listPools(world)) {
      const native = poolById(world, id)?.native;
      const wait = native === undefined ? undefined : backoffOn(native, world.clock.now());
      if (wait !== undefined) this.#waits.set(id, { wait, isStored: false });
    }
  }

  /**
   * Drops back-offs that have ended and writes changed ones on the pools. Never rejects: the next round tries again.
   */
  async write(world: World, log: Logger): Promise<void> {
    const pools = listPools(world);
    this.#review(world, pools);
    await Promise.all(
      pools.map(async (pool) => {
        const stored = poolById(world, pool.id);
        const wait = this.#waits.get(pool.id)?.wait;
        if (stored === undefined || isWritten(stored.native, wait)) return;
        try {
          await changePool(world, stored, (native) => withBackoff(native, wait));
        } catch (error) {
          // A failed write does not stop the loop. This process keeps the back-off in memory, so only a restart would
          // lose it.
          const fields = { ...poolFields(pool), error: errorText(error) };
          log.debug("failed writing down that replacements did not come up", fields);
        }
      }),
    );
  }

  /**
   * Drops back-offs that no longer apply. The pool was deleted or recreated, the back-off ended long ago, or a person
   * removed the annotation.
   */
  #review(world: World, pools: readonly Pool[]): void {
    const nowMs = world.clock.now();
    const there = new Set(pools.map(({ id }) => id));
    for (const [id, { wait, uid, isStored }] of this.#waits) {
      const native = there.has(id) ? poolById(world, id)?.native : undefined;
      const isOther = uid !== undefined && uid !== native?.metadata.uid;
      const isTakenOff = isStored && native !== undefined && !hasBackoff(native);
      if (native === undefined || isOther || isTakenOff || isForgotten(wait, nowMs)) {
        this.#waits.delete(id);
        continue;
      }
      const seen = isStored || isWritten(native, wait);
      this.#waits.set(id, { wait, uid: native.metadata.uid, isStored: seen });
    }
  }
}
