/**
 * Pods without a place at the end of a simulation, and whether the simulated change is the cause. The cluster without
 * the change is planned as well, because a pod that waits there too says nothing about the change.
 */

import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { type Model, pendingPods } from "../../core/answers/model.ts";
import { playPassesInSteps } from "../../core/answers/planning-passes.ts";
import { type PlanPass, settle } from "../../core/answers/rehearsal.ts";
import { workloadName } from "../../core/disruption/moves.ts";

/** A pod without a place at the end. */
export interface LeftPending {
  readonly pod: string;
  readonly reason: string;
  /** Whether the pod, or another pod of the same workload in its stead, has no place without the change either. */
  readonly waitsAnyway: boolean;
}

/** The pods that wait because of the change. The exit code of `simulate` is 2 if there are any. */
export function strandedPods(unplaced: readonly LeftPending[]): readonly LeftPending[] {
  return unplaced.filter(({ waitsAnyway }) => !waitsAnyway);
}

/** The pods that have no place without the change either. */
export function waitingAnyway(unplaced: readonly LeftPending[]): readonly LeftPending[] {
  return unplaced.filter(({ waitsAnyway }) => waitsAnyway);
}

/** The reason for a pod that the last plan places, if the simulated time ended before that plan was carried out. */
const AFTER_THE_END = "a place was found, but the simulation ended before the pod was placed";

/** The pods without a place at the end. Those that wait because of the change come first. `today`: without it. */
export function* leftPending(
  today: Model,
  end: Model,
  plan: PlanPass,
): Steps<readonly LeftPending[]> {
  const waiting = yield* pendingPods(end);
  if (waiting.length === 0) return [];
  const { scheduling } = end.picture;
  const pods = scheduling.pods.filter(({ spec }) => !spec.nodeName);
  const { result } = yield* playPassesInSteps({ ...scheduling, pods }, plan);
  const reasons = new Map(result.unschedulable.map(({ pod, message }) => [keyOf(pod), message]));
  const waitToday = yield* waitingToday(today, plan);
  const isAnyway = inStead(waiting, waitToday, yield* relievedPods(waitToday, end));
  const all = waiting.map(
    (pod): LeftPending => ({
      pod: keyOf(pod),
      reason: reasons.get(keyOf(pod)) ?? AFTER_THE_END,
      waitsAnyway: isAnyway.has(pod),
    }),
  );
  return [...strandedPods(all), ...waitingAnyway(all)];
}

/** The pods without a place after all planning passes, without the change. */
function* waitingToday(today: Model, plan: PlanPass): Steps<readonly Pod[]> {
  const { model } = yield* settle(today, plan);
  return yield* pendingPods(model);
}

/** Those of these pods that have a node at the end. A pod that the change deletes has none. */
function* relievedPods(waitToday: readonly Pod[], { picture }: Model): Steps<readonly Pod[]> {
  const placed = new Set<string>();
  yield* eachInSteps(picture.nodes, ({ pods }) => {
    for (const pod of pods) placed.add(keyOf(pod));
  });
  return waitToday.filter((pod) => placed.has(keyOf(pod)));
}

/** Those of `waiting` that wait today, and for each relieved pod another of its workload, which waits in its stead. */
function inStead(
  waiting: readonly Pod[],
  today: readonly Pod[],
  relieved: readonly Pod[],
): ReadonlySet<Pod> {
  const waitsToday = new Set(today.map(keyOf));
  const left = new Map<string, number>();
  for (const pod of relieved) left.set(makerOf(pod), (left.get(makerOf(pod)) ?? 0) + 1);
  const found = new Set(waiting.filter((pod) => waitsToday.has(keyOf(pod))));
  for (const pod of waiting) {
    const count = left.get(makerOf(pod)) ?? 0;
    if (found.has(pod) || count === 0) continue;
    left.set(makerOf(pod), count - 1);
    found.add(pod);
  }
  return found;
}

/** The workload of the pod, whose pods are interchangeable. If it has none, the pod itself. */
function makerOf(pod: Pod): string {
  return workloadName(pod) ?? `Pod ${keyOf(pod)}`;
}
