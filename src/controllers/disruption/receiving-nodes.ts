/**
 * Checks the existing nodes to which a command moves pods, before it begins. The local copy of the cluster may lack
 * some of their pods. Then such a node looks emptier than it is, and the moved pods do not fit. So the pods of these
 * nodes are listed from the API server. karpenter-ts only.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { errorText } from "../../base/error-text.ts";
import type { StandingProblems } from "../../base/standing-problems.ts";
import type { Command } from "../../core/disruption/command.ts";
import { CLAIM_ACTS } from "../../core/safety/acts.ts";
import { tellHeld } from "../ending/ended.ts";
import { unknownPod } from "../ending/live-reads.ts";
import type { World } from "../world.ts";
import { objectsOf } from "./labels.ts";

const PROBLEM = "pods of receiving nodes";

/**
 * Whether the command must not begin now: a target has pods that the local copy lacks, or its pods cannot be listed.
 * Reported once an hour.
 */
export async function isHeldByTargets(
  world: World,
  { targets, candidates }: Command,
  problems: StandingProblems,
): Promise<boolean> {
  let strange: Pod | undefined;
  try {
    strange = await unknownPod(world, targets);
  } catch (error) {
    const fields = { nodes: targets, error: errorText(error) };
    problems.tell(
      PROBLEM,
      "not disrupting, cannot list the pods of the nodes that take pods",
      fields,
    );
    return true;
  }
  if (strange === undefined) {
    problems.over(PROBLEM);
    return false;
  }
  const message = `The view of pods is not current: it lacks ${keyOf(strange)} on Node ${strange.spec.nodeName}.`;
  if (!problems.isNews(PROBLEM, message)) return true;
  const name = candidates.map(({ node }) => node.name).join(", ");
  const act = { ...CLAIM_ACTS.disrupted, name: "disrupted" };
  tellHeld(
    world,
    { name, act, doubt: { code: "staleView", message } },
    candidates.flatMap(objectsOf),
  );
  return true;
}
