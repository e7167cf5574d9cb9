/** The controller's connections to its API server: one pool for all requests, and one for the Lease. */
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import {
  createHttpTransport,
  type HttpTransportOptions,
} from "../../kube/transport/http-transport.ts";
import { tellingTransport } from "../../kube/transport/telling-transport.ts";
import type { Transport } from "../../kube/transport/transport.ts";

/** Both transports log when the API server cannot be used. */
export interface ServerTransports {
  readonly transport: Transport;
  /**
   * For the Lease. It has connections of its own, so a renewal never waits until another request frees one. A slow
   * server holds every connection of `transport` for seconds, and the leader must renew within ten.
   */
  readonly leaseTransport: Transport;
  close(): void;
}

/** Opens no connection yet: the first request does. */
export function serverTransports(
  options: HttpTransportOptions,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): ServerTransports {
  const { server } = options;
  const telling = (own: Logger) =>
    tellingTransport(createHttpTransport(options), { clock, log: own, server });
  const transport = telling(log);
  const leaseTransport = telling(log.named("leaderelection"));
  return {
    transport,
    leaseTransport,
    close: () => {
      transport.close();
      leaseTransport.close();
    },
  };
}
