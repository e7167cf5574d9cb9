/**
 * One run: a fresh control plane, one operator, and one workload that is scaled up and down. Times come from watching
 * pods and Nodes from outside. Calls come from the API server's audit log.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { applyAll, type Contest, isPoolReady, openContest, scale, until } from "./contest.ts";
import type { Contestant } from "./contestant.ts";
import type { Shape } from "./shapes.ts";
import { dollarsPerHour, watchCluster } from "./view.ts";

export interface Phase {
  /** Seconds until 50 %, 99 % and all pods were Ready. When scaling down, all three are the time of the last change. */
  readonly p50: number;
  readonly p99: number;
  readonly last: number;
  readonly nodes: number;
  readonly dollarsPerHour: number;
  readonly cpuSeconds: number;
  readonly calls: Readonly<Record<string, number>>;
}

export interface Result {
  readonly up: Phase;
  readonly down: Phase;
  readonly peakRssMib: number;
}

const UP_LIMIT_MS = 900_000;
const DOWN_LIMIT_MS = 2_400_000;

export interface RunOptions {
  readonly contestant: Contestant;
  readonly shape: Shape;
  /** Scaling down is over if nothing changed for this time. Not used if the shape is scaled `toNothing`. */
  readonly settleMs: number;
  /** Folder in which logs and the audit log are kept. */
  readonly keepLogsIn?: string | undefined;
}

export async function runOnce(options: RunOptions): Promise<Result> {
  const contest = await openContest(options.contestant, options.keepLogsIn);
  try {
    return await measure(options, contest);
  } finally {
    await contest.close();
  }
}

async function measure({ shape, settleMs }: RunOptions, contest: Contest): Promise<Result> {
  const { client, operator } = contest;
  const view = watchCluster(client);
  try {
    await view.synced();
    await applyAll(client, [shape.pool, ...shape.deployments.map(({ object }) => object)]);
    const isReady = () => isPoolReady(client, shape.pool.metadata.name);
    await until("the NodePool is ready", 60_000, isReady);
    // Gives the operator time for its first work on the NodePool.
    await sleep(2_000);

    const wanted = shape.deployments.reduce((sum, { up }) => sum + up, 0);
    const up = begin(contest);
    view.begin();
    await Promise.all(shape.deployments.map(({ name, up }) => scale(client, name, up)));
    await until(`${wanted} pods are Ready`, UP_LIMIT_MS, () => view.readyPods() === wanted, () =>
      `${view.readyPods()} are, on ${view.nodes().length} nodes`,
    );
    const times = view.readySeconds();
    const [p50, p99, last] = [quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1)];
    const now = () => ({ nodes: view.nodes().length, dollarsPerHour: dollarsPerHour(view.nodes()) });
    const upPhase: Phase = { p50, p99, last, ...now(), ...up() };

    const down = begin(contest);
    view.begin();
    await Promise.all(shape.deployments.map(({ name, down }) => scale(client, name, down)));
    const over = () => (shape.toNothing ? view.nodes().length === 0 : view.quietMs() >= settleMs);
    await until("nothing changes any more", DOWN_LIMIT_MS, over, () => `${view.nodes().length} nodes`);
    const lastChange = view.lastChangeSeconds();
    const downPhase: Phase = {
      p50: lastChange,
      p99: lastChange,
      last: lastChange,
      ...now(),
      ...down(),
    };
    return { up: upPhase, down: downPhase, peakRssMib: operator.peakRssMib() };
  } finally {
    view.close();
  }
}

/** Remembers the counters of CPU time and calls. The returned function gives their growth since then. */
function begin({ operator, calls }: Contest): () => Pick<Phase, "cpuSeconds" | "calls"> {
  const cpuBefore = operator.cpuSeconds();
  const callsBefore = calls();
  return () => {
    const since: Record<string, number> = {};
    for (const [verb, count] of Object.entries(calls())) {
      const more = count - (callsBefore[verb] ?? 0);
      if (more > 0) since[verb] = more;
    }
    return { cpuSeconds: operator.cpuSeconds() - cpuBefore, calls: since };
  };
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
