/**
 * Replaces nodes whose claims have the condition Expired, within budgets. This applies to v1alpha5 and v1beta1, and to
 * v1 if the operator has set that expiration respects budgets. Otherwise a v1 claim is deleted as soon as it expires
 * (controllers/nodeclaim/expiration.ts).
 */
import type { Method } from "./method.ts";
import { replacing } from "./replacing.ts";

export const expiration: Method = replacing({
  name: "expiration",
  reason: "Expired",
  conditionType: "Expired",
});
