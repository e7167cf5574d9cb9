/**
 * A transport with a rate limit. A bucket has `burst` tokens and gets `perSecond` new ones. Each request takes one, or
 * waits for it.
 * upstream: client-go util/flowcontrol, set by kube-client-qps and -burst
 */
import type { Clock } from "../../base/clock.ts";
import type { Transport } from "./transport.ts";

/** The rate limit of requests: `burst` without a wait, then `perSecond`. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** Wraps a transport with a rate limit. Requests above the limit wait in order; none is refused. */
export function rateLimited(transport: Transport, clock: Clock, limit: RateLimit): Transport {
  const tokenMs = 1_000 / limit.perSecond;
  /** When the bucket will be full again if no request is sent. */
  let fullAtMs = clock.elapsedMs();
  return {
    send: async (request) => {
      const nowMs = clock.elapsedMs();
      fullAtMs = Math.max(fullAtMs, nowMs) + tokenMs;
      const waitMs = fullAtMs - nowMs - limit.burst * tokenMs;
      if (waitMs > 0) await clock.sleep(Math.ceil(waitMs));
      return transport.send(request);
    },
    close: () => transport.close(),
  };
}
