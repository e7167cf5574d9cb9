/**
 * Checks the nodes of a command before it begins: those that receive pods, and those that it empties. The local copy of
 * the cluster may lack some of their pods, or have them as being deleted. Then such a node looks emptier than it is, and
 * the moved pods do not fit. So the pods of these nodes are listed from the API server. karpenter-ts only.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { errorText } from "../../base/error-text.ts";
import type { StandingProblems } from "../../base/standing-problems.ts";
import type { Command } from "../../core/disruption/command.ts";
import { claimAct } from "../../core/safety/acts.ts";
import { tellHeld } from "../ending/ended.ts";
import { unknownPod } from "../ending/live-reads.ts";
import type { World } from "../world.ts";
import { objectsOf } from "./labels.ts";

const PROBLEM = "pods of nodes of a command";

/**
 * Whether the command must not begin now: a node has active pods that the local copy does not count, or its pods cannot
 * be listed. A node that seems empty is not checked here: its pods are listed before it is deleted. Reported once an
 * hour.
 */
export async function isHeldByPods(
  world: World,
  { targets, candidates }: Command,
  problems: StandingProblems,
): Promise<boolean> {
  const emptied = candidates.filter(({ reschedulablePods }) => reschedulablePods.length > 0);
  const asked = [...targets, ...emptied.map(({ node }) => node.name)];
  let strange: Pod | undefined;
  try {
    strange = await unknownPod(world, asked);
  } catch (error) {
    const fields = { nodes: asked, error: errorText(error) };
    problems.tell(
      PROBLEM,
      "not disrupting, cannot list the pods of the nodes that take pods or are emptied",
      fields,
    );
    return true;
  }
  if (strange === undefined) {
    problems.over(PROBLEM);
    return false;
  }
  const message = `The view of pods is not current: it does not count ${keyOf(strange)} on Node ${strange.spec.nodeName}.`;
  if (!problems.isNews(PROBLEM, message)) return true;
  const name = candidates.map(({ node }) => node.name).join(", ");
  const act = claimAct("disrupted");
  tellHeld(
    world,
    { name, act, doubt: { code: "staleView", message } },
    candidates.flatMap(objectsOf),
  );
  return true;
}
