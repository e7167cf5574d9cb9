/**
 * The batch: pods and nodes that need a planning pass, and the time until it begins. Joins core's batch window with the
 * clock.
 */
import { BatchWindow } from "../../core/provisioning/batch/batch-window.ts";
import type { World } from "../world.ts";

/** The batch window. upstream: pkg/controllers/provisioning/batcher.go. */
export interface Batcher {
  /** Requests a pass for a pending pod or a leaving node. */
  trigger(uid: string): void;
  /** Milliseconds until planning may begin; undefined before the first trigger. */
  readonly waitMs: number | undefined;
  /** Milliseconds since the first trigger of this batch. 0 before it. */
  readonly openMs: number;
  /** Call when planning begins. Later triggers are for the next pass. */
  close(): void;
  /** Called at each trigger that opened a window; returns "stop". */
  onOpen(handler: () => void): () => void;
}

/**
 * A window closes after `batch-idle-duration` without a new trigger, and after `batch-max-duration` at the latest.
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
