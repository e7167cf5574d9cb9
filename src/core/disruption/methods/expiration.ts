/**
 * Alpha's and beta's claims that are older than their pool lets them be (condition Expired) are replaced,
 * within budgets. v1's end at once, elsewhere: controllers/nodeclaim/expiration.ts.
 */
import type { Method } from "./method.ts";
import { replacing } from "./replacing.ts";

export const expiration: Method = replacing({
  name: "expiration",
  reason: "Expired",
  conditionType: "Expired",
});
