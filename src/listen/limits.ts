/** What a listener takes from strangers: each limit with its default, and the reason for it. */

/** Bounds of a listener. Each has a default. */
export interface Limits {
  /** Body of one request, in bytes; a larger one is answered 413. A handler may ask for another limit. */
  readonly maxBodyBytes: number;
  /** Bodies of all requests that are held in memory at the same time; a request beyond is answered 429. */
  readonly maxHeldBytes: number;
  /** Request line and headers together; more is answered 431. */
  readonly maxHeaderBytes: number;
  /** Path and query; a longer one is answered 414. */
  readonly maxUrlLength: number;
  /** Open connections; further ones are closed at once. */
  readonly maxConnections: number;
  /** Requests at the same time, without long-lasting ones such as watches. A further request gets 429. */
  readonly maxRequests: number;
  /**
   * Share of `maxHeldBytes`, `maxConnections` and `maxRequests` that one address may have, in percent. Below 100 one
   * stranger cannot keep the API server, the kubelet or Prometheus out.
   */
  readonly sharePercent: number;
  /** From the connection, or the last request, until the headers are there. */
  readonly headerMs: number;
  /** From the connection, or the last request, until the body is there, too; half-sent ones are closed. */
  readonly receiveMs: number;
  /** From the headers to the end of the answer; later it is answered 503, or cut. */
  readonly requestMs: number;
  /** How long a connection without a request is kept. */
  readonly idleMs: number;
}

/**
 * For a listener that reads small requests and answers at once, such as metrics and health.
 * - Headers: Node's own default. URLs: longer than any that a probe or Prometheus sends.
 * - Header and body times: much longer than any client in the same network needs.
 */
export const DEFAULT_LIMITS: Limits = {
  maxBodyBytes: 64 * 1_024,
  maxHeldBytes: 4 * 1_024 * 1_024,
  maxHeaderBytes: 16 * 1_024,
  maxUrlLength: 8_192,
  maxConnections: 300,
  maxRequests: 100,
  sharePercent: 50,
  headerMs: 10_000,
  receiveMs: 10_000,
  requestMs: 60_000,
  idleMs: 5_000,
};
