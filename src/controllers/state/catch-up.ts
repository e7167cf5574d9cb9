/** Brings the cluster state up to date in turns after many changes, before code reads it in one step. */
import { type StepRunner, stepRunner, TURN_MS } from "../../base/steps.ts";
import type { World } from "../world.ts";

/**
 * Applies the waiting changes. Few changes are applied in one step, many in several. `run`: the run of a controller
 * that these turns belong to.
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
