/** The limits of a listener against unknown clients, each with its default and reason. */

/** Bounds of a listener. Each has a default. */
export interface Limits {
  /** Largest body of a request in bytes; a larger one gets 413. A handler may ask for another limit. */
  readonly maxBodyBytes: number;
  /** Maximum number of bytes of all bodies in memory together. A request beyond that gets 429. */
  readonly maxHeldBytes: number;
  /** Maximum number of bytes of request line and headers together. A longer request gets 431. */
  readonly maxHeaderBytes: number;
  /** Maximum number of characters of path and query. A longer URL gets 414. */
  readonly maxUrlLength: number;
  /** Maximum number of open connections. Further ones are closed at once. */
  readonly maxConnections: number;
  /** Requests at the same time, without long-lasting ones such as watches. A further request gets 429. */
  readonly maxRequests: number;
  /**
   * Percentage of `maxHeldBytes`, `maxConnections` and `maxRequests` that one address may use. Below 100, one
   * client cannot block the API server, the kubelet or Prometheus.
   */
  readonly sharePercent: number;
  /** Milliseconds from the connection or the last request until the headers are complete. */
  readonly headerMs: number;
  /**
   * Milliseconds from the connection or the last request until the body is complete. Connections that take
   * longer are closed.
   */
  readonly receiveMs: number;
  /** Milliseconds from the headers to the end of the response. Later it gets 503, or the connection is cut. */
  readonly requestMs: number;
  /** How long a connection without a request stays open, in milliseconds. */
  readonly idleMs: number;
}

/**
 * The default limits, for a listener that reads small requests and answers at once, such as metrics and health.
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
