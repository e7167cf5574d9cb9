/**
 * A replacement node still exists when its pods arrive, however long the drain of the old node takes. No replacement is
 * launched if other pods would use its room first.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Event } from "../src/apis/core/kinds.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { openWorld, type TestWorld } from "./world.ts";

const CLUSTER = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
spec: {}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: pause, resources: {requests: {cpu: 500m}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
`;

const pool = (release: string) => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    metadata: {labels: {release: ${release}}}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
      terminationGracePeriod: 5m
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 30s, budgets: [{nodes: "100%"}]}
`;

let world: TestWorld;
afterEach(() => world.close());

describe("a drifted node whose pods a PodDisruptionBudget keeps until its grace period ends", () => {
  it("waits for its replacement there: the new node, without pods so far, is not removed as empty", async () => {
    world = await openWorld({ provider: "kwok" });
    await world.apply(CLUSTER);
    await world.apply(pool("first"));
    await world.until("the pod runs", async () => (await homeOf()) !== undefined);
    await world.advance(60_000);
    await world.apply(pool("next"));
    const claims = async () =>
      (await world.list("NodeClaim", "karpenter.sh/v1")).map(({ metadata }) => metadata.name);
    const [old] = await claims();
    await world.until("a second node comes", async () => (await claims()).length === 2);
    const fresh = (await claims()).find((name) => name !== old);
    await world.until(
      "the first one is gone",
      async () => !(await claims()).includes(old as string),
      600_000,
    );
    await world.until("the pod runs again", async () => (await homeOf()) !== undefined);
    expect(await claims()).toEqual([fresh]);
    // No pod is nominated for the node any more: it may be consolidated.
    await world.remove("Deployment", "web", "apps/v1");
    await world.until("it is gone", async () => (await claims()).length === 0, 300_000);
  });
});

const GUARDED = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: c, image: pause, resources: {requests: {cpu: 700m}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: others}
spec:
  replicas: 0
  selector: {matchLabels: {app: others}}
  template:
    metadata: {labels: {app: others}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: c, image: pause, resources: {requests: {cpu: 700m}}}]
`;

/** A NodePool whose nodes drift when `release` changes. */
const twoCores = (release: string) => `
    metadata: {labels: {release: ${release}}}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.kwok.sh/instance-cpu, operator: In, values: ["2"]}`;

const limited = (release: string, cpu: number) => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: "${cpu}"}
  template: ${twoCores(release)}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never, budgets: [{nodes: "100%"}]}
`;

describe("a drifted node whose pods a PodDisruptionBudget lets go one after the other, in a pool at its limits", () => {
  it("is kept, with an event, while a pending pod would take its pods' room, and is removed once all have room", async () => {
    world = await openWorld({ provider: "kwok" });
    await world.apply(CLUSTER.split("---")[0] as string);
    await world.apply(limited("first", 2));
    await world.apply(GUARDED);
    const running = async (app: string) => {
      const pods = await world.list<Pod>("Pod", "v1", `app=${app}`);
      return pods.filter(({ status }) => status?.phase === "Running").length;
    };
    const claims = async () =>
      (await world.list("NodeClaim", "karpenter.sh/v1")).map(({ metadata }) => metadata.name);
    await world.until("they run", async () => (await running("web")) === 2);
    await world.scale("others", 2);
    await world.advance(60_000);
    const before = await claims();
    await world.apply(limited("next", 2));
    await world.advance(15 * 60_000);
    expect([await claims(), await running("web")]).toEqual([before, 2]);
    const told = await world.list<Event>("Event", "v1");
    const why =
      /^pod "default\/others-.*" waits because .* "default\/web-.*" must have before it may go$/i;
    expect(
      told.some(({ reason, message }) => reason === "DisruptionBlocked" && why.test(message)),
    ).toBe(true);
    expect(onPool(told)).toEqual([
      expect.stringMatching(
        /^Node .* is not disrupted for disruption reason Drifted: pod ".*others/,
      ),
    ]);
    await world.apply(limited("next", 6));
    await world.until("all others run", async () => (await running("others")) === 2, 300_000);
    await world.until(
      "it is gone",
      async () => !(await claims()).includes(before[0] as string),
      600_000,
    );
    await world.until("they run again", async () => (await running("web")) === 2, 300_000);
  });
});

describe("a deleted node whose pod is covered by two PodDisruptionBudgets", () => {
  it("gets no replacement: the eviction API never evicts such a pod, so a new node would stand idle", async () => {
    world = await openWorld({ provider: "kwok" });
    const second = CLUSTER.split("---")[2]?.replace("{name: web}", "{name: others}") ?? "";
    const both = `${CLUSTER}---${second}`.replaceAll("maxUnavailable: 0", "maxUnavailable: 1");
    await world.apply(both);
    await world.apply(pool("first").replace("terminationGracePeriod: 5m", ""));
    await world.until("the pod runs", async () => (await homeOf()) !== undefined);
    const home = (await homeOf()) as string;
    await world.remove("Node", home, "v1");
    await world.advance(3 * 60_000);
    expect(await world.list("NodeClaim", "karpenter.sh/v1")).toHaveLength(1);
    await world.remove("PodDisruptionBudget", "others", "policy/v1");
    await world.until(
      "the pod runs elsewhere",
      async () => ![undefined, home].includes(await homeOf()),
      300_000,
    );
  });
});

const replicated = (release: string, nodes: number) => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  replicas: 2
  limits: {nodes: "${nodes}"}
  template: ${twoCores(release)}
  disruption: {budgets: [{nodes: "100%"}]}
`;

describe("a drifted node of a static pool that its limits keep from having one more", () => {
  it("is kept, with an event, while its drain could not end, and is replaced once the limits allow one node more", async () => {
    const flags = { "feature-gates": "StaticCapacity=true,TerminateFirstDrift=true" };
    world = await openWorld({ provider: "kwok", flags });
    await world.apply(CLUSTER.split("---")[0] as string);
    await world.apply(replicated("first", 2));
    await world.apply(GUARDED);
    await world.scale("web", 4);
    const running = async () => {
      const pods = await world.list<Pod>("Pod", "v1", "app=web");
      return pods.filter(({ status }) => status?.phase === "Running").length;
    };
    const releases = async () => {
      const nodes = await world.list("Node", "v1", "karpenter.sh/nodepool=default");
      return nodes.map(({ metadata: { labels = {}, deletionTimestamp } }) =>
        deletionTimestamp === undefined ? labels["release"] : "leaving",
      );
    };
    await world.until("they run", async () => (await running()) === 4);
    await world.advance(30_000);
    await world.apply(replicated("next", 2));
    await world.advance(5 * 60_000);
    expect([await releases(), await running()]).toEqual([["first", "first"], 4]);
    const told = await world.list<Event>("Event", "v1");
    const why = /^Limits.nodes leaves no room .* pod "default\/web-.*" may go only once another/;
    expect(
      told.some(({ reason, message }) => reason === "DisruptionBlocked" && why.test(message ?? "")),
    ).toBe(true);
    // One event on the NodePool for both of its nodes.
    expect(onPool(told)).toEqual([
      expect.stringMatching(
        /^Node .* is not disrupted for disruption reason Drifted: limits.nodes/,
      ),
    ]);
    await world.apply(replicated("next", 3));
    const isNew = async () => (await releases()).every((release) => release === "next");
    await world.until("all are new", isNew, 900_000);
    await world.until("they run again", async () => (await running()) === 4, 300_000);
  });
});

/** Messages of the NodePool's DisruptionBlocked events. */
const onPool = (told: readonly Event[]) =>
  told
    .filter(
      ({ reason, involvedObject }) =>
        reason === "DisruptionBlocked" && involvedObject.kind === "NodePool",
    )
    .map(({ message }) => message);

async function homeOf(): Promise<string | undefined> {
  const pods = await world.list<Pod>("Pod", "v1", "app=web");
  return pods.find(({ status }) => status?.phase === "Running")?.spec.nodeName;
}
