/** The types of Kubernetes Events to publish, and of the recorder that publishes each of them only once. */
import type { KubeObject } from "../../apis/meta.ts";

/** An event for `kubectl describe`. Functions that decide create it, and the recorder publishes it. */
export interface EventToPublish {
  readonly object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /**
   * Events of one object with equal reason and equal values count as the same within the window. Absent: the message is
   * the value.
   */
  readonly dedupeValues?: readonly string[];
  /** How long equal events count as the same, in milliseconds. Absent: 2 minutes. */
  readonly dedupeMs?: number;
  /** A rate limit for all events with the same reason. Events above it are dropped. */
  readonly rate?: EventRate;
}

/** A rate limit: `burst` events without a wait, then `perSecond`. */
export interface EventRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Publishes Kubernetes events; equal events are counted instead of repeated. */
export interface EventRecorder {
  /** Sends the events in the background. Never throws and never waits. Events may be lost. */
  publish(...events: readonly EventToPublish[]): void;
}
