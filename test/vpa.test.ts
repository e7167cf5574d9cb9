/**
 * VerticalPodAutoscalers: the controller counts what they recommend, if a setting asks for that and the kind
 * exists. `plan` and the console's What if count the same.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Plan } from "../src/cli/plan/plan.ts";
import { runPlan } from "../src/cli/plan/run-plan.ts";
import { WAITS, withScene } from "./console-scene.ts";
import { PLAN_FLAGS } from "./plan-flags.ts";
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
const SMALL = "c-2x-amd64-linux";
const LARGE = "c-4x-amd64-linux";

let world: TestWorld;
afterEach(() => world?.close());

async function typesLaunched(input: readonly string[], reads: string) {
  const flags = { "read-vpa-recommendations": reads };
  world = await openWorld({ provider: "kwok", logLevel: "info", isAsked: true, flags });
  for (const text of input) {
    await world.apply(text);
    await world.advance(120_000);
  }
  const nodes = await world.list("Node", "v1", "karpenter.sh/nodepool=default");
  return nodes.map(({ metadata }) => metadata.labels?.["node.kubernetes.io/instance-type"]);
}

async function typesPlanned(input: readonly string[], reads: boolean) {
  const folder = await mkdtemp(join(tmpdir(), "karpenter-vpa-"));
  try {
    const file = join(folder, "input.yaml");
    await writeFile(file, input.join("\n---\n"));
    const said = { out: "", notes: "" };
    await runPlan(
      {
        ...PLAN_FLAGS,
        filename: [file],
        ...(reads ? { readVpaRecommendations: true } : {}),
      },
      { out: (text) => (said.out += text), err: (text) => (said.notes += text) },
    );
    const { newNodeClaims }: Plan = JSON.parse(said.out);
    return { types: newNodeClaims.map(({ cheapest }) => cheapest.instanceType), notes: said.notes };
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("a VerticalPodAutoscaler of a DaemonSet", () => {
  it("is applied to new nodes by the controller, by plan and by What if", async () => {
    const input = [CRD, AUTOSCALER, INPUT];
    expect(await typesLaunched(input, "true")).toEqual([LARGE]);
    expect((await typesPlanned(input, true)).types).toEqual([LARGE]);
    const [node] = await world.list("Node", "v1", "karpenter.sh/nodepool=default");
    const nodes = [node?.metadata.name ?? ""];
    const supposition = { nodes, zones: [], consolidate: false };
    const answer = (await withScene(world, (scene) => scene.simulate(supposition, WAITS))) as {
      readonly steps: readonly {
        readonly launched: readonly { readonly instanceType: string }[];
      }[];
    };
    const launched = answer.steps.flatMap((step) => step.launched);
    expect(launched.map(({ instanceType }) => instanceType)).toEqual([LARGE]);
  });

  it("is ignored by default", async () => {
    const input = [CRD, AUTOSCALER, INPUT];
    expect(await typesLaunched(input, "false")).toEqual([SMALL]);
    const planned = await typesPlanned(input, false);
    expect(planned.types).toEqual([SMALL]);
    expect(planned.notes).toContain("VerticalPodAutoscalers have no effect");
  });

  it("causes no warning if its kind is not installed", async () => {
    expect(await typesLaunched([INPUT], "true")).toEqual([SMALL]);
    expect(world.log().filter((line) => line.includes("VerticalPodAutoscaler"))).toEqual([]);
  });
});
