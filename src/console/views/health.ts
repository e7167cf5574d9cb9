/** Whether what the console shows can be trusted: how old it is, what it cannot see, what it costs. */
import type { ConsoleScene } from "../source.ts";
import type { View } from "./view.ts";

export interface HealthHead {
  /** How long the views took to make the last time, in real milliseconds. */
  readonly readingMs: number;
  /** Pages that look. */
  readonly viewers: number;
  /** What could not be seen, and what was assumed. */
  readonly notes: readonly string[];
  readonly events: number;
}

/** A head alone. */
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
