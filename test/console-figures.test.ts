/**
 * The figures of the console's views on random clusters equal what the controller's metrics, `karpenter explain` and
 * the objects themselves say at the same moment.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { podRequests } from "../src/apis/core/pod-resources.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { parseNano } from "../src/base/quantity.ts";
import { Random } from "../src/base/random.ts";
import type { ConsoleScene } from "../src/console/source.ts";
import { costsView } from "../src/console/views/costs.ts";
import { moneyView } from "../src/console/views/money.ts";
import { poolsView } from "../src/console/views/pools.ts";
import { waitingView } from "../src/console/views/waiting.ts";
import { sourceOf } from "./console-scene.ts";
import { ROOT } from "./tidy/sources.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

let world: TestWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const NAMESPACES = ["shop", "ads", "default"];

/** Deployments of random sizes in three namespaces, pods that fit nowhere, and a budget that may be closed. */
async function randomWorld(seed: number): Promise<TestWorld> {
  const random = new Random(`figures/${seed}`);
  const below = (count: number): number => random.uint32() % count;
  const opened = await openWorld({ isAsked: true, sells: isUsual });
  const budget = ["0", "1", "50%"][below(3)];
  const pool = readFileSync(join(ROOT, "examples/v1/nodepool.yaml"), "utf8")
    .replace("cpu: 2000", `cpu: ${40 + below(60)}\n    memory: ${200 + below(300)}Gi`)
    .replace("consolidationPolicy: WhenEmpty", "consolidationPolicy: WhenEmptyOrUnderutilized")
    .replace('nodes: "100%"', `nodes: "${budget}"`);
  await opened.apply(pool);
  for (const name of NAMESPACES.slice(0, 2))
    await opened.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } } as KubeObject);
  for (let index = 0; index < 5; index++) {
    const requests = { cpu: `${100 + below(20) * 100}m`, memory: `${128 + below(20) * 128}Mi` };
    await opened.apply(
      deploymentOf(`app-${index}`, NAMESPACES[below(3)] as string, {
        replicas: 1 + below(6),
        requests,
      }),
    );
  }
  await opened.advance(120_000);
  for (let index = 0; index <= below(3); index++)
    await opened.apply(podOf(`giant-${index}`, { cpu: "9000" }));
  await opened.apply(podOf("far", { cpu: "1" }, { "topology.kubernetes.io/zone": "mars-1a" }));
  await opened.advance(60_000);
  return opened;
}

function deploymentOf(
  name: string,
  namespace: string,
  { replicas, requests }: { readonly replicas: number; readonly requests: object },
): KubeObject {
  const labels = { app: name };
  const spec = { containers: [{ name: "main", image: "main", resources: { requests } }] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  } as KubeObject;
}

function podOf(name: string, requests: object, nodeSelector: object = {}): KubeObject {
  const containers = [{ name: "main", image: "main", resources: { requests } }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { containers, nodeSelector },
  } as KubeObject;
}

/** The values of a gauge by its other label, for the NodePool `default`. */
function gaugeOf(text: string, name: string, label: string): ReadonlyMap<string, number> {
  const lines = text.split("\n").filter((line) => line.startsWith(`karpenter_${name}{`));
  return new Map(
    lines.map((line) => {
      const value = new RegExp(`${label}="([^"]*)"`).exec(line)?.[1] ?? "";
      return [value, Number(line.split(" ").at(-1))];
    }),
  );
}

function amountOf(quantity: string | number): number {
  return Number(parseNano(quantity)) / 1e9;
}

async function poolsAgree(scene: ConsoleScene, text: string, of: TestWorld): Promise<void> {
  const [pool] = [...poolsView(await of.during(scene.pools())).rows.values()];
  const limits = gaugeOf(text, "nodepools_limit", "resource_type");
  const usage = gaugeOf(text, "nodepools_usage", "resource_type");
  expect(pool?.limits.map(({ resource }) => resource)).toEqual(["cpu", "memory"]);
  for (const { resource, used, limit } of pool?.limits ?? []) {
    expect(amountOf(limit)).toBe(limits.get(resource));
    expect(amountOf(used)).toBeCloseTo(usage.get(resource) ?? -1, 3);
  }
  const allowed = gaugeOf(text, "nodepools_allowed_disruptions", "reason");
  for (const { reason, allowed: now } of pool?.disruptions ?? [])
    expect([reason, now]).toEqual([reason, allowed.get(reason.toLowerCase())]);
  for (const { reason, spans } of pool?.week ?? [])
    expect([reason, spans[0]?.allowed]).toEqual([reason, allowed.get(reason.toLowerCase())]);
}

/** The price of each namespace, worked out anew: each node's price, shared by the mean of its pods' shares. */
async function pricesOf(of: TestWorld, scene: ConsoleScene): Promise<Map<string, number>> {
  const { nodes } = await of.during(scene.fleet());
  const pods = (await of.list<Pod>("Pod", "v1")).filter(({ spec }) => spec.nodeName !== undefined);
  const objects = new Map(
    (await of.list<Node>("Node", "v1")).map((one) => [one.metadata.name, one]),
  );
  const prices = new Map<string, number>();
  for (const { name, priceMicroUsdPerHour: price } of nodes) {
    if (price === undefined) continue;
    const there = objects.get(name)?.status?.allocatable ?? {};
    const weight = (pod: Pod): number =>
      (["cpu", "memory"] as const)
        .map(
          (resource) =>
            (podRequests(pod)[resource] ?? 0) /
            (resource === "cpu" ? 1_000 : 1) /
            amountOf(there[resource] ?? "1"),
        )
        .reduce((a, b) => a + b, 0);
    const here = pods.filter(({ spec }) => spec.nodeName === name);
    const sum = here.reduce((all, pod) => all + weight(pod), 0);
    for (const pod of here) {
      const namespace = sum === 0 ? "" : (pod.metadata.namespace ?? "default");
      prices.set(namespace, (prices.get(namespace) ?? 0) + (price * weight(pod)) / sum);
    }
  }
  return prices;
}

async function moneyAgrees(scene: ConsoleScene, text: string, of: TestWorld): Promise<void> {
  const { head, rows } = moneyView(await of.during(scene.fleet()));
  const total = gaugeOf(text, "nodepools_cost_total", "nodepool").get("default") ?? 0;
  expect(head.priceMicroUsdPerHour / 1e6).toBeCloseTo(total, 6);
  expect(total).toBeGreaterThan(0);
  const costs = [...costsView(await of.during(scene.costs()), []).rows.values()];
  const wanted = await pricesOf(of, scene);
  for (const [namespace, price] of wanted) {
    const shown = costs.filter((one) => one.namespace === namespace);
    const sum = shown.reduce((all, { microUsdPerHour }) => all + microUsdPerHour, 0);
    // Each part of a node's price is rounded to a micro-dollar.
    expect(Math.abs(sum - price), namespace).toBeLessThan(200);
  }
  const idle = (all: readonly { readonly idleMicroUsdPerHour: number }[]) =>
    all.reduce((sum, one) => sum + one.idleMicroUsdPerHour, 0);
  expect(Math.abs(idle(costs) - idle([...rows.values()]))).toBeLessThan(200);
}

async function waitingAgrees(scene: ConsoleScene, text: string, of: TestWorld): Promise<void> {
  const fleet = await of.during(scene.fleet());
  const unplaced = await of.during(scene.unplaced());
  const { head, rows } = waitingView(fleet, unplaced);
  const waits = (await of.list<Pod>("Pod", "v1")).filter(
    ({ spec, metadata }) => spec.nodeName === undefined && metadata.deletionTimestamp === undefined,
  );
  expect(head.pods).toBe(waits.length);
  const stuck = [...rows.values()].filter(({ waitingFor }) => waitingFor === "nothing");
  const count = stuck.reduce((sum, { pods }) => sum + pods, 0);
  const gauge = gaugeOf(text, "scheduler_unschedulable_pods_count", "controller");
  expect(count).toBe(gauge.get("provisioner"));
  expect(stuck.length).toBeGreaterThan(1);
  for (const { says, examples } of stuck) {
    const [namespace = "", name = ""] = (examples[0] ?? "").split("/");
    const why = await of.during(scene.explain({ kind: "pod", name, namespace }));
    expect((why as { says: string }).says).toContain(says);
  }
}

it.each([1, 2, 3])(
  "money, waiting causes, limits and budgets equal metrics and explain (cluster %i)",
  async (seed) => {
    world = await randomWorld(seed);
    const source = sourceOf(world);
    const close = source.open();
    try {
      const scene = await world.during(source.scene());
      const text = await world.during(world.box.operator.metrics.render());
      await poolsAgree(scene, text, world);
      await moneyAgrees(scene, text, world);
      await waitingAgrees(scene, text, world);
    } finally {
      close();
    }
  },
  240_000,
);
