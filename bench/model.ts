/**
 * `npm run bench -- model [--nodes N] [--seconds S]`: cost of keeping the cluster state up to date, and of reading it
 * once a second, which is more often than the disruption loop reads it. There are N nodes with ten pods each, of all
 * topology kinds.
 * Each second has 1,000 pod events, 33 nodes that join and 33 that are removed. Then one round reads nodes, candidates
 * and budgets, and asks one what-if question, in turns as the controller does.
 * The share is CPU time of all threads, garbage collection included. A block is the longest time without a turn for
 * other work, also in CPU time.
 */
import { spawnSync } from "node:child_process";
import type { Pod } from "../src/apis/core/pod.ts";
import { Random } from "../src/base/random.ts";
import { type Steps, TURN_MS } from "../src/base/steps.ts";
import type * as Budgets from "../src/core/disruption/budgets.ts";
import type * as Candidates from "../src/core/disruption/candidates.ts";
import type * as Simulate from "../src/core/disruption/simulate.ts";
import type * as State from "../src/core/state/create-cluster-state.ts";
import { built, type Drawn, draw } from "./consolidation.ts";

const POD_EVENTS = 1_000;
const JOINS = 33;
/** Rounds per second. */
const LOOKS = 1;
/** Seconds that are not counted at the start. */
const WARM_UP = 3;

export async function model(args: readonly string[]): Promise<void> {
  spawnSync("npx", ["tsc", "-b", "src/core"], { stdio: "inherit" });
  const nodes = numberAfter(args, "--nodes") ?? 10_000;
  const seconds = numberAfter(args, "--seconds") ?? 10;
  console.log("nodes    events ms  look cpu ms (median)  longest cpu ms  share of a core           RSS MB");
  const row = await keepUp(await draw(nodes + JOINS * (WARM_UP + seconds), true), nodes, seconds);
  console.log(row.join("  "));
}

async function keepUp(drawn: Drawn, count: number, seconds: number): Promise<readonly string[]> {
  const { createClusterState } = await built<typeof State>("core/state/create-cluster-state.js");
  const { findCandidates } = await built<typeof Candidates>("core/disruption/candidates.js");
  const { allowancesFor } = await built<typeof Budgets>("core/disruption/budgets.js");
  const { createSimulator } = await built<typeof Simulate>("core/disruption/simulate.js");
  const state = createClusterState();
  const join = (index: number) => {
    const view = drawn.views[index];
    if (view?.claim === undefined || view.node === undefined) throw new Error("each node has a claim");
    state.updateClaim(view.claim);
    state.updateNode(view.node);
    for (const pod of view.pods) state.updatePod(pod);
  };
  for (let index = 0; index < count; index++) join(index);
  const random = new Random("model");
  const running = drawn.views.slice(0, count).map(({ pods }) => [...pods]);
  let last: Simulate.Simulator | undefined;
  const look = function* (): Steps<void> {
    yield* state.catchUp();
    const input = { ...drawn.input, nodes: state.nodes() };
    yield;
    const { candidates } = yield* findCandidates({ nowMs: 0, nodes: input.nodes, pools: input.pools, pdbs: [], queued: new Set(), disruptionClass: "graceful" });
    yield;
    yield* allowancesFor({ pools: input.pools.map(({ pool }) => pool), nodes: input.nodes, reason: "Underutilized", nowMs: 0, clusterBudgets: [] });
    yield;
    last = createSimulator(input, last);
    yield* last.ready();
    yield;
    const one = candidates[random.int(candidates.length)];
    if (one !== undefined) last.without([one]);
  };
  inTurns(look());
  const events: number[] = [];
  const looks: (readonly number[])[] = [];
  let before = process.cpuUsage();
  let oldest = 0;
  for (let second = 0; second < WARM_UP + seconds; second++) {
    if (second === WARM_UP) {
      before = process.cpuUsage();
      events.length = 0;
      looks.length = 0;
    }
    for (let part = 0; part < LOOKS; part++) {
      events.push(
        timed(() => {
          for (let index = 0; index < POD_EVENTS / LOOKS / 2; index++) moveOne(state, running, random, oldest, second);
          for (let index = part; index < JOINS; index += LOOKS) {
            const fresh = count + second * JOINS + index;
            join(fresh);
            running[fresh] = [...(drawn.views[fresh]?.pods ?? [])];
            const name = drawn.views[oldest]?.name ?? "";
            for (const pod of running[oldest] ?? []) state.deletePod(`default/${pod.metadata.name}`);
            state.deleteNode(name);
            state.deleteClaim(name, "NodeClaim");
            oldest++;
          }
        }),
      );
      looks.push(inTurns(look()));
    }
  }
  const { user, system } = process.cpuUsage(before);
  const cpuMs = (user + system) / 1_000;
  const sums = looks.map((turns) => turns.reduce((sum, ms) => sum + ms, 0));
  const median = sums.toSorted((a, b) => a - b)[Math.floor(looks.length / 2)] as number;
  return [
    String(count).padEnd(7),
    (events.reduce((sum, ms) => sum + ms, 0) / seconds).toFixed(0).padStart(9),
    median.toFixed(1).padStart(16),
    Math.max(...looks.flat(), ...events).toFixed(0).padStart(16),
    `${((100 * cpuMs) / (seconds * 1_000)).toFixed(1)} %`.padStart(15),
    (process.memoryUsage().rss / 2 ** 20).toFixed(0).padStart(15),
  ];
}

/** A pod ends, and a similar one starts on another node: two events. */
function moveOne(state: ReturnType<typeof State.createClusterState>, running: Pod[][], random: Random, oldest: number, second: number): void {
  const from = oldest + random.int(running.length - oldest);
  const to = oldest + random.int(running.length - oldest);
  const pod = running[from]?.pop();
  const nodeName = running[to]?.[0]?.spec.nodeName;
  if (pod === undefined || nodeName === undefined) return;
  state.deletePod(`default/${pod.metadata.name}`);
  const name = `${pod.metadata.name.split(".")[0]}.${second}-${to}`;
  const moved = { ...pod, metadata: { ...pod.metadata, name, uid: name }, spec: Object.freeze({ ...pod.spec, nodeName }) };
  state.updatePod(moved);
  running[to]?.push(moved);
}

/** CPU time in milliseconds, including garbage collection on other threads. */
function timed(act: () => void): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Runs the steps in turns, as a controller does. Returns the CPU time of each turn in milliseconds. */
function inTurns(steps: Steps<void>): readonly number[] {
  const turns: number[] = [];
  let done: boolean | undefined;
  while (done !== true) {
    const endMs = performance.now() + TURN_MS;
    turns.push(
      timed(() => {
        do done = steps.next().done;
        while (done !== true && performance.now() < endMs);
      }),
    );
  }
  return turns;
}

function numberAfter(args: readonly string[], flag: string): number | undefined {
  const at = args.indexOf(flag);
  if (at < 0) return undefined;
  const value = Number(args[at + 1]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${flag}: wanted a number`);
  return value;
}
