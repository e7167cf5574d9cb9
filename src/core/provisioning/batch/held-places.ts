/**
 * Pods of a disruption command run on nodes that leave, but have their places on others already: planning sees
 * them there, so that no pod that waits is given their room.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { keyOf } from "../../../apis/meta.ts";
import { fits, subtractResources } from "../../../apis/resources.ts";
import { eachInSteps, mapInSteps, type Steps } from "../../../base/steps.ts";
import { type NodeView, nodeView } from "../../state/node-view.ts";
import type { SchedulingInput } from "../scheduling-input.ts";

/** Each has all its pods looked at. */
const NODES_PER_STEP = 16;

/**
 * The same input with these pods where `placeOf` says: on the node of that name, or of the claim of that name.
 * Those whose place is not there, or has no room for them any more, are planned as they were.
 */
export function* atTheirPlaces(
  input: SchedulingInput,
  placeOf: (pod: Pod) => string | undefined,
): Steps<SchedulingInput> {
  const wanted = new Map<string, Pod[]>();
  for (const pod of input.pods) {
    const name = placeOf(pod);
    if (name === undefined) continue;
    const others = wanted.get(name);
    if (others === undefined) wanted.set(name, [pod]);
    else others.push(pod);
  }
  if (wanted.size === 0) return input;
  const moved = new Set<string>();
  const arrived = new Map<NodeView, readonly Pod[]>();
  yield* eachInSteps(input.nodes, NODES_PER_STEP, (view) => {
    if (view.deleting) return;
    const claimName = view.claim?.metadata.name ?? view.name;
    // The command that it came for knows it by its claim, others by its Node.
    const byClaim = claimName === view.name ? [] : (wanted.get(claimName) ?? []);
    const pods = [...byClaim, ...(wanted.get(view.name) ?? [])];
    if (pods.length === 0) return;
    const taken = whatFits(view, pods);
    arrived.set(view, taken);
    for (const pod of taken) moved.add(keyOf(pod));
  });
  const isMoved = (pod: Pod) => moved.has(keyOf(pod));
  const nodes = yield* mapInSteps(input.nodes, NODES_PER_STEP, (view) => {
    const here = arrived.get(view);
    if (here !== undefined) return withPods(view, [...view.pods, ...here]);
    if (!view.deleting || !view.pods.some(isMoved)) return view;
    return withPods(
      view,
      view.pods.filter((pod) => !isMoved(pod)),
    );
  });
  return { ...input, nodes, pods: input.pods.filter((pod) => !isMoved(pod)) };
}

/** A claim that is not launched has no size yet: all that it was made for. */
function whatFits({ available, allocatable }: NodeView, pods: readonly Pod[]): readonly Pod[] {
  if (Object.keys(allocatable).length === 0) return pods;
  let room = available;
  return pods.filter((pod) => {
    const requests = podRequests(pod);
    if (!fits(requests, room)) return false;
    room = subtractResources(room, requests);
    return true;
  });
}

function withPods(view: NodeView, pods: readonly Pod[]): NodeView {
  const { node, claim, deleting: marked, nominatedUntilMs } = view;
  const bound = pods.map((pod) =>
    pod.spec.nodeName === view.name ? pod : { ...pod, spec: { ...pod.spec, nodeName: view.name } },
  );
  return nodeView({ node, claim, pods: bound, marked, nominatedUntilMs });
}
