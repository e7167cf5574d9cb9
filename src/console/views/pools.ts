/** Every NodePool with its limits, budgets and what keeps its nodes: the answers of `karpenter explain nodepool`. */
import type { ConsolePool } from "../source.ts";
import type { View } from "./view.ts";

export type PoolRow = Omit<ConsolePool, "at">;

/** A row per NodePool or Provisioner. */
export function poolsView(pools: readonly ConsolePool[]): View<Record<string, never>, PoolRow> {
  return {
    head: {},
    rows: new Map(pools.map(({ at: _, ...row }) => [`${row.kind}/${row.name}`, row])),
  };
}
