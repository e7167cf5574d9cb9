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

/** The kinds that keep together on a host, each by its rule, of which some pods are among `left`. */
export function* kindsOf(
  queued: readonly QueuedPod[],
  left: ReadonlySet<QueuedPod["pod"]>,
): Steps<ReadonlySet<TopologyGroup>> {
  const kinds = new Set<TopologyGroup>();
  if (left.size === 0) return kinds;
  yield* eachInSteps(queued, PODS_PER_STEP, ({ pod, podClass }) => {
    const kind = left.has(pod) ? kindOf(podClass) : undefined;
    if (kind !== undefined) kinds.add(kind);
  });
  return kinds;
}

/** Undefined: it need not be with its own. */
function kindOf({ variants: [first] }: PodClass): TopologyGroup | undefined {
  return first?.hostRules.find(({ self, group }) => self && group.type === "affinity")?.group;
}

/** Places these kinds, and returns all who have no place yet, in order but for those of them that found none. */
export function* placedTogether(
  pass: Pass,
  queued: readonly QueuedPod[],
  kinds: ReadonlySet<TopologyGroup>,
): Steps<readonly QueuedPod[]> {
  const byKind = new Map<TopologyGroup, QueuedPod[]>();
  const rest: QueuedPod[] = [];
  yield* eachInSteps(queued, PODS_PER_STEP, (item) => {
    const kind = kindOf(item.podClass);
    if (kind === undefined || !kinds.has(kind)) rest.push(item);
    else if (byKind.has(kind)) byKind.get(kind)?.push(item);
    else byKind.set(kind, [item]);
  });
  const failed: QueuedPod[] = [];
  for (const items of byKind.values()) {
    yield;
    const roomy = { ...pass, closed: withoutRoom(pass, items) };
    const left: QueuedPod[] = [];
    yield* eachInSteps(items, TRIES_PER_STEP, (item) => {
      if (place(roomy, item) !== "placed") left.push(item);
    });
    // They may go to nodes that were closed only to all of them.
    for (const { podClass } of left) podClass.failedAt = -1;
    failed.push(...left);
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
