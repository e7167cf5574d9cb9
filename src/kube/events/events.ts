/** Kubernetes Events as values, and the recorder that publishes them without repeating itself. */
import type { KubeObject } from "../../apis/meta.ts";

/** Something a user should see in `kubectl describe`. Built by pure functions, published in `apply`. */
export interface EventToPublish {
  readonly object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Equal reason and values within the window are one event. Default: object key and message. */
  readonly dedupeValues?: readonly string[];
  /** Default 2 minutes. */
  readonly dedupeMs?: number;
  /** Of events with the same reason, no more than these are published; what is over is dropped. */
  readonly rate?: EventRate;
}

/** A token bucket for events of one kind: `burst` at once, then `perSecond`. */
export interface EventRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Publishes Kubernetes events; equal events are counted instead of repeated. */
export interface EventRecorder {
  /** Never throws and never waits: publishing is best effort. */
  publish(...events: readonly EventToPublish[]): void;
}
