/**
 * A control plane that misbehaves. Karpenter decides nothing while its view is stale, recovers by itself, and
 * reaches the same end as without the fault. Prints how long each recovery took and how much memory the process
 * held then.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Random } from "../../src/base/random.ts";
import { type HostileProxy, startHostileProxy } from "./hostile-proxy.ts";
import { type KwokStory, openKwokStory } from "./kwok-story.ts";
import { type ReplicaProcess, startReplicaProcess } from "./replica.ts";

const NODES = 6;
/** Lines of Karpenter's log in the error when a wait ends without success. */
const LAST_LINES = 30;

describe("the controller works on with an API server that", { timeout: 400_000 }, () => {
  let story: KwokStory;
  let proxy: HostileProxy;
  let karpenter: ReplicaProcess;
  const report: string[] = [];

  beforeAll(async () => {
    story = await openKwokStory();
    const random = new Random("hostile");
    const { directory, plane, account } = story;
    proxy = await startHostileProxy(directory, plane.url, () => random.fraction(), account);
    const logFile = join(story.directory, "logs", "karpenter.log");
    // A single replica without leader election: the crash tests cover a lost lead.
    karpenter = startReplicaProcess("karpenter", proxy.kubeconfig, logFile, [
      "--disable-leader-election",
      "true",
    ]);
  });
  afterAll(async () => {
    process.stderr.write(`${report.map((line) => `  ${line}`).join("\n")}\n`);
    await karpenter?.kill();
    await proxy?.close();
    await story?.close();
  });

  /** On a timeout, the error shows pods, nodes and the end of Karpenter's log. */
  async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
    try {
      await story.until(what, holds, 180_000);
    } catch (error) {
      const { message } = error as Error;
      const found = await story.describe().catch(String);
      throw new Error([message, found, ...karpenter.log().slice(-LAST_LINES)].join("\n"));
    }
  }

  /** Scales up during the fault. After the fault, the cluster must grow to NODES and shrink to none. */
  async function survive(what: string, fault: () => Promise<void>): Promise<void> {
    await story.scale(2);
    const two = async () => (await story.running()) === 2 && (await story.nodes()).length === 2;
    await until("two pods run", two);
    const known = karpenter.log().length;
    await fault();
    proxy.heal();
    const healedMs = performance.now();
    const took = async (word: string, done: () => Promise<boolean>) => {
      await until(`${word} after: ${what}`, done);
      return `${word} ${((performance.now() - healedMs) / 1_000).toFixed(1)} s`;
    };
    let reminded = 0;
    // Measures the recovery of each part: the server, the workload controllers, Karpenter, and kube-scheduler with
    // kwok.
    const steps = [
      await took("server answers", async () => (await story.scale(NODES)) === undefined),
      await took("pods are there", async () => (await story.pods()) === NODES),
      await took("NodeClaims", async () => (await story.claims()).length === NODES),
      await took("all pods run", async () => {
        reminded = await story.remind();
        return (await story.running()) === NODES;
      }),
    ];
    const held = `RSS ${karpenter.rssMib()} MiB`;
    const kwok = reminded === 0 ? "" : `; kwok had given up ${reminded} pods`;
    report.push(`${what}: ${steps.join(", ")} after it; ${staleFor(known)}; ${held}${kwok}`);
    const whole = async () => {
      await story.expectWhole(NODES);
      return true;
    };
    await until("every claim has its Node, one a pod", whole);
    await story.scale(0);
    const gone = async () =>
      (await story.nodes()).length === 0 && (await story.claims()).length === 0;
    await until("everything is gone", gone);
    expect(karpenter.alive).toBe(true);
  }

  /** How long Karpenter's log shows no decision, from line `known` on. */
  function staleFor(known: number): string {
    const found = karpenter
      .log()
      .slice(known)
      .flatMap((line) => /"staleMs":(\d+)/.exec(line)?.[1] ?? []);
    const seconds = Math.max(0, ...found.map(Number)) / 1_000;
    return seconds === 0 ? "not stale for long" : `stale for ${seconds.toFixed(1)} s`;
  }

  it("cuts every connection, again and again", async () => {
    await survive("connections cut ten times", async () => {
      await story.scale(4);
      for (let n = 0; n < 10; n++) {
        await sleep(300);
        proxy.cut();
      }
    });
  });

  it("accepts no connection for twenty seconds", async () => {
    await survive("out of reach for 20 s", async () => {
      proxy.refuse(true);
      await story.scale(4);
      await sleep(20_000);
      // No claims for the new pods: the server could not be reached.
      expect((await story.nodes()).length).toBe(2);
      expect(karpenter.log().join("\n")).toContain("view of the cluster is stale");
    });
  });

  it("answers a third of all requests with 429, 500, 503 and 504", async () => {
    await survive("a third of all answers 429, 500, 503, 504 for 20 s", async () => {
      proxy.answer([429, 500, 503, 504], 1 / 3);
      await story.scale(4);
      await sleep(20_000);
    });
  });

  it("delivers watch events five seconds late", async () => {
    await survive("watches 5 s late for 30 s", async () => {
      const before = karpenter.log().length;
      proxy.delayWatches(5_000);
      await story.scale(4);
      await sleep(30_000);
      // Late events must not cause second launches, although Karpenter does not see its own new Nodes yet.
      const claims = (await story.claims()).map(({ metadata: { name, deletionTimestamp } }) =>
        deletionTimestamp === undefined ? name : `${name}, which goes`,
      );
      const said = () => karpenter.log().slice(before).join("\n");
      expect(claims.length, `${claims.join("; ")}\n${said()}`).toBeLessThanOrEqual(4);
    });
  });

  it("answers that versions are too old", async () => {
    await survive("every watch expired", async () => {
      proxy.expire();
      await story.scale(4);
    });
  });

  it("sends nothing more on the watch of pods", async () => {
    await survive("the pods' stream silent until noticed", async () => {
      proxy.silence("pods");
      await story.scale(4);
      const noticed = async () => karpenter.log().join("\n").includes("watch went silent");
      await story.until("the silence is noticed", noticed, 120_000);
    });
  });

  it("is killed and started again", async () => {
    await survive("kube-apiserver killed for 5 s", async () => {
      await story.plane.kill("kube-apiserver");
      await sleep(5_000);
      story.plane.revive("kube-apiserver");
    });
  });

  it("loses etcd for a while", async () => {
    await survive("etcd killed for 5 s", async () => {
      await story.plane.kill("etcd");
      await sleep(5_000);
      story.plane.revive("etcd");
    });
  });
});
