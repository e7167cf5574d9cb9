/** Quantities by resource for limit ranges and quotas: exact sums, written as Kubernetes writes them. */

import { canonicalQuantity } from "../../../base/canonical-quantity.ts";
import { parseNano } from "../../../base/quantity.ts";

/** Quantities by resource name. */
export type QuotaAmounts = Readonly<Record<string, string | number>>;

/** Requests and limits as written, before they are parsed. */
export interface ContainerResources {
  readonly requests?: QuotaAmounts;
  readonly limits?: QuotaAmounts;
}

/** The fields of a container that quotas read. */
export interface Container {
  readonly name: string;
  readonly restartPolicy?: string;
  readonly resources?: ContainerResources;
}

const KIBI = 1_024n * 1_000_000_000n;

/** The sum over all containers and sidecars, or the largest init container if that is more. */
export function totals(
  containers: readonly Container[],
  initContainers: readonly Container[],
  which: "requests" | "limits",
): QuotaAmounts {
  const sum = new Map<string, bigint>();
  const spelled = new Map<string, string>();
  const peak = new Map<string, bigint>();
  const entriesOf = ({ resources }: Container) =>
    Object.entries(resources?.[which] ?? {}).map(([resource, amount]) => {
      if (!spelled.has(resource)) spelled.set(resource, String(amount));
      return [resource, nano(amount)] as const;
    });
  const add = (container: Container) => {
    for (const [resource, amount] of entriesOf(container))
      sum.set(resource, (sum.get(resource) ?? 0n) + amount);
  };
  for (const container of initContainers) {
    if (container.restartPolicy === "Always") add(container);
    else
      for (const [resource, amount] of entriesOf(container)) {
        const together = (sum.get(resource) ?? 0n) + amount;
        if (together > (peak.get(resource) ?? -1n)) peak.set(resource, together);
      }
  }
  for (const container of containers) add(container);
  return Object.fromEntries(
    [...spelled].map(([resource, like]) => {
      const [together, alone] = [sum.get(resource) ?? 0n, peak.get(resource) ?? 0n];
      return [resource, spell(together > alone ? together : alone, like)];
    }),
  );
}

/** The quantity as text, with the kind of suffix (decimal or binary) that `like` has. */
export function spell(amount: bigint, like: string): string {
  const text = like.endsWith("i") && amount % KIBI === 0n ? `${amount / KIBI}Ki` : `${amount}n`;
  return canonicalQuantity(text) ?? text;
}

/** The quantity in billionths. 0 for text that is not a quantity. */
export function nano(amount: string | number): bigint {
  return parseNano(amount) ?? 0n;
}
