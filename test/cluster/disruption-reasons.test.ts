/**
 * Each reason to disrupt a node, on a real control plane: the three kinds of consolidation, expiry in three
 * generations of the API, static pools, node repair. The tests run side by side. Emptiness and changed pools are
 * in karpenter.test.ts and generations.test.ts.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Node } from "../../src/apis/core/node.ts";
import {
  type Hands,
  handsOn,
  isInitialized,
  namesOf,
  openWithAllKinds,
  replacedFirst,
  type Story,
  storyOf,
} from "./disruption-story.ts";
import { alphaPool, betaPool, ON_DEMAND } from "./kwok-objects.ts";
import type { LiveCluster } from "./live-cluster.ts";

const UNDERUTILIZED = { consolidationPolicy: "WhenEmptyOrUnderutilized", consolidateAfter: "5s" };
const NEVER = { consolidateAfter: "Never" };
const LIFETIME_SECONDS = 40;
/** The lifetime counts from the creation of the claim; its Node joins up to this much later. */
const JOINS_WITHIN_SECONDS = 10;
/** A node has room for one large and one small pod. */
const [FOUR_CORES, LARGE, SMALL] = ["c-4x-amd64-linux", "2900m", "900m"];

const type = (...values: string[]) => ({
  spec: {
    requirements: [
      ON_DEMAND,
      { key: "node.kubernetes.io/instance-type", operator: "In", values: [...values] },
    ],
  },
});

describe("voluntary disruption on a real control plane", { timeout: 300_000 }, () => {
  let cluster: LiveCluster;
  let hands: Hands;
  beforeAll(async () => {
    cluster = await openWithAllKinds();
    hands = handsOn(cluster);
  });
  afterAll(() => cluster?.close());

  const instanceType = ({ metadata }: Node) =>
    metadata.labels?.["node.kubernetes.io/instance-type"];

  it.concurrent("deletes a node whose pods have room elsewhere", async () => {
    const story = storyOf(cluster, "delete");
    await story.pool({ disruption: UNDERUTILIZED, template: type(FOUR_CORES) });
    await story.deploy({ replicas: 2, requests: { cpu: LARGE } }, "large");
    await story.deploy({ replicas: 2, requests: { cpu: SMALL } }, "small");
    const before = namesOf(await story.nodes());
    expect(before).toHaveLength(2);
    await story.remove("large");
    await story.until("one node is left", async () => (await story.nodes()).length === 1);
    await story.until("its pods run", async () => (await story.running("small")).length === 2);
    expect(before).toEqual(expect.arrayContaining([...namesOf(await story.nodes())]));
    expect(namesOf(await story.claims())).toHaveLength(1);
    await story.end();
  });

  it.concurrent("replaces a node by a cheaper one, which is ready first", async () => {
    const story = storyOf(cluster, "replace");
    const types = type("c-2x-amd64-linux", "c-16x-amd64-linux");
    await story.pool({ disruption: UNDERUTILIZED, template: types });
    await story.deploy({ replicas: 1, requests: { cpu: "10" } }, "large");
    await story.deploy({ replicas: 1, requests: { cpu: SMALL } }, "small");
    const before = await story.nodes();
    expect(before.map(instanceType)).toEqual(["c-16x-amd64-linux"]);
    await story.remove("large");
    await replacedFirst(story, namesOf(before));
    expect((await story.nodes()).map(instanceType)).toEqual(["c-2x-amd64-linux"]);
    await story.end();
  });

  it.concurrent("replaces several nodes by several others that cost less together", async () => {
    const story = storyOf(cluster, "repack");
    await story.pool({
      disruption: UNDERUTILIZED,
      template: type(
        ...["c", "m"].flatMap((family) =>
          ["4", "16"].map((size) => `${family}-${size}x-amd64-linux`),
        ),
      ),
    });
    // One node is full by CPU, the other by memory. No single node would be cheaper than both.
    await story.deploy({ replicas: 15, requests: { cpu: "1", memory: "1900Mi" } }, "cores");
    await story.deploy({ replicas: 15, requests: { cpu: "200m", memory: "8Gi" } }, "memory");
    const types = async () => (await story.nodes()).map(instanceType).sort();
    expect(await types()).toEqual(["c-16x-amd64-linux", "m-16x-amd64-linux"]);
    const packed = async () =>
      (await types()).join() === "m-16x-amd64-linux,m-4x-amd64-linux" &&
      (await story.nodes()).every(isInitialized);
    await story.until("two others hold the pods of both", packed, 150_000);
    for (const app of ["cores", "memory"])
      await story.until("all pods run", async () => (await story.running(app)).length === 15);
    await story.end();
  });

  it.concurrent("v1: removes a node at its expireAfter, and no earlier", async () => {
    const story = storyOf(cluster, "expiry");
    const spec = { expireAfter: `${LIFETIME_SECONDS}s` };
    await story.pool({ disruption: NEVER, template: { spec } });
    await lives(story);
    await story.end();
  });

  it.concurrent("v1beta1: replaces a node at its expireAfter, with the new one ready first", async () => {
    const story = storyOf(cluster, "expiry-beta");
    const disruption = { expireAfter: `${LIFETIME_SECONDS}s` };
    await cluster.apply(betaPool(story.name, disruption));
    await lives(story, "first");
    await story.end();
  });

  it.concurrent("v1alpha5: replaces a node after ttlSecondsUntilExpired, with the new one ready first", async () => {
    const story = storyOf(cluster, "expiry-alpha", "karpenter.sh/provisioner-name");
    await cluster.apply(alphaPool(story.name, { ttlSecondsUntilExpired: LIFETIME_SECONDS }));
    await lives(story, "first");
    await cluster.remove("Provisioner", story.name, "karpenter.sh/v1alpha5");
    await story.end();
  });

  /**
   * Runs one node with one pod until it expires and is replaced. `first`: the replacement must be initialized before
   * the old node is deleted.
   */
  async function lives(story: Story, first?: "first"): Promise<void> {
    await story.deploy({ replicas: 1 });
    const before = await story.nodes();
    const [node] = before;
    const born = Date.parse(node?.metadata.creationTimestamp ?? "");
    const going = async () => {
      const now = (await story.nodes()).find(({ metadata }) => metadata.uid === node?.metadata.uid);
      return now === undefined || now.metadata.deletionTimestamp !== undefined;
    };
    if (first === "first") await replacedFirst(story, namesOf(before));
    else await story.until("the node is deleted", going);
    expect((Date.now() - born) / 1_000).toBeGreaterThan(LIFETIME_SECONDS - JOINS_WITHIN_SECONDS);
    if (first === undefined) {
      const anew = async () => {
        const [pod] = await story.running();
        return pod !== undefined && pod.spec.nodeName !== node?.metadata.name;
      };
      await story.until("the pod runs on another node", anew);
    }
  }

  it.concurrent("keeps the replicas of a static pool, and replaces its nodes one for one", async () => {
    const story = storyOf(cluster, "static");
    const requirements = [ON_DEMAND];
    await story.pool({
      disruption: NEVER,
      template: { spec: { requirements } },
      spec: { replicas: 2 },
    });
    const are = (count: number) => async () => {
      const nodes = await story.nodes();
      return nodes.length === count && nodes.every(isInitialized);
    };
    await story.until("there are two", are(2));
    await story.edit({ spec: { replicas: 3 } });
    await story.until("there are three", are(3));
    const before = namesOf(await story.nodes());
    await story.drift();
    await replacedFirst(story, before);
    await story.edit({ spec: { replicas: 1 } });
    await story.until("there is one", are(1));
    await story.end();
  });

  it.concurrent("removes a node whose kubelet has been silent for longer than the toleration", async () => {
    const story = storyOf(cluster, "repair");
    await story.pool({ disruption: NEVER });
    await story.deploy({ replicas: 1 });
    const [name = ""] = namesOf(await story.nodes());
    // Without kwok on this node, the test can report it as not ready.
    await hands.letGo(name);
    await hands.says(name, "False", 11 * 60_000);
    await story.replaced([name]);
    await story.end();
  });
});
