/**
 * Replaces nodes whose claims have the condition Expired, within budgets. That holds for v1alpha5 and v1beta1, and for
 * v1 with the setting that expiration respects budgets. Without it a v1 claim is deleted as soon as it expires
 * (controllers/nodeclaim/expiration.ts).
 */
import type { Method } from "./method.ts";
import { replacing } from "./replacing.ts";

export const expiration: Method = replacing({
  name: "expiration",
  reason: "Expired",
  conditionType: "Expired",
});
