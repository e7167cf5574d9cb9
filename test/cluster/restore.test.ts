/**
 * etcd restored from yesterday's snapshot, on a real control plane: revisions go backwards, and objects made since
 * are gone.
 * One test follows the guide: the controller is stopped before, and an observer starts first. In the other nobody
 * stops the controller: its watches are silent, so it lists again. The machines of kwok are Nodes, so etcd's data
 * takes them back too.
 */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EVENT } from "../../src/apis/core/kinds.ts";
import { POD } from "../../src/apis/core/pod.ts";
import { NODE_CLAIM } from "../../src/apis/karpenter/nodeclaim.ts";
import { type KwokStory, openKwokStory } from "./kwok-story.ts";
import { type ReplicaProcess, startReplicaProcess } from "./replica.ts";

/** Two disruption rounds, and the first garbage collection after a start. */
const QUIET_MS = 25_000;
/** After little more than a minute without events, a watch counts as dead. */
const LONG_MS = 240_000;

describe("a cluster whose etcd was restored from a day-old backup", () => {
  let story: KwokStory;
  let karpenter: ReplicaProcess;
  const etcd = () => join(story.directory, "etcd");
  const yesterday = () => join(story.directory, "yesterday");

  const start = (...flags: string[]) =>
    startReplicaProcess(
      "karpenter",
      story.account,
      join(story.directory, "logs", "karpenter.log"),
      flags,
    );
  /** Stops the control plane around `act`: etcd's files cannot be copied while etcd writes them. */
  const whileDown = async (act: () => void) => {
    const { plane } = story;
    const around = ["kube-scheduler", "kube-controller-manager", "kwok"] as const;
    for (const one of [...around, "kube-apiserver", "etcd"] as const) await plane.kill(one);
    act();
    for (const one of ["etcd", "kube-apiserver", ...around] as const) plane.revive(one);
    await story.until("the server answers", async () => (await story.nodes()) !== undefined);
  };
  const restore = () =>
    whileDown(() => {
      rmSync(etcd(), { recursive: true });
      cpSync(yesterday(), etcd(), { recursive: true });
    });
  const stand = async (count: number) => {
    await story.until(`${count} pods run`, async () => {
      await story.remind();
      return (await story.running()) === count;
    });
    await story.until(`${count} whole nodes`, async () => {
      await story.expectWhole(count);
      return true;
    });
  };
  /** Claims, Nodes and pods by their UIDs. */
  const snapshot = async () => {
    const pods = await story.client.list(POD, { namespace: "default", labelSelector: "app=web" });
    return [
      ...(await story.claims()).map(({ metadata }) => `claim ${metadata.name} ${metadata.uid}`),
      ...(await story.nodes()).map(({ metadata }) => `node ${metadata.name} ${metadata.uid}`),
      ...pods.items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata, spec }) => `pod ${metadata.name} ${metadata.uid} ${spec.nodeName}`),
    ].sort();
  };
  /** Adds nodes that yesterday's data lacks, and replaces one node that it has. */
  const today = async () => {
    await story.scale(5);
    await stand(5);
    const [oldest] = [...(await story.claims())].sort((a, b) =>
      (a.metadata.creationTimestamp ?? "") < (b.metadata.creationTimestamp ?? "") ? -1 : 1,
    );
    const name = oldest?.metadata.name ?? "";
    await story.client.delete(NODE_CLAIM, { name });
    await story.until("it is replaced", async () =>
      (await story.claims()).every(({ metadata }) => metadata.name !== name),
    );
    await stand(5);
  };
  let saved: readonly string[];

  beforeAll(async () => {
    story = await openKwokStory();
    karpenter = start();
    await story.scale(3);
    await stand(3);
    saved = await snapshot();
    await whileDown(() => cpSync(etcd(), yesterday(), { recursive: true }));
  });
  afterAll(async () => {
    await karpenter?.kill();
    await story?.close();
  });

  it("is adopted unchanged by a controller that was stopped: first as an observer, then for good", async () => {
    await today();
    await karpenter.kill();
    await restore();
    expect(await snapshot()).toEqual(saved);
    karpenter = start("--observe-only", "true");
    await sleep(QUIET_MS);
    expect(await snapshot()).toEqual(saved);
    const { items } = await story.client.list(EVENT, {});
    const observed = items.map(({ message = "" }) => message);
    expect(observed.filter((one) => /^Observe only:.*(disrupt|terminat|delet)/i.test(one))).toEqual(
      [],
    );
    await karpenter.kill();
    karpenter = start();
    await sleep(QUIET_MS);
    expect(await snapshot()).toEqual(saved);
    await story.scale(5);
    await stand(5);
  });

  it(
    "is adopted by a controller that kept running: it removes nothing, and works on",
    async () => {
      await story.scale(3);
      await story.until("two nodes have gone", async () => (await story.nodes()).length === 3);
      await today();
      await restore();
      await sleep(QUIET_MS);
      expect(await snapshot()).toEqual(saved);
      expect(karpenter.alive).toBe(true);
      await story.scale(5);
      await stand(5);
      // Karpenter ends nodes only after the server's revisions have passed all that it saw before.
      await story.scale(0);
      const gone = async () => (await story.nodes()).length === 0;
      await story.until("everything is gone", gone, LONG_MS);
      expect(karpenter.alive).toBe(true);
    },
    2 * LONG_MS,
  );
});
