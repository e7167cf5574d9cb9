/** Kubernetes Events as values, and the recorder that publishes them without repeating itself. */
import type { KubeObject } from "../../apis/meta.ts";

/** An event for `kubectl describe`. Pure functions create it; `apply` functions publish it. */
export interface EventToPublish {
  readonly object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Events of one object with equal reason and values count as one within the window. Default: the message. */
  readonly dedupeValues?: readonly string[];
  /** The window in milliseconds. Default 2 minutes. */
  readonly dedupeMs?: number;
  /** Limit for all events with the same reason. Events above it are dropped. */
  readonly rate?: EventRate;
}

/** A rate limit: `burst` events without a wait, then `perSecond`. */
export interface EventRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Publishes Kubernetes events; equal events are counted instead of repeated. */
export interface EventRecorder {
  /** Never throws and never waits. Events may be lost. */
  publish(...events: readonly EventToPublish[]): void;
}
