/**
 * Collects the pods and nodes that need a planning pass, and decides when the pass begins. The window itself is in
 * core; here it is connected with the clock.
 */
import { BatchWindow } from "../../core/provisioning/batch/batch-window.ts";
import type { World } from "../world.ts";

/** The pods and nodes of the next planning pass. upstream: pkg/controllers/provisioning/batcher.go. */
export interface Batcher {
  /** Requests a pass for a pending pod, or for a node that will be removed. */
  trigger(uid: string): void;
  /** Milliseconds until the pass may begin. Undefined: nothing has requested one. */
  readonly waitMs: number | undefined;
  /** Milliseconds since the first request of this batch. 0: there is none. */
  readonly openMs: number;
  /** Ends the batch when planning begins. Later requests are for the next pass. */
  close(): void;
  /** Calls the handler whenever a request begins a new batch. Returns a function that stops this. */
  onOpen(handler: () => void): () => void;
}

/**
 * Creates the batcher. A batch ends after `batch-idle-duration` without a new request, and after `batch-max-duration`
 * at the latest.
 */
export function createBatcher(world: Pick<World, "clock" | "settings">): Batcher {
  const { clock, settings } = world;
  const window = new BatchWindow({ idleMs: settings.batchIdleMs, maxMs: settings.batchMaxMs });
  const handlers = new Set<() => void>();
  return {
    trigger: (uid) => {
      const opened = window.closesAtMs === undefined;
      window.trigger(uid, clock.elapsedMs());
      if (opened) for (const handler of handlers) handler();
    },
    get waitMs() {
      const closesAtMs = window.closesAtMs;
      return closesAtMs === undefined ? undefined : Math.max(0, closesAtMs - clock.elapsedMs());
    },
    get openMs() {
      const nowMs = clock.elapsedMs();
      return nowMs - (window.openedAtMs ?? nowMs);
    },
    close: () => window.close(),
    onOpen: (handler) => {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
  };
}
