/**
 * Creates claims for pending pods, one pass at a time. A pass starts when the batch is complete. It reads the cluster,
 * lets the planner decide, and carries out the plan: claims, nominations, events. The controllers of triggers.ts
 * request passes. nodeclaim.lifecycle launches the claims, and kube-scheduler binds the pods.
 * upstream: pkg/controllers/provisioning/provisioner.go
 */

import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { StandingProblems } from "../../base/standing-problems.ts";
import { inTurns, TURN_MS } from "../../base/steps.ts";
import { withoutBufferPods } from "../../core/buffers/feedback.ts";
import { noPools } from "../../core/nodepool/no-pools.ts";
import { planBatchInSteps } from "../../core/planner/plan-batch.ts";
import { realPodsFirst } from "../../core/planner/real-pods-first.ts";
import { zonesOfPods } from "../../core/provisioning/refusals/effective-zone.ts";
import type { PlannedClaim, SchedulingResult } from "../../core/provisioning/result.ts";
import type { SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import type { PassFacts } from "../../core/spans/claim-spans.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { tellBuffers } from "../capacitybuffer/feedback.ts";
import type { Steering } from "../disruption/steering.ts";
import { mayDecide } from "../may-decide.ts";
import { showAll } from "../metrics/observer.ts";
import { allPools } from "../pools.ts";
import { catchUp } from "../state/catch-up.ts";
import type { World } from "../world.ts";
import { apply } from "./apply.ts";
import type { Batcher } from "./batcher.ts";
import { failedScheduling } from "./events.ts";
import { podsToPlace, poolsToUse, schedulingInput } from "./gather.ts";
import { heldIn, isHeld, noteRefusals } from "./hold-back.ts";
import { placeRefused, Turns } from "./plan-anew.ts";
import type { PodTimes } from "./pod-times.ts";
import { PassProgress } from "./progress.ts";
import { TypesAhead } from "./read-ahead.ts";
import { report } from "./report.ts";
import { tellUnstuck } from "./unstuck.ts";

/** Milliseconds until the next try while the cluster state is incomplete. */
const UNSYNCED_RETRY_MS = 1_000;

/** The key under which the lack of pools is reported. */
const NO_POOLS = "no pools";

const SELF: Request = { kind: "", name: "provisioner" };

/** The controller that runs planning passes. upstream: pkg/controllers/provisioning/provisioner.go. */
export function provisioner(
  world: World,
  batcher: Batcher,
  times: PodTimes,
  steering: Pick<Steering, "hasPlace">,
): Controller {
  const log = world.log.with({ controller: "provisioner" });
  const progress = new PassProgress(world);
  const turns = new Turns();
  const ahead = new TypesAhead();
  const idle = new StandingProblems(log, world.clock);
  const problems = new StandingProblems(log, world.clock);
  return {
    name: "provisioner",
    watches: [],
    concurrency: 1,
    listen: (ask) => {
      const stopShowing = showAll(world.metrics, progress.readers());
      const stopAsking = batcher.onOpen(() => ask(SELF));
      return () => {
        stopAsking();
        stopShowing();
      };
    },
    reconcile: () =>
      reconcile(
        world,
        { batcher, ahead, times, progress, turns, idle, problems, steering },
        log,
      ).finally(() => progress.end()),
  };
}

/** What is kept from one pass to the next. */
interface Memory {
  readonly batcher: Batcher;
  readonly ahead: TypesAhead;
  readonly times: PodTimes;
  readonly progress: PassProgress;
  readonly turns: Turns;
  /** Remembers which pools were reported as not ready. */
  readonly idle: StandingProblems;
  /** Remembers which pods without a place were logged. */
  readonly problems: StandingProblems;
  readonly steering: Pick<Steering, "hasPlace">;
}

async function reconcile(
  world: World,
  { batcher, ahead, times, progress, turns, idle, problems, steering }: Memory,
  log: Logger,
): Promise<Outcome> {
  if (batcher.waitMs === undefined) return AWAIT_CHANGE;
  if (batcher.waitMs > 0) await ahead.read(world);
  if (batcher.waitMs > 0) return requeueAfter(batcher.waitMs);
  await catchUp(world);
  if (!mayDecide(world)) return requeueAfter(UNSYNCED_RETRY_MS);
  const startMs = world.clock.elapsedMs();
  const batchedMs = batcher.openMs;
  batcher.close();
  ahead.end();
  const { pending, leaving, buffered } = podsToPlace(world);
  const pods = [...pending, ...leaving];
  if (pods.length + buffered.length === 0) return AWAIT_CHANGE;
  progress.begin(pods.length);
  const { usable: pools, unusable } = await poolsToUse(world, log, idle);
  if (pools.length === 0) return withoutPools(world, log, problems, { pending, unusable });
  problems.over(NO_POOLS);
  const input = schedulingInput(world, [...pods, ...buffered], pools);
  const options = { ...input.options, reservedCapacity: "strict" as const };
  const result = await planned(world, { ...input, options }, steering);
  progress.decided();
  tellOfPods(world, { times, progress }, pending, { input, result });
  const asked = pools.map(({ pool }) => pool);
  if (pods.length > 0) {
    const real = withoutBufferPods(result);
    report({ world, log, problems }, { result: real, pods, startMs, batchedMs, pools: asked });
  }
  world.spans?.passed(passFacts(world.clock, { startMs, batchedMs }, { pods, result }));
  if (buffered.length > 0) await tellBuffers(world, log, result);
  tellUnstuck(world, log, result.unstuck);
  const applied = await apply(world, log, result);
  const plan = (some: SchedulingInput) => planned(world, { ...some, options }, steering);
  await placeRefused(world, log, { pools, result, applied, turns, plan });
  // Requests that were made during planning began the next batch.
  return batcher.waitMs === undefined ? AWAIT_CHANGE : requeueAfter(batcher.waitMs);
}

/**
 * Plans pending pods together with pods that a disruption command moves, so that pending pods do not get the places of
 * moved pods. No node is launched for the moved pods, because the command launches its own replacements. No node is
 * launched, either, for pods that have to wait (hold-back.ts). If nodes planned for such pods use up limits that other
 * pods need, the other pods are planned again without them.
 */
async function planned(
  world: World,
  input: SchedulingInput,
  { hasPlace }: Pick<Steering, "hasPlace">,
): Promise<SchedulingResult> {
  const { clock, settings } = world;
  const plan = (pods: readonly Pod[]) => {
    const some = (batch: readonly Pod[]) =>
      planBatchInSteps({ ...input, pods: batch }, settings.planner);
    return inTurns(clock, realPodsFirst(pods, some), TURN_MS);
  };
  const isOut = (pod: Pod) => hasPlace(pod) || isHeld(world, pod);
  const isNeedless = ({ pods }: PlannedClaim) => pods.every(isOut);
  const all = await plan(input.pods);
  noteRefusals(world, all.unstuck);
  const needless = all.newClaims.filter(isNeedless);
  if (needless.length === 0) return all;
  const lacking = all.unschedulable.flatMap(({ pod, ignored }) => (ignored === true ? [] : pod));
  const isShort =
    !lacking.every(isOut) && needless.some(({ pool }) => Object.keys(pool.limits).length > 0);
  if (!isShort) return withoutClaims(world, all, needless);
  const out = [...needless.flatMap(({ pods }) => pods), ...lacking.filter(isOut)];
  const waiting = heldIn(world, out);
  const keys = new Set(out.map(keyOf));
  const others = await plan(input.pods.filter((pod) => !keys.has(keyOf(pod))));
  const result = withoutClaims(world, others, others.newClaims.filter(isNeedless));
  const lost = (all.unstuck ?? []).filter(({ pod }) => keys.has(keyOf(pod)));
  return {
    ...result,
    unschedulable: [...result.unschedulable, ...waiting],
    unstuck: [...(result.unstuck ?? []), ...lost],
  };
}

/** The plan without these claims. For those of their pods that have to wait, it says until when. */
function withoutClaims(
  world: World,
  result: SchedulingResult,
  claims: readonly PlannedClaim[],
): SchedulingResult {
  const waiting = claims.flatMap(({ pods }) => heldIn(world, pods));
  return {
    ...result,
    newClaims: result.newClaims.filter((claim) => !claims.includes(claim)),
    unschedulable: [...result.unschedulable, ...waiting],
  };
}

/**
 * The facts about a pass for its trace. `startMs`: when planning began. `batchedMs`: how long the batch was collected
 * before.
 */
function passFacts(
  clock: Clock,
  { startMs, batchedMs }: { readonly startMs: number; readonly batchedMs: number },
  { pods, result }: { readonly pods: readonly Pod[]; readonly result: SchedulingResult },
): PassFacts {
  const plannedMs = clock.now();
  const closedMs = plannedMs - (clock.elapsedMs() - startMs);
  return {
    openedMs: closedMs - batchedMs,
    closedMs,
    plannedMs,
    pods: pods.length,
    newClaims: result.newClaims.length,
    unplaced: result.unschedulable.length,
  };
}

/** Updates the gauges and durations of pending pods. */
function tellOfPods(
  { metrics }: World,
  { times, progress }: Pick<Memory, "times" | "progress">,
  pending: readonly Pod[],
  { input, result }: { readonly input: SchedulingInput; readonly result: SchedulingResult },
): void {
  const unplaced = new Set(result.unschedulable.map(({ pod }) => keyOf(pod)));
  for (const pod of pending) {
    const waitedMs = times.decide(pod, !unplaced.has(keyOf(pod)));
    if (waitedMs !== undefined)
      metrics.observe("pods_scheduling_decision_duration_seconds", {}, waitedMs / 1_000);
  }
  progress.zones = zonesOfPods(pending, input);
}

/** Reports that no pool can be used. `unusable`: why each existing pool cannot. */
function withoutPools(
  world: World,
  log: Logger,
  problems: StandingProblems,
  { pending, unusable }: { readonly pending: readonly Pod[]; readonly unusable: readonly string[] },
): Outcome {
  const { message, text } = noPools(allPools(world), world.cloud.nodeClassKinds, unusable);
  const isExplained = text !== message;
  if (problems.isNews(NO_POOLS, text)) log.info(message, isExplained ? { reason: text } : {});
  for (const pod of pending) world.events.publish(failedScheduling(pod, text));
  world.metrics.set(
    "scheduler_unschedulable_pods_count",
    { controller: "provisioner" },
    pending.length,
  );
  return AWAIT_CHANGE;
}
