/**
 * Plays the first days of `npm run fuzz -- calm`: random days of random clusters, checked by a witness. Also a proof
 * that the witness sees each fault: in a cluster without Karpenter, a stand-in does what Karpenter must not do.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/apis/meta.ts";
import { toRfc3339 } from "../../src/base/clock.ts";
import { isUsual, openWorld, type TestWorld } from "../world.ts";
import { play } from "./play.ts";
import type { PoolFacts } from "./pools.ts";
import { drawStory } from "./story.ts";
import { allowedNodes, isOpen } from "./windows.ts";
import { Witness } from "./witness.ts";

const QUICK = [1];

describe("a simulated day of a random cluster", () => {
  it.each(QUICK)("seed %i: shows no fault", async (seed) => {
    const { faults, steps } = await play(drawStory(seed));
    expect({ faults, again: `npm run fuzz -- calm --seed ${seed}` }).toMatchObject({ faults: [] });
    expect(steps).toBeGreaterThan(300);
  });
});

describe("the budgets that the witness computes", () => {
  const at = (text: string) => Date.parse(text);

  it.each([
    // Zurich is one hour ahead of UTC in winter, and two in summer.
    ["CRON_TZ=Europe/Zurich 0 9 * * *", "1h0m", "2026-01-05T08:30:00Z", true],
    ["CRON_TZ=Europe/Zurich 0 9 * * *", "1h0m", "2026-07-06T08:30:00Z", false],
    // 02:30 does not exist in the night when clocks are set forward, and exists twice when they are set back.
    ["CRON_TZ=Europe/Zurich 30 2 * * *", "10m0s", "2026-03-29T01:35:00Z", false],
    ["CRON_TZ=Europe/Zurich 30 2 * * *", "10m0s", "2026-10-25T00:35:00Z", true],
    ["CRON_TZ=Europe/Zurich 30 2 * * *", "10m0s", "2026-10-25T01:35:00Z", true],
    ["TZ=Asia/Kolkata 0 */2 * * *", "30m0s", "2026-01-05T08:45:00Z", true],
    ["15 1-3 * * *", "10m0s", "2026-01-05T04:16:00Z", false],
    // The window is closed one second before its start and at its end.
    ["0 8 * * *", "30m0s", "2026-01-05T08:29:59Z", true],
    ["0 8 * * *", "30m0s", "2026-01-05T08:30:00Z", false],
  ])("of a window from %s for %s allow disruption at %s: %s", (schedule, duration, time, open) => {
    expect(isOpen({ nodes: "0", schedule, duration }, at(time))).toBe(open);
  });

  it("follow the strictest budget for the reason, and are one in ten without any", () => {
    const budgets = [{ nodes: "50%" }, { nodes: "2", reasons: ["Drifted"] }];
    expect(allowedNodes(budgets, "Drifted", 10, 0)).toBe(2);
    expect(allowedNodes(budgets, "Empty", 9, 0)).toBe(5);
    expect(allowedNodes([], "Empty", 11, 0)).toBe(2);
  });
});

const POOL: PoolFacts = {
  name: "pool-0",
  generation: "v1",
  kind: { apiVersion: "karpenter.sh/v1", kind: "NodePool" },
  manifests: [],
  budgets: [{ nodes: "1" }],
  cpuLimit: 10,
  nodeLimit: undefined,
  expires: false,
  replicas: undefined,
  onlyEmpty: false,
  quietMs: 0,
};

describe("the witness of a simulated day", () => {
  let world: TestWorld;
  let witness: Witness;

  // A fresh cluster for each test, so that a witness does not see events of the previous test.
  beforeEach(async () => {
    world = await openWorld({ logLevel: "error", sells: isUsual });
    await world.box.operator.stop();
    for (const name of ["one", "two"]) {
      await world.apply(node(name));
      await world.apply(claim(name));
      await world.apply(pod(name));
      await status(name, { conditions: conditions() });
    }
    witness = new Witness({ world, pools: [POOL], troubled: () => false });
    await witness.synced();
  });
  afterEach(async () => {
    witness.close();
    await world.close();
  });

  const key = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
  const claim = (name: string) =>
    ({
      apiVersion: "karpenter.sh/v1",
      kind: "NodeClaim",
      metadata: { name, labels: { "karpenter.sh/nodepool": "pool-0" } },
      spec: { nodeClassRef: key, requirements: [] },
    }) as unknown as KubeObject;
  const node = (name: string) =>
    ({ apiVersion: "v1", kind: "Node", metadata: { name } }) as unknown as KubeObject;
  const pod = (name: string, nodeName = name, cpu = "0") =>
    ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: {
        nodeName,
        containers: [{ name: "c", image: "pause", resources: { requests: { cpu } } }],
      },
    }) as unknown as KubeObject;
  const conditions = (...types: readonly string[]) =>
    ["Launched", "Registered", "Initialized", ...types].map((type) => ({
      type,
      status: "True",
      reason: type === "DisruptionReason" ? "Drifted" : type,
      message: "",
      lastTransitionTime: toRfc3339(world.clock.now()),
    }));

  async function write(path: string, body: object): Promise<void> {
    await world.box.sandbox.transport.send({
      method: "PATCH",
      path,
      headers: { "content-type": "application/merge-patch+json" },
      body,
    });
    await world.clock.settle();
  }
  const status = (name: string, body: object) =>
    write(`/apis/karpenter.sh/v1/nodeclaims/${name}/status`, {
      status: { nodeName: name, capacity: { cpu: "4" }, ...body },
    });
  const send = (method: "POST" | "PATCH" | "DELETE", path: string) =>
    witness.sees({ method, path });

  it("accepts one disrupted node under a budget of one, and reports the second", async () => {
    await status("one", { conditions: conditions("DisruptionReason") });
    expect(witness.faults).toEqual([]);
    await status("two", { conditions: conditions("DisruptionReason") });
    expect(witness.faults.join()).toMatch(/2 nodes of pool-0 .* its budgets allow 1/);
  });

  it("reports a disrupted node whose pods have no place elsewhere", async () => {
    const labels = { metadata: { labels: { team: "pool-0" } } };
    for (const name of ["one", "two"]) {
      await write(`/api/v1/nodes/${name}`, labels);
      await write(`/api/v1/nodes/${name}/status`, { status: { allocatable: { cpu: "4" } } });
    }
    await world.apply(pod("big", "one", "3"));
    await world.advance(10_000);
    await status("one", { conditions: conditions("DisruptionReason") });
    expect(witness.faults).toEqual([]);
    await status("one", { conditions: conditions() });
    await world.apply(pod("other", "two", "2"));
    await world.advance(10_000);
    await status("one", { conditions: conditions("DisruptionReason") });
    expect(witness.faults.join()).toMatch(/its pods want .*3.* CPUs, other nodes have 2/);
    for (const name of ["big", "other"]) await world.remove("Pod", name);
  });

  it("reports a disrupted node of a paused pool, once the pause is known", async () => {
    witness.rules.pauses("pool-0", true);
    await status("one", { conditions: conditions("DisruptionReason") });
    expect(witness.faults).toEqual([]);
    await status("one", { conditions: conditions() });
    await world.advance(10_000);
    await status("one", { conditions: conditions("DisruptionReason") });
    expect(witness.faults.join()).toContain("one is disrupted as Drifted, pool-0 is paused");
  });

  it("reports a disrupted node with a pod that must not be disrupted", async () => {
    await world.apply({
      ...pod("one"),
      metadata: {
        name: "one",
        namespace: "default",
        annotations: { "karpenter.sh/do-not-disrupt": "true" },
      },
    });
    const startTime = toRfc3339(world.clock.now() - 60_000);
    await write("/api/v1/namespaces/default/pods/one/status", {
      status: { startTime, phase: "Running" },
    });
    await status("one", { conditions: conditions("DisruptionReason") });
    expect(witness.faults.join()).toContain("though one on it may not be");
    send("POST", "/api/v1/namespaces/default/pods/one/eviction");
    expect(witness.faults.join()).toContain("one is evicted, though it may not be disrupted");
    const labels = { app: "single" };
    await write("/api/v1/namespaces/default/pods/one", { metadata: { labels } });
    send("PATCH", "/apis/apps/v1/namespaces/default/deployments/single");
    expect(witness.faults.join()).toContain("single is rolled over, though one may not be");
  });

  it("reports pods evicted from a node that stays, and pods deleted beyond their budgets", () => {
    send("POST", "/api/v1/namespaces/default/pods/two/eviction");
    expect(witness.faults.join()).toContain("two is evicted from two, which does not leave");
    send("DELETE", "/api/v1/namespaces/default/pods/two");
    expect(witness.faults.join()).toContain("two is deleted past its budgets");
  });

  it("counts what one round of a loop costs: nodes created and pods evicted", async () => {
    const before = witness.made;
    await world.apply(claim("three"));
    await status("three", { conditions: conditions() });
    expect([witness.made, witness.evicted]).toEqual([before + 1, 0]);
    for (const name of ["moved", "deleted"]) await world.apply(pod(name));
    const path = "/api/v1/namespaces/default/pods/moved/eviction";
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "moved" } };
    const { status: code } = await world.box.sandbox.transport.send({ method: "POST", path, body });
    await world.remove("Pod", "deleted");
    await world.clock.settle();
    expect([code, witness.made, witness.evicted]).toEqual([201, before + 1, 1]);
    await world.remove("NodeClaim", "three", "karpenter.sh/v1");
  });

  it("reports an instance that ends under running pods, also on a day with false readings, when it checks nothing else", async () => {
    witness.isMisled = true;
    await write("/api/v1/nodes/one", { spec: { providerID: "aws:///us-west-2a/i-1" } });
    const labels = { app: "app-0" };
    await write("/api/v1/namespaces/default/pods/one", { metadata: { labels } });
    witness.ends(["i-1"]);
    expect(witness.faults).toEqual([]);
    const status = {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: toRfc3339(0) }],
    };
    await write("/api/v1/namespaces/default/pods/one/status", { status });
    witness.ends(["i-2"]);
    send("DELETE", "/apis/karpenter.sh/v1/nodeclaims/two");
    expect(witness.faults).toEqual([]);
    witness.ends(["i-1"]);
    expect(witness.faults.join()).toContain("i-1 is to end, though 1 pods run on one");
  });

  it("reports a claim deleted without a reason, and an exceeded limit", async () => {
    send("DELETE", "/apis/karpenter.sh/v1/nodeclaims/two");
    expect(witness.faults.join()).toContain("two is deleted, and nothing says why");
    witness.look();
    expect(witness.faults).toHaveLength(1);
    await status("one", { conditions: conditions(), capacity: { cpu: "8" } });
    witness.look();
    expect(witness.faults.join()).toContain("pool-0 has 12 CPUs, its limit is 10");
  });
});
