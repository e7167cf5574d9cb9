/**
 * Connections to one API server: direct or through a proxy, with or without a check of its certificate. A connection
 * belongs to one client certificate. So another certificate needs new connections.
 */
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import type { Credential } from "./credentials.ts";

/**
 * The most connections. Watches use about twenty. Calls beyond the limit wait, because a new connection takes both
 * sides milliseconds.
 */
const MOST_CONNECTIONS = 64;
/**
 * Milliseconds until an idle connection is closed. kube-apiserver closes it after 90 s, and a call must not use a
 * closed one.
 */
const KEEP_ALIVE_MS = 45_000;

/** TLS and timeouts of the connections to one server. */
export interface ConnectionOptions {
  /** The authority of the server's certificate, as PEM. Absent: those of the system. */
  readonly caPem?: string;
  readonly tlsServerName?: string;
  /** Whether the server's certificate is not checked. */
  readonly insecure?: boolean;
  /** URL of the proxy, with the scheme `http`, `https` or `socks5`. */
  readonly proxyUrl?: string;
  /** The longest wait for the headers of an answer, in milliseconds. */
  readonly timeoutMs: number;
}

/** One connection pool for each client certificate. A renewed certificate gets a new pool. */
export class ConnectionsByCertificate {
  readonly #options: ConnectionOptions;
  #dispatcher: Dispatcher | undefined;
  #certPem: string | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  of({ clientCertificate }: Credential): Dispatcher {
    if (this.#dispatcher !== undefined && this.#certPem === clientCertificate?.certPem)
      return this.#dispatcher;
    // Requests in progress may finish on the old connections.
    this.#dispatcher?.close().catch(alreadyClosed);
    this.#certPem = clientCertificate?.certPem;
    this.#dispatcher = dispatcherOf(this.#options, {
      ...(this.#options.caPem === undefined ? {} : { ca: this.#options.caPem }),
      ...(clientCertificate === undefined
        ? {}
        : { cert: clientCertificate.certPem, key: clientCertificate.keyPem }),
    });
    return this.#dispatcher;
  }

  close(): void {
    this.#dispatcher?.destroy().catch(alreadyClosed);
  }
}

/** Ignores the error that the connections are already closed. */
function alreadyClosed(): void {}

function dispatcherOf(options: ConnectionOptions, secrets: SecureContextOptions): Dispatcher {
  const { insecure, proxyUrl, timeoutMs, tlsServerName } = options;
  const pool = {
    connections: MOST_CONNECTIONS,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: timeoutMs,
    // No limit, because a watch may be silent for long. The server's timeoutSeconds ends it.
    bodyTimeout: 0,
  };
  const tls = {
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
    ...(insecure === true ? { rejectUnauthorized: false } : {}),
    // The TLS context is created once, because parsing certificates is half of the work for a new connection.
    secureContext: createSecureContext(secrets),
  };
  return proxyUrl === undefined
    ? new Agent({ ...pool, connect: tls })
    : new ProxyAgent({ ...pool, uri: proxyUrl, requestTls: tls });
}
