/**
 * Removes Events one hour after their last write, as kube-apiserver's --event-ttl does by default. Otherwise
 * a long simulation would consist mostly of Events.
 */
import type { Engine } from "../engine.ts";
import type { StoreEvent } from "./store.ts";

const EVENTS = "events";
const TIME_TO_LIVE_MS = 3_600_000;

interface Expiry {
  readonly namespace: string | undefined;
  readonly name: string;
  /** The resourceVersion of the write. If the Event was written again, this expiry does nothing. */
  readonly version: string | undefined;
  readonly atMs: number;
}

/** Starts to remove old Events. Returns a function that stops this. */
export function expireEvents(engine: Engine): () => void {
  const { clock, store } = engine;
  let waiting: Expiry[] = [];
  let timer: { cancel(): void } | undefined;
  const sweep = (): void => {
    const nowMs = clock.now();
    const firstAlive = waiting.findIndex(({ atMs }) => atMs > nowMs);
    const due = waiting.slice(0, firstAlive < 0 ? waiting.length : firstAlive);
    waiting = waiting.slice(due.length);
    for (const { namespace, name, version } of due) {
      const current = store.get(EVENTS, namespace, name);
      if (current?.metadata.resourceVersion === version) store.remove(EVENTS, namespace, name);
    }
    arm();
  };
  const arm = (): void => {
    const [next] = waiting;
    timer = next === undefined ? undefined : clock.after(next.atMs - clock.now(), sweep);
  };
  const stop = store.subscribe(EVENTS, ({ type, object }: StoreEvent) => {
    if (type === "DELETED") return;
    const { name, namespace, resourceVersion } = object.metadata;
    waiting.push({
      namespace,
      name,
      version: resourceVersion,
      atMs: clock.now() + TIME_TO_LIVE_MS,
    });
    if (timer === undefined) arm();
  });
  return () => {
    stop();
    timer?.cancel();
  };
}
