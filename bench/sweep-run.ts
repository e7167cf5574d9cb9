/** Measures one cluster size of `sweep.ts`, in a process of its own. */
import type * as Candidates from "../src/core/disruption/candidates.ts";
import type * as Consolidation from "../src/core/disruption/consolidation.ts";
import type * as Counters from "../src/core/disruption/counters.ts";
import type * as Simulate from "../src/core/disruption/simulate.ts";
import type * as State from "../src/core/state/create-cluster-state.ts";
import { TURN_MS } from "../src/base/steps.ts";
import { built } from "./consolidation.ts";
import { freeRound } from "./round.ts";
import { DAEMON_SET, drawCluster } from "./sweep-cluster.ts";
import { threadMs } from "./thread-ms.ts";

const { createClusterState } = await built<typeof State>("core/state/create-cluster-state.js");
const { findCandidates } = await built<typeof Candidates>("core/disruption/candidates.js");
const { consolidateOne } = await built<typeof Consolidation>("core/disruption/consolidation.js");
const { evictionCounter } = await built<typeof Counters>("core/disruption/counters.js");
const { createSimulator } = await built<typeof Simulate>("core/disruption/simulate.js");

/** Nodes in a step of each method. `methods/method.ts` has the number of pods. */
const NODES_PER_STEP = 6;
const NODES_AT_ONCE = 150;

const count = Number(process.argv[2]);
const filling = process.argv[3] === "tight" ? "tight" : "loose";
const { input: base, pdbs, join } = drawCluster(count, filling);
const state = createClusterState();
state.updateDaemonSet(DAEMON_SET);

function* atOnce(act: () => void) {
  act();
  yield;
}

/** Runs the steps and measures each turn. */
function measured(name: string, steps: Iterable<unknown>): void {
  const cpu = process.cpuUsage();
  const started = performance.now();
  let longest = 0;
  let turnStarted = started;
  const firstMs = threadMs();
  let before = firstMs;
  const endTurn = () => {
    const now = threadMs();
    longest = Math.max(longest, now - before);
    [turnStarted, before] = [performance.now(), now];
  };
  for (const _ of steps) if (performance.now() - turnStarted >= TURN_MS) endTurn();
  endTurn();
  const wall = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  const figures = [wall, (user + system) / 1_000, before - firstMs, longest].map((ms) => ms.toFixed(0).padStart(8));
  console.log([name.padEnd(24), ...figures, mb(process.memoryUsage().rss)].join("  "));
}

function mb(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0).padStart(7);
}

console.log(`${count} nodes, ${filling}`.padEnd(24), " wall ms", "  cpu ms", "  thread", " longest turn", "RSS MB");
measured("load", atOnce(() => { for (let index = 0; index < count; index++) join(state, index); }));
globalThis.gc?.();
console.log(`held: heap ${mb(process.memoryUsage().heapUsed)} MB, RSS ${mb(process.memoryUsage().rss)} MB`);

function* look() {
  yield* state.catchUp();
  const input = { ...base, nodes: state.nodes(), daemonPods: state.daemonPods(), pools: base.pools.map((one) => ({ ...one, usage: state.poolUsage(one.pool.id) })) };
  yield;
  const found = yield* findCandidates({ nowMs: 0, nodes: input.nodes, pools: input.pools, pdbs, queued: new Set(), disruptionClass: "graceful" });
  return { input, ...found };
}
type Seen = ReturnType<typeof look> extends Generator<unknown, infer T> ? T : never;
let seen: Seen | undefined;
function* lookInSteps() {
  seen = yield* look();
}
measured("first look", lookInSteps());
measured("look again", lookInSteps());
const { input, candidates, blocked } = seen as unknown as Seen;
let simulator = createSimulator(input);
measured("set-up", simulator.ready());

const verdicts = new Map<string, number>(blocked.length > 0 ? [["blocked", blocked.length]] : []);
function* single() {
  const round = freeRound(simulator);
  for (const [index, candidate] of candidates.entries()) {
    const found = consolidateOne(candidate, round);
    const verdict = "message" in found ? found.kind : found.replacements.length > 0 ? "replace" : "delete";
    verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
    if (index % NODES_PER_STEP === NODES_PER_STEP - 1) yield;
  }
}
measured("every node asked", single());
console.log([...verdicts].map(([verdict, times]) => `${verdict} ${times}`).join(", "));
let going = 0;
function* together() {
  const evictions = evictionCounter(pdbs);
  for (let at = 0; at < candidates.length; at += NODES_AT_ONCE) {
    const all = yield* simulator.removableTogether(candidates.slice(at, at + NODES_AT_ONCE), (one) => evictions.take([one]));
    going += all.length;
    yield;
  }
}
measured("all together", together());
console.log(`${going} can go, run by run`);
const moved = input.nodes.map((view, index) => (index % 100 === 0 ? { ...view } : view));
function* follow() {
  simulator = createSimulator({ ...input, nodes: moved }, simulator);
  yield* simulator.ready();
}
measured("follow", follow());
globalThis.gc?.();
console.log(`held: heap ${mb(process.memoryUsage().heapUsed)} MB, RSS ${mb(process.memoryUsage().rss)} MB, most RSS ${mb(process.resourceUsage().maxRSS * 1_024)} MB`);
