/**
 * Of which pools no replacement is asked for now, since the last one did not come up: the controller keeps
 * that in memory, but says it in the event `DisruptionBlocked` of the nodes that stayed.
 */
import type { Event } from "../../apis/core/kinds.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { Found } from "../plan/documents.ts";

/** As `replacementFailed` in src/controllers/disruption/events.ts words it. */
const FAILED = /^Its replacement did not come up, no other of (.+) is asked for until (\S+)$/;

/** By id of the pool: until when. */
export function backingOffOf(found: readonly Found[], nowMs: number): ReadonlyMap<string, number> {
  const until = new Map<string, number>();
  for (const { object } of found) {
    if (object.kind !== "Event") continue;
    const [, pools = "", end] = FAILED.exec((object as Event).message ?? "") ?? [];
    const endMs = fromRfc3339(end) ?? 0;
    if (endMs <= nowMs) continue;
    for (const id of pools.split(", ")) until.set(id, Math.max(endMs, until.get(id) ?? 0));
  }
  return until;
}
