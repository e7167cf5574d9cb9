/** The plan sources, in the order in which they run. */
import { cheapestNode } from "./cheapest-node.ts";
import { greedy } from "./greedy.ts";
import { packing } from "./packing.ts";
import type { PlanSource } from "./source.ts";
import { upstreamGreedy } from "./upstream-greedy.ts";

export const PLAN_SOURCES: readonly PlanSource[] = [greedy, packing, upstreamGreedy, cheapestNode];
