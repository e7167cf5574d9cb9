/**
 * Which pools are not asked for replacements now, since theirs did not come up (core/disruption/failed-pools.ts): what
 * the loop goes by, and what stands of it on the pools.
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

/** What is known of a pool's wait. */
interface Known {
  readonly wait: PoolBackoff;
  /** Of the pool that failed: another one of its name has not. Absent until it was looked at. */
  readonly uid?: string | undefined;
  /** It was seen on the pool: where it is missing now, somebody took it off. */
  readonly isStored: boolean;
}

/** By pool id. */
export class Backoff {
  readonly #waits = new Map<string, Known>();

  /** A command's replacements did not come up. To be said once of each command. */
  failed(poolIds: Iterable<string>, nowMs: number): void {
    for (const id of new Set(poolIds)) {
      const known = this.#waits.get(id);
      const isFirst = known === undefined || isForgotten(known.wait, nowMs);
      const failures = isFirst ? 1 : known.wait.failures + 1;
      this.#waits.set(id, { ...known, wait: backoffAfter(failures, nowMs), isStored: false });
    }
  }

  /** The nodes of a command that failed are open again at last: what its pools have to wait begins now. */
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

  /** Pools that are not to be tried at this moment, and until when. */
  pools(nowMs: number): ReadonlyMap<string, number> {
    const ends = [...this.#waits].map(([id, { wait }]) => [id, wait.untilMs] as const);
    return new Map(ends.filter(([, untilMs]) => nowMs < untilMs));
  }

  /** Takes in what another process found. */
  learn(world: World): void {
    for (const { id } of listPools(world)) {
      const native = poolById(world, id)?.native;
      const wait = native === undefined ? undefined : backoffOn(native, world.clock.now());
      if (wait !== undefined) this.#waits.set(id, { wait, isStored: false });
    }
  }

  /**
   * Lets go of what is so no more, and writes where a pool bears anything else than what is so. Never rejects: the next
   * round tries again.
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
          // A restart would forget it; that is no reason not to go on.
          const told = { ...poolFields(pool), error: errorText(error) };
          log.debug("failed writing down that replacements did not come up", told);
        }
      }),
    );
  }

  /** Waits of pools that are gone, that are over for long, or that a person took off the pool end here. */
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
