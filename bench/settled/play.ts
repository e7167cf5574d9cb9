/**
 * Plays one scenario with one operator on a fresh control plane. All Deployments are scaled up, then down, and the
 * operator runs until nothing changes any more. Figures are read from outside, each second.
 */
import { mustNotFail } from "../../src/base/must-not-fail.ts";
import { setTimeout as sleep } from "node:timers/promises";
import {
  applyAll,
  type Call,
  type Contest,
  isPoolReady,
  openContest,
  scale,
  until,
} from "../cluster/contest.ts";
import type { Contestant } from "../cluster/contestant.ts";
import { dollarsPerHour, type View, watchCluster } from "../cluster/view.ts";
import type { ScenarioC } from "../scenarios-c.ts";

export interface Played {
  /** The state when the last pod was Ready, just before scaling down. */
  readonly before: Standing;
  readonly settled: Standing;
  /** Seconds from scaling down to the last change. */
  readonly settleSeconds: number;
  /** Pods that the operator evicted after scaling down. */
  readonly moved: number;
  /** Price of the cluster at each change. Second 0 is the start of scaling down. */
  readonly course: readonly Point[];
}

export interface Standing {
  readonly nodes: number;
  readonly dollarsPerHour: number;
}

export interface Point {
  readonly second: number;
  readonly dollarsPerHour: number;
}

export interface PlayOptions {
  readonly contestant: Contestant;
  readonly scenario: ScenarioC;
  /** The scenario is over if no Node was created, marked or deleted for this time. */
  readonly settleMs: number;
  readonly keepLogsIn?: string | undefined;
}

const POOL_LIMIT_MS = 60_000;
const UP_LIMIT_MS = 600_000;
const DOWN_LIMIT_MS = 3_600_000;
const SAMPLE_MS = 1_000;

export async function play(options: PlayOptions): Promise<Played> {
  const contest = await openContest(options.contestant, options.keepLogsIn);
  const view = watchCluster(contest.client);
  try {
    await view.synced();
    return await playOn(contest, view, options);
  } finally {
    view.close();
    await contest.close();
  }
}

async function playOn(
  { client, calls }: Contest,
  view: View,
  { scenario: { pools, deployments }, settleMs }: PlayOptions,
): Promise<Played> {
  await applyAll(client, [...pools, ...deployments.map(({ object }) => object)]);
  for (const { metadata } of pools) {
    const isReady = () => isPoolReady(client, metadata.name);
    await until(`NodePool ${metadata.name} is ready`, POOL_LIMIT_MS, isReady);
  }
  const course = record(view);
  try {
    const running = async (phase: "up" | "down", limitMs: number): Promise<void> => {
      const wanted = deployments.reduce((sum, one) => sum + one[phase], 0);
      const state = () => `${view.readyPods()} are, on ${view.nodes().length} nodes`;
      await until(`${wanted} pods are Ready`, limitMs, () => view.readyPods() === wanted, state);
    };
    await Promise.all(deployments.map(({ name, up }) => scale(client, name, up)));
    await running("up", UP_LIMIT_MS);

    const before = standing(view);
    const evictedBefore = calls(isEviction)["evicted"] ?? 0;
    view.begin();
    course.begin();
    await Promise.all(deployments.map(({ name, down }) => scale(client, name, down)));
    const state = () => `${view.nodes().length} nodes`;
    await until("nothing changes any more", DOWN_LIMIT_MS, () => view.quietMs() >= settleMs, state);
    // Evicted pods must run again: a cluster with pending pods is cheap for the wrong reason.
    await running("down", UP_LIMIT_MS);
    return {
      before,
      settled: standing(view),
      settleSeconds: view.lastChangeSeconds(),
      moved: (calls(isEviction)["evicted"] ?? 0) - evictedBefore,
      course: course.end(),
    };
  } finally {
    // Ends the observer, which would otherwise poll a cluster that is gone.
    course.end();
  }
}

function standing(view: View): Standing {
  return { nodes: view.nodes().length, dollarsPerHour: dollarsPerHour(view.nodes()) };
}

/** The word `evicted` for a call that evicted a pod. Evictions that a PodDisruptionBudget refused do not count. */
function isEviction({ verb, objectRef, responseStatus }: Call): string | undefined {
  const granted = (responseStatus?.code ?? 0) < 300;
  return verb === "create" && objectRef?.subresource === "eviction" && granted ? "evicted" : undefined;
}

interface Recording {
  /** Starts counting seconds. */
  begin(): void;
  end(): readonly Point[];
}

function record(view: View): Recording {
  const points: { readonly ms: number; readonly dollarsPerHour: number }[] = [];
  let beganMs = performance.now();
  let going = true;
  const look = (): void => {
    const now = dollarsPerHour(view.nodes());
    if (points.at(-1)?.dollarsPerHour === now) return;
    points.push({ ms: performance.now(), dollarsPerHour: now });
  };
  const sample = async (): Promise<void> => {
    while (going) {
      look();
      await sleep(SAMPLE_MS);
    }
  };
  mustNotFail(sample(), "recording what the nodes cost");
  return {
    begin: () => {
      beganMs = performance.now();
    },
    end: () => {
      going = false;
      look();
      const second = (ms: number): number => Math.round((ms - beganMs) / 1_000);
      return points.map(({ ms, dollarsPerHour }) => ({ second: second(ms), dollarsPerHour }));
    },
  };
}
