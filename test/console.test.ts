/**
 * The console on a live cluster gives the same answers as the commands, writes nothing, and names what it may not
 * read.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { Pod } from "../src/apis/core/pod.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { explain, explainPools } from "../src/cli/answers/explain.ts";
import { pictureFrom, readObjects, readPicture } from "../src/cli/answers/read-picture.ts";
import { parseScales } from "../src/cli/answers/scales.ts";
import { modelOf, type Simulated, simulation } from "../src/cli/answers/simulate.ts";
import { supposedPicture } from "../src/cli/answers/suppose.ts";
import type { SupposedAnswer } from "../src/cli/console/suppositions.ts";
import { objectsOf as documentsOf } from "../src/cli/plan/documents.ts";
import { objectsOf } from "../src/cli/plan/sources.ts";
import type { ConsoleScene, Supposition } from "../src/console/source.ts";
import { createKubeClient } from "../src/kube/client/kube-client.ts";
import type { Transport } from "../src/kube/transport/transport.ts";
import { sourceOf, WAITS } from "./console-scene.ts";
import { ROOT } from "./tidy/sources.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

let world: TestWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function busyWorld(): Promise<TestWorld> {
  const opened = await openWorld({ isAsked: true, sells: isUsual });
  for (const file of ["v1/nodepool.yaml", "inflate.yaml"])
    await opened.apply(readFileSync(join(ROOT, "examples", file), "utf8"));
  await opened.scale("inflate", 7);
  await opened.until("7 pods run", async () => {
    const pods = await opened.list<Pod>("Pod", "v1", "app=inflate");
    return pods.filter(({ status }) => status?.phase === "Running").length === 7;
  });
  // No NodePool can ever have room for this pod, so it stays pending.
  await opened.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "giant", namespace: "default" },
    spec: {
      containers: [{ name: "giant", image: "giant", resources: { requests: { cpu: "9000" } } }],
    },
  } as KubeObject);
  return opened;
}

async function sceneOf(of: TestWorld, transport: Transport): Promise<ConsoleScene> {
  const source = sourceOf(of, transport);
  const close = source.open();
  try {
    return await of.during(source.scene());
  } finally {
    close();
  }
}

it("the console shows what explain and plan say of the same moment", async () => {
  world = await busyWorld();
  const { clock, box } = world;
  const scene = await sceneOf(world, box.sandbox.transport);
  const client = createKubeClient(box.sandbox.transport);
  const objects = await readObjects({ cluster: true }, async (_, further) => ({
    ...(await objectsOf(client, further)),
    nowMs: clock.now(),
  }));
  const read = await readPicture({}, objects);
  const pools = await world.during(scene.pools());
  const asExplained = pools.map(({ week: _, drifted: __, held, ...pool }) => ({
    ...pool,
    held: held.map(({ says: ___, ...block }) => block),
  }));
  expect(asExplained).toEqual(explainPools(read).items);
  expect(pools[0]?.week.map(({ spans }) => spans[0]?.allowed)).toEqual([1, 1, 1]);
  const ours = (await world.during(scene.fleet())).nodes.filter(({ state }) => state === "running");
  expect(ours.length).toBeGreaterThan(0);
  for (const { name, priceMicroUsdPerHour } of ours) {
    const wanted = explain(read, { subject: "node", name }, "default");
    const question = { kind: "node", name, namespace: "default" };
    expect(await world.during(scene.explain(question))).toEqual(wanted);
    expect(wanted).toMatchObject({ type: { priceMicroUsdPerHour } });
  }
  const node = ours[0]?.name ?? "";
  const supposition = { nodes: [node], zones: [], consolidate: false };
  expect(await world.during(scene.simulate(supposition, WAITS))).toMatchObject({
    before: { pendingPods: 1 },
    steps: [{ kind: "removal", removed: [node] }, {}],
  });
  const unplaced = await world.during(scene.unplaced());
  expect(unplaced.map(({ pod }) => pod)).toEqual(["default/giant"]);
  const why = explain(read, { subject: "pod", name: "giant" }, "default");
  expect(why.says).toContain(unplaced[0]?.reason);
  const { workloads, leastMicroUsdPerHour = 0 } = await world.during(scene.costs());
  const { priceMicroUsdPerHour: price } = (await world.during(scene.fleet())).totals;
  expect(workloads.reduce((sum, one) => sum + one.microUsdPerHour, 0)).toBe(price);
  const placed = (await world.list<Pod>("Pod", "v1", "app=inflate")).filter(({ spec }) =>
    ours.some(({ name }) => name === spec.nodeName),
  );
  const inflate = { namespace: "default", kind: "Deployment", name: "inflate" };
  expect(workloads).toContainEqual(expect.objectContaining({ ...inflate, pods: placed.length }));
  expect(price).toBeGreaterThan(0);
  expect(leastMicroUsdPerHour).toBeLessThanOrEqual(price);
  expect(leastMicroUsdPerHour).toBeGreaterThan(0);
});

it("the console shows a NodePool for editing with its owner's annotations, without Karpenter's", async () => {
  const example = readFileSync(join(ROOT, "examples/v1/nodepool.yaml"), "utf8");
  const annotations = `annotations:
    karpenter.sh/disruption-paused: "true"
    karpenter.sh/return-to-preferred: nodepool
    team: a
`;
  world = await openWorld({ isAsked: true, sells: isUsual });
  await world.apply(example.replace("metadata:\n  name: ", `metadata:\n  ${annotations}  name: `));
  await world.until("the controller wrote its annotations", async () => {
    const [pool] = (await world?.list("NodePool", "karpenter.sh/v1")) ?? [];
    return pool?.metadata.annotations?.["karpenter.sh/nodepool-hash"] !== undefined;
  });
  const { pools } = await (await sceneOf(world, world.box.sandbox.transport)).editable();
  const written = pools.map(({ yaml }) => / {2}annotations:\n(?: {4}.*\n)+/.exec(yaml)?.[0]);
  expect(written).toEqual([`  ${annotations}`]);
});

it("the console simulates edited NodePools, replicas and prices, and gives the command for a terminal", async () => {
  world = await busyWorld();
  const scene = await sceneOf(world, world.box.sandbox.transport);
  const { pools, workloads, types } = await scene.editable();
  expect(workloads).toContainEqual({ workload: "default/inflate", replicas: 7 });
  expect(types).toContain("m5.large");
  const [pool] = pools;
  expect(scene.poolProblems(pool?.yaml ?? "")).toEqual([]);
  expect(scene.poolProblems((pool?.yaml ?? "").replace("30s", "soon"))).toEqual([
    expect.stringMatching(/spec\.disruption\.consolidateAfter.*"soon"/),
  ]);
  const ask = (more: Partial<Supposition>) =>
    during(scene.simulate({ nodes: [], zones: [], consolidate: false, ...more }, WAITS));
  const { during } = world;
  const spot = (pool?.yaml ?? "").replace("- on-demand", "- spot");
  const edited = (await ask({ pools: spot, scales: ["default/inflate=12"] })) as SupposedAnswer;
  expect([edited.before.pods - edited.after.pods, edited.after.pendingPods]).toEqual([-5, 1]);
  expect(edited.commandLine).toBe(
    `karpenter simulate --nodepool-file - --scale default/inflate=12 <<'NODEPOOL'\n${spot}NODEPOOL\n`,
  );
  const launched = edited.steps.flatMap((step) => step.launched);
  expect(launched.length).toBeGreaterThan(0);
  expect(launched.map(({ capacityType }) => capacityType)).toEqual(launched.map(() => "spot"));
  const fewer = (await ask({ scales: ["default/inflate=1"] })) as SupposedAnswer;
  expect(edited).toMatchObject(await inTerminal(world, spot, "default/inflate=12"));
  expect(fewer).toMatchObject(await inTerminal(world, "", "default/inflate=1"));
  expect(fewer.before.pods - fewer.after.pods).toBe(6);
  expect(Object.keys(fewer.nodesAfter.set).length).toBeGreaterThan(0);
  const refused = (more: Partial<Supposition>) =>
    expect(scene.simulate({ nodes: [], zones: [], consolidate: false, ...more }, WAITS)).rejects;
  await refused({ scales: ["default/inflat=1"] }).toThrow("no Deployment default/inflat");
  await refused({ prices: ["m5.large=cheap"] }).toThrow("wanted TYPE=USD");
});

/** The answer of `karpenter simulate`, which reads the cluster again with the changed objects. */
async function inTerminal(of: TestWorld, pools: string, scale: string): Promise<Simulated> {
  const client = createKubeClient(of.box.sandbox.transport);
  const objects = await readObjects({ cluster: true }, async (_, further) => ({
    ...(await objectsOf(client, further)),
    nowMs: of.clock.now(),
  }));
  const before = await readPicture({}, objects);
  const changed = await supposedPicture(
    before,
    {
      pools: pools === "" ? [] : documentsOf("NodePool", pools),
      added: [],
      scales: parseScales([scale]),
    },
    {
      found: objects.found,
      ofObjects: (found) => readPicture({}, { ...objects, found }),
      ofManifests: (manifests) => pictureFrom({}, manifests, objects),
    },
  );
  const nothing = { removed: [], zones: [], consolidate: false, horizonMs: 0, repairs: false };
  return simulation(modelOf(before), modelOf(changed), nothing, changed.settings).answer;
}

it("the console's watches lead to the same objects as a new list, however the cluster changes", async () => {
  world = await busyWorld();
  const source = sourceOf(world, world.box.sandbox.transport);
  const close = source.open();
  try {
    for (const replicas of [30, 2]) {
      await world.scale("inflate", replicas);
      await world.clock.advance(40_000);
      const kept = await world.during(source.scene());
      const fresh = await sceneOf(world, world.box.sandbox.transport);
      expect(await world.during(kept.fleet())).toEqual(await world.during(fresh.fleet()));
      expect(await world.during(kept.unplaced())).toEqual(await world.during(fresh.unplaced()));
      expect(await world.during(kept.pools())).toEqual(await world.during(fresh.pools()));
    }
  } finally {
    close();
  }
}, 120_000);

it("the console writes nothing, and reads no Secret and of ConfigMaps only Karpenter's facts", async () => {
  world = await busyWorld();
  const asked: string[] = [];
  const { transport } = world.box.sandbox;
  await sceneOf(world, {
    send: (request) => {
      asked.push(`${request.method} ${request.path}`);
      return transport.send(request);
    },
    close: () => undefined,
  });
  expect(asked.length).toBeGreaterThan(20);
  expect(asked.filter((one) => !one.startsWith("GET "))).toEqual([]);
  expect(asked.filter((one) => one.includes("secrets"))).toEqual([]);
  const maps = asked.filter((one) => one.includes("configmaps"));
  expect(maps.filter((one) => !one.includes("karpenter-facts"))).toEqual([]);
});

it("the console names what it may not read, and shows the rest", async () => {
  world = await busyWorld();
  const { transport } = world.box.sandbox;
  const scene = await sceneOf(world, {
    send: async (request) =>
      /poddisruptionbudgets|persistentvolumes/.test(request.path)
        ? {
            status: 403,
            headers: {},
            body: { kind: "Status", status: "Failure", reason: "Forbidden", code: 403 },
          }
        : transport.send(request),
    close: () => undefined,
  });
  expect(scene.notes).toContain("left out, as reading them is forbidden: poddisruptionbudgets");
  expect((await world.during(scene.fleet())).totals.nodes).toBeGreaterThan(2);
});
