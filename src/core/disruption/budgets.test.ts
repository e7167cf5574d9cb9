import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import { atOnce } from "../../base/steps.ts";
import { nodeClaim, nodeView, pool } from "../../testing/builders.ts";
import type { NodeView } from "../state/node-view.ts";
import { allowancesFor, allowedDisruptions, brokenBudgets, isBudgetActive } from "./budgets.ts";

const MONDAY_9 = Date.UTC(2026, 0, 5, 9, 0, 0);
const MINUTE = 60_000;

function withBudgets(...budgets: Budget[]) {
  const base = pool();
  return pool({ disruption: { ...base.disruption, budgets } });
}

function view(name: string, options: { deleting?: boolean } = {}) {
  const labels = { "karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true" };
  return nodeView({
    node: { name, labels: { ...labels, "karpenter.sh/registered": "true" } },
    claim: nodeClaim({ name, status: { providerID: `test://${name}`, nodeName: name } }),
    deleting: options.deleting ?? false,
  });
}

const allowed = (pools: Pool[], nodes: NodeView[], clusterBudgets: Budget[] = []) =>
  atOnce(allowancesFor({ pools, nodes, reason: "Empty", nowMs: MONDAY_9, clusterBudgets }));

describe("disruption budgets", () => {
  it.each([
    [[{ nodes: "10%" }], 1],
    [[{ nodes: "100%" }], 5],
    [[{ nodes: "0" }], 0],
    [[{ nodes: "3" }, { nodes: "50%" }], 3],
    [[{ nodes: "1", reasons: ["Drifted"] }], 2 ** 31 - 1],
    [[{ nodes: "1", reasons: ["Empty"] }, { nodes: "50%" }], 1],
    [[{ nodes: "0", reasons: [] }], 2 ** 31 - 1],
    [[], 2 ** 31 - 1],
    [[{ nodes: "many" }], undefined],
    [[{ nodes: "1", schedule: "nonsense", duration: "1h" }], undefined],
  ] as [Budget[], number | undefined][])("%j allow %s of 5 empty nodes", (budgets, expected) => {
    expect(allowedDisruptions(budgets, { reason: "Empty", nodes: 5, nowMs: MONDAY_9 })).toBe(
      expected,
    );
  });

  it("activates a scheduled budget at its schedule and ends it after its duration", () => {
    const budget = { nodes: "0", schedule: "0 9 * * mon-fri", duration: "8h" };
    const at = (ms: number) => isBudgetActive(budget, MONDAY_9 + ms);
    expect(at(-MINUTE)).toBe(false);
    expect(at(0)).toBe(true);
    expect(at(8 * 60 * MINUTE - MINUTE)).toBe(true);
    expect(at(8 * 60 * MINUTE)).toBe(false);
    expect(at(5 * 24 * 60 * MINUTE)).toBe(false);
  });

  it("gives the same answer for a time, in any order of questions", () => {
    const fields = { nodes: "0", schedule: "CRON_TZ=Europe/Zurich 30 */5 * * *", duration: "50m" };
    const asked = { ...fields };
    for (let n = 0; n < 40; n++) {
      const ms = MONDAY_9 + ((n * 7_919) % 4_000) * MINUTE;
      expect(isBudgetActive(asked, ms)).toBe(isBudgetActive({ ...fields }, ms));
    }
  });

  it("counts nodes that are being deleted against the budget", () => {
    const nodes = [view("a", { deleting: true }), view("b"), view("c")];
    const owner = withBudgets({ nodes: "50%" });
    const found = allowed([owner], nodes).get(owner.id);
    expect(found).toMatchObject({ nodes: 3, disrupting: 1, allowed: 1, atOnce: 2 });
    const ofAll = allowed([owner], nodes, [{ nodes: "1" }]).get(owner.id);
    expect(ofAll).toMatchObject({ allowed: 0, atOnce: 1 });
  });

  it("counts nodes that are not ready against the budget", () => {
    const { node, ...rest } = view("a");
    const down = { ...rest, node: { ...(node as Node), status: {} } };
    const owner = withBudgets({ nodes: "2" });
    const found = allowed([owner], [down, view("b"), view("c")]).get(owner.id);
    expect(found).toMatchObject({ nodes: 3, disrupting: 1, allowed: 1 });
  });

  it("applies the cluster's budgets to all pools, and the stricter budget counts", () => {
    const nodes = [view("a", { deleting: true }), view("b"), view("c")];
    const generous = withBudgets({ nodes: "100%" });
    const other = pool({ name: "other", id: "NodePool/other" });
    const found = allowed([generous, other], nodes, [{ nodes: "2" }]);
    const everywhere = { nodes: 3, disrupting: 1, allowed: 1 };
    expect(found.get(generous.id)).toMatchObject({ disrupting: 1, allowed: 1, everywhere });
    expect(found.get("NodePool/other")).toMatchObject({ nodes: 0, everywhere });
    const shut = allowed([generous], nodes, [
      { nodes: "0", schedule: "0 9 * * *", duration: "1h" },
    ]);
    expect(shut.get(generous.id)?.allowed).toBe(0);
  });

  it("allows nothing in a pool with an invalid budget", () => {
    const owner = withBudgets({ nodes: "100%" }, { nodes: "5", schedule: "x", duration: "1h" });
    expect(allowed([owner], [view("a")]).get(owner.id)?.allowed).toBe(0);
    // An invalid budget blocks disruption for every reason, because it is not clear what the user meant.
    const ofAnother = { nodes: "5", schedule: "x", duration: "1h", reasons: ["Drifted" as const] };
    const other = withBudgets({ nodes: "100%" }, ofAnother);
    expect(allowed([other], [view("a")]).get(other.id)?.allowed).toBe(0);
  });

  it("names an invalid budget field with its value", () => {
    const broken = (budget: Budget) => brokenBudgets([{ nodes: "1" }, budget]);
    expect(broken({ nodes: "10%" })).toBeUndefined();
    expect(broken({ nodes: "ten" })).toBe(
      'spec.disruption.budgets[1].nodes: "ten" is neither a count nor a percentage; write one such as 5 or 10%',
    );
    expect(broken({ nodes: "1", schedule: "at noon", duration: "1h" })).toBe(
      'spec.disruption.budgets[1].schedule: "at noon" cannot be read: it has 2 fields where five are wanted: minute, hour, day of the month, month, day of the week',
    );
    expect(broken({ nodes: "1", schedule: "@daily", duration: "1d" })).toBe(
      'spec.disruption.budgets[1].duration: "1d" is no duration such as 10h or 1h30m',
    );
    expect(broken({ nodes: "1", schedule: "@daily", timeZone: "Mars", duration: "1h" })).toBe(
      'spec.disruption.budgets[1].timeZone: there is no time zone "Mars"; write one such as Europe/Zurich',
    );
    const twice = { schedule: "TZ=Asia/Tokyo 0 9 * * *", timeZone: "Europe/Zurich" };
    expect(broken({ nodes: "1", ...twice, duration: "1h" })).toBe(
      'spec.disruption.budgets[1].timeZone: "Europe/Zurich" beside a schedule that names a time zone; remove one of them',
    );
    expect(broken({ nodes: "1", schedule: "@daily" })).toBe(
      'spec.disruption.budgets[1].schedule: "@daily" without a duration; add one such as 8h, or remove the schedule',
    );
    expect(broken({ nodes: "1", duration: "1h" })).toBe(
      'spec.disruption.budgets[1].duration: "1h" without a schedule; add one such as @daily, or remove the duration',
    );
  });

  it("names a fault of a budget exactly if the budget allows nothing", () => {
    const texts = [undefined, "@daily", "0 25 * * *", "TZ=Asia/Tokyo 0 9 * * *", "soon"];
    for (const nodes of ["1", "10%", "ten"])
      for (const schedule of texts)
        for (const timeZone of [undefined, "Europe/Zurich", "Mars", ""])
          for (const duration of [undefined, "8h", "1d"]) {
            const budget = { nodes, schedule, timeZone, duration } as Budget;
            const at = { reason: "Empty", nodes: 3, nowMs: 0 } as const;
            const isBroken = allowedDisruptions([budget], at) === undefined;
            expect(brokenBudgets([budget]) !== undefined, JSON.stringify(budget)).toBe(isBroken);
          }
  });

  it("names all invalid fields of all budgets, each with its index", () => {
    const budgets = [
      { nodes: "ten", schedule: "0 25 * * *", duration: "soon" },
      { nodes: "1" },
      { nodes: "2", schedule: "0 9 * * *", timeZone: "Mars", duration: "1d" },
    ];
    expect(
      brokenBudgets(budgets)
        ?.split("; spec.")
        .map((one) => one.replace("spec.", "")),
    ).toEqual([
      'disruption.budgets[0].nodes: "ten" is neither a count nor a percentage; write one such as 5 or 10%',
      'disruption.budgets[0].schedule: "0 25 * * *" cannot be read: "25" is no hour: 0 to 23',
      'disruption.budgets[0].duration: "soon" is no duration such as 10h or 1h30m',
      'disruption.budgets[2].timeZone: there is no time zone "Mars"; write one such as Europe/Zurich',
      'disruption.budgets[2].duration: "1d" is no duration such as 10h or 1h30m',
    ]);
  });
});
