/**
 * watch: sends the writes to one resource from a version on, as a stream of frames. Writes are filtered when they
 * happen and encoded when the reader reads. If the store's history drops a write that a slow reader has not read, that
 * reader's watch ends. So slow readers keep no old objects in memory.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { deepFreeze } from "../../../base/json.ts";
import type { KubeStream } from "../../../kube/transport/transport.ts";
import { type Call, groupVersionOf } from "../engine.ts";
import { showObject, type View } from "../request/representation.ts";
import { selectionOf } from "../request/selectors.ts";
import { type ApiError, invalid, tooOld } from "../request/status.ts";
import { forbidden, notSupported } from "../schema/field-error.ts";
import type { StoreEvent } from "../store/store.ts";
import { fromStorage } from "../versions/conversion.ts";
import { checkVersion, wholeNumber } from "./read.ts";

/** Frames that may wait for a slow reader. Beyond this the watch ends, and the client lists again. */
const MAX_QUEUE = 100_000;

/** What waits to be sent: a state of an object, or a frame that is already complete. */
type Pending =
  | {
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly object: KubeObject;
      /** The version of the write, or of the list. */
      readonly revision: number;
    }
  | { readonly frame: unknown };

/** Opens a watch. Errors that kube-apiserver sends inside the stream are its only frame. */
export function watch(call: Call, view: View): KubeStream {
  const { engine, definition, path, query } = call;
  const matches = selectionOf(definition, query);
  checkVersion(call, "watch");
  wholeNumber(query, "timeoutSeconds");
  const { store } = engine;
  const version = Number(query.get("resourceVersion") ?? 0);
  const asked = query.get("sendInitialEvents") === "true";
  checkWatchOptions(query, asked);
  // Older clients ask for initial events in another way: they ask for bookmarks and give no version.
  const initial = asked || (version === 0 && query.get("allowWatchBookmarks") === "true");
  const stream = new WatchStream(call, view, path.namespace, matches);
  if (version === 0 || initial) {
    stream.begin(store.list(definition.storageKey, path.namespace).objects, initial);
    return stream;
  }
  const missed = store.since(definition.storageKey, version);
  if (missed === undefined) {
    stream.fail(tooOld(version, store.oldestRevision(definition.storageKey)));
  } else stream.resume(missed, version);
  return stream;
}

/** Checks the options of a watch. upstream: apimachinery pkg/apis/meta/internalversion/validation */
function checkWatchOptions(query: URLSearchParams, asksInitialEvents: boolean): void {
  const field = "resourceVersionMatch";
  const match = query.get("resourceVersionMatch") ?? "";
  const refuse = (text: string) =>
    invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", [forbidden(field, text)]);
  if (query.get("continue")) throw refuse(`${field} is forbidden when continue is provided`);
  if (match !== "" && !query.has("sendInitialEvents"))
    throw refuse(`${field} is forbidden for watch unless sendInitialEvents is provided`);
  if (!asksInitialEvents || match === "NotOlderThan") return;
  const text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
  throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", [
    forbidden(field, text),
    ...(match === "" ? [] : [notSupported(field, match, ["NotOlderThan"])]),
  ]);
}

class WatchStream implements KubeStream {
  readonly #call: Call;
  readonly #view: View;
  readonly #namespace: string | undefined;
  readonly #matches: (object: KubeObject) => boolean;
  #queue: Pending[] = [];
  #head = 0;
  #wake: (() => void) | undefined;
  #ended = false;
  #columnsSent = false;
  /** The version up to which the reader knows all writes. */
  #after = 0;
  /** Functions that stop the subscription, the bookmarks and the timeout. */
  readonly #stops: (() => void)[] = [];

  constructor(
    call: Call,
    view: View,
    namespace: string | undefined,
    matches: (object: KubeObject) => boolean,
  ) {
    this.#call = call;
    this.#view = view;
    this.#namespace = namespace;
    this.#matches = matches;
  }

  /** Sends all current objects, then later writes. */
  begin(objects: readonly KubeObject[], markEnd: boolean): void {
    const { revision } = this.#call.engine.store;
    for (const object of objects) {
      if (this.#matches(object)) this.#queue.push({ type: "ADDED", object, revision });
    }
    if (markEnd) this.#bookmark({ "k8s.io/initial-events-end": "true" });
    this.#follow();
  }

  /** Sends the missed events, then later ones. If `version` is newer than the store, it waits for that version. */
  resume(missed: readonly StoreEvent[], version: number): void {
    this.#after = version;
    for (const event of missed) this.#take(event);
    this.#follow();
  }

  fail(error: ApiError): void {
    this.#queue.push({ frame: { type: "ERROR", object: error.status } });
    this.#ended = true;
  }

  close(): void {
    this.#end();
    this.#queue = [];
    this.#head = 0;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, undefined> {
    try {
      for (;;) {
        const pending = this.#queue[this.#head];
        if (pending === undefined) {
          if (this.#ended) return;
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          continue;
        }
        this.#head++;
        if (this.#head === this.#queue.length) {
          this.#queue = [];
          this.#head = 0;
        }
        yield "frame" in pending ? pending.frame : await this.#show(pending);
      }
    } finally {
      this.#end();
    }
  }

  #follow(): void {
    const { engine, definition, query } = this.#call;
    engine.open.add(this);
    this.#stops.push(
      () => engine.open.delete(this),
      engine.store.subscribe(definition.storageKey, (event) => {
        if (this.#isBehind()) this.close();
        else this.#take(event);
        this.#notify();
      }),
    );
    if (query.get("allowWatchBookmarks") === "true") {
      this.#stops.push(
        engine.everyMinute(() => {
          this.#bookmark(undefined);
          this.#notify();
        }),
      );
    }
    const timeoutSeconds = wholeNumber(query, "timeoutSeconds");
    if (timeoutSeconds > 0) {
      const timer = engine.clock.after(timeoutSeconds * 1_000, () => this.#end());
      this.#stops.push(() => timer.cancel());
    }
  }

  /** Whether the store's history has dropped a write that the reader has not taken yet. */
  #isBehind(): boolean {
    const { engine, definition } = this.#call;
    const pending = this.#queue[this.#head];
    return (
      pending !== undefined &&
      "revision" in pending &&
      pending.revision < engine.store.oldestRevision(definition.storageKey)
    );
  }

  /** Filters one write. A change of labels can make an object start or stop to match. */
  #take(event: StoreEvent): void {
    const { object, previous } = event;
    if (event.revision <= this.#after) return;
    if (this.#namespace !== undefined && object.metadata.namespace !== this.#namespace) return;
    const was = previous !== undefined && this.#matches(previous);
    const is = event.type !== "DELETED" && this.#matches(object);
    if (!was && !is) return;
    // An object that no longer matches is sent as deleted: in its last matching state, at the version of this write.
    if (!is && event.type !== "DELETED") {
      const { resourceVersion } = object.metadata;
      const left = { ...(previous as KubeObject) };
      const metadata = { ...left.metadata, ...(resourceVersion ? { resourceVersion } : {}) };
      const last = deepFreeze({ ...left, metadata });
      this.#queue.push({ type: "DELETED", object: last, revision: event.revision });
    } else {
      const type = event.type === "DELETED" ? "DELETED" : was ? "MODIFIED" : "ADDED";
      this.#queue.push({ type, object, revision: event.revision });
    }
    if (this.#queue.length - this.#head > MAX_QUEUE) this.close();
  }

  #bookmark(annotations: Readonly<Record<string, string>> | undefined): void {
    const { definition, engine } = this.#call;
    const resourceVersion = String(engine.store.revision);
    if (this.#view.as === "Table") {
      // A table bookmark is a row with an empty object, which carries the version.
      const empty = { metadata: { resourceVersion, ...(annotations && { annotations }) } };
      const { engine } = this.#call;
      const object = showObject(engine, definition, this.#view, empty as KubeObject, false);
      this.#queue.push({ frame: { type: "BOOKMARK", object } });
      return;
    }
    const isPartial = this.#view.as === "PartialObjectMetadata";
    this.#queue.push({
      frame: {
        type: "BOOKMARK",
        object: {
          kind: isPartial ? "PartialObjectMetadata" : definition.kind,
          apiVersion: isPartial ? "meta.k8s.io/v1" : groupVersionOf(definition),
          metadata: { resourceVersion, ...(annotations === undefined ? {} : { annotations }) },
        },
      },
    });
  }

  async #show(pending: Pick<StoreEvent, "type" | "object">): Promise<unknown> {
    const { definition, engine } = this.#call;
    const object = await fromStorage(engine, definition, pending.object);
    const shown = showObject(engine, definition, this.#view, object, !this.#columnsSent);
    this.#columnsSent = true;
    return { type: pending.type, object: shown };
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  #end(): void {
    this.#ended = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#notify();
  }
}
