/**
 * What new nodes for the pods of a plan cost at least, whatever the plan: proven, not estimated. Resources
 * are priced so that no instance type holds more worth than it costs; the pods, less all that is free on
 * nodes that are there or paid for by reservations, are worth no more than any plan must pay. Labels,
 * zones and neighbours are left out, which can only lower the bound.
 */
import { podRequests } from "../../apis/core/pod-resources.ts";
import { CAPACITY_TYPE_LABEL_KEY, WELL_KNOWN_LABELS } from "../../apis/karpenter/labels.ts";
import { addResources, maxResources, type Resources } from "../../apis/resources.ts";
import { isUsable, reservationOf } from "../cloudprovider/offerings.ts";
import { hasDynamicResources } from "../provisioning/batch/eligibility.ts";
import { createTemplate } from "../provisioning/pools/pool-template.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import { bitIndices } from "../scheduling/bits.ts";
import { RequirementSpace } from "../scheduling/requirement-space.ts";
import { Requirements } from "../scheduling/requirements.ts";
import type { Bin } from "./packing/packing.ts";
import { resourcePrices } from "./packing/resource-prices.ts";

/** Reserved machines are counted apart. */
const BOUGHT = Requirements.fromSpecs([
  { key: CAPACITY_TYPE_LABEL_KEY, operator: "NotIn", values: ["reserved"] },
]);

/** Micro-dollars an hour, for the pods that `result` places. */
export function leastPriceMicroUsd(input: SchedulingInput, result: SchedulingResult): number {
  const placed = [...result.newClaims, ...result.existing].flatMap(({ pods }) => pods);
  const demand = placed.map(podRequests).reduce<Resources>(addResources, {});
  const paid = paidFor(input);
  const names = Object.keys(demand).sort();
  const missing = names.map((name) => (demand[name] as number) - (paid[name] ?? 0));
  if (missing.every((amount) => amount <= 0)) return 0;
  const amounts = Float64Array.from(missing, (amount) => Math.max(0, amount));
  const bins = binsOf(input, names);
  if (bins.length === 0) return 0;
  const packing = { rows: [{ amounts, count: 1 }], bins, dimensions: names.length };
  const { leastCost } = resourcePrices(packing, [1]);
  // There are no parts of nodes.
  const one = Math.min(...bins.map(({ price }) => price));
  // Prices are whole: so is the least sum of them, once what rounding may have added is off.
  return Math.max(one, Math.ceil(leastCost * (1 - 1e-9)));
}

/** Free on nodes, and what reservations could add to it at most. */
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

/** Each type of each pool at its lowest price, with what daemons leave of it; amounts by name. */
export function binsOf(
  input: Pick<SchedulingInput, "pools" | "daemonPods" | "options">,
  names: readonly string[],
): Bin[] {
  const { wellKnownLabels } = input.options;
  const space = new RequirementSpace(new Set([...WELL_KNOWN_LABELS, ...wellKnownLabels]));
  const daemonPods = input.daemonPods.filter((pod) => !hasDynamicResources(pod));
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
