/**
 * Responses that do not end: server-sent events or lines of JSON, with gzip if the client accepts it. Senders
 * must check `isReady` first and send nothing while the client reads slowly. So no data piles up in memory.
 */
import { constants, createGzip, type Gzip } from "node:zlib";
import type { Clock, Timer } from "../base/clock.ts";
import type { Exchange } from "./exchange.ts";

/** Milliseconds between two signs of life. Proxies and browsers close a stream that is silent for long. */
const BEAT_MS = 15_000;

/** A response of server-sent events. */
export interface EventStream {
  /** Whether the client has read everything that was sent before, so that more may be sent. */
  readonly isReady: boolean;
  /** Sends one event. `data` must be one line, such as JSON. */
  send(event: string, data: string): void;
  end(): void;
}

/** Headers of the response, and what to do when it ends. */
export interface EventStreamOptions {
  readonly clock: Pick<Clock, "after">;
  readonly headers: Readonly<Record<string, string>>;
  /** Called when the client has disconnected, or after `end`. */
  readonly over: () => void;
}

/** Begins a response of server-sent events. It lasts until the client disconnects. */
export function openEventStream(exchange: Exchange, options: EventStreamOptions): EventStream {
  const out = openStream(exchange, options, {
    contentType: "text/event-stream; charset=utf-8",
    sign: ":\n\n",
  });
  return {
    get isReady() {
      return out.isReady;
    },
    send: (event, data) => out.write(`event: ${event}\ndata: ${data}\n\n`),
    end: out.end,
  };
}

/** Like {@link openEventStream}, with one line for the data of each event. */
export function openLineStream(exchange: Exchange, options: EventStreamOptions): EventStream {
  // An empty line keeps the connection alive. Readers of NDJSON skip it.
  const out = openStream(exchange, options, {
    contentType: "application/x-ndjson; charset=utf-8",
    sign: "\n",
  });
  return {
    get isReady() {
      return out.isReady;
    },
    send: (_, data) => out.write(`${data}\n`),
    end: out.end,
  };
}

interface Form {
  readonly contentType: string;
  /** The text that keeps a silent connection alive. */
  readonly sign: string;
}

interface OpenAnswer {
  readonly isReady: boolean;
  readonly write: (text: string) => void;
  readonly end: () => void;
}

function openStream(
  exchange: Exchange,
  { clock, headers, over }: EventStreamOptions,
  { contentType, sign }: Form,
): OpenAnswer {
  const { request, response } = exchange;
  const zips = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  response.writeHead(200, {
    ...headers,
    "content-type": contentType,
    "cache-control": "no-store",
    // The connection ends with the stream. A listener that closes need not wait for it to be idle.
    connection: "close",
    ...(zips ? { "content-encoding": "gzip" } : {}),
  });
  const gzip = zips ? createGzip({ level: 5, flush: constants.Z_SYNC_FLUSH }) : undefined;
  gzip?.on("error", () => response.destroy());
  gzip?.pipe(response);
  const out = gzip ?? response;
  let beat: Timer | undefined;
  const again = (): void => {
    if (isTaken(out, response)) out.write(sign);
    beat = clock.after(BEAT_MS, again);
  };
  again();
  const end = (): void => {
    // A sign of life after the end would be an error, and cut off what the client has not read yet.
    beat?.cancel();
    out.end();
  };
  exchange.lastsLong(end);
  response.once("close", () => {
    beat?.cancel();
    gzip?.destroy();
    over();
  });
  return {
    get isReady() {
      return isTaken(out, response);
    },
    write: (text) => {
      if (!response.destroyed && !out.writableEnded) out.write(text);
    },
    end,
  };
}

function isTaken(out: Gzip | Exchange["response"], response: Exchange["response"]): boolean {
  if (response.destroyed || out.writableEnded) return false;
  return !out.writableNeedDrain && !response.writableNeedDrain;
}
