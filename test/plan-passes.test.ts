/**
 * Batches that the controller plans in several passes: `karpenter plan` shows what is launched in the end, not
 * only in the first pass.
 */
import { describe, expect, it } from "vitest";
import { runExplain } from "../src/cli/answers/run-explain.ts";
import type { Plan } from "../src/cli/plan/plan.ts";
import { type PlanFlags, runPlan } from "../src/cli/plan/run-plan.ts";
import { keepsToSchema, pageSchema } from "../src/testing/page-schema.ts";
import { PLAN_FLAGS } from "./plan-flags.ts";

const FIXTURES = "test/fixtures/plans";
interface Planned {
  readonly plan: Plan;
  readonly notes: string;
  readonly exitCode: number;
}

async function planned(file: string, flags: Partial<PlanFlags> = {}): Promise<Planned> {
  const said = { out: "", err: "" };
  const exitCode = await runPlan(
    { ...PLAN_FLAGS, filename: [`${FIXTURES}/${file}`], ...flags },
    { out: (text) => (said.out += text), err: (text) => (said.err += text) },
  );
  return { plan: JSON.parse(said.out), notes: said.err, exitCode };
}

/** The number of nodes for each capacity type and zone. */
function launchedBy({ newNodeClaims }: Plan): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { cheapest } of newNodeClaims) {
    const where = `${cheapest.capacityType}/${cheapest.zone}`;
    counts[where] = (counts[where] ?? 0) + 1;
  }
  return counts;
}

const RESERVED = { "reserved/a": 2, "reserved/b": 2, "reserved/c": 2 };
const TYPES = { instanceTypes: `${FIXTURES}/reserved-types.json` };

describe("a plan of one pass", () => {
  it("adds a RuntimeClass's overhead to a daemon that has no pod yet", async () => {
    const { plan } = await planned("runtime-class-daemon.yaml");
    const types = plan.newNodeClaims.map(({ cheapest }) => cheapest.instanceType);
    expect(types).toEqual(["c-4x-amd64-linux"]);
  });
});

describe("a plan of several passes", () => {
  it.each([
    ["reserved-64.yaml", 2],
    ["reserved-140.yaml", 12],
  ])("uses all reservations of %s before it uses on-demand", async (file, bought) => {
    const { plan, notes, exitCode } = await planned(file, TYPES);
    expect(launchedBy(plan)).toEqual({ ...RESERVED, "on-demand/a": bought });
    expect(plan.totals.priceMicroUsdPerHour).toBe(bought * 400_000);
    expect(plan.passes).toBe(4);
    expect(notes).toContain("planned in 4 passes");
    expect(exitCode).toBe(0);
    keepsToSchema(pageSchema("plan"), plan, { passes: 0 });
  });

  it("places no pods beyond a limit of nodes, and names one remedy for all of them", async () => {
    const { plan, exitCode } = await planned("node-limit.yaml");
    expect(plan.newNodeClaims.map(({ pods }) => pods.length)).toEqual([1, 1, 1]);
    const fixes = plan.unschedulable.map(({ fix }) => fix?.text);
    const raise = "raise spec.limits.nodes of NodePool capped from 3 to 5";
    expect(fixes).toEqual([raise, raise]);
    expect(exitCode).toBe(2);
  });

  it("counts the launched type against a limit of cores, not the largest permitted type", async () => {
    const { plan, exitCode } = await planned("cpu-limit.yaml");
    expect(plan.newNodeClaims.map(({ cheapest }) => cheapest.instanceType)).toEqual(
      Array.from({ length: 4 }, () => "c6g.large"),
    );
    expect(exitCode).toBe(0);
  });
});

describe("karpenter explain pod", () => {
  it("names the node that each pod gets after all passes", async () => {
    const { plan } = await planned("reserved-64.yaml", TYPES);
    const capacityTypes: string[] = [];
    for (const { pods } of plan.newNodeClaims) {
      const [namespace = "", name = ""] = (pods[0] ?? "").split("/");
      let text = "";
      await runExplain(
        ["pod", name],
        { ...TYPES, filename: [`${FIXTURES}/reserved-64.yaml`], namespace, output: "json" },
        { out: (more) => (text += more), err: () => undefined },
      );
      capacityTypes.push(JSON.parse(text).plan.launch.cheapest.capacityType);
    }
    // A single pass would put two nodes on the reservations and buy the others.
    expect(capacityTypes.filter((one) => one === "reserved").length).toBe(6);
  });
});
