/**
 * What the trace says about drains and consolidations of a whole cluster. The transcripts of `examples` show all
 * other lines.
 */
import { describe, expect, it } from "vitest";
import { NODE } from "../src/apis/core/node.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { openWorld, type TestWorld } from "./world.ts";

const POOL = {
  apiVersion: "karpenter.sh/v1",
  kind: "NodePool",
  metadata: { name: "default" },
  spec: {
    disruption: { consolidationPolicy: "WhenEmpty", consolidateAfter: "30s" },
    template: {
      spec: {
        nodeClassRef: { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" },
        requirements: [
          { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
        ],
      },
    },
  },
};
const CLASS: KubeObject = {
  apiVersion: "karpenter.kwok.sh/v1alpha1",
  kind: "KWOKNodeClass",
  metadata: { name: "default" },
};

function deployment(replicas: number): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "c", image: "x", resources: { requests: { cpu: "3" } } }] },
      },
    },
  } as KubeObject;
}

async function withNode(): Promise<{ world: TestWorld; node: string }> {
  const world = await openWorld({ provider: "kwok" });
  for (const object of [CLASS, POOL, deployment(1)]) await world.apply(object);
  const said = () => world.trace.find((line) => /karpenter {2}initialized/.test(line));
  await world.until("a node is ready", () => said() !== undefined);
  const node = (said() ?? "").trim().split(/ +/).at(-1) ?? "";
  await world.until("the pod runs", () => world.trace.some((line) => line.includes(`on ${node}`)));
  return { world, node };
}

describe("the trace of the sandbox", () => {
  it("names a single pod by its own name, and shows prices of what kwok launches", async () => {
    const { world } = await withNode();
    expect(world.trace.join("\n")).toMatch(/running +pod default\/web-[a-z0-9]+-[a-z0-9]{5} /);
    expect(world.trace.join("\n")).toMatch(/launched +nodeclaim .* \$\d+\.\d{4}\/h/);
    await world.close();
  });

  it("has no warning for a usual drain, and one for a drain that takes long", async () => {
    const { world, node } = await withNode();
    await world.apply({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "web", namespace: "default" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
    } as KubeObject);
    await world.client.delete(NODE, { name: node });
    const warnings = () => world.trace.filter((line) => line.includes("FailedDraining"));
    await world.advance(60_000);
    expect(world.trace.some((line) => line.includes(`draining     node ${node}`))).toBe(true);
    expect(warnings()).toEqual([]);
    await world.advance(600_000);
    expect(warnings()).toHaveLength(1);
    await world.close();
  });

  it("shows what a consolidation saves", async () => {
    const { world } = await withNode();
    await world.apply(deployment(0));
    await world.until("it is removed", () =>
      world.trace.some((line) =>
        /deleting .* removes 1 node, saves \$\d+\.\d{4}\/h {2}\(Empty\)/.test(line),
      ),
    );
    await world.close();
  });
});
