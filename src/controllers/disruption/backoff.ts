/**
 * Which pools are not asked for replacements now, since theirs did not come up (core/disruption/failed-pools.ts): what
 * the loop goes by, and what stands of it on the pools.
 */
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import {
  isWritten,
  type Wait,
  waitAfter,
  waitOn,
  withWait,
} from "../../core/disruption/failed-pools.ts";
import { changePool, listPools, poolById } from "../pools.ts";
import { poolFields } from "../words.ts";
import type { World } from "../world.ts";

/** By pool id. */
export class Backoff {
  readonly #waits = new Map<string, Wait>();

  /** A command's replacements did not come up. To be said once of each command. */
  failed(poolIds: Iterable<string>, nowMs: number): void {
    for (const id of new Set(poolIds)) {
      const failures = (this.#waits.get(id)?.failures ?? 0) + 1;
      this.#waits.set(id, waitAfter(failures, nowMs));
    }
  }

  /** The nodes of a command that failed are open again at last: what its pools have to wait begins now. */
  waitFrom(poolIds: Iterable<string>, nowMs: number): void {
    for (const id of new Set(poolIds)) {
      const wait = this.#waits.get(id);
      if (wait !== undefined) this.#waits.set(id, waitAfter(wait.failures, nowMs));
    }
  }

  succeeded(poolIds: Iterable<string>): void {
    for (const id of poolIds) this.#waits.delete(id);
  }

  /** Pools that are not to be tried at this moment, and until when. */
  pools(nowMs: number): ReadonlyMap<string, number> {
    const waiting = [...this.#waits].filter(([, { untilMs }]) => nowMs < untilMs);
    return new Map(waiting.map(([id, { untilMs }]) => [id, untilMs]));
  }

  /** Takes in what another process found. */
  learn(world: World): void {
    for (const { id } of listPools(world)) {
      const native = poolById(world, id)?.native;
      const wait = native === undefined ? undefined : waitOn(native, world.clock.now());
      if (wait !== undefined) this.#waits.set(id, wait);
    }
  }

  /** Where a pool bears anything else than what is so. Never rejects: the next round tries again. */
  async write(world: World, log: Logger): Promise<void> {
    await Promise.all(
      listPools(world).map(async (pool) => {
        const stored = poolById(world, pool.id);
        const wait = this.#waits.get(pool.id);
        if (stored === undefined || isWritten(stored.native, wait)) return;
        try {
          await changePool(world, stored, (native) => withWait(native, wait));
        } catch (error) {
          // A restart would forget it; that is no reason not to go on.
          const told = { ...poolFields(pool), error: errorText(error) };
          log.debug("failed writing down that replacements did not come up", told);
        }
      }),
    );
  }
}
