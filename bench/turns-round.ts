/**
 * One round of `turns.ts`: the manager runs a real controller, and something happens to it. Prints the duration of the
 * work and the longest turn, which is the time between two iterations of the event loop.
 */
import type { World } from "../src/controllers/world.ts";
import type { Controller } from "../src/kube/manager/controller.ts";
import type * as Managers from "../src/kube/manager/manager.ts";
import { built } from "./consolidation.ts";
import { threadMs } from "./thread-ms.ts";
import type { Server } from "./turns-server.ts";

const { createManager } = await built<typeof Managers>("kube/manager/manager.js");

const LONG_MS = 50;
/** The controller is idle after this many iterations without work. */
const QUIET_LOOKS = 20;

type Work = () => Promise<void> | void;
/** Work that causes reconciles, by name. */
type Happenings = Readonly<Record<string, Work>>;

export interface Running {
  /** Resolves when no controller has work. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

export interface Rounds {
  /** Does the work and prints its duration, if the name is wanted. */
  round(name: string, work: Work): Promise<void>;
  /** Starts the controllers, runs the work on them, and stops them. */
  played(name: string, make: Controller | readonly Controller[], happens?: Happenings): Promise<void>;
  running(...all: readonly Controller[]): Promise<Running>;
}

/** Creates the rounds. `wanted`: words of the names of rounds that run. Empty: all run. */
export function createRounds(world: World, server: Server, wanted: readonly string[]): Rounds {
  const isWanted = (name: string) => wanted.length === 0 || wanted.some((word) => name.includes(word));

  async function round(name: string, work: Work): Promise<void> {
    if (!isWanted(name)) return;
    globalThis.gc?.();
    const before = server.writes();
    const figures = await turnsOf(async () => work());
    const cells = [...figures, server.writes() - before].map((one) => one.toFixed(0).padStart(12));
    console.log([name.padEnd(58), ...cells].join("  "));
  }

  async function played(
    name: string,
    make: Controller | readonly Controller[],
    happens: Happenings = {},
  ): Promise<void> {
    const began = `${name}, start`;
    const names = [began, ...Object.keys(happens).map((what) => `${name}, ${what}`)];
    if (!names.some(isWanted)) return;
    let it: Running | undefined;
    const all = Array.isArray(make) ? (make as readonly Controller[]) : [make as Controller];
    const start = async () => {
      it = await running(...all);
      await it.idle();
    };
    await (isWanted(began) ? round(began, start) : start());
    for (const [what, act] of Object.entries(happens))
      await round(`${name}, ${what}`, async () => {
        await act();
        await it?.idle();
      });
    await it?.stop();
  }

  /** A manager with metrics of its own, which count the workers that are busy. */
  async function running(...all: readonly Controller[]): Promise<Running> {
    const busy = { count: 0 };
    const { clock, random, log } = world;
    const { metrics, depth } = queueMetrics();
    const manager = createManager({ mirrors: server.mirrors, clock, random, log, metrics });
    for (const one of all) manager.add(counted(one, busy));
    const idle = async () => {
      for (let quiet = 0; quiet < QUIET_LOOKS; quiet = busy.count > 0 || depth() > 0 ? 0 : quiet + 1) await nextTurn();
    };
    await manager.start();
    return { idle, stop: () => manager.stop() };
  }

  return { round, played, running };
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Total time of the work, the longest turn, and the turns over 50 ms. */
async function turnsOf(work: () => Promise<void>): Promise<readonly number[]> {
  let [before, longestMs, long, done] = [threadMs(), 0, 0, false];
  const firstMs = before;
  const look = (): void => {
    const now = threadMs();
    if (now - before > LONG_MS) long++;
    longestMs = Math.max(longestMs, now - before);
    before = now;
    if (!done) setImmediate(look);
  };
  setImmediate(look);
  await work();
  await nextTurn();
  done = true;
  look();
  return [before - firstMs, longestMs, long];
}

/** The controller, which also counts how many of its reconciles run. */
function counted(one: Controller, busy: { count: number }): Controller {
  const reconcile = async (request: Parameters<Controller["reconcile"]>[0]) => {
    busy.count++;
    try {
      return await one.reconcile(request);
    } finally {
      busy.count--;
    }
  };
  return { ...one, reconcile };
}

type Depths = () => Iterable<{ readonly value: number } | undefined>;

function queueMetrics(): { readonly metrics: World["metrics"]; readonly depth: () => number } {
  const depths: Depths[] = [];
  const ignore = () => undefined;
  const read = (name: string, depthsOf: Depths) => {
    if (name === "workqueue_depth") depths.push(depthsOf);
    return ignore;
  };
  const metrics = { count: ignore, observe: ignore, set: ignore, forget: ignore, read } as unknown as World["metrics"];
  const depth = () => depths.flatMap((one) => [...one()]).reduce((sum, one) => sum + (one?.value ?? 0), 0);
  return { metrics, depth };
}
