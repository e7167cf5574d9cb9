/**
 * Log lines, events and gauges of a planning pass, worded as in the API version of the pools.
 * upstream: pkg/controllers/provisioning/scheduling/scheduler.go, pkg/controllers/provisioning/provisioner.go
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { keyOf } from "../../apis/meta.ts";
import { formatDuration } from "../../base/duration.ts";
import type { Logger } from "../../base/log.ts";
import type { StandingProblems } from "../../base/standing-problems.ts";
import { NOT_FOR_US } from "../../core/provisioning/batch/eligibility.ts";
import type { SchedulingResult } from "../../core/provisioning/result.ts";
import { poolById } from "../pools.ts";
import { dollars, poolFields, some } from "../words.ts";
import type { World } from "../world.ts";
import { failedScheduling, noCompatibleInstanceTypes } from "./events.ts";

/** v0.5 requested at most this number of instance types. */
const V05_OPTIONS = 20;

/** A finished planning pass. */
export interface FinishedPass {
  readonly result: SchedulingResult;
  readonly pods: readonly Pod[];
  readonly pools: readonly Pool[];
  /** When planning began, by the monotonic clock. */
  readonly startMs: number;
  /** How long the batch of the pass was collected. */
  readonly batchedMs: number;
}

/** Where the result of a pass is reported. `problems`: remembers the logged messages, so that each is logged once. */
interface ReportTo {
  readonly world: World;
  readonly log: Logger;
  readonly problems: StandingProblems;
}

/**
 * Logs the result of a pass. Claims are logged when they are created. A pod without a place is planned again every ten
 * seconds.
 */
export function report(to: ReportTo, pass: FinishedPass): void {
  const { world, log, problems } = to;
  const { result, pods, pools, startMs } = pass;
  forgetPlaced(problems, result);
  for (const { poolId, excluded, total } of result.excludedByLimits) {
    const pool = pools.find(({ id }) => id === poolId);
    if (pool === undefined || excluded === 0) continue;
    if (!problems.isNews(`limits ${poolId}`, `${excluded} ${total}`)) continue;
    log.debug(
      `${excluded} out of ${total} instance types were excluded because they would breach limits`,
      poolFields(pool),
    );
  }
  tellLimitCost(log, pass);
  tellPoolsWithoutTypes(to, pass);
  const { ignoredCount, deferredCount } = tellUnplaced(to, pass);
  const durationMs = world.clock.elapsedMs() - startMs;
  const labels = { controller: "provisioner" };
  world.metrics.observe("scheduler_scheduling_duration_seconds", labels, durationMs / 1_000);
  world.metrics.set("scheduler_ignored_pods_count", {}, ignoredCount);
  world.metrics.set(
    "scheduler_unschedulable_pods_count",
    labels,
    result.unschedulable.length - ignoredCount - deferredCount,
  );
  if (pools.every((pool) => pool.inlineProvider !== undefined)) {
    reportInV05(world.log.with({ controller: "provisioning" }), pass);
    return;
  }
  const found = pods.map(keyOf);
  if (problems.isNews("found", found.join()) || hasPlaced(result))
    log.info("found provisionable pod(s)", {
      [word(pools, "Pods", "pods")]: some(found),
      duration: formatDuration(durationMs),
    });
  reportPlan(log, result);
}

/**
 * Reports the pods without a place. Returns how many of them are not for Karpenter, and how many wait for reserved
 * capacity.
 */
function tellUnplaced(
  { world, log, problems }: ReportTo,
  { result, pools }: FinishedPass,
): { readonly ignoredCount: number; readonly deferredCount: number } {
  let ignoredCount = 0;
  let deferredCount = 0;
  for (const { pod, message, ignored, deferred } of result.unschedulable) {
    if (deferred === true) {
      deferredCount++;
      continue;
    }
    if (ignored === true) {
      ignoredCount++;
      if (problems.isNews(podKey(pod), message))
        log.debug("ignoring pod", { [word(pools, "Pod", "pod")]: keyOf(pod), error: message });
      // This message means that the pod is not for Karpenter, so it gets no event.
      if (message !== NOT_FOR_US) world.events.publish(failedScheduling(pod, message));
      continue;
    }
    problems.tell(podKey(pod), "could not schedule pod", {
      [word(pools, "Pod", "pod")]: keyOf(pod),
      error: message,
    });
    world.events.publish(failedScheduling(pod, message));
  }
  if (deferredCount > 0 && problems.isNews("deferred", String(deferredCount))) {
    log.debug(
      "deferring scheduling decision for provisionable pod(s) to future simulation due to limited reserved offering capacity",
      {
        [word(pools, "Pods", "pods")]: some(
          result.unschedulable
            .filter(({ deferred }) => deferred === true)
            .map(({ pod }) => keyOf(pod)),
        ),
      },
    );
  }
  return { ignoredCount, deferredCount };
}

/** The prefix of the keys of pods among the reported problems. */
const POD = "pod ";

function podKey({ metadata }: Pod): string {
  return `${POD}${metadata.uid}`;
}

/** Drops pods that have a place or are gone. If they have no place later, they are logged again. */
function forgetPlaced(problems: StandingProblems, { unschedulable }: SchedulingResult): void {
  const left = new Set(unschedulable.map(({ pod }) => podKey(pod)));
  problems.keep((key) => !key.startsWith(POD) || left.has(key));
}

function hasPlaced({ newClaims, existing }: SchedulingResult): boolean {
  return newClaims.length > 0 || existing.some(({ pods }) => pods.length > 0);
}

/** Logs how much more the plan costs because of limits of NodePools. */
function tellLimitCost(log: Logger, { result, pools }: FinishedPass): void {
  if (result.limitCost === undefined) return;
  const { poolIds, microUsdPerHour } = result.limitCost;
  const names = pools.filter(({ id }) => poolIds.includes(id)).map(({ name }) => name);
  const price = dollars(microUsdPerHour);
  log.info("limits make the planned nodes dearer", { nodePools: names, "cost-per-hour": price });
}

/**
 * Reports pools for which no instance type can be launched. An event on the pool shows its owner why it gets no nodes.
 * Provisioners never had this event.
 */
function tellPoolsWithoutTypes(
  { world, log, problems }: ReportTo,
  { result, pools }: FinishedPass,
): void {
  const lacks = [
    ...(result.withoutTypes ?? []).map((poolId) => ({ poolId, lack: "types" as const })),
    ...(result.withTooFewTypes ?? []).map((poolId) => ({ poolId, lack: "minValues" as const })),
  ];
  for (const { poolId, lack } of lacks) {
    const pool = pools.find(({ id }) => id === poolId);
    const stored = poolById(world, poolId);
    if (pool === undefined || stored === undefined || pool.generation === "alpha") continue;
    if (problems.isNews(`types ${poolId}`, lack))
      log.info("skipping, nodepool requirements filtered out all instance types", poolFields(pool));
    const object = { ...stored.native, kind: stored.kind.kind };
    world.events.publish(noCompatibleInstanceTypes(object, lack));
  }
}

/**
 * Logs a plan in the words of v0.5: one line for all equal nodes of a provisioner. v0.5 bound pods at once, so its
 * starting nodes had no waiting pods.
 */
function reportInV05(log: Logger, { result, pods, batchedMs }: FinishedPass): void {
  if (result.newClaims.length === 0) return;
  log.info(`Batched ${pods.length} pods in ${formatDuration(batchedMs)}`);
  const packings = new Map<string, { pool: Pool; nodes: number; pods: number; options: string }>();
  for (const { pool, pods, instanceTypes } of result.newClaims) {
    const options = instanceTypes.slice(0, V05_OPTIONS).map(({ name }) => name);
    const key = `${pool.id} ${options}`;
    const packing = packings.get(key) ?? { pool, nodes: 0, pods: 0, options: options.join(" ") };
    packing.nodes++;
    packing.pods += pods.length;
    packings.set(key, packing);
  }
  for (const { pool, nodes, pods, options } of packings.values()) {
    log.info(
      `Computed packing of ${nodes} node(s) for ${pods} pod(s) with instance type option(s) [${options}]`,
      poolFields(pool),
    );
  }
}

function reportPlan(log: Logger, { newClaims, existing }: SchedulingResult): void {
  if (newClaims.length > 0) {
    const placed = newClaims.reduce((sum, { pods }) => sum + pods.length, 0);
    const alpha = newClaims.every(({ pool }) => pool.generation === "alpha");
    const noun = alpha ? "machine" : "nodeclaim";
    log.info(`computed new ${noun}(s) to fit pod(s)`, {
      [`${noun}s`]: newClaims.length,
      pods: placed,
    });
  }
  const taking = existing.filter(({ pods }) => pods.length > 0);
  if (taking.length > 0) {
    const placed = taking.reduce((sum, { pods }) => sum + pods.length, 0);
    log.info("computed unready node(s) will fit pod(s)", { nodes: taking.length, pods: placed });
  }
}

/** A field name for the log: that of v1 if there is a v1 pool, else the older one. */
function word(pools: readonly Pool[], v1: string, older: string): string {
  return pools.some(({ generation }) => generation === "v1") ? v1 : older;
}
