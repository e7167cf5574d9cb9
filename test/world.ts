/**
 * A whole cluster with Karpenter inside, on virtual time, for tests that span folders. A test applies what a user
 * applies, lets time pass, and reads the world from outside: the API, the AWS journal, the log.
 */
import { VirtualClock } from "../src/base/virtual-clock.ts";
import { type Box, type BoxOptions, openBox } from "../src/cli/sandbox/box.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { valueAt } from "../src/sandbox/scenario/promise-check.ts";
import { formatTrace } from "../src/sandbox/trace.ts";
import { createUser, type User } from "./user.ts";

/** A few instance families, for `sells`: with all of them a world takes longer to read, price and plan. */
export function isUsual(type: string): boolean {
  return /^(c5|c6g|m5|m6i|r5|r6g)\./.test(type);
}

export interface TestWorld extends User {
  readonly clock: VirtualClock;
  readonly box: Box;
  readonly client: KubeClient;
  /** The lines of the trace so far. */
  readonly trace: readonly string[];
  /** The lines of Karpenter's log so far. */
  log(): readonly string[];
  /**
   * Lets time pass until the condition holds; fails with `what` when `limitMs` passed first. The condition is asked
   * every 500 ms, if a timer fired since: it must not depend on the time alone.
   */
  until(what: string, condition: () => Promise<boolean> | boolean, limitMs?: number): Promise<void>;
  advance(ms: number): Promise<void>;
  /** Runs the world's watches and answers until `work` is done, without letting time pass. */
  during<T>(work: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** `startMs`: when the world's clock begins; by default the morning that every simulation uses. */
export async function openWorld({
  startMs,
  ...options
}: Partial<BoxOptions> & { readonly startMs?: number } = {}): Promise<TestWorld> {
  const clock = new VirtualClock(startMs);
  const trace: string[] = [];
  const clusterName = options.clusterName ?? "karpenter-demo";
  const box = await openBox({
    clock,
    seed: 1,
    provider: "aws",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    logLevel: "debug",
    ...options,
    clusterName,
    trace: (event) => {
      trace.push(formatTrace(event));
      options.trace?.(event);
    },
  });
  const { client } = box.sandbox;
  const user = createUser(client, clock, clusterName);
  const world: TestWorld = {
    clock,
    box,
    client,
    trace,
    log: () => (box.karpenterLog.lines("karpenter/karpenter-0") ?? []).map(({ text }) => text),
    ...user,
    until: async (what, condition, limitMs = 180_000) => {
      const deadlineMs = clock.now() + limitMs;
      await clock.settle();
      while (!(await condition())) {
        const { fired } = clock;
        // Most steps fire no timer. After those the condition would be asked in vain, which often takes longer than
        // the step.
        do {
          if (clock.now() >= deadlineMs)
            throw new Error(`never happened: ${what}\n${trace.slice(-30).join("\n")}`);
          await clock.advance(500);
        } while (clock.fired === fired);
      }
    },
    advance: (ms) => clock.advance(ms),
    during: async (work) => {
      let isDone = false;
      const done = work.finally(() => {
        isDone = true;
      });
      while (!isDone) {
        await clock.advance(0);
        // Long work runs in turns of the real event loop.
        await new Promise((resolve) => setImmediate(resolve));
      }
      return done;
    },
    close: async () => {
      let stopped = false;
      const stopping = box.stop().finally(() => {
        stopped = true;
      });
      // Work in progress needs time to end.
      while (!stopped) await clock.advance(1_000);
      await stopping;
    },
  };
  await clock.settle();
  return world;
}

/** The text at a dotted path (`status.conditions[Ready]`), for assertions. */
export { valueAt };
