/**
 * What machines of some pools offer for their price, and so what resources cost at the least: the yardstick
 * by which nodes are found wasteful before anything is planned.
 */
import type { Resources } from "../../../apis/resources.ts";
import { cheapestBins } from "../../planner/least-price.ts";
import type { Bin, Packing } from "../../planner/packing/packing.ts";
import { type ResourcePrices, resourcePrices } from "../../planner/packing/resource-prices.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";

export class Machines {
  /** What amounts are of, in their order. */
  readonly names: readonly string[];
  readonly #bins: readonly Bin[];

  constructor(input: SchedulingInput, poolIds: ReadonlySet<string>, names: readonly string[]) {
    this.names = names;
    const pools = input.pools.filter(({ pool }) => poolIds.has(pool.id));
    this.#bins = worthHaving(cheapestBins({ ...input, pools }, names));
  }

  amounts(resources: Resources): Float64Array {
    const amounts = new Float64Array(this.names.length);
    this.write(resources, amounts, 0);
    return amounts;
  }

  /** The amounts, from that place on. */
  write(resources: Resources, into: Float64Array, at: number): void {
    for (let d = 0; d < this.names.length; d++)
      into[at + d] = Math.max(0, resources[this.names[d] as string] ?? 0);
  }

  /** What so much costs at the least, and what a unit of each resource then costs. */
  least(amounts: Float64Array): ResourcePrices {
    const packing: Packing = {
      rows: [{ amounts, count: 1 }],
      bins: this.#bins,
      dimensions: this.names.length,
    };
    return resourcePrices(packing, [1]);
  }
}

/** Without machines for which another has as much and costs no more. */
function worthHaving(bins: readonly Bin[]): readonly Bin[] {
  const kept: Bin[] = [];
  for (const bin of bins.toSorted((a, b) => a.price - b.price)) {
    const beaten = kept.some(({ amounts }) =>
      amounts.every((amount, d) => amount >= (bin.amounts[d] as number)),
    );
    if (!beaten) kept.push(bin);
  }
  return kept;
}
