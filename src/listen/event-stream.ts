/**
 * Server-sent events as an answer, gzip where the caller takes it. Whoever sends asks `isReady` first: while the caller
 * reads slowly nothing more should be sent, so nothing piles up here.
 */
import { constants, createGzip, type Gzip } from "node:zlib";
import type { Clock, Timer } from "../base/clock.ts";
import type { Exchange } from "./exchange.ts";

/** Proxies and browsers give up on a stream that is silent for long. */
const BEAT_MS = 15_000;

/** A response of server-sent events. */
export interface EventStream {
  /** The caller has read everything that was sent. */
  readonly isReady: boolean;
  /** `data`: one line, as JSON is. */
  send(event: string, data: string): void;
  end(): void;
}

/** Headers, and what happens when the caller is gone. */
export interface EventStreamOptions {
  readonly clock: Pick<Clock, "after">;
  readonly headers: Readonly<Record<string, string>>;
  /** The caller has gone, or `end` was called. */
  readonly over: () => void;
}

/** Begins the answer. It lasts until the caller goes. */
export function openEventStream(
  exchange: Exchange,
  { clock, headers, over }: EventStreamOptions,
): EventStream {
  const { request, response } = exchange;
  const zips = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  exchange.lastsLong();
  response.writeHead(200, {
    ...headers,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    ...(zips ? { "content-encoding": "gzip" } : {}),
  });
  const gzip = zips ? createGzip({ level: 5, flush: constants.Z_SYNC_FLUSH }) : undefined;
  gzip?.on("error", () => response.destroy());
  gzip?.pipe(response);
  const out = gzip ?? response;
  let beat: Timer | undefined;
  const again = (): void => {
    if (isTaken(out, response)) out.write(":\n\n");
    beat = clock.after(BEAT_MS, again);
  };
  again();
  response.once("close", () => {
    beat?.cancel();
    gzip?.destroy();
    over();
  });
  return {
    get isReady() {
      return isTaken(out, response);
    },
    send: (event, data) => {
      if (!response.destroyed) out.write(`event: ${event}\ndata: ${data}\n\n`);
    },
    end: () => out.end(),
  };
}

function isTaken(out: Gzip | Exchange["response"], response: Exchange["response"]): boolean {
  return !response.destroyed && !out.writableNeedDrain && !response.writableNeedDrain;
}
