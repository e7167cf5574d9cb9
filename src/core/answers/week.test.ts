import { expect, it } from "vitest";
import type { Pool } from "../../apis/hub/pool.ts";
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import type { NodeView } from "../state/node-view.ts";
import { weekOf } from "./week.ts";

/** A Monday. */
const NOW_MS = Date.UTC(2026, 0, 5, 8);
const nodes = Array.from({ length: 10 }, (_, index) => ({
  name: `n${index}`,
  poolId: "nodepool/a",
  managed: true,
  initialized: true,
  pods: [],
  claim: { metadata: {} },
})) as unknown as NodeView[];

function week(budgets: readonly Budget[], clusterBudgets: readonly Budget[] = []) {
  const pool = { id: "nodepool/a", disruption: { budgets } } as unknown as Pool;
  return weekOf({ nowMs: NOW_MS, nodes, clusterBudgets }, pool).map(({ reason, spans }) => [
    reason,
    ...spans.map(({ from, to, allowed }) => `${from} ${to} ${allowed}`),
  ]);
}

it("the week of a NodePool's budgets is one span if the allowed number never changes", () => {
  const all = "2026-01-05T08:00:00Z 2026-01-12T08:00:00Z";
  expect(week([])).toEqual([
    ["Empty", `${all} 10`],
    ["Drifted", `${all} 10`],
    ["Underutilized", `${all} 10`],
  ]);
  expect(week([{ nodes: "20%" }], [{ nodes: "1" }])[0]).toEqual(["Empty", `${all} 1`]);
});

it("the week of a NodePool has a span for each budget window, only for the budget's reasons", () => {
  const closed: Budget = {
    nodes: "0",
    schedule: "0 9 * * 2",
    duration: "8h",
    reasons: ["Underutilized"],
  };
  expect(week([closed])).toEqual([
    ["Empty", "2026-01-05T08:00:00Z 2026-01-12T08:00:00Z 10"],
    ["Drifted", "2026-01-05T08:00:00Z 2026-01-12T08:00:00Z 10"],
    [
      "Underutilized",
      "2026-01-05T08:00:00Z 2026-01-06T09:00:00Z 10",
      "2026-01-06T09:00:00Z 2026-01-06T17:00:00Z 0",
      "2026-01-06T17:00:00Z 2026-01-12T08:00:00Z 10",
    ],
  ]);
});

it("the week of a NodePool is undefined for an invalid budget", () => {
  expect(week([{ nodes: "many" }])[0]).toEqual([
    "Empty",
    "2026-01-05T08:00:00Z 2026-01-12T08:00:00Z undefined",
  ]);
});

it("the week applies percentages of the cluster's budgets to the nodes of all pools", () => {
  const elsewhere = nodes.map((node) => ({ ...node, poolId: "nodepool/b" }));
  const strangers = nodes.map(({ claim: _, poolId: __, ...node }) => ({ ...node, managed: false }));
  const all = [...nodes, ...elsewhere, ...strangers] as NodeView[];
  const pool = { id: "nodepool/a", disruption: { budgets: [] } } as unknown as Pool;
  const clusterBudgets = [{ nodes: "20%" }];
  const [empty] = weekOf({ nowMs: NOW_MS, nodes: all, clusterBudgets }, pool);
  expect(empty?.spans).toMatchObject([{ allowed: 4 }]);
});

it("the week takes percentages of the nodes that budgets count: those that came up", () => {
  const pool = { id: "nodepool/a", disruption: { budgets: [{ nodes: "50%" }] } } as unknown as Pool;
  const half = nodes.map((node, index) => ({ ...node, initialized: index % 2 === 0 }));
  const week = weekOf({ nowMs: NOW_MS, nodes: half as NodeView[], clusterBudgets: [] }, pool);
  expect(week[0]?.spans).toMatchObject([{ allowed: 3 }]);
});

it("the week is empty while budgets count no node, unless a budget is invalid", () => {
  const starting = nodes.map((node) => ({ ...node, initialized: false })) as NodeView[];
  const weekAt = (budgets: readonly Budget[]) => {
    const pool = { id: "nodepool/a", disruption: { budgets } } as unknown as Pool;
    return weekOf({ nowMs: NOW_MS, nodes: starting, clusterBudgets: [] }, pool);
  };
  expect(weekAt([{ nodes: "100%" }])).toEqual([]);
  expect(weekAt([{ nodes: "many" }])[0]?.spans[0]?.allowed).toBeUndefined();
  expect(weekAt([{ nodes: "many" }])).toHaveLength(3);
});
