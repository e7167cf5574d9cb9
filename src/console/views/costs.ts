/** Who the nodes are paid for: a row per workload, and what nodes for their requests must cost at least. */
import type { WorkloadCost } from "../../core/answers/costs.ts";
import type { ConsoleCosts } from "../source.ts";
import type { View } from "./view.ts";

export interface CostsHead {
  /** Proven: no nodes of these NodePools could run what is requested for less, at prices of now. Absent: not known. */
  readonly leastMicroUsdPerHour?: number;
  /** How sure prices are, a sentence each. */
  readonly notes: readonly string[];
  /** Workloads that are in the row "others". */
  readonly others: number;
}

export type CostRow = WorkloadCost;

/** A page that holds more is read by nobody. */
const MOST_ROWS = 1_000;

/** Most dear first; what is left out is summed up in one row, so that all rows together are the price. */
export function costsView(costs: ConsoleCosts, notes: readonly string[]): View<CostsHead, CostRow> {
  const { workloads, leastMicroUsdPerHour } = costs;
  const shown = workloads.slice(0, MOST_ROWS);
  const rest = workloads.slice(MOST_ROWS);
  const sum = (pick: (one: WorkloadCost) => number): number =>
    rest.reduce((all, one) => all + pick(one), 0);
  const others: CostRow = {
    namespace: "",
    kind: "",
    name: "others",
    pods: sum(({ pods }) => pods),
    microUsdPerHour: sum((one) => one.microUsdPerHour),
    idleMicroUsdPerHour: sum((one) => one.idleMicroUsdPerHour),
  };
  const rows = rest.length === 0 ? shown : [...shown, others];
  return {
    head: {
      ...(leastMicroUsdPerHour === undefined ? {} : { leastMicroUsdPerHour }),
      notes: notes.filter((note) => note.startsWith("prices:")),
      others: rest.length,
    },
    rows: new Map(rows.map((row) => [`${row.namespace}/${row.kind}/${row.name}`, row])),
  };
}
