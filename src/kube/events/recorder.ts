/**
 * Publishes Kubernetes Events, each once within its window. A repetition after the window raises the count of the same
 * Event, so that `kubectl describe` shows `x3 over 5m`. It never waits and never throws; events may be lost.
 */

import { EVENT, type Event } from "../../apis/core/kinds.ts";
import { keyOf } from "../../apis/meta.ts";
import { type Clock, toRfc3339 } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { KubeClient } from "../client/client.ts";
import type { EventRecorder, EventToPublish } from "./events.ts";

/** The default window in milliseconds. upstream: pkg/events/recorder.go */
const DEFAULT_DEDUPE_MS = 120_000;
/** Number of events that are remembered after their window, so that repetitions raise their count. */
const MEMORY = 4_096;
/** The most events that are remembered in all, even within their window. */
const MEMORY_LIMIT = 65_536;
/** The most writes at the same time. Other writes wait, so that thousands of events do not delay other requests. */
const WRITES_AT_ONCE = 8;
/** The most events that wait for a slow server. If there are more, the newest are dropped. */
const WAITING_LIMIT = 8_192;

/** The dependencies of the recorder. Dropped events are logged. */
export interface RecorderDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The name of the program in Events, such as `karpenter`, `kubelet` or `default-scheduler`. */
  readonly component: string;
  /** Called once for each published event. Used by the trace of the sandbox. */
  readonly onPublish?: (event: EventToPublish) => void;
}

interface Remembered {
  /** End of the window, by the monotonic clock. */
  untilMs: number;
  /** The Event's text. A different text needs another Event, even if both count as the same within the window. */
  message: string;
  count: number;
  /** Namespace and name of the stored Event. Undefined: it was not stored. */
  stored: Promise<{ namespace: string; name: string } | undefined>;
}

/** Creates a recorder. It remembers what it published, so that a repetition raises the count. */
export function createRecorder(deps: RecorderDeps): EventRecorder {
  const memory = new Map<string, Remembered>();
  const rates = new Map<string, RateLimit>();
  const writer: Writer = { ...deps, inTurn: createWriteQueue(deps.log) };
  let published = 0;
  let sweepAt = MEMORY;

  /** Drops events whose window is over. */
  function forget(nowMs: number): void {
    if (memory.size <= sweepAt) return;
    for (const [key, { untilMs }] of memory) if (untilMs <= nowMs) memory.delete(key);
    const full = memory.size > MEMORY_LIMIT;
    while (full && memory.size > (MEMORY_LIMIT * 3) / 4)
      memory.delete(memory.keys().next().value as string);
    // The next cleanup is so late that its cost for each event is constant.
    sweepAt = Math.min(Math.max(MEMORY, 2 * memory.size), MEMORY_LIMIT);
  }

  function publishOne(event: EventToPublish): void {
    const nowMs = deps.clock.elapsedMs();
    const values = event.dedupeValues ?? [event.message];
    const identity = `${event.object.kind}/${keyOf(event.object)}/${event.object.metadata.uid}`;
    const key = JSON.stringify([event.reason, identity, ...values]);
    const known = memory.get(key);
    if (known !== undefined && nowMs < known.untilMs) return;
    const untilMs = nowMs + (event.dedupeMs ?? DEFAULT_DEDUPE_MS);
    if (!mayPass(event, nowMs)) return;
    deps.onPublish?.(event);
    if (known !== undefined) {
      known.untilMs = untilMs;
      if (known.message === event.message) {
        known.count++;
        known.stored = countUp(writer, known, event);
        return;
      }
    }
    const { message } = event;
    memory.set(key, { untilMs, message, count: 1, stored: create(writer, event, published++) });
    forget(nowMs);
  }

  function mayPass({ reason, rate }: EventToPublish, nowMs: number): boolean {
    if (rate === undefined) return true;
    let limit = rates.get(reason);
    if (limit === undefined) {
      limit = { tokens: rate.burst, atMs: nowMs };
      rates.set(reason, limit);
    }
    const gained = ((nowMs - limit.atMs) * rate.perSecond) / 1_000;
    limit.tokens = Math.min(rate.burst, limit.tokens + gained);
    limit.atMs = nowMs;
    if (limit.tokens < 1) return false;
    limit.tokens--;
    return true;
  }

  return {
    publish: (...events) => {
      for (const event of events) publishOne(event);
    },
  };
}

/** A rate limit as a token bucket. */
interface RateLimit {
  tokens: number;
  atMs: number;
}

/** Runs a write when fewer than the allowed number run. Rejects if too many writes wait. */
type WriteQueue = <T>(write: () => Promise<T>) => Promise<T>;
type Writer = RecorderDeps & { readonly inTurn: WriteQueue };

function createWriteQueue(log: Logger): WriteQueue {
  const waiting: (() => void)[] = [];
  let running = 0;
  let dropped = 0;
  return async (write) => {
    if (running >= WRITES_AT_ONCE) {
      if (waiting.length >= WAITING_LIMIT) {
        if (dropped++ === 0) log.warn("too many events wait to be written, dropping some");
        throw new Error("too many events wait to be written");
      }
      // The end of a write starts the next waiting one.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await write();
    } finally {
      const next = waiting.shift();
      if (next === undefined) {
        running--;
        dropped = 0;
      } else next();
    }
  };
}

type Stored = { namespace: string; name: string } | undefined;

async function create(deps: Writer, event: EventToPublish, sequence: number): Promise<Stored> {
  const { object } = event;
  const namespace = object.metadata.namespace ?? "default";
  const name = `${object.metadata.name}.${nameTail(deps, sequence)}`;
  const at = toRfc3339(deps.clock.now());
  const body: Event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: {
      ...(object.apiVersion === undefined ? {} : { apiVersion: object.apiVersion }),
      kind: object.kind ?? "",
      name: object.metadata.name,
      ...(object.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace }),
      ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }),
    },
    reason: event.reason,
    message: event.message,
    type: event.type,
    count: 1,
    firstTimestamp: at,
    lastTimestamp: at,
    source: { component: deps.component },
    reportingComponent: deps.component,
    reportingInstance: "",
  };
  try {
    await deps.inTurn(() => deps.client.create(EVENT, body));
    return { namespace, name };
  } catch (error) {
    deps.log.debug("publishing event", { reason: event.reason, error: String(error) });
    return undefined;
  }
}

async function countUp(deps: Writer, known: Remembered, event: EventToPublish): Promise<Stored> {
  const stored = await known.stored;
  if (stored === undefined) return create(deps, event, 0);
  try {
    const body = { count: known.count, lastTimestamp: toRfc3339(deps.clock.now()) };
    await deps.inTurn(() => deps.client.patch(EVENT, stored, { type: "merge", body }));
    return stored;
  } catch {
    // A real server removes Events after an hour. Then a new one is created.
    return create(deps, event, 0);
  }
}

/**
 * The end of an Event's name: nanoseconds in hexadecimal, as in client-go. So a list sorted by name is also sorted by
 * time, as `kubectl describe` shows it. The clock counts milliseconds. The digits below are given by the order of
 * publishing, and differ between programs.
 */
function nameTail({ clock, random }: Writer, sequence: number): string {
  const belowMs = (sequence % 1_000) * 1_000 + random.int(1_000);
  return (BigInt(clock.now()) * 1_000_000n + BigInt(belowMs)).toString(16).padStart(16, "0");
}
