/**
 * Pods that ask for a place, and the provisioner waiting for them: core's batch window joined to the
 * clock.
 */
import { BatchWindow } from "../../core/provisioning/batch/batch-window.ts";
import type { World } from "../world.ts";

/** The batch window. upstream: pkg/controllers/provisioning/batcher.go. */
export interface Batcher {
  /** Something (a pod, a leaving node) needs a pass. */
  trigger(uid: string): void;
  /** Milliseconds until planning may begin; undefined before the first trigger. */
  readonly waitMs: number | undefined;
  /** Milliseconds since the first of this batch came; 0 before the first trigger. */
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
