/**
 * The difference between this process's clock and the API server's, read from the `Date` header of answers. Code that
 * terminates a node because of the time checks the difference first, because either clock may be wrong.
 */
import type { Clock } from "../../base/clock.ts";
import type { Transport } from "./transport.ts";

/** Measures the difference between the server's clock and this process's. */
export interface ServerClock {
  /** The transport to use instead of the given one. */
  readonly transport: Transport;
  /**
   * This process's current time minus the server's, in milliseconds, exact to about a second. Between two answers the
   * server's time advances with the monotonic clock, so a jump of this process's clock shows at once. Undefined: no
   * answer with a time has come yet. Answers of the last minute may show several clocks, because replicas of the API
   * server answer in turn. Then it is the largest difference. Otherwise it would change with each answer, and so would
   * what ages decide.
   */
  skewMs(): number | undefined;
}

/** A clock that answers showed. `startMs`: its time minus the monotonic clock. `atMs`: when it last answered. */
interface Seen {
  readonly startMs: number;
  readonly atMs: number;
}

/** Answers whose times differ by no more milliseconds than this show the same clock. */
const SAME_MS = 10_000;
/** Milliseconds for which a clock counts after its last answer, if another one has answered since. */
const KEPT_MS = 60_000;
/** The most clocks that count beside the last one. */
const MOST_OTHERS = 7;

/** Wraps a transport, to read the header Date of every answer. */
export function withServerClock(transport: Transport, clock: Clock): ServerClock {
  let seen: readonly Seen[] = [];

  function note(serverMs: number): void {
    const nowMs = clock.elapsedMs();
    const startMs = serverMs - nowMs;
    const others = seen.filter(
      (one) => Math.abs(one.startMs - startMs) > SAME_MS && nowMs - one.atMs < KEPT_MS,
    );
    seen = [...others.slice(-MOST_OTHERS), { startMs, atMs: nowMs }];
  }

  function skewMs(): number | undefined {
    const nowMs = clock.elapsedMs();
    const last = seen.at(-1);
    let most: number | undefined;
    for (const one of seen) {
      if (one !== last && nowMs - one.atMs >= KEPT_MS) continue;
      const skew = clock.now() - nowMs - one.startMs;
      if (most === undefined || Math.abs(skew) > Math.abs(most)) most = skew;
    }
    return most;
  }

  return {
    skewMs,
    transport: {
      send: async (request) => {
        const sentMs = clock.elapsedMs();
        const response = await transport.send(request);
        const serverMs = Date.parse(response.headers["date"] ?? "");
        // A long answer has the time at which it began. Read at its end, it would show a clock that is behind.
        const isLong = clock.elapsedMs() - sentMs > SAME_MS;
        if (!Number.isNaN(serverMs) && !(isLong && seen.length > 0)) note(serverMs);
        return response;
      },
      close: () => transport.close(),
    },
  };
}
