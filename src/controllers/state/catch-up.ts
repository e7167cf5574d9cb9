/** After many changes, the cluster state is brought up to date in turns, before code reads it in one step. */
import { type StepRunner, stepRunner, TURN_MS } from "../../base/steps.ts";
import type { World } from "../world.ts";

/** Of a small cluster, or a large one that has changed little, at once. `run`: of what it is a part of. */
export async function catchUp(
  { cluster, clock }: Pick<World, "cluster" | "clock">,
  run: StepRunner = stepRunner(clock, TURN_MS),
): Promise<void> {
  const looking = cluster.catchUp();
  if (looking.next().done !== true) await run(looking);
  const recalling = cluster.recall(clock.now());
  if (recalling.next().done !== true) await run(recalling);
}
