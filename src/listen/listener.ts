/**
 * The one HTTP(S) listener of the product. Webhooks, metrics, health, the sandbox's API server and its
 * simulated AWS are handlers behind it. It limits what unknown clients can make it hold, closes half-sent
 * requests, answers 500 if a handler fails, and limits its log lines. No request can end the process.
 */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  ServerResponse,
} from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import type { Clock } from "../base/clock.ts";
import { errorText, firstLineOf } from "../base/error-text.ts";
import { type Logger, SILENT } from "../base/log.ts";
import { LogLimiter } from "../base/log-limiter.ts";
import { SystemClock } from "../base/system-clock.ts";
import { CallerGone, type Common, Exchange, RequestRefusal, tooBusy } from "./exchange.ts";
import { DEFAULT_LIMITS, type Limits } from "./limits.ts";
import { foreignCaller, isLoopback } from "./local-callers.ts";
import { Shares } from "./shares.ts";
import { shownUrl } from "./shown-url.ts";

/** Certificate and key of a server, as PEM. */
export interface TlsIdentity {
  readonly certPem: string;
  readonly keyPem: string;
  /** Authorities of client certificates. Absent: none is requested. The handler decides whether one is needed. */
  readonly clientCaPem?: string | undefined;
}

/** Where to listen, and who answers. */
export interface ListenOptions {
  /** The listener's name in log lines, such as `webhook` or `metrics`. */
  readonly name: string;
  /** The port to listen on. 0 means any free port. */
  readonly port: number;
  /** The address to listen on. Default: all interfaces. */
  readonly host?: string | undefined;
  /**
   * The certificate and key. Absent: plain HTTP. On loopback a plain listener accepts only programs on this machine, by
   * the headers `Host` and `Origin`.
   */
  readonly tls?: TlsIdentity;
  /** The limits that differ from DEFAULT_LIMITS. */
  readonly limits?: Partial<Limits>;
  /** Answers through `exchange.response`. A thrown Refusal becomes the response, any other error a 500. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  /**
   * Whether the handler may take a connection over (`exchange.takeOver`). Default: no connection changes its protocol.
   */
  readonly upgrades?: boolean;
  readonly log?: Logger;
  /** The clock of the request time limit and the log. Default: the machine's, because limits protect the machine. */
  readonly clock?: Pick<Clock, "elapsedMs" | "after">;
}

/** An open port. */
export interface Listener {
  readonly port: number;
  /** Replaces the certificate for new connections. Only for HTTPS. */
  use(identity: TlsIdentity): void;
  /**
   * Stops listening. Running requests have `graceMs` to finish before they are cut. Default: cut at once. Answers that
   * would not finish by themselves are completed (`Exchange.lastsLong`).
   */
  close(graceMs?: number): Promise<void>;
}

/** The error that the port cannot be opened. */
export class PortError extends Error {
  override readonly name = "PortError";
  /** The code of the system's error, such as `EADDRINUSE` or `EACCES`. */
  readonly code: string;

  constructor(port: number, host: string | undefined, cause: NodeJS.ErrnoException) {
    const place = `port ${port} on ${host ?? "all interfaces"}`;
    const why: Readonly<Record<string, string>> = {
      EADDRINUSE: `${place} is in use`,
      EACCES: `${place} may not be opened by this user`,
      EADDRNOTAVAIL: `${place}: this machine does not have that address`,
    };
    super(why[cause.code ?? ""] ?? `${place}: ${cause.message}`, { cause });
    this.code = cause.code ?? "";
  }
}

/** Opens the port. Rejects with PortError. */
export async function startListener(options: ListenOptions): Promise<Listener> {
  const clock = options.clock ?? new SystemClock();
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const lines = new LogLimiter(options.log ?? SILENT, clock);
  const guard = new Guard(options, limits, clock, lines);
  const server = serverFor(options.tls, limits);
  guard.watch(server);
  await listen(server, options.port, options.host);
  return {
    port: (server.address() as AddressInfo).port,
    use: (identity) => {
      if (!isHttps(server)) return;
      server.setSecureContext(contextOf(identity));
      // Open connections use the old certificate. Closing idle ones makes their clients reconnect.
      server.closeIdleConnections();
    },
    close: async (graceMs = 0) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      guard.endLongAnswers();
      const late = graceMs > 0 ? clock.after(graceMs, () => guard.cut()) : guard.cut();
      await closed;
      late?.cancel();
      lines.close();
    },
  };
}

/** Rejects with PortError if the port cannot be opened. Call it before a long start. */
export async function checkPort(port: number, host?: string): Promise<void> {
  const server = createTcpServer();
  await listen(server, port, host);
  await new Promise((resolve) => server.close(resolve));
}

interface Bindable {
  once(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
  off(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
  listen(port: number, host: string | undefined, listening: () => void): unknown;
}

function listen(server: Bindable, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => reject(new PortError(port, host, error));
    server.once("error", failed);
    server.listen(port, host, () => {
      server.off("error", failed);
      resolve();
    });
  });
}

function serverFor(tls: TlsIdentity | undefined, limits: Limits): Server | HttpsServer {
  const options = {
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headerMs,
    requestTimeout: Math.max(limits.headerMs, limits.receiveMs),
    keepAliveTimeout: limits.idleMs,
    // How often Node checks connections for timeouts.
    connectionsCheckingInterval: Math.min(1_000, Math.ceil(limits.headerMs / 4)),
    // TCP keep-alive, by which the kernel detects clients that vanished.
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
  };
  const server =
    tls === undefined
      ? createHttpServer(options)
      : createHttpsServer({
          ...options,
          ...contextOf(tls),
          handshakeTimeout: limits.headerMs,
          requestCert: tls.clientCaPem !== undefined,
          rejectUnauthorized: false,
        });
  server.maxConnections = limits.maxConnections;
  return server;
}

function contextOf({ certPem, keyPem, clientCaPem }: TlsIdentity) {
  const ca = clientCaPem === undefined ? {} : { ca: clientCaPem };
  return { cert: certPem, key: keyPem, minVersion: "TLSv1.2", ...ca } as const;
}

function isHttps(server: Server | HttpsServer): server is HttpsServer {
  return "setSecureContext" in server;
}

/** Whether the connection broke or the client closed it during a request. Such errors are not reported. */
function isGone({ code, syscall }: NodeJS.ErrnoException): boolean {
  return syscall !== undefined || code === "HPE_INVALID_EOF_STATE" || code === "ECONNRESET";
}

const LATE = "ERR_HTTP_REQUEST_TIMEOUT";

/** The status for each error that Node itself reports about a request. All others: 400. */
const STATUS_OF_FAULT: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  [LATE]: "408 Request Timeout",
};

/** Enforces the limits of one server. */
class Guard {
  readonly #options: ListenOptions;
  readonly #clock: Pick<Clock, "elapsedMs" | "after">;
  readonly #lines: LogLimiter;
  readonly #common: Common;
  readonly #connections: Shares;
  readonly #sockets = new Set<Socket>();
  /** The response to the newest request on each connection, until it is complete. */
  readonly #answers = new WeakMap<Socket, ServerResponse>();
  /** Connections on which a request arrived after Node last reported them as late. */
  readonly #asked = new WeakSet<Socket>();
  readonly #bound: string | undefined;

  constructor(
    options: ListenOptions,
    limits: Limits,
    clock: Pick<Clock, "elapsedMs" | "after">,
    lines: LogLimiter,
  ) {
    const { sharePercent } = limits;
    this.#options = options;
    this.#clock = clock;
    this.#lines = lines;
    this.#connections = new Shares(limits.maxConnections, sharePercent);
    this.#common = {
      limits,
      heldBytes: new Shares(limits.maxHeldBytes, sharePercent),
      requests: new Shares(limits.maxRequests, sharePercent),
      ends: new Set(),
    };
    const { host, tls } = options;
    if (tls === undefined && host !== undefined && isLoopback(host)) this.#bound = host;
  }

  watch(server: Server | HttpsServer): void {
    server.on("connection", (socket: Socket) => this.#accept(socket));
    server.on("drop", () => this.#tell("connections", "connection refused: too many are open"));
    // Without this listener, Node asks the client for its body before the request has been checked.
    server.on("checkContinue", (request, response) => this.#take(request, response));
    server.on("request", (request, response) => this.#take(request, response));
    if (this.#options.upgrades === true)
      server.on("upgrade", (request, socket, before) =>
        this.#upgrade(request, socket as Socket, before),
      );
    // This event also reports failed TLS handshakes.
    server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
      error.code === LATE
        ? this.#late(error, socket as Socket)
        : this.#fault(error, socket as Socket),
    );
  }

  /**
   * Node checks times before it reads sockets. If the process was busy for long, a request that came in time is
   * only read after this check. So this method checks the connection again when all sockets have been read.
   */
  #late(error: NodeJS.ErrnoException, socket: Socket): void {
    const before = this.#answers.get(socket);
    const wasWhole = before?.req.complete === true;
    this.#asked.delete(socket);
    this.#clock.after(1, () => {
      if (socket.destroyed || this.#isWhole(socket, wasWhole ? before : undefined)) return;
      if (!this.#asked.has(socket)) return this.#fault(error, socket);
      // Node does not time this request again.
      this.#clock.after(this.#common.limits.receiveMs, () => {
        if (!socket.destroyed && !this.#isWhole(socket)) this.#fault(error, socket);
      });
    });
  }

  /**
   * Whether the newest request on the connection has arrived completely. False if `before` is the response to that
   * request.
   */
  #isWhole(socket: Socket, before?: ServerResponse): boolean {
    const last = this.#answers.get(socket);
    return last !== before && last?.req.complete === true;
  }

  /** Completes the answers that would last until their clients disconnect. */
  endLongAnswers(): void {
    for (const end of [...this.#common.ends]) end();
  }

  /** Ends every connection. */
  cut(): undefined {
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    if (!this.#connections.take(address, 1)) {
      this.#tell("share", "connection refused: its address has too many open", { address });
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#connections.give(address, 1);
    });
  }

  /** Node gives no response object for a request to upgrade, so one is made here: a refusal needs it. */
  #upgrade(request: IncomingMessage, socket: Socket, before: Buffer): void {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once("finish", () => socket.end());
    socket.on("error", () => socket.destroy());
    this.#take(request, response, before);
  }

  #take(request: IncomingMessage, response: ServerResponse, before?: Buffer): void {
    // The event `close` already reports a broken connection. Without a listener for `error`, the error would end the
    // process.
    response.on("error", () => undefined);
    request.on("error", () => undefined);
    this.#answers.set(request.socket, response);
    this.#asked.add(request.socket);
    response.once("close", () => this.#answers.delete(request.socket));
    const { limits, requests } = this.#common;
    if (!requests.take(request.socket.remoteAddress ?? "", 1)) {
      this.#refuse(request, response, tooBusy());
      return;
    }
    const late = this.#clock.after(limits.requestMs, () => {
      const text = `the answer took longer than ${limits.requestMs / 1_000} seconds`;
      if (response.headersSent) response.destroy();
      else this.#refuse(request, response, new RequestRefusal(503, text));
      exchange.release();
    });
    const exchange = new Exchange(request, response, {
      common: this.#common,
      onLong: () => late.cancel(),
      before,
    });
    response.once("close", () => {
      late.cancel();
      exchange.release();
    });
    this.#answer(exchange).catch((error: unknown) => this.#failed(exchange, error));
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { maxUrlLength } = this.#common.limits;
    if (exchange.url.length > maxUrlLength)
      throw new RequestRefusal(414, `the URL is longer than ${maxUrlLength} characters`);
    const foreign =
      this.#bound === undefined ? undefined : foreignCaller(exchange.request.headers, this.#bound);
    if (foreign !== undefined) throw new RequestRefusal(403, `refused: ${foreign}`);
    await this.#options.handle(exchange);
  }

  #failed({ request, response }: Exchange, error: unknown): void {
    // The client has disconnected, or the timeout has been answered already.
    if (error instanceof CallerGone || response.writableEnded || response.destroyed) return;
    if (error instanceof RequestRefusal) this.#refuse(request, response, error);
    else {
      const stack = error instanceof Error ? error.stack : undefined;
      const { name } = this.#options;
      this.#lines.tell("error", "failed", `${name}: answering a request failed`, {
        method: request.method,
        url: shownUrl(request.url),
        error: errorText(error),
        stack,
      });
      this.#end(response, 500, "Internal Server Error");
    }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, refusal: RequestRefusal): void {
    const { status, message } = refusal;
    this.#tell(`refused ${status}`, "request refused", {
      method: request.method,
      url: shownUrl(request.url),
      address: request.socket.remoteAddress,
      status,
      reason: message,
    });
    this.#end(response, status, message);
  }

  /**
   * Ends the response. If it has already begun, the connection is cut, so that a part does not look like the
   * whole.
   */
  #end(response: ServerResponse, status: number, text: string): void {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const retry = status === 429 || status === 503 ? { "retry-after": "1" } : {};
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...retry });
    response.end(`${text}\n`);
  }

  /**
   * Answers a request that Node rejected: too slow, headers too large, or not HTTP. Go's clients, such as
   * kube-apiserver, open spare connections that they may never use. Such a connection is closed without a log line, and
   * without an answer, which the client would log as unsolicited.
   */
  #fault(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === LATE && socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    if (!isGone(error)) {
      const { remoteAddress: address } = socket;
      this.#tell(`fault ${error.code}`, "connection closed", {
        address,
        reason: firstLineOf(error),
      });
    }
    const begun = this.#answers.get(socket);
    if (socket.writable && begun?.headersSent !== true) {
      const status = STATUS_OF_FAULT[error.code ?? ""] ?? "400 Bad Request";
      socket.write(`HTTP/1.1 ${status}\r\nconnection: close\r\n\r\n`);
    }
    socket.destroy();
  }

  #tell(kind: string, what: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#lines.tell("warn", kind, `${this.#options.name}: ${what}`, fields);
  }
}
