/**
 * One request and its response, for a handler. The body is read only when the handler asks for it. So a
 * handler can refuse an unknown client before the body takes memory.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Limits } from "./limits.ts";
import type { Shares } from "./shares.ts";

/** The error that a request is refused. If a handler throws it, its status and text are the response. */
export class RequestRefusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * The error that the caller closed the connection before the request or the answer was complete. No answer is possible.
 */
export class CallerGone extends Error {
  override readonly name = "CallerGone";

  constructor() {
    super("the caller closed the connection");
  }
}

/** What all requests of one listener share. */
export interface Common {
  readonly limits: Limits;
  readonly heldBytes: Shares;
  readonly requests: Shares;
  /** Completes the answers that would last until their clients disconnect. Called when the listener closes. */
  readonly ends: Set<() => void>;
}

/** What an exchange gets from its listener besides the request and the response. */
export interface ExchangeParts {
  readonly common: Common;
  readonly onLong: () => void;
  /** Bytes that came with a request to upgrade; undefined: it is an ordinary request. */
  readonly before?: Buffer | undefined;
}

/** One request and its response. Reading the body and writing the answer are bounded. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The caller's IP address. */
  readonly address: string;
  readonly #common: Common;
  #gone: AbortController | undefined;
  readonly #onLong: () => void;
  readonly #before: Buffer | undefined;
  #end: (() => void) | undefined;
  #heldBytes = 0;
  #hasSlot = true;
  #isReleased = false;

  /** The caller has taken a slot of `common.requests` for this request. `release` returns the slot. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { common, onLong, before }: ExchangeParts,
  ) {
    this.request = request;
    this.response = response;
    // The address is read now, because a closed socket has no address.
    this.address = request.socket.remoteAddress ?? "";
    this.#common = common;
    this.#onLong = onLong;
    this.#before = before;
  }

  get method(): string {
    return this.request.method ?? "GET";
  }

  /** Path and query, as sent. */
  get url(): string {
    return this.request.url ?? "/";
  }

  /** The path without the query. */
  get path(): string {
    return this.url.split("?")[0] ?? "/";
  }

  /** Whether the client showed a certificate that is signed by an authority in the listener's `clientCaPem`. */
  get isClientKnown(): boolean {
    return (this.request.socket as TLSSocket).authorized === true;
  }

  /** Aborted when the client disconnected, when the response is complete or when its time is over. */
  get signal(): AbortSignal {
    // The signal is created on first use, because most handlers never need it.
    this.#gone ??= new AbortController();
    if (this.#isReleased) this.#gone.abort();
    return this.#gone.signal;
  }

  /** Whether the client asks for another protocol on this connection, and the listener allows it. */
  get isUpgrade(): boolean {
    return this.#before !== undefined;
  }

  /**
   * The connection of a request to upgrade, and the bytes that were already read from it. The handler owns it from now
   * on.
   */
  takeOver(): { readonly socket: Socket; readonly before: Buffer } {
    const { socket } = this.request;
    this.lastsLong();
    this.response.detachSocket(socket);
    return { socket, before: this.#before ?? Buffer.alloc(0) };
  }

  /**
   * Marks the request as long-lasting, such as a watch. It no longer counts as a running request, and its
   * total time is not limited. Limits for reading still apply. `end`: completes the answer. It is called when the
   * listener closes, so that the client sees an end and not a broken connection.
   */
  lastsLong(end?: () => void): void {
    this.#onLong();
    this.#giveSlot();
    if (end === undefined || this.#isReleased) return;
    this.#end = end;
    this.#common.ends.add(end);
  }

  /**
   * Reads the whole body. Throws Refusal 413 if it is larger than `maxBytes`, 429 if all bodies together take
   * too much memory, and CallerGone if the client disconnected. Call it once.
   */
  readBody(maxBytes: number = this.#common.limits.maxBodyBytes): Promise<Buffer> {
    const { request, response } = this;
    // A client that waits for "100 Continue" gets the permission to send only now.
    if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
    if (Number(request.headers["content-length"] ?? 0) > maxBytes)
      return Promise.reject(tooLarge(maxBytes));
    if (request.destroyed) return Promise.reject(new CallerGone());
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      let isOver = false;
      // The rest of the body is read and dropped. A client that still sends would otherwise not see the
      // response.
      const refuse = (error: Error): void => {
        isOver = true;
        chunks.length = 0;
        reject(error);
      };
      request.on("data", (chunk: Buffer) => {
        if (isOver) return;
        size += chunk.length;
        if (size > maxBytes) refuse(tooLarge(maxBytes));
        else if (!this.#holdBytes(chunk.length)) refuse(tooBusy());
        else chunks.push(chunk);
      });
      request.on("end", () => {
        isOver = true;
        resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
      });
      request.on("close", () => {
        if (!isOver) reject(new CallerGone());
      });
    });
  }

  /** Call when the response is complete or the client has disconnected. Frees everything that the request held. */
  release(): void {
    this.#giveSlot();
    if (this.#end !== undefined) this.#common.ends.delete(this.#end);
    this.#common.heldBytes.give(this.address, this.#heldBytes);
    this.#heldBytes = 0;
    this.#isReleased = true;
    this.#gone?.abort();
  }

  #holdBytes(amount: number): boolean {
    if (!this.#common.heldBytes.take(this.address, amount)) return false;
    this.#heldBytes += amount;
    return true;
  }

  #giveSlot(): void {
    if (this.#hasSlot) this.#common.requests.give(this.address, 1);
    this.#hasSlot = false;
  }
}

function tooLarge(maxBytes: number): RequestRefusal {
  return new RequestRefusal(413, `Request entity too large: limit is ${maxBytes}`);
}

/** The 429 with kube-apiserver's text, after which Kubernetes clients try again. */
export function tooBusy(): RequestRefusal {
  return new RequestRefusal(429, "Too many requests, please try again later.");
}
