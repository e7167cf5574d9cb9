/**
 * Connections to one API server: straight or through a proxy, with or without a check of its certificate. Connections
 * that have shown one client certificate are of no use for the next, so another certificate means new ones.
 */
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import type { Credential } from "./credentials.ts";

/** Watches hold some twenty of them; what more calls there are at a time wait. A new one costs both sides milliseconds. */
const MOST_CONNECTIONS = 64;
/** kube-apiserver ends connections that are idle for 90 s: we are first, so that no call meets a closed one. */
const KEEP_ALIVE_MS = 45_000;

/** TLS and timeouts of the connections to one server. */
export interface ConnectionOptions {
  /** PEM of the authority that signed the server's certificate; absent = the system's. */
  readonly caPem?: string;
  readonly tlsServerName?: string;
  /** The server's certificate is not checked. */
  readonly insecure?: boolean;
  /** `http`, `https` or `socks5`. */
  readonly proxyUrl?: string;
  /** Longest wait for the head of an answer. */
  readonly timeoutMs: number;
}

/** One connection pool for each client certificate; a renewed certificate gets a new pool. */
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
    // What runs on the old connections may end there.
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

/** Closed twice is closed. */
function alreadyClosed(): void {}

function dispatcherOf(options: ConnectionOptions, secrets: SecureContextOptions): Dispatcher {
  const { insecure, proxyUrl, timeoutMs, tlsServerName } = options;
  const pool = {
    connections: MOST_CONNECTIONS,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: timeoutMs,
    // A quiet watch is healthy; the server's timeoutSeconds ends it.
    bodyTimeout: 0,
  };
  const tls = {
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
    ...(insecure === true ? { rejectUnauthorized: false } : {}),
    // Once for all connections: reading certificates is half of what a new one costs us.
    secureContext: createSecureContext(secrets),
  };
  return proxyUrl === undefined
    ? new Agent({ ...pool, connect: tls })
    : new ProxyAgent({ ...pool, uri: proxyUrl, requestTls: tls });
}
