/**
 * Pods that must share a host bind their kind to the host that the first of them gets. The largest pods come first and
 * nodes fill up, so that it may be one without room for the others, which then stay pending whatever comes. A plan
 * can have such kinds ahead of all other pods, each where all of it has room.
 */
import { addResources, fits, NO_RESOURCES } from "../../apis/resources.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { Marks } from "../scheduling/bits.ts";
import type { PodClass } from "./batch/pod-class.ts";
import type { QueuedPod } from "./batch/queue.ts";
import { type Pass, place } from "./place.ts";
import type { TopologyGroup } from "./topology/topology-group.ts";

const PODS_PER_STEP = 8_192;
const TRIES_PER_STEP = 64;

/** A kind that keeps together on a host: those whom a rule of theirs makes share one. */
export type Kin = TopologyGroup;

/** Of the pods those kinds of which some are to be found among `left`. */
export function* kinsOf(
  queued: readonly QueuedPod[],
  left: ReadonlySet<QueuedPod["pod"]>,
): Steps<ReadonlySet<Kin>> {
  const kins = new Set<Kin>();
  if (left.size === 0) return kins;
  yield* eachInSteps(queued, PODS_PER_STEP, ({ pod, podClass }) => {
    const kin = left.has(pod) ? kinOf(podClass) : undefined;
    if (kin !== undefined) kins.add(kin);
  });
  return kins;
}

/** Undefined: it need not be with its own. */
function kinOf({ variants: [first] }: PodClass): Kin | undefined {
  return first?.hostRules.find(({ self, group }) => self && group.type === "affinity")?.group;
}

/** Places these kinds, and returns all who have no place yet, in order but for those of them that found none. */
export function* placedTogether(
  pass: Pass,
  queued: readonly QueuedPod[],
  kins: ReadonlySet<Kin>,
): Steps<readonly QueuedPod[]> {
  const byKin = new Map<Kin, QueuedPod[]>();
  const rest: QueuedPod[] = [];
  yield* eachInSteps(queued, PODS_PER_STEP, (item) => {
    const kin = kinOf(item.podClass);
    if (kin === undefined || !kins.has(kin)) rest.push(item);
    else if (byKin.has(kin)) byKin.get(kin)?.push(item);
    else byKin.set(kin, [item]);
  });
  const failed: QueuedPod[] = [];
  for (const items of byKin.values()) {
    yield;
    const roomy = { ...pass, closed: withoutRoom(pass, items) };
    yield* eachInSteps(items, TRIES_PER_STEP, (item) => {
      if (place(roomy, item) === "placed") return;
      failed.push(item);
      // It may go to a node that is closed only to all of them.
      item.podClass.failedAt = -1;
    });
  }
  return [...failed, ...rest];
}

/** Nodes that cannot hold all of them. */
function withoutRoom({ nodes }: Pass, items: readonly QueuedPod[]): Marks {
  const all = items.reduce(
    (sum, { podClass }) => addResources(sum, podClass.requests),
    NO_RESOURCES,
  );
  const closed = new Marks();
  for (const [index, { view }] of nodes.entries())
    if (!fits(all, view.available)) closed.add(index);
  return closed;
}
