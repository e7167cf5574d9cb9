/**
 * Every NodePool with its limits and budgets, and what blocks disruption of its nodes: the answers of
 * `karpenter explain nodepool`.
 */
import type { ConsolePool } from "../source.ts";
import type { View } from "./view.ts";

export type PoolRow = Omit<ConsolePool, "at">;

/** One row for each NodePool or Provisioner. */
export function poolsView(pools: readonly ConsolePool[]): View<Record<string, never>, PoolRow> {
  return {
    head: {},
    rows: new Map(pools.map(({ at: _, ...row }) => [`${row.kind}/${row.name}`, row])),
  };
}
