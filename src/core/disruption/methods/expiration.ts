/**
 * Claims that are older than they may be, and marked for it (condition Expired), are replaced, within budgets:
 * alpha's and beta's, and v1's where a setting has their expiry respect budgets. Other claims of v1 end at once,
 * unasked: controllers/nodeclaim/expiration.ts.
 */
import type { Method } from "./method.ts";
import { replacing } from "./replacing.ts";

export const expiration: Method = replacing({
  name: "expiration",
  reason: "Expired",
  conditionType: "Expired",
});
