/**
 * The client: typed requests over a transport. It turns error answers into `KubeError` and joins the pages of lists. It
 * adds the kind to list items, because the API leaves it out. All returned objects except those of watch events are
 * frozen.
 */

import { apiVersionOf, type Kind, type KubeObject } from "../../apis/meta.ts";
import { deepFreeze } from "../../base/json.ts";
import { KubeError, type StatusBody, UnreadableFrame } from "../errors.ts";
import type { KubeRequest, KubeResponse, KubeStream, Transport } from "../transport/transport.ts";
import type {
  KeepOptions,
  KubeClient,
  KubeList,
  ListOptions,
  ListPage,
  ReadPage,
  TakeFrame,
  Watch,
  WatchEvent,
} from "./client.ts";
import {
  bindRequest,
  createRequest,
  deleteRequest,
  evictRequest,
  listRequest,
  objectPath,
  patchRequest,
  updateRequest,
  watchRequest,
} from "./request.ts";

interface ListBody {
  readonly metadata?: ListPage<KubeObject>["metadata"];
  readonly items?: readonly KubeObject[] | null;
}

/** Creates a client over any transport: HTTPS, or the sandbox's API server in the same process. */
export function createKubeClient(transport: Transport): KubeClient {
  async function raw(request: KubeRequest): Promise<KubeResponse> {
    const response = await transport.send(request);
    if (response.status < 400) return response;
    const body = response.body;
    const status = typeof body === "object" && body !== null ? (body as StatusBody) : undefined;
    throw new KubeError(
      response.status,
      status ?? (typeof body === "string" ? { message: body } : undefined),
      `${request.method.toLowerCase()} ${request.path.split("?")[0]}`,
    );
  }

  /**
   * Sends the request and returns the object in the answer. `name`: the name the object must have. Absent: the server
   * chooses it.
   */
  async function object<T extends KubeObject>(request: KubeRequest, name?: string): Promise<T> {
    const { body } = await raw(request);
    checkObject(request, body, name);
    return deepFreeze(body as T);
  }

  async function list<T extends KubeObject>(
    kind: Kind<T>,
    { keep = deepFreeze, readPage, ...options }: ListOptions & KeepOptions<T> = {},
  ): Promise<KubeList<T>> {
    const items: T[] = [];
    let resourceVersion = "";
    let token: string | undefined;
    do {
      const page = await pageOf(raw, listRequest(kind, options, token), { kind, keep, readPage });
      checkWhole(kind, page.metadata);
      for (const item of page.items) items.push(item);
      // All pages have the version of the first page, so the list shows one point in time.
      resourceVersion = page.metadata.resourceVersion ?? resourceVersion;
      token = page.metadata.continue || undefined;
    } while (token !== undefined);
    return { items, resourceVersion, ...(keep === deepFreeze ? {} : { kept: true }) };
  }

  return {
    raw,
    list,
    get: (kind, ref) => object({ method: "GET", path: objectPath(kind, ref) }, ref.name),
    create: (kind, value) => object(createRequest(kind, value), value.metadata.name || undefined),
    update: (kind, value) => object(updateRequest(kind, value), value.metadata.name),
    updateStatus: (kind, value) =>
      object(updateRequest(kind, value, "status"), value.metadata.name),
    patch: (kind, ref, patch, subresource) =>
      object(patchRequest(kind, ref, patch, subresource), ref.name),
    delete: async (kind, ref, options = {}) => (await raw(deleteRequest(kind, ref, options))).body,
    watch: async (kind, options) => {
      const { readFrame } = options;
      const request = watchRequest(kind, options);
      const { stream } = await raw(readFrame ? { ...request, takesBytes: true } : request);
      if (stream === undefined) throw new KubeError(500, undefined, "watch answered no stream");
      return watchOf(stream, readFrame);
    },
    evict: async (pod, options = {}) => {
      await raw(evictRequest(pod, options));
    },
    bind: async (pod, nodeName) => {
      await raw(bindRequest(pod, nodeName));
    },
  };
}

async function pageOf<T extends KubeObject>(
  raw: KubeClient["raw"],
  request: KubeRequest,
  how: { kind: Kind<T>; keep: (item: T) => T; readPage: ReadPage<T> | undefined },
): Promise<ListPage<T>> {
  const { kind, keep, readPage } = how;
  let { body } = await raw(readPage ? { ...request, takesBytes: true } : request);
  if (readPage !== undefined && body instanceof Uint8Array) {
    try {
      return readPage(body);
    } catch {
      // If the protobuf answer cannot be decoded, the request is repeated for JSON.
      body = (await raw(request)).body;
    }
  }
  const { items, metadata } = listOf(kind, body);
  return { items: items.map((item) => keep(stamp(kind, item as T))), metadata };
}

/** The list in an answer. A proxy may answer anything with 200. Such an answer must not count as an empty list. */
function listOf({ plural }: Kind, body: unknown): Pick<ListPage<KubeObject>, "items" | "metadata"> {
  const { items, metadata } = (body ?? {}) as ListBody;
  // Programs written in Go write an empty list as null.
  if (items !== null && !Array.isArray(items))
    throw new KubeError(502, { message: "the answer is not a list" }, `listing ${plural}`);
  return { items: items ?? [], metadata: metadata ?? {} };
}

/**
 * Throws if the answer is not the wanted object. A proxy may answer with nothing or with another object. Neither may
 * count as an object that is gone.
 */
function checkObject({ method, path }: KubeRequest, body: unknown, name?: string): void {
  const answered = (body as KubeObject | null | undefined)?.metadata?.name;
  if (typeof answered === "string" && (name === undefined || answered === name)) return;
  const message = `the answer is ${typeof answered === "string" ? `"${answered}"` : "no object"}`;
  throw new KubeError(502, { message }, `${method.toLowerCase()} ${path.split("?")[0]}`);
}

/** Throws if a page says that objects remain but has no continue token. Such a list is incomplete. */
function checkWhole({ plural }: Kind, metadata: ListPage<KubeObject>["metadata"]): void {
  const { continue: token, remainingItemCount = 0 } = metadata;
  if (token || remainingItemCount === 0) return;
  const message = `the list is cut off, ${remainingItemCount} objects are missing`;
  throw new KubeError(502, { message }, `listing ${plural}`);
}

function stamp<T extends KubeObject>(kind: Kind<T>, item: T): T {
  if (item.kind !== undefined) return item;
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...item };
}

function watchOf<T extends KubeObject>(
  stream: KubeStream,
  readFrame: TakeFrame<T> | undefined,
): Watch<T> {
  return {
    close: () => stream.close(),
    // This is no generator function, which would need several promises for each of a thousand events a second.
    [Symbol.asyncIterator]: () => {
      const frames = stream[Symbol.asyncIterator]();
      const next = (): Promise<IteratorResult<WatchEvent<T>>> => frames.next().then(eventOf);
      const eventOf = (
        result: IteratorResult<unknown>,
      ): IteratorResult<WatchEvent<T>> | Promise<IteratorResult<WatchEvent<T>>> => {
        if (result.done === true) return result;
        try {
          for (let frame = result.value; frame !== undefined; frame = frames.arrived?.()) {
            const event = eventIn(frame, readFrame);
            if (event !== undefined) return { done: false, value: event };
          }
        } catch (error) {
          stream.close();
          throw error;
        }
        return next();
      };
      return {
        next,
        return: async () => {
          await frames.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/**
 * The event in a frame. Undefined: `readFrame` kept the frame. The event's object is not frozen, because the informer
 * removes unused fields first.
 */
function eventIn<T extends KubeObject>(
  frame: unknown,
  readFrame: TakeFrame<T> | undefined,
): WatchEvent<T> | undefined {
  if (readFrame === undefined || !(frame instanceof Uint8Array)) return frame as WatchEvent<T>;
  try {
    return readFrame(frame);
  } catch (error) {
    throw new UnreadableFrame(`a frame of ${frame.length} bytes`, { cause: error });
  }
}
