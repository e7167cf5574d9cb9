/**
 * A proven lower bound on the price of new nodes for the pods of a plan. Each resource gets a dual price, such that no
 * instance type has resources worth more than it costs. So every plan costs at least what the pods' requests are worth
 * at these prices. Room on existing nodes and reservations is subtracted from the requests first. Labels, zones and
 * rules between pods are ignored, which can only lower the bound.
 */
import { podRequests } from "../../apis/core/pod-resources.ts";
import { CAPACITY_TYPE_LABEL_KEY, WELL_KNOWN_LABELS } from "../../apis/karpenter/labels.ts";
import { addResources, maxResources, type Resources } from "../../apis/resources.ts";
import { isUsable, reservationOf } from "../cloudprovider/offerings.ts";
import { plannedDaemons } from "../provisioning/batch/eligibility.ts";
import { createTemplate } from "../provisioning/pools/pool-template.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import { bitIndices } from "../scheduling/bits.ts";
import { RequirementSpace } from "../scheduling/requirement-space.ts";
import { Requirements } from "../scheduling/requirements.ts";
import type { Bin } from "./packing/packing.ts";
import { resourcePrices } from "./packing/resource-prices.ts";

/** Excludes reserved instances: they add no cost. They are subtracted from the demand instead. */
const BOUGHT = Requirements.fromSpecs([
  { key: CAPACITY_TYPE_LABEL_KEY, operator: "NotIn", values: ["reserved"] },
]);

/** The bound in micro-dollars an hour for the pods that `result` places. */
export function leastPriceMicroUsd(input: SchedulingInput, result: SchedulingResult): number {
  const placed = [...result.newClaims, ...result.existing].flatMap(({ pods }) => pods);
  return leastPriceOf(input, placed.map(podRequests).reduce<Resources>(addResources, {}));
}

/** The bound for pods that request `demand` together. */
export function leastPriceOf(input: SchedulingInput, demand: Resources): number {
  const paid = paidFor(input);
  const names = Object.keys(demand).sort();
  const missing = names.map((name) => (demand[name] as number) - (paid[name] ?? 0));
  if (missing.every((amount) => amount <= 0)) return 0;
  const amounts = Float64Array.from(missing, (amount) => Math.max(0, amount));
  const bins = cheapestBins(input, names);
  if (bins.length === 0) return 0;
  const packing = { rows: [{ amounts, count: 1 }], bins, dimensions: names.length };
  const { leastCost } = resourcePrices(packing, [1]);
  // However small the demand is, at least one whole node must be bought.
  const one = Math.min(...bins.map(({ price }) => price));
  // Prices are integers, so the bound may be rounded up. Before that, it is lowered by the largest possible rounding
  // error of floating point.
  return Math.max(one, Math.ceil(leastCost * (1 - 1e-9)));
}

/** Resources that add no cost: free room of existing nodes, and the resources of unused reservations. */
function paidFor({ nodes, pools }: SchedulingInput): Resources {
  let total: Resources = {};
  for (const { deleting, available } of nodes) {
    if (deleting) continue;
    const free = Object.entries(available).map(([name, amount]) => [name, Math.max(0, amount)]);
    total = addResources(total, Object.fromEntries(free));
  }
  const reserved = new Map<string, { count: number; capacity: Resources }>();
  for (const type of pools.flatMap(({ instanceTypes }) => instanceTypes)) {
    for (const offering of type.offerings) {
      const id = reservationOf(offering)?.id;
      if (id === undefined || !isUsable(offering)) continue;
      const known = reserved.get(id) ?? { count: 0, capacity: {} };
      const capacity = maxResources(known.capacity, {
        ...type.capacity,
        ...offering.capacityOverride,
      });
      const count = Math.max(known.count, offering.reservationCapacity ?? 0);
      reserved.set(id, { count, capacity });
    }
  }
  for (const { count, capacity } of reserved.values()) {
    const all = Object.entries(capacity).map(([name, amount]) => [name, amount * count]);
    total = addResources(total, Object.fromEntries(all));
  }
  return total;
}

/**
 * Each instance type of each NodePool as a bin, at the lowest price of its offerings. Each resource is a dimension; the
 * requests of daemon pods are subtracted.
 */
export function cheapestBins(
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
