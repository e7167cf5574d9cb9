/** Applies pending changes to the cluster state in several steps, before code reads the state in one step. */
import { type StepRunner, stepRunner, TURN_MS } from "../../base/steps.ts";
import type { World } from "../world.ts";

/**
 * Applies the pending changes: a few in one step, many in several. `run`: the step runner of the controller that calls
 * this.
 */
export async function catchUp(
  { cluster, clock }: Pick<World, "cluster" | "clock">,
  run: StepRunner = stepRunner(clock, TURN_MS),
): Promise<void> {
  const looking = cluster.catchUp();
  if (looking.next().done !== true) await run(looking);
  const recalling = cluster.recall(clock.now());
  if (recalling.next().done !== true) await run(recalling);
}
