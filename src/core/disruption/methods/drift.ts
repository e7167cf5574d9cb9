/** Replaces nodes that no longer match their NodePool or node class. Their claims have the condition Drifted. */
import type { Method } from "./method.ts";
import { replacing } from "./replacing.ts";

export const drift: Method = replacing({
  name: "drift",
  reason: "Drifted",
  conditionType: "Drifted",
});
