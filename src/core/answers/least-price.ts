/**
 * A proven lower bound on the price of new nodes for the pods of a plan. Each resource gets a price, such that on no
 * instance type the resources are worth more than the type costs. So every plan costs at least what the pods' requests
 * are worth at these prices. Room on existing nodes and in reservations is subtracted first. Labels, zones and rules
 * between pods are ignored, which can only lower the bound.
 */
import { podRequests } from "../../apis/core/pod-resources.ts";
import { addResources, maxResources, type Resources } from "../../apis/resources.ts";
import { isUsable, reservationOf } from "../cloudprovider/offerings.ts";
import { CheapestTypes } from "../disruption/repack/cheapest-types.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";

/** The bound in micro-dollars an hour for the pods that `result` places. */
export function leastPriceMicroUsd(input: SchedulingInput, result: SchedulingResult): number {
  const placed = [...result.newClaims, ...result.existing].flatMap(({ pods }) => pods);
  return leastPriceOf(input, placed.map(podRequests).reduce<Resources>(addResources, {}));
}

/** The lower bound in micro-dollars an hour for pods that request `demand` together. */
export function leastPriceOf(input: SchedulingInput, demand: Resources): number {
  const paid = paidFor(input);
  const names = Object.keys(demand).sort();
  const missing = names.map((name) => (demand[name] as number) - (paid[name] ?? 0));
  if (missing.every((amount) => amount <= 0)) return 0;
  const amounts = Float64Array.from(missing, (amount) => Math.max(0, amount));
  const types = new CheapestTypes(input, new Set(input.pools.map(({ pool }) => pool.id)), names);
  const { cheapestMicroUsd } = types;
  if (cheapestMicroUsd === undefined) return 0;
  const { leastCost } = types.least(amounts);
  // Any demand needs at least one whole node. Prices are integers, so the bound is rounded up. Before that, it is
  // lowered by a possible rounding error of floating-point numbers.
  return Math.max(cheapestMicroUsd, Math.ceil(leastCost * (1 - 1e-9)));
}

/** Resources that cost nothing more: free room on existing nodes, and the units of reservations that are not in use. */
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
