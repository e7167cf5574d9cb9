/** The price of a plan. */
import type { SchedulingResult } from "../provisioning/result.ts";

/** The price of the new nodes of a plan, in micro-dollars an hour. */
export function priceMicroUsd({ newClaims }: Pick<SchedulingResult, "newClaims">): number {
  return newClaims.reduce((sum, { cheapest }) => sum + cheapest.priceMicroUsd, 0);
}
