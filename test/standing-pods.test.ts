/** What Karpenter logs about pods that can never be placed: once, again when something changes, and hourly. */
import { expect, it } from "vitest";
import type { KubeObject } from "../src/apis/meta.ts";
import { openWorld } from "./world.ts";

function pod(name: string, cpu: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { containers: [{ name: "c", image: "x", resources: { requests: { cpu } } }] },
  } as KubeObject;
}

it("an unschedulable pod is reported once, again when something changes, and once an hour", async () => {
  const world = await openWorld({ provider: "kwok" });
  for (const object of [
    {
      apiVersion: "karpenter.kwok.sh/v1alpha1",
      kind: "KWOKNodeClass",
      metadata: { name: "default" },
    },
    {
      apiVersion: "karpenter.sh/v1",
      kind: "NodePool",
      metadata: { name: "default" },
      spec: {
        limits: { cpu: "100" },
        template: {
          spec: {
            nodeClassRef: { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" },
            requirements: [{ key: "kubernetes.io/os", operator: "In", values: ["linux"] }],
          },
        },
      },
    },
    pod("huge", "5000"),
  ])
    await world.apply(object as KubeObject);
  const since = (from: number) =>
    world
      .log()
      .slice(from)
      .filter((line) => /provisioner/.test(line));
  await world.advance(60_000);
  const first = since(0);
  expect(first.filter((line) => line.includes("could not schedule pod"))).toHaveLength(1);
  expect(first.filter((line) => line.includes("found provisionable"))).toHaveLength(1);
  let from = world.log().length;
  await world.advance(50 * 60_000);
  expect(since(from)).toEqual([]);
  await world.advance(15 * 60_000);
  expect(since(from).filter((line) => line.includes("could not schedule pod"))).toHaveLength(1);
  from = world.log().length;
  await world.apply(pod("other", "6000"));
  await world.advance(60_000);
  const news = since(from).filter((line) => line.includes("could not schedule pod"));
  expect(news).toHaveLength(1);
  expect(news[0]).toContain("default/other");
  await world.close();
});
