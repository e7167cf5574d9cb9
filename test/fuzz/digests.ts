/**
 * `npm run fuzz -- digests`: one line for each random scenario, with a digest of all that is decided about it: the plan,
 * its reasons and fixes, and what each disruption method proposes for a cluster of the same seed. Two checkouts that
 * print the same lines decide the same.
 */
import { createHash } from "node:crypto";
import { keyOf } from "../../src/apis/meta.ts";
import { atOnce } from "../../src/base/steps.ts";
import { planOf } from "../../src/cli/plan/plan.ts";
import { remedies } from "../../src/core/answers/fixes/remedy.ts";
import { makeRound } from "../../src/core/disruption/make-round.ts";
import { METHODS } from "../../src/core/disruption/methods/all.ts";
import { planBatch } from "../../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER, type PlannerOptions } from "../../src/core/planner/planner-options.ts";
import type { Scenario } from "../validator/validate.ts";
import { drawScenario } from "./draw.ts";
import { withCopies } from "./draw-copies.ts";
import { withNamedDaemons } from "./draw-daemons.ts";
import { withLimits } from "./draw-limits.ts";
import { drawRepack, drawUnrelated } from "./draw-repack.ts";
import { withVolumes } from "./draw-volumes.ts";
import { inputOf } from "./ours.ts";
import { pictureFor } from "./repack.ts";

/** Small batches are packed too. Otherwise few scenarios would reach the packing. */
const EAGER: PlannerOptions = { ...DEFAULT_PLANNER, minPods: 1, nodeMicroUsdPerHour: 1_000 };
/** Every n-th seed also looks for fixes, which takes many plans. */
const FIXES_EVERY = 10;
/** Every n-th seed also asks the disruption methods. */
const ROUNDS_EVERY = 3;

/** Every n-th seed has each pending pod twelve times. */
const COPIES_EVERY = 5;

/** The digest of one seed: 16 hexadecimal digits. */
export async function digestOf(seed: number): Promise<string> {
  const decided = [planText(seed), seed % ROUNDS_EVERY === 0 ? await roundText(seed) : ""];
  return createHash("sha256").update(decided.join("\n")).digest("hex").slice(0, 16);
}

function planText(seed: number): string {
  const scenario = scenarioOf(seed);
  const input = inputOf(scenario);
  const result = planBatch(input, seed % 4 < 2 ? EAGER : DEFAULT_PLANNER);
  const fixes = seed % FIXES_EVERY === 0 ? { remedies: remedies(input, result) } : {};
  const plan = planOf(result, input.pods.length, { parseMs: 0, solveMs: 0 }, { ...fixes, input });
  const refused = result.unschedulable.map(({ pod, ...rest }) => ({ pod: keyOf(pod), ...rest }));
  const [first] = result.unschedulable;
  const asked = first && planBatch({ ...input, askedPod: keyOf(first.pod) }, DEFAULT_PLANNER);
  const nodes = asked?.unschedulable.map(({ nodes }) => nodes);
  const last = result.newClaims.map(({ fillsLast }) => fillsLast === true);
  return JSON.stringify({ plan, refused, nodes, last, limitCost: result.limitCost });
}

function scenarioOf(seed: number): Scenario {
  const drawn = drawScenario(seed);
  if (seed % COPIES_EVERY === 1) return withCopies(drawn);
  return seed % 2 === 0
    ? withNamedDaemons(withLimits(withVolumes(drawn, seed), seed), seed)
    : drawn;
}

async function roundText(seed: number): Promise<string> {
  const objects = seed % 2 === 0 ? drawRepack(seed) : [...drawRepack(seed), ...drawUnrelated()];
  const picture = await pictureFor(objects);
  const said = METHODS.map((method) => {
    const { commands, remarks } = atOnce(method.propose(atOnce(makeRound(picture, method)).round));
    return {
      method: method.name,
      commands: commands.map(({ candidates, replacements, placements, ...command }) => ({
        reason: command.reason,
        gone: candidates.map(({ node }) => node.name),
        launched: replacements.map(({ pool, pods, instanceTypes, ...claim }) => ({
          ...claim,
          pool: pool.name,
          pods: pods.map(keyOf),
          types: instanceTypes.map(({ name }) => name),
        })),
        moved: placements?.map(({ nodeName, pods }) => [nodeName, pods.map(keyOf)]),
      })),
      remarks: remarks.map(({ candidate, about, message }) => [
        candidate.node.name,
        about,
        message,
      ]),
    };
  });
  return JSON.stringify(said);
}
