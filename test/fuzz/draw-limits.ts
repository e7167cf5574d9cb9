/**
 * Gives NodePools of a random scenario three tight limits, so that a pod may need one, two or all of them raised. Uses
 * its own random source, so the rest of the scenario does not change.
 */
import { Random } from "../../src/base/random.ts";
import type { Json } from "../validator/kubernetes.ts";
import type { Scenario } from "../validator/validate.ts";

const CORES = ["4", "8", "16", "40"];
const MEMORY = ["8Gi", "16Gi", "64Gi", "160Gi"];
const NODES = ["1", "2", "3"];

/**
 * For one of three seeds: the scenario with three tight limits on half of its NodePools. Otherwise the scenario
 * itself.
 */
export function withLimits(scenario: Scenario, seed: number): Scenario {
  return seed % 3 === 1 ? limitedAnyway(scenario, seed) : scenario;
}

/** The scenario with three tight limits on half of its NodePools, for every seed. */
export function limitedAnyway(scenario: Scenario, seed: number): Scenario {
  const random = new Random(seed * 130_363 + 7);
  const pick = (from: readonly string[]) => from[random.int(from.length)];
  const limited = (pool: Json): Json => {
    const limits = { cpu: pick(CORES), memory: pick(MEMORY), nodes: pick(NODES) };
    return random.int(2) === 0 ? pool : { ...pool, spec: { ...pool.spec, limits } };
  };
  const manifests = scenario.manifests.map((one) => (one.kind === "NodePool" ? limited(one) : one));
  return { ...scenario, manifests };
}
