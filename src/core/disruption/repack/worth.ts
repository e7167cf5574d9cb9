/**
 * What nodes are worth: every resource has a least price at which machines can be had that hold it, and a
 * node is worth what is used of it at those prices. What it costs beyond that is waste: an upper bound of
 * what packing its pods anew could save, as far as nodes that stay have no room for them.
 */
import {
  addResources,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../../apis/resources.ts";
import { binsOf } from "../../planner/least-price.ts";
import { resourcePrices } from "../../planner/resource-prices.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import type { Candidate } from "../candidates.ts";

export interface Valued {
  readonly candidate: Candidate;
  /** Micro-dollars an hour beyond what is used of it. Never less than nothing. */
  readonly wasteMicroUsd: number;
}

/** Candidates that may share machines of these pools, the largest share of waste first; ties by name. */
export function valued(
  candidates: readonly Candidate[],
  poolIds: ReadonlySet<string>,
  input: SchedulingInput,
): readonly Valued[] {
  const worth = worthOf(candidates, poolIds, input);
  const share = ({ candidate, wasteMicroUsd }: Valued) =>
    candidate.priceMicroUsd === 0 ? 0 : wasteMicroUsd / candidate.priceMicroUsd;
  return candidates
    .map((candidate) => ({
      candidate,
      wasteMicroUsd: Math.max(0, candidate.priceMicroUsd - worth(usedOf(candidate))),
    }))
    .sort(
      (a, b) => share(b) - share(a) || (a.candidate.node.name < b.candidate.node.name ? -1 : 1),
    );
}

/** By pods: daemons run on any node. */
function usedOf({ node }: Candidate): Resources {
  const taken = subtractResources(node.allocatable, node.available);
  return subtractResources(taken, node.daemonRequests);
}

/** Prices by which no machine holds more than it costs, and all that is used is worth the most. */
function worthOf(
  candidates: readonly Candidate[],
  poolIds: ReadonlySet<string>,
  input: SchedulingInput,
): (used: Resources) => number {
  const demand = candidates.map(usedOf).reduce<Resources>(addResources, NO_RESOURCES);
  const names = Object.keys(demand)
    .filter((name) => (demand[name] as number) > 0)
    .sort();
  const pools = input.pools.filter(({ pool }) => poolIds.has(pool.id));
  const amounts = Float64Array.from(names, (name) => demand[name] as number);
  const bins = binsOf({ ...input, pools }, names);
  const packing = { rows: [{ amounts, count: 1 }], bins, dimensions: names.length };
  const { prices } = resourcePrices(packing, [1]);
  return (used) =>
    names.reduce((sum, name, at) => sum + (used[name] ?? 0) * (prices[at] as number), 0);
}
