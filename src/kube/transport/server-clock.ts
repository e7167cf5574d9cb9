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
   * answer with a time has come yet.
   */
  skewMs(): number | undefined;
}

/** Wraps a transport, to read the header Date of every answer. */
export function withServerClock(transport: Transport, clock: Clock): ServerClock {
  /** The server's time minus that of the monotonic clock. */
  let serverStartMs: number | undefined;
  return {
    skewMs: () =>
      serverStartMs === undefined ? undefined : clock.now() - clock.elapsedMs() - serverStartMs,
    transport: {
      send: async (request) => {
        const response = await transport.send(request);
        const serverMs = Date.parse(response.headers["date"] ?? "");
        if (!Number.isNaN(serverMs)) serverStartMs = serverMs - clock.elapsedMs();
        return response;
      },
      close: () => transport.close(),
    },
  };
}
