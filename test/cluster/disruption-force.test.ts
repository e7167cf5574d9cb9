/**
 * Disruption that no guard holds back, and where even that stops, on a real control plane. Expiry in three
 * generations of the API, node repair, drift with a terminationGracePeriod, static pools that are made smaller,
 * and a PodDisruptionBudget that is created after a command began. The tests run side by side.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Node } from "../../src/apis/core/node.ts";
import { toClaim } from "../../src/apis/hub/claim.ts";
import { isTrue } from "../../src/apis/karpenter/conditions.ts";
import {
  goingOf,
  type Hands,
  handsOn,
  isInitialized,
  namesOf,
  openWithAllKinds,
  placesOf,
  podsStay,
  replacedFirst,
  type Story,
  stays,
  storyOf,
} from "./disruption-story.ts";
import { alphaPool, betaPool, ON_DEMAND } from "./kwok-objects.ts";
import { followLaunches } from "./launches.ts";
import type { LiveCluster } from "./live-cluster.ts";

const DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt";
const DO_NOT_EVICT = "karpenter.sh/do-not-evict";
const WAIT = "example.com/wait";
const NEVER = { consolidateAfter: "Never" };
const GRACE_SECONDS = 10;
/** Longer than a new node and the binding of its pod take, also on a busy machine. */
const LIFETIME_SECONDS = 25;
/** Longer than kwok's repair policy tolerates a node that is not ready. */
const LONG_BROKEN_MS = 11 * 60_000;
/** Requests of a pod. A node has no room for two such pods. */
const LARGE = { cpu: "2900m" };
const FOUR_CORES = [
  ON_DEMAND,
  { key: "node.kubernetes.io/instance-type", operator: "In", values: ["c-4x-amd64-linux"] },
];

describe("forced removal of nodes on a real control plane", { timeout: 300_000 }, () => {
  let cluster: LiveCluster;
  let hands: Hands;
  beforeAll(async () => {
    cluster = await openWithAllKinds();
    hands = handsOn(cluster);
  });
  afterAll(() => cluster?.close());

  const nodeOf = async (story: Story) => {
    const [node, ...others] = await story.nodes();
    if (node === undefined || others.length > 0) throw new Error(`${story.name}: not one node`);
    return node;
  };
  const isGoing = async (story: Story, node: string) =>
    namesOf(goingOf(await story.nodes())).includes(node);
  /** Waits until the drain of the node has begun, then expects the pods to stay where they were before it. */
  const drainWaits = async (story: Story, node: string, before: readonly string[]) => {
    // The first attempt of every drain publishes this event, whatever happens next.
    await story.until("the drain has begun", async () => {
      return (await hands.told("Node", node, "FailedDraining")).length > 0;
    });
    await podsStay(story, before);
  };
  const isGone = (story: Story, node: string) =>
    story.until("the node is gone", async () => !namesOf(await story.nodes()).includes(node));
  const spare = async (story: Story, key: string) => {
    for (const pod of await story.running())
      await hands.annotate("Pod", pod.metadata.name, key, null);
  };

  it.concurrent("v1: expiry ignores budgets and do-not-disrupt pods, but its drain respects them", async () => {
    const story = storyOf(cluster, "force-v1");
    await story.pool({
      disruption: { ...NEVER, budgets: [{ nodes: "0" }] },
      template: { spec: { expireAfter: `${LIFETIME_SECONDS}s` } },
    });
    await story.deploy({ replicas: 1, annotations: { [DO_NOT_DISRUPT]: "true" } });
    const { name } = (await nodeOf(story)).metadata;
    const before = await placesOf(story);
    await story.until("the node goes", () => isGoing(story, name));
    await drainWaits(story, name, before);
    await spare(story, DO_NOT_DISRUPT);
    await isGone(story, name);
    await story.end();
  });

  it.concurrent("v1beta1: an expired node waits for its pool's budget", async () => {
    const story = storyOf(cluster, "force-beta");
    const apply = (disruption: object) => cluster.apply(betaPool(story.name, disruption));
    await apply({ expireAfter: "Never" });
    await story.deploy({ replicas: 1 });
    const node = await nodeOf(story);
    const expireAfter = `${lifetimeBehind(node)}s`;
    await apply({ expireAfter, budgets: [{ nodes: "0" }] });
    await expired(story);
    await stays(story, [node.metadata.name]);
    await apply({ expireAfter });
    await replacedFirst(story, [node.metadata.name]);
    await story.end();
  });

  it.concurrent("v1alpha5: an expired node waits for its do-not-disrupt pods", async () => {
    const story = storyOf(cluster, "force-alpha", "karpenter.sh/provisioner-name");
    await cluster.apply(alphaPool(story.name, {}));
    await story.deploy({ replicas: 1, annotations: { [DO_NOT_EVICT]: "true" } });
    const node = await nodeOf(story);
    const ttlSecondsUntilExpired = lifetimeBehind(node);
    await cluster.apply(alphaPool(story.name, { ttlSecondsUntilExpired }));
    await expired(story);
    await stays(story, [node.metadata.name]);
    await spare(story, DO_NOT_EVICT);
    await replacedFirst(story, [node.metadata.name]);
    await cluster.remove("Provisioner", story.name, "karpenter.sh/v1alpha5");
    await story.end();
  });

  /** A lifetime in seconds that this node exceeds within the next seconds. A new node reaches it much later. */
  function lifetimeBehind({ metadata }: Node): number {
    const ageMs = Date.now() - Date.parse(metadata.creationTimestamp ?? "");
    return Math.ceil(ageMs / 1_000) + 1;
  }

  /** Waits for the condition Expired on the claim. */
  function expired(story: Story): Promise<void> {
    return story.until("the claim says that it is expired", async () => {
      const claims = await story.claims();
      return claims.some((claim) => isTrue(toClaim(claim), "Expired"));
    });
  }

  it.concurrent("node repair: pauses while more than a fifth of the nodes are unhealthy, then removes them past every guard", async () => {
    const story = storyOf(cluster, "force-repair");
    await story.pool({
      disruption: { ...NEVER, budgets: [{ nodes: "0" }] },
      template: { spec: { requirements: FOUR_CORES } },
    });
    await hands.guard(story, { maxUnavailable: 0 });
    const guarded = { labels: { guarded: story.name }, annotations: { [DO_NOT_DISRUPT]: "true" } };
    await story.deploy({ replicas: 2, requests: LARGE, ...guarded });
    const [broken = "", other = ""] = namesOf(await story.nodes());
    const breaks = (node: string) => hands.says(node, "False", LONG_BROKEN_MS);
    // Both nodes become not ready before either has been so for long enough. Otherwise the first would be repaired at
    // once, as the only broken node.
    for (const node of [broken, other]) {
      await hands.letGo(node);
      await hands.says(node, "False", 0);
    }
    for (const node of [broken, other]) await breaks(node);
    const held = async (node: string) =>
      (await hands.told("Node", node, "NodeRepairBlocked")).length > 0;
    await story.until("both are held", async () => (await held(broken)) && (await held(other)));
    expect(goingOf(await story.nodes())).toEqual([]);
    await hands.says(other, "True", 0);
    await hands.takeUp(other);
    // A kubelet reports its status again and again. Each report makes the controller look at the node again.
    const going = async () => {
      const found = await isGoing(story, broken);
      if (!found) await breaks(broken).catch(() => undefined);
      return found || !namesOf(await story.nodes()).includes(broken);
    };
    await story.until("the one that is still broken goes", going);
    await isGone(story, broken);
    const anew = async () => (await story.running()).length === 2;
    await story.until("its pod runs elsewhere", anew);
    expect(namesOf(await story.nodes())).toContain(other);
    await hands.unguard(story);
    await story.end();
  });

  it.concurrent("drift: terminationGracePeriod overrides every guard once the period is over", async () => {
    const story = storyOf(cluster, "force-drift");
    const spec = { terminationGracePeriod: `${GRACE_SECONDS}s`, requirements: FOUR_CORES };
    await story.pool({ disruption: NEVER, template: { spec } });
    await hands.guard(story, { maxUnavailable: 0 });
    const protect = { [DO_NOT_DISRUPT]: "true" };
    await story.deploy({ replicas: 1, requests: LARGE, annotations: protect }, "annotated");
    const labels = { guarded: story.name };
    await story.deploy({ replicas: 1, requests: { cpu: "500m" }, labels }, "guarded");
    const { name } = (await nodeOf(story)).metadata;
    const pods = async () =>
      namesOf([...(await story.running("annotated")), ...(await story.running("guarded"))]);
    const before = await pods();
    expect(before).toHaveLength(2);
    await story.drift();
    let deletedMs = Number.NaN;
    await story.until("its claim is deleted", async () => {
      const times = (await story.claims()).map(({ metadata }) => metadata.deletionTimestamp);
      deletedMs = Date.parse(times.find((time) => time !== undefined) ?? "");
      return !Number.isNaN(deletedMs);
    });
    // The replacement was initialized before the old claim was deleted.
    expect((await story.nodes()).filter(isInitialized)).toHaveLength(2);
    // Each pod has its own time. If one guard had been ignored, its pod would be gone long before the other.
    const missingMs = new Map<string, number>();
    const forced = async () => {
      const left = await pods();
      const missing = before.filter((pod) => !left.includes(pod) && !missingMs.has(pod));
      for (const pod of missing) missingMs.set(pod, Date.now() - deletedMs);
      return missingMs.size === before.length;
    };
    await story.until("both pods were deleted by force", forced);
    expect(Math.min(...missingMs.values())).toBeGreaterThanOrEqual(GRACE_SECONDS * 1_000);
    await story.replaced([name]);
    await hands.unguard(story);
    await story.end();
  });

  it.concurrent("static pool: the empty node is removed first, then one whose drain evicts its pods", async () => {
    const story = storyOf(cluster, "force-static");
    await story.pool({
      disruption: { ...NEVER, budgets: [{ nodes: "0" }] },
      template: { spec: { requirements: FOUR_CORES } },
      spec: { replicas: 3 },
    });
    const three = async () => {
      const nodes = await story.nodes();
      return nodes.length === 3 && nodes.every(isInitialized);
    };
    await story.until("there are three", three);
    await hands.guard(story, { maxUnavailable: 0 });
    const labels = { guarded: story.name };
    await story.deploy({ replicas: 2, requests: LARGE, labels });
    const [kept, drained] = await story.running();
    const held = [kept, drained].map((pod) => pod?.spec.nodeName ?? "");
    const before = await placesOf(story);
    await hands.annotate("Pod", kept?.metadata.name ?? "", DO_NOT_DISRUPT, "true");
    await story.edit({ spec: { replicas: 2 } });
    await story.until("there are two", async () => (await story.nodes()).length === 2);
    expect([...namesOf(await story.nodes())].sort()).toEqual([...held].sort());
    await story.edit({ spec: { replicas: 1 } });
    await drainWaits(story, held[1] ?? "", before);
    expect(namesOf(goingOf(await story.nodes()))).toEqual([held[1]]);
    await hands.unguard(story);
    await isGone(story, held[1] ?? "");
    expect(namesOf(await story.nodes())).toEqual([held[0]]);
    await story.end();
  });

  it.concurrent("a PodDisruptionBudget during a command: the command completes, once, and the drain waits", async ({
    onTestFinished,
  }) => {
    const story = storyOf(cluster, "force-command");
    const launches = followLaunches(cluster.client, `${story.label}=${story.name}`);
    onTestFinished(launches.close);
    await story.pool({ disruption: NEVER, template: { spec: { requirements: FOUR_CORES } } });
    await story.deploy({ replicas: 1, requests: LARGE, labels: { guarded: story.name } });
    const { name } = (await nodeOf(story)).metadata;
    const before = await placesOf(story);
    // A replacement joins, but is not initialized until the test removes this taint.
    const startupTaints = [{ key: WAIT, effect: "NoSchedule" }];
    await story.edit({ spec: { template: { spec: { startupTaints } } } });
    const waiting = async () =>
      (await story.nodes()).find(({ spec }) => spec?.taints?.some(({ key }) => key === WAIT));
    await story.until("a replacement has joined", async () => (await waiting()) !== undefined);
    await hands.guard(story, { maxUnavailable: 0 });
    const other = (await waiting()) as Node;
    await hands.untaint(other, WAIT);
    await drainWaits(story, name, before);
    await hands.unguard(story);
    await isGone(story, name);
    await story.replaced([name]);
    expect(namesOf(await story.nodes())).toEqual([other.metadata.name]);
    // The first claim and its replacement. The watch would have seen a third claim, however short its life.
    expect(launches.claims).toBe(2);
    expect(launches.faults()).toEqual([]);
    await story.end();
  });
});
