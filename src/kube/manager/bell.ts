/**
 * Lets code outside of the watches request a reconcile of a controller. A request before the controller starts or after
 * it stops is lost.
 */
import type { Controller, Request } from "./controller.ts";

/** Passes requests from other code to a controller. */
export interface Bell {
  ring(request: Request): void;
  /** The function through which a controller receives the requests. */
  readonly listen: NonNullable<Controller["listen"]>;
}

/** Creates a bell. Its requests are lost until a controller listens. */
export function createBell(): Bell {
  let hear: ((request: Request) => void) | undefined;
  return {
    ring: (request) => hear?.(request),
    listen: (handler) => {
      hear = handler;
      return () => {
        hear = undefined;
      };
    },
  };
}
