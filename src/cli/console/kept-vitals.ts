/** Reads some of the controller's metrics every 15 seconds, and keeps them for the page Health. */
import type { Clock } from "../../base/clock.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { SystemClock } from "../../base/system-clock.ts";
import {
  type VitalPoint,
  type VitalReading,
  vitalPoint,
  withVital,
} from "../../console/views/vitals.ts";
import type { MetricsRegistry, MetricValue } from "../../operator/metrics/metrics.ts";

const EVERY_MS = 15_000;

export interface KeptVitals {
  points(): readonly VitalPoint[];
  close(): void;
}

type Read = Pick<MetricsRegistry, "valuesOf">;

export interface VitalsDoors {
  /** The cluster's clock, for the times on the page. */
  readonly clock: Pick<Clock, "now">;
  readonly log: Logger;
  /** The clock that triggers the readings. Default: the machine's. */
  readonly machine?: Pick<Clock, "after">;
}

/** Starts the readings. `metrics` are those of the present controller. A failed reading leaves a gap. */
export function keepVitals(
  metrics: () => Read,
  { clock, log, machine = new SystemClock() }: VitalsDoors,
): KeptVitals {
  let points: readonly VitalPoint[] = [];
  let last: VitalReading | undefined;
  let isOver = false;
  const readNow = async (): Promise<VitalReading | undefined> => {
    try {
      return await readVitals(metrics(), clock.now());
    } catch (error) {
      log.warn("metrics could not be read for the console", { error: errorText(error) });
      return undefined;
    }
  };
  const read = async (): Promise<void> => {
    const now = await readNow();
    const point = last && now && vitalPoint(last, now);
    if (point !== undefined) points = withVital(points, point);
    last = now;
    if (!isOver) timer = machine.after(EVERY_MS, () => mustNotFail(read(), "reading metrics"));
  };
  let timer = machine.after(0, () => mustNotFail(read(), "reading metrics"));
  return {
    points: () => points,
    close: () => {
      isOver = true;
      timer.cancel();
    },
  };
}

async function readVitals(metrics: Read, atMs: number): Promise<VitalReading> {
  const values = async (name: string, isMeant: (value: MetricValue) => boolean = () => true) => {
    const found = (await metrics.valuesOf(name)).filter(isMeant);
    return found.length === 0 ? undefined : found;
  };
  const sum = async (...asked: Parameters<typeof values>) =>
    (await values(...asked))?.reduce((all, { value }) => all + value, 0);
  const ended = (suffix: string) => (value: MetricValue) => value.name.endsWith(suffix);
  const sumAndCount = async (name: string) => {
    const [total, count] = [await sum(name, ended("_sum")), await sum(name, ended("_count"))];
    return total === undefined || count === undefined ? undefined : { sum: total, count };
  };
  // Counts errors of requests. Conflicts and missing objects are normal answers, so they do not count.
  const isError = ({ labels }: MetricValue) =>
    /^(429|5..|<error>)$/.test(String(labels["code"] ?? ""));
  const apiCalls = await sum("client_go_request_total");
  const leader = await sum("leader_election_master_status");
  const reading = {
    atMs,
    queued: await sum("workqueue_depth"),
    unsyncedS: await sum("cluster_state_unsynced_time_seconds"),
    isLeader: leader === undefined ? undefined : leader > 0,
    memoryBytes: await sum("process_resident_memory_bytes"),
    waited: await sumAndCount("workqueue_queue_duration_seconds"),
    planned: await sumAndCount("scheduler_scheduling_duration_seconds"),
    apiCalls,
    apiErrors: apiCalls && ((await sum("client_go_request_total", isError)) ?? 0),
    cloudCalls: await sum("cloudprovider_duration_seconds", ended("_count")),
    cloudErrors: (await sum("cloudprovider_errors_total")) ?? 0,
  };
  const known = Object.entries(reading).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as unknown as VitalReading;
}
