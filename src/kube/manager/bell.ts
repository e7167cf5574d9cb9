/**
 * Lets code outside of the watches ask a controller for a reconcile. A request before the controller starts
 * or after it stops is lost.
 */
import type { Controller, Request } from "./controller.ts";

/** Lets other code ask a controller for a reconcile. */
export interface Bell {
  ring(request: Request): void;
  /** For the controller that receives the requests. */
  readonly listen: NonNullable<Controller["listen"]>;
}

/** A bell that does nothing until a controller listens. */
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
