/** Nodes that are no longer what their pool or class asks for (condition Drifted) are replaced. */
import type { Method } from "./method.ts";
import { replacing } from "./replacing.ts";

export const drift: Method = replacing({
  name: "drift",
  reason: "Drifted",
  conditionType: "Drifted",
});
