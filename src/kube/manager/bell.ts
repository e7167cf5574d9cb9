/**
 * How code beside the watches asks a controller for work: whoever rings is heard while the controller runs. What is
 * rung for before it starts, or after it has stopped, nobody hears.
 */
import type { Controller, Request } from "./controller.ts";

/** Lets other code ask a controller for a reconcile. */
export interface Bell {
  ring(request: Request): void;
  /** For the controller that is to hear it. */
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
