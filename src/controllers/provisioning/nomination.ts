/** How long a node that was promised pods is safe from disruption. upstream: pkg/controllers/state */
import type { Settings } from "../world.ts";

const MIN_NOMINATION_MS = 10_000;

/** Two batch windows, at least ten seconds. */
export function nominationMs({ batchMaxMs }: Pick<Settings, "batchMaxMs">): number {
  return Math.max(2 * batchMaxMs, MIN_NOMINATION_MS);
}
