/**
 * What holds disruption back on a real control plane, and what `karpenter explain` and `karpenter simulate` say
 * about it. Budgets of a pool and of the cluster, annotations, PodDisruptionBudgets, pauses, how long a drain may
 * take, and a controller that is killed during a command. The tests run side by side, the last two alone.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { POD } from "../../src/apis/core/pod.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import {
  goingOf,
  type Hands,
  handsOn,
  isInitialized,
  namesOf,
  ONE_CONSOLIDATION_MS,
  type Story,
  stays,
  storyOf,
} from "./disruption-story.ts";
import { NODE_CLASS, ON_DEMAND } from "./kwok-objects.ts";
import { followLaunches } from "./launches.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt";
const PAUSED = "karpenter.sh/disruption-paused";
const COMMAND = "karpenter.sh/disruption-command";
const WAIT = "example.com/wait";
const NEVER = { consolidateAfter: "Never" };
const UNDERUTILIZED = { consolidationPolicy: "WhenEmptyOrUnderutilized", consolidateAfter: "1s" };
/** A node has room for one large and one small pod. */
const [LARGE, SMALL] = ["2900m", "900m"];
const FOUR_CORES = {
  spec: {
    requirements: [
      ON_DEMAND,
      {
        key: "node.kubernetes.io/instance-type",
        operator: "In",
        values: ["c-4x-amd64-linux"],
      },
    ],
  },
};
/** A budget of the whole cluster: one empty node at a time. */
const CLUSTER_BUDGETS = `[{nodes: "1", reasons: [Empty]}]`;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

describe("guards against disruption on a real control plane", { timeout: 300_000 }, () => {
  let cluster: LiveCluster;
  let hands: Hands;
  beforeAll(async () => {
    cluster = await openLiveCluster(undefined, {
      flags: ["--disable-leader-election", "true", "--disruption-budgets", CLUSTER_BUDGETS],
    });
    hands = handsOn(cluster);
    await cluster.apply(NODE_CLASS);
  });
  afterAll(() => cluster?.close());

  const allowed = async (story: Story) => {
    const pools = await cluster.list<KubeObject & { status?: { conditions?: Condition[] } }>(
      "NodePool",
      "karpenter.sh/v1",
    );
    const pool = pools.find(({ metadata }) => metadata.name === story.name);
    return pool?.status?.conditions?.find(({ type }) => type === "DisruptionAllowed");
  };
  /** The JSON that a read-only command prints. */
  async function asked<T>(...args: readonly string[]): Promise<T> {
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
    const all = [MAIN, ...args, "--cluster", "--output", "json"];
    const { stdout } = await promisify(execFile)(process.execPath, all, { env });
    return JSON.parse(stdout) as T;
  }
  const blocksOf = async (node: string) => {
    const { holds } = await asked<{ holds: { block: string; says: string }[] }>(
      ...["explain", "node", node],
    );
    return holds.map(({ block }) => block);
  };
  /** Creates `count` nodes, each with one large and one small pod. */
  async function pairs(story: Story, count: number, guarded = false): Promise<readonly string[]> {
    const labels = guarded ? { guarded: story.name } : {};
    await story.deploy({ replicas: count, requests: { cpu: LARGE } }, "large");
    await story.deploy({ replicas: count, requests: { cpu: SMALL }, labels }, "small");
    const nodes = namesOf(await story.nodes());
    expect(nodes).toHaveLength(count);
    return nodes;
  }

  it.concurrent("budgets: an open window blocks its reason, and a percentage is never exceeded", async () => {
    const story = storyOf(cluster, "budgets");
    const always = { schedule: "* * * * *", duration: "1m" };
    const never = { schedule: "0 0 29 2 *", duration: "1m" };
    const budgets = [
      { nodes: "0", reasons: ["Drifted"], ...always },
      { nodes: "0", ...never },
      { nodes: "50%" },
    ];
    // Drifted nodes without pods need no replacement. All four are deleted at once, as far as budgets allow.
    await story.pool({ disruption: { ...NEVER, budgets }, template: FOUR_CORES });
    const before = await pairs(story, 4);
    await story.remove("large");
    await story.remove("small");
    await story.drift();
    const says = async () => (await allowed(story))?.reason === "Budgets";
    await story.until("the pool says what it may not lose", says);
    expect((await allowed(story))?.message).toContain("Drifted: budgets allow none");
    await stays(story, before);
    await story.edit({
      spec: { disruption: { budgets: [{ nodes: "0", ...never }, { nodes: "50%" }] } },
    });
    let most = 0;
    await story.until("all drifted nodes are gone", async () => {
      const nodes = await story.nodes();
      const going = goingOf(nodes).length;
      expect(going).toBeLessThanOrEqual(Math.ceil(nodes.length / 2));
      most = Math.max(most, going);
      return nodes.length === 0;
    });
    expect(most).toBe(2);
    await story.end();
  });

  it.concurrent("do-not-disrupt on a pod and on a node: keeps each node until the annotation is removed", async () => {
    const story = storyOf(cluster, "annotated");
    await story.pool({ disruption: NEVER, template: FOUR_CORES });
    const before = await pairs(story, 2);
    const [pod] = await story.running("small");
    const byPod = pod?.spec.nodeName ?? "";
    const byNode = before.find((name) => name !== byPod) ?? "";
    await hands.annotate("Pod", pod?.metadata.name ?? "", DO_NOT_DISRUPT, "true");
    await hands.annotate("Node", byNode, DO_NOT_DISRUPT, "true");
    await story.drift();
    const blocked = async () =>
      (await hands.told("Node", byPod, "DisruptionBlocked")).length > 0 &&
      (await hands.told("Node", byNode, "DisruptionBlocked")).length > 0;
    await story.until("events tell it", blocked);
    expect(await blocksOf(byPod)).toContain("pod");
    expect(await blocksOf(byNode)).toContain("annotation");
    await stays(story, before);
    await hands.annotate("Pod", pod?.metadata.name ?? "", DO_NOT_DISRUPT, null);
    const gone = async () => !namesOf(await story.nodes()).includes(byPod);
    await story.until("the pod's node is replaced", gone);
    expect(namesOf(await story.nodes())).toContain(byNode);
    await hands.annotate("Node", byNode, DO_NOT_DISRUPT, null);
    await story.replaced(before);
    await story.end();
  });

  it.concurrent("a PodDisruptionBudget of one: consolidation removes one node at a time", async () => {
    const story = storyOf(cluster, "guarded");
    await story.pool({ disruption: UNDERUTILIZED, template: FOUR_CORES });
    await hands.guard(story, { maxUnavailable: 0 });
    const before = await pairs(story, 3, true);
    await story.remove("large");
    const blocked = async () =>
      (await hands.told("Node", before[0] ?? "", "DisruptionBlocked")).length > 0;
    await story.until("an event tells that it is guarded", blocked);
    expect(await blocksOf(before[0] ?? "")).toContain("pdb");
    await stays(story, before, ONE_CONSOLIDATION_MS);
    await hands.guard(story, { maxUnavailable: 1 });
    let [most, least] = [0, 3];
    const packed = async () => {
      most = Math.max(most, goingOf(await story.nodes()).length);
      least = Math.min(least, (await story.running("small")).length);
      return (await story.nodes()).length === 1;
    };
    await story.until("one node is left", packed, 150_000);
    expect({ most, least: least >= 2 }).toEqual({ most: 1, least: true });
    await hands.unguard(story);
    await story.end();
  });

  it.concurrent("terminationGracePeriod: ends a drain that pods block, and no earlier", async () => {
    const story = storyOf(cluster, "stuck");
    const graceSeconds = 15;
    const spec = { terminationGracePeriod: `${graceSeconds}s` };
    await story.pool({ disruption: NEVER, template: { spec } });
    await hands.guard(story, { maxUnavailable: 0 });
    await story.deploy({ replicas: 1, labels: { guarded: story.name } });
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: story.name, namespace: "default" },
      spec: {
        terminationGracePeriodSeconds: 3_600,
        nodeSelector: { [story.label]: story.name },
        containers: [{ name: "c", image: "pause" }],
      },
    } as KubeObject);
    const [node = ""] = namesOf(await story.nodes());
    const ref = { name: story.name, namespace: "default" };
    const runs = async () => (await cluster.client.get(POD, ref)).status?.phase === "Running";
    await story.until("the stuck pod runs", runs);
    // kwok no longer ends the pods of this node.
    await hands.letGo(node);
    const [claim] = namesOf(await story.claims());
    const [guarded] = namesOf(await story.running());
    await cluster.remove("NodeClaim", claim ?? "", "karpenter.sh/v1");
    const beganMs = performance.now();
    const gone = async () => !namesOf(await story.claims()).includes(claim ?? "");
    await story.until("the claim is gone", gone);
    expect(performance.now() - beganMs).toBeGreaterThan((graceSeconds - 1) * 1_000);
    expect(namesOf(await story.nodes())).not.toContain(node);
    const moved = async () => {
      const names = namesOf(await story.running());
      return names.length === 1 && !names.includes(guarded ?? "");
    };
    await story.until("the guarded pod runs elsewhere", moved);
    await hands.unguard(story);
    await story.end();
  });

  it.concurrent("a paused pool: keeps its nodes, and the actions announced in its events follow after the pause", async () => {
    const story = storyOf(cluster, "paused");
    await story.pool({ disruption: UNDERUTILIZED, template: FOUR_CORES });
    await hands.annotate("NodePool", story.name, PAUSED, "true");
    const before = await pairs(story, 2);
    await story.remove("large");
    const says = async () => (await allowed(story))?.reason === "Paused";
    await story.until("the pool says so", says);
    await stays(story, before, ONE_CONSOLIDATION_MS);
    expect(await blocksOf(before[0] ?? "")).toContain("paused");
    const played = await asked<{ steps: { removed: string[] }[] }>("simulate", "--consolidate");
    expect(played.steps.flatMap(({ removed }) => removed)).not.toContain(before[0]);
    await hands.annotate("NodePool", story.name, PAUSED, null);
    // During the pause the nodes have been quiet for long enough for consolidation, so the same question gets another
    // answer than before.
    const then = await asked<{ steps: { removed: string[]; launched: { nodePool: string }[] }[] }>(
      ...["simulate", "--consolidate", "--horizon", "10m"],
    );
    const removed = then.steps
      .flatMap((step) => step.removed)
      .filter((one) => before.includes(one));
    expect(removed).toHaveLength(1);
    await story.until("one node is left", async () => (await story.nodes()).length === 1);
    expect(before).toEqual(expect.arrayContaining([...namesOf(await story.nodes())]));
    await story.end();
  });

  describe("after the other guards", () => {
    it("cluster-wide budgets: one empty node is removed at a time over all pools", async () => {
      // The cluster budget counts the disrupted nodes of all pools. This test runs alone, because beside other tests
      // its two nodes would wait.
      const stories = ["empty-a", "empty-b"].map((name) => storyOf(cluster, name));
      for (const story of stories) {
        await story.pool({ template: FOUR_CORES });
        await story.deploy({ replicas: 1 });
      }
      await Promise.all(stories.map((story) => story.scale(0)));
      let most = 0;
      await cluster.until(
        "both empty nodes are gone",
        async () => {
          const nodes = (await Promise.all(stories.map((story) => story.nodes()))).flat();
          most = Math.max(most, goingOf(nodes).length);
          return nodes.length === 0;
        },
        150_000,
      );
      expect(most).toBe(1);
      for (const story of stories) await story.end();
    });

    it("a controller killed in the middle of a command: the next one completes it", async () => {
      const story = storyOf(cluster, "killed");
      const launches = followLaunches(cluster.client);
      try {
        await story.pool({ disruption: NEVER, template: FOUR_CORES });
        // One pod for each node. With two sizes, kube-scheduler might place the pods of both commands so that a third
        // node is needed.
        await story.deploy({ replicas: 2, requests: { cpu: LARGE } });
        const before = namesOf(await story.nodes());
        expect(before).toHaveLength(2);
        const already = launches.claims;
        // New nodes join, but are not initialized until the test removes this taint.
        const startupTaints = [{ key: WAIT, effect: "NoSchedule" }];
        await story.edit({ spec: { template: { spec: { startupTaints } } } });
        const waiting = async () =>
          (await story.nodes()).filter(({ spec }) => spec?.taints?.some(({ key }) => key === WAIT));
        const joined = async () => (await waiting()).length > 0;
        await story.until("a replacement has joined", joined);
        const marked = async () =>
          (await story.claims()).some(({ metadata }) => metadata.annotations?.[COMMAND]);
        expect(await marked()).toBe(true);
        await cluster.restart();
        const resumed = async () => cluster.log().some((line) => line.includes("resuming"));
        await story.until("the command is taken up", resumed);
        const left = (await story.nodes()).filter(
          ({ metadata }) => metadata.deletionTimestamp === undefined,
        );
        expect(namesOf(left)).toEqual(expect.arrayContaining([...before]));
        await story.until("other nodes are in place of the old ones", async () => {
          for (const node of await waiting()) await hands.untaint(node, WAIT);
          return !namesOf(await story.nodes()).some((name) => before.includes(name));
        });
        await story.replaced(before);
        const whole = async () => (await story.nodes()).every(isInitialized);
        await story.until("its nodes are initialized", whole);
        expect(goingOf(await story.nodes())).toEqual([]);
        // One new claim for each old node and no more: no replacement was launched twice.
        expect(launches.faults()).toEqual([]);
        expect(launches.claims - already).toBe(before.length);
        await story.end();
      } finally {
        launches.close();
      }
    });
  });
});
