/**
 * One request and its answer, as a handler sees them. The body is read only when the handler asks for it, so that a
 * handler can refuse a stranger before it spends memory on what the stranger sends.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Limits } from "./limits.ts";
import type { Shares } from "./shares.ts";

/** The request is not taken. Thrown in a handler it becomes the answer: status and text. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The caller closed the connection before the request or the answer was complete. No answer is possible. */
export class CallerGone extends Error {
  override readonly name = "CallerGone";

  constructor() {
    super("the caller closed the connection");
  }
}

/** What all requests of a listener share. */
export interface Common {
  readonly limits: Limits;
  readonly heldBytes: Shares;
  readonly requests: Shares;
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
  #heldBytes = 0;
  #hasSlot = true;
  #isReleased = false;

  /** The caller has taken a slot of `common.requests`; `release` gives it back. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    common: Common,
    onLong: () => void,
  ) {
    this.request = request;
    this.response = response;
    // A closed socket has forgotten it.
    this.address = request.socket.remoteAddress ?? "";
    this.#common = common;
    this.#onLong = onLong;
  }

  get method(): string {
    return this.request.method ?? "GET";
  }

  /** Path and query, as sent. */
  get url(): string {
    return this.request.url ?? "/";
  }

  /** Without the query. */
  get path(): string {
    return this.url.split("?")[0] ?? "/";
  }

  /** The caller showed a certificate that an authority of the listener's `clientCaPem` signed. */
  get isClientKnown(): boolean {
    return (this.request.socket as TLSSocket).authorized === true;
  }

  /** Aborted when the caller has gone, when the answer is complete or when its time is up. */
  get signal(): AbortSignal {
    // Created on first use, because most handlers never need it.
    this.#gone ??= new AbortController();
    if (this.#isReleased) this.#gone.abort();
    return this.#gone.signal;
  }

  /**
   * This request may last, as a watch does: it no longer counts as a request under way, and its total time is not
   * limited. What is read of it stays limited.
   */
  lastsLong(): void {
    this.#onLong();
    this.#giveSlot();
  }

  /**
   * The whole body. Throws Refusal 413 when it is larger than `maxBytes`, 429 when all bodies together take too much
   * memory, and CallerGone when the rest of it never came. To be called once.
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
      // What comes after a refusal is read and dropped: a client that is still sending would miss the answer.
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

  /** The answer is complete or the caller is gone: frees everything that the request held. */
  release(): void {
    this.#giveSlot();
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

function tooLarge(maxBytes: number): Refusal {
  return new Refusal(413, `Request entity too large: limit is ${maxBytes}`);
}

/** As kube-apiserver says it; clients of Kubernetes try again. */
export function tooBusy(): Refusal {
  return new Refusal(429, "Too many requests, please try again later.");
}
