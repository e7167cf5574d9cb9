/** A lower bound on the price of resources, by the instance types that some pools offer. Repack rates nodes by it. */
import { CAPACITY_TYPE_LABEL_KEY, WELL_KNOWN_LABELS } from "../../../apis/karpenter/labels.ts";
import type { Resources } from "../../../apis/resources.ts";
import { type Bin, type Packing, withoutDominated } from "../../planner/packing/packing.ts";
import { type ResourcePrices, resourcePrices } from "../../planner/packing/resource-prices.ts";
import { plannedDaemons } from "../../provisioning/batch/eligibility.ts";
import { createTemplate } from "../../provisioning/pools/pool-template.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import { bitIndices } from "../../scheduling/bits.ts";
import { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { Requirements } from "../../scheduling/requirements.ts";

/** Reserved offerings are left out, because they are prepaid and limited in number. */
const BOUGHT = Requirements.fromSpecs([
  { key: CAPACITY_TYPE_LABEL_KEY, operator: "NotIn", values: ["reserved"] },
]);

/** The cheapest instance types of some pools. */
export class CheapestTypes {
  /** Names of resources, in the order of all arrays of amounts. */
  readonly names: readonly string[];
  readonly #bins: readonly Bin[];

  constructor(input: SchedulingInput, poolIds: ReadonlySet<string>, names: readonly string[]) {
    this.names = names;
    const pools = input.pools.filter(({ pool }) => poolIds.has(pool.id));
    this.#bins = withoutDominated(cheapestBins({ ...input, pools }, names));
  }

  /** The price of the cheapest instance type; undefined: there is none. */
  get cheapestMicroUsd(): number | undefined {
    return this.#bins[0]?.price;
  }

  amounts(resources: Resources): Float64Array {
    const amounts = new Float64Array(this.names.length);
    this.write(resources, amounts, 0);
    return amounts;
  }

  /** Writes the amounts into an array, from index `at` on. */
  write(resources: Resources, into: Float64Array, at: number): void {
    for (let d = 0; d < this.names.length; d++)
      into[at + d] = Math.max(0, resources[this.names[d] as string] ?? 0);
  }

  /** A lower bound on the price of instances with these amounts, and the price of one unit of each resource on them. */
  least(amounts: Float64Array): ResourcePrices {
    const packing: Packing = {
      rows: [{ amounts, count: 1 }],
      bins: this.#bins,
      dimensions: this.names.length,
    };
    return resourcePrices(packing, [1]);
  }
}

/** Each instance type of each NodePool at its lowest price, with the amounts that remain after daemon pods. */
function cheapestBins(
  input: Pick<SchedulingInput, "pools" | "daemonPods" | "options">,
  names: readonly string[],
): Bin[] {
  const { wellKnownLabels } = input.options;
  const space = new RequirementSpace(new Set([...WELL_KNOWN_LABELS, ...wellKnownLabels]));
  const daemonPods = plannedDaemons(input);
  return input.pools.flatMap((pool) => {
    const template = createTemplate(pool, 0, space, daemonPods);
    const { table, usable, set } = template;
    const bought = space.get(set).and(BOUGHT);
    const offerings = table.offerings.cheapest(bought);
    return bitIndices(usable).flatMap((index): Bin[] => {
      const price = offerings[index]?.priceMicroUsd;
      if (price === undefined) return [];
      const there = table.allocatable(index);
      const amounts = Float64Array.from(names, (name) => Math.max(0, there[name] ?? 0));
      return [{ amounts, price, rows: [0] }];
    });
  });
}
