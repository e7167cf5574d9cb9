/**
 * Gives NodePools of a drawn scenario three limits, tight ones, so that a pod may need one of them raised, two or
 * all. Draws from lots of its own, so that everything else stays as it was.
 */
import { Random } from "../../src/base/random.ts";
import type { Json } from "../validator/kubernetes.ts";
import type { Scenario } from "../validator/validate.ts";

const CORES = ["4", "8", "16", "40"];
const MEMORY = ["8Gi", "16Gi", "64Gi", "160Gi"];
const NODES = ["1", "2", "3"];

/** One scenario in three has such limits, on half of its pools. */
export function withLimits(scenario: Scenario, seed: number): Scenario {
  return seed % 3 === 1 ? limitedAnyway(scenario, seed) : scenario;
}

/** The same, whichever seed it is. */
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
