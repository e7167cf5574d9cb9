/**
 * Publishes Kubernetes Events, each once per window: a repeated one after the window counts up on the
 * same Event, as `kubectl describe` shows it (`x3 over 5m`). Best effort: never waits, never throws.
 */

import { EVENT, type Event } from "../apis/core/kinds.ts";
import { keyOf } from "../apis/meta.ts";
import { type Clock, toRfc3339 } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { KubeClient } from "./client.ts";
import type { EventRecorder, EventToPublish } from "./events.ts";

/** upstream: pkg/events/recorder.go */
const DEFAULT_DEDUPE_MS = 120_000;
/** Up to so many events are remembered beyond their window, to count up on them. */
const MEMORY = 4_096;
/** Never more than that, whatever goes on in the cluster. */
const MEMORY_LIMIT = 65_536;

export interface RecorderDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** `karpenter`, `kubelet`, `default-scheduler`. */
  readonly component: string;
  /** Told of each event that is published, once: the sandbox's trace. */
  readonly onPublish?: (event: EventToPublish) => void;
}

interface Remembered {
  untilMs: number;
  count: number;
  /** Namespace and name of the Event once it is known to exist. */
  stored: Promise<{ namespace: string; name: string } | undefined>;
}

export function createRecorder(deps: RecorderDeps): EventRecorder {
  const memory = new Map<string, Remembered>();
  let published = 0;
  let sweepAt = MEMORY;

  /** Forgets what is out of its window; one still in it would be said again at once. */
  function forget(nowMs: number): void {
    if (memory.size <= sweepAt) return;
    for (const [key, { untilMs }] of memory) if (untilMs <= nowMs) memory.delete(key);
    const full = memory.size > MEMORY_LIMIT;
    while (full && memory.size > (MEMORY_LIMIT * 3) / 4)
      memory.delete(memory.keys().next().value as string);
    // Seldom enough that a flood costs each event the same.
    sweepAt = Math.min(Math.max(MEMORY, 2 * memory.size), MEMORY_LIMIT);
  }

  function publishOne(event: EventToPublish): void {
    const nowMs = deps.clock.now();
    const values = event.dedupeValues ?? [event.message];
    const identity = `${event.object.kind}/${keyOf(event.object)}/${event.object.metadata.uid}`;
    const key = JSON.stringify([event.reason, identity, ...values]);
    const known = memory.get(key);
    if (known !== undefined && nowMs < known.untilMs) return;
    const untilMs = nowMs + (event.dedupeMs ?? DEFAULT_DEDUPE_MS);
    deps.onPublish?.(event);
    if (known !== undefined) {
      known.untilMs = untilMs;
      known.count++;
      known.stored = countUp(deps, known, event);
      return;
    }
    memory.set(key, { untilMs, count: 1, stored: create(deps, event, published++) });
    forget(nowMs);
  }

  return {
    publish: (...events) => {
      for (const event of events) publishOne(event);
    },
  };
}

type Stored = { namespace: string; name: string } | undefined;

async function create(
  deps: RecorderDeps,
  event: EventToPublish,
  sequence: number,
): Promise<Stored> {
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
    await deps.client.create(EVENT, body);
    return { namespace, name };
  } catch (error) {
    deps.log.debug("publishing event", { reason: event.reason, error: String(error) });
    return undefined;
  }
}

async function countUp(
  deps: RecorderDeps,
  known: Remembered,
  event: EventToPublish,
): Promise<Stored> {
  const stored = await known.stored;
  if (stored === undefined) return create(deps, event, 0);
  try {
    const body = { count: known.count, lastTimestamp: toRfc3339(deps.clock.now()) };
    await deps.client.patch(EVENT, stored, { type: "merge", body });
    return stored;
  } catch {
    // Events expire after an hour on a real server: begin a new one.
    return create(deps, event, 0);
  }
}

/**
 * Nanoseconds in hexadecimal, as client-go names Events: a list by name is then a list by time, which
 * is the order `kubectl describe` shows. Our clock counts milliseconds; what is below them keeps
 * the order of publishing and apart from other components.
 */
function nameTail({ clock, random }: RecorderDeps, sequence: number): string {
  const belowMs = (sequence % 1_000) * 1_000 + random.int(1_000);
  return (BigInt(clock.now()) * 1_000_000n + BigInt(belowMs)).toString(16).padStart(16, "0");
}
