/**
 * Cases from bug reports about where pods may be placed: DaemonSets that run in some places only, pods that must
 * be near each other by a topology key, and limits. Each case has its manifests in test/fixtures/places.
 */
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Plan } from "../src/cli/plan/plan.ts";
import { type PlanFlags, runPlan } from "../src/cli/plan/run-plan.ts";
import { play } from "../src/cli/sandbox/play-scenario.ts";
import { readScenario } from "../src/cli/sandbox/story-file.ts";
import { PLAN_FLAGS } from "./plan-flags.ts";

const FOLDER = fileURLToPath(new URL("fixtures/places/", import.meta.url));

async function plan(files: readonly string[], more: Partial<PlanFlags> = {}): Promise<Plan> {
  let text = "";
  const flags: PlanFlags = {
    ...PLAN_FLAGS,
    filename: files.map((file) => FOLDER + file),
    plannerNodeCost: 0.02,
    plannerMinSaving: 2,
    plannerMinPods: 100,
    ...more,
  };
  const out = (some: string) => {
    text += some;
  };
  await runPlan(flags, { out, err: () => undefined });
  return JSON.parse(text) as Plan;
}

/** Type, zone and pods of each new node, and the pods without a place. */
async function outline(...files: readonly string[]): Promise<readonly string[]> {
  const { newNodeClaims, unschedulable } = await plan(files);
  const nodes = newNodeClaims.map(
    ({ cheapest, pods }) =>
      `${cheapest.instanceType} in ${cheapest.zone}: ${pods.map((pod) => pod.slice(pod.indexOf("/") + 1)).join(" ")}`,
  );
  return [...nodes, ...unschedulable.map(({ pod, reason }) => `${pod}: ${reason}`)];
}

function told(file: string) {
  const options = {
    seed: 1,
    provider: "aws",
    clusterName: "karpenter-demo",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    logLevel: "error",
    setting: [],
  } as const;
  return play(readScenario(FOLDER + file), FOLDER, options, () => undefined);
}

describe("daemons that run only in some places", () => {
  it("need no room beside a pod in another zone", async () => {
    expect(await outline("daemons-zonepin.yaml")).toEqual(["c6i.xlarge in us-east-1a: p1"]);
    expect(await outline("daemons-poolpin.yaml")).toEqual(["c6i.xlarge in us-east-1a: p1"]);
  });

  it("block no host port on nodes of another capacity type", async () => {
    expect(await outline("daemons-capport.yaml")).toEqual(["c6i.large in us-east-1a: broker"]);
  });

  it("need no room if the NodePool's label has another value", async () => {
    expect(await outline("daemons-custom.yaml")).toEqual(["c6i.large in us-east-1a: tier-a-pod"]);
  });
});

describe("limits of a NodePool", () => {
  it("are obeyed with two small nodes if one large node would use them up", async () => {
    const files = ["gpu-pools.yaml", "gpu-job.yaml"];
    expect(await outline(...files)).toEqual([
      "g6.2xlarge in us-east-1a: train-0",
      "g6.2xlarge in us-east-1a: train-1",
    ]);
  });
});

describe("a small pod that would make a planned node expensive", () => {
  it("gets a node of its own", async () => {
    const instanceTypes = `${FOLDER}dear-join-types.json`;
    const { newNodeClaims, totals } = await plan(["dear-join.json"], { instanceTypes });
    expect(totals).toMatchObject({ pods: 20, placed: 20 });
    // Upstream's plan costs 1,670,700 micro-USD an hour. In it, one pod turns a node of 104,249 into one of
    // 1,052,423.
    expect(totals.priceMicroUsdPerHour).toBeLessThan(1_300_000);
    const dearest = newNodeClaims.map(({ cheapest }) => cheapest.priceMicroUsdPerHour);
    expect(Math.max(...dearest)).toBeLessThan(350_000);
  });
});

describe("pods with affinity to each other", () => {
  it("are planned in the zone, or on the node, that all of them can use", async () => {
    for (const file of ["aff.yaml", "aff-sel.yaml", "aff-host.yaml", "aff-host-sel.yaml"])
      expect({ file, nodes: await outline(file) }).toEqual({
        file,
        nodes: ["c6i.xlarge in us-east-1c: stateless stateful"],
      });
    expect(await outline("aff-one.yaml")).toEqual(["c6i.xlarge in us-east-1c: stateful stateless"]);
  });

  it.each(["exp-story.yaml", "drift-story.yaml", "drift-c-story.yaml"])(
    "find places again when their node is replaced: %s",
    async (file) => {
      expect((await told(file)).broken).toEqual([]);
    },
    60_000,
  );
});
