/**
 * A transport that asks no faster than it may: a bucket of `burst` tokens that fills at `perSecond`, each
 * request takes one and waits its turn. upstream: client-go util/flowcontrol, set by kube-client-qps and -burst
 */
import type { Clock } from "../../base/clock.ts";
import type { Transport } from "./transport.ts";

/** A token bucket for requests: `burst` at once, then `perSecond`. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** Requests above the limit wait in order; none is refused. */
export function rateLimited(transport: Transport, clock: Clock, limit: RateLimit): Transport {
  const tokenMs = 1_000 / limit.perSecond;
  /** When the bucket is full again, without further requests. */
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
