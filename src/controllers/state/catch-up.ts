/** A picture that has changed much is looked at in turns, before anybody reads it in one go. */
import { inTurns, TURN_MS } from "../../base/steps.ts";
import type { World } from "../world.ts";

/** Of a small cluster, or a large one that has changed little, at once. */
export async function catchUp({ cluster, clock }: Pick<World, "cluster" | "clock">): Promise<void> {
  const looking = cluster.catchUp();
  if (looking.next().done !== true) await inTurns(clock, looking, TURN_MS);
}
