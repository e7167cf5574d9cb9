/**
 * Whether the console's data can be trusted: how old it is, what could not be read, and what computing it
 * costs.
 */
import type { ConsoleScene } from "../source.ts";
import type { View } from "./view.ts";

export interface HealthHead {
  /** How long computing the views took last time, in real milliseconds. */
  readonly readingMs: number;
  /** Number of open pages. */
  readonly viewers: number;
  /** What could not be read, and what was assumed. */
  readonly notes: readonly string[];
  readonly events: number;
}

/** A view with a head and no rows. */
export function healthView(
  { notes, events }: Pick<ConsoleScene, "notes" | "events">,
  readingMs: number,
  viewers: number,
): View<HealthHead, never> {
  return {
    head: { readingMs, viewers, notes, events: events.length },
    rows: new Map<string, never>(),
  };
}
