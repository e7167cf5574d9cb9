/**
 * How far this machine's clock is from the API server's, by the `Date` header of its answers. Whoever ends a node
 * because of the time of day asks here first: either clock may have been set wrong.
 */
import type { Clock } from "../../base/clock.ts";
import type { Transport } from "./transport.ts";

/** Learns the difference between the server's clock and this machine's. */
export interface ServerClock {
  /** Use in place of the transport that was given. */
  readonly transport: Transport;
  /**
   * This machine's clock now, minus the server's, in ms, to about a second. Between two answers the server's goes on by
   * elapsed time, so a clock that jumps is seen at once. Undefined before the first answer.
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
