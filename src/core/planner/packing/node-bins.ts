/**
 * The kinds of bins (nodes) of a packing: for each set of requirements, each instance type at its cheapest offering.
 */
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { Pass } from "../../provisioning/place.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import { type Bits, bitIndices, hasBit } from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import type { Domain } from "./class-demands.ts";
import { type Bin, type Row, withoutDominated } from "./packing.ts";

/** Nodes of one instance type with one set of requirements. */
export interface NodeBin extends Bin {
  readonly template: Template;
  readonly set: SetId;
  /** The domain of the node, such as its zone. Absent: topology spread divides none of its rows. */
  readonly domain?: Domain | undefined;
  /** The index of the instance type in the NodePool's table. */
  readonly type: number;
}

type RowOfPods = Row & Pick<NodeBin, "template" | "set" | "domain">;

interface BinOptions {
  /** The names of the resources. They are the first dimensions of a bin, in this order. */
  readonly resources: readonly string[];
  /** The dimensions after the resources: for each counted host rule, the most of its pods on one host. */
  readonly perHost: readonly number[];
  readonly nodeMicroUsdPerHour: number;
}

/** The kinds of bins for these rows. The price of a bin includes the cost of a node beyond its instance. */
export function nodeBins(
  { context: { space } }: Pass,
  rows: readonly RowOfPods[],
  options: BinOptions,
): NodeBin[] {
  const sets = new Map<string, Pick<NodeBin, "template" | "set" | "domain">>();
  for (const row of rows) {
    const key = `${row.template.index} ${row.set}`;
    if (row.domain !== undefined || !sets.has(key)) sets.set(key, row);
  }
  return [...sets.values()].flatMap(({ template, set, domain }) => {
    const allowed: number[] = [];
    rows.forEach((row, index) => {
      if (row.template === template && space.join(set, row.set) === set) allowed.push(index);
    });
    const { table, limitsLeft } = template;
    const types: Bits = table.compatible(set);
    const offerings = table.offerings.cheapest(space.get(set));
    const bins: NodeBin[] = [];
    for (const type of bitIndices(types)) {
      const offering = offerings[type];
      if (offering === undefined || !hasBit(limitsLeft.within, type)) continue;
      const amounts = amountsOf(template, type, options);
      if (amounts.some((amount) => amount < 0)) continue;
      const price = offering.priceMicroUsd + options.nodeMicroUsdPerHour;
      bins.push({ template, set, domain, type, amounts, price, rows: allowed });
    }
    return withoutDominated(bins);
  });
}

/** What a node of the type has for pods, after daemon overhead. A burstable type counts with its baseline cpu. */
function amountsOf(
  { table }: Template,
  type: number,
  { resources, perHost }: BinOptions,
): Float64Array {
  const free = table.allocatable(type);
  const amounts = new Float64Array(resources.length + perHost.length);
  const { capacity, baseline } = table.types[type] as InstanceType;
  for (let d = 0; d < resources.length; d++) {
    const name = resources[d] as string;
    const onCredits = baseline?.[name] === undefined ? 0 : (capacity[name] ?? 0) - baseline[name];
    amounts[d] = (free[name] ?? 0) - onCredits;
  }
  amounts.set(perHost, resources.length);
  return amounts;
}
