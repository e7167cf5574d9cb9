/**
 * The overhead that a RuntimeClass adds to templated pods: `karpenter plan` and the controller count it alike,
 * before such a pod exists.
 */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { BoxOptions } from "../src/cli/sandbox/box.ts";
import { openWorld, type TestWorld } from "./world.ts";

const INPUT = readFileSync("test/fixtures/plans/runtime-class-daemon.yaml", "utf8");

let world: TestWorld;
afterEach(() => world?.close());

async function typesLaunched(input: string, flags: BoxOptions["flags"] = {}) {
  world = await openWorld({ provider: "kwok", logLevel: "info", flags });
  await world.apply(input);
  await world.advance(30_000);
  const nodes = await world.list("Node", "v1", "karpenter.sh/nodepool=default");
  return nodes.map(({ metadata }) => metadata.labels?.["node.kubernetes.io/instance-type"]);
}

describe("the overhead of a RuntimeClass", () => {
  it("is added for a daemon that has no pod yet", async () => {
    expect(await typesLaunched(INPUT)).toEqual(["c-4x-amd64-linux"]);
  });

  it("is not added for a daemon that does not name it", async () => {
    const plain = INPUT.replace("      runtimeClassName: gvisor\n", "");
    expect(await typesLaunched(plain)).toEqual(["c-2x-amd64-linux"]);
  });

  it("is added for the pods of a CapacityBuffer", async () => {
    const [classes] = INPUT.split("apiVersion: apps/v1");
    const buffer = `
apiVersion: v1
kind: PodTemplate
metadata: {name: room, namespace: default}
template:
  spec:
    runtimeClassName: gvisor
    nodeSelector: {karpenter.sh/nodepool: default}
    containers: [{name: app, image: pause, resources: {limits: {cpu: 1500m}}}]
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: default}
spec: {podTemplateRef: {name: room}, replicas: 1}
`;
    const flags = { "feature-gates": "CapacityBuffer=true" };
    expect(await typesLaunched(classes + buffer, flags)).toEqual(["c-4x-amd64-linux"]);
  });
});
