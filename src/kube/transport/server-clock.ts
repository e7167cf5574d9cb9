/**
 * The difference between this machine's clock and the API server's, from the `Date` header of answers. Code
 * that ends a node because of the time of day checks it first, because either clock may be wrong.
 */
import type { Clock } from "../../base/clock.ts";
import type { Transport } from "./transport.ts";

/** Learns the difference between the server's clock and this machine's. */
export interface ServerClock {
  /** Replaces the given transport. */
  readonly transport: Transport;
  /**
   * This machine's clock now minus the server's, in milliseconds, exact to about a second. Between two answers the
   * server's time advances by elapsed time, so a jump of this machine's clock shows at once. Undefined before the first
   * answer.
   */
  skewMs(): number | undefined;
}

/** Reads the header Date of every answer. The skew is undefined before the first answer. */
export function withServerClock(transport: Transport, clock: Clock): ServerClock {
  /** The server's clock minus elapsed time. */
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
