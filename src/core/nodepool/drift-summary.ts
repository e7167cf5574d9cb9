/** Describes in words how many nodes of a pool have drifted. */
import { grouped } from "../../base/counted.ts";
import { compareText } from "../../base/text-order.ts";

/**
 * The summary as text. Undefined: no node has drifted. `drifts`: for each NodeClaim of the pool, why it has drifted;
 * undefined if it has not.
 */
export function driftSummary(drifts: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>();
  for (const reason of drifts)
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  if (counts.size === 0) return undefined;
  const byCount = [...counts].sort(([a, m], [b, n]) => n - m || compareText(a, b));
  const drifted = byCount.reduce((sum, [, count]) => sum + count, 0);
  const nodes = drifts.length === 1 ? "1 node has" : `${grouped(drifts.length)} nodes have`;
  const reasons = byCount.map(([reason, count]) => `${grouped(count)} ${reason}`).join(", ");
  return `${grouped(drifted)} of ${nodes} drifted: ${reasons}`;
}
