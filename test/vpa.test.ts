/** VerticalPodAutoscalers: the controller counts what they recommend, where that is asked for and the kind is there. */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { openWorld, type TestWorld } from "./world.ts";

const CRD = readFileSync("test/fixtures/vertical-pod-autoscaler.yaml", "utf8");
const INPUT = readFileSync("test/fixtures/plans/runtime-class-daemon.yaml", "utf8").replace(
  "      runtimeClassName: gvisor\n",
  "",
);
const AUTOSCALER = `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: agent, namespace: default}
spec: {targetRef: {apiVersion: apps/v1, kind: DaemonSet, name: agent}}
status: {recommendation: {containerRecommendations: [{containerName: main, target: {cpu: "2"}}]}}
`;

let world: TestWorld;
afterEach(() => world?.close());

async function typesLaunched(input: readonly string[], reads: string) {
  const flags = { "read-vpa-recommendations": reads };
  world = await openWorld({ provider: "kwok", logLevel: "info", flags });
  for (const text of input) {
    await world.apply(text);
    await world.advance(120_000);
  }
  const nodes = await world.list("Node", "v1", "karpenter.sh/nodepool=default");
  return nodes.map(({ metadata }) => metadata.labels?.["node.kubernetes.io/instance-type"]);
}

describe("a VerticalPodAutoscaler of a DaemonSet", () => {
  it("counts on new nodes", async () => {
    expect(await typesLaunched([CRD, AUTOSCALER, INPUT], "true")).toEqual(["c-4x-amd64-linux"]);
  });

  it("counts nothing by default", async () => {
    expect(await typesLaunched([CRD, AUTOSCALER, INPUT], "false")).toEqual(["c-2x-amd64-linux"]);
  });

  it("is not missed where the kind is not installed", async () => {
    expect(await typesLaunched([INPUT], "true")).toEqual(["c-2x-amd64-linux"]);
    expect(world.log().filter((line) => line.includes("VerticalPodAutoscaler"))).toEqual([]);
  });
});
