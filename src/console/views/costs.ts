/**
 * Which workloads cause the cost of the nodes: one row for each, and a lower bound of the cost for the same
 * requests.
 */
import type { WorkloadCost } from "../../core/answers/costs.ts";
import type { ConsoleCosts } from "../source.ts";
import type { View } from "./view.ts";

export interface CostsHead {
  /**
   * A proven lower bound: no nodes of these NodePools could run the same requests for less, at present
   * prices. Absent: not known.
   */
  readonly leastMicroUsdPerHour?: number;
  /** How certain the prices are, one sentence each. */
  readonly notes: readonly string[];
  /** Number of workloads in the row "others". */
  readonly others: number;
}

export type CostRow = WorkloadCost;

/** Maximum number of rows of the table. */
const MOST_ROWS = 1_000;

/**
 * The most expensive workloads first. Workloads beyond the maximum are summed up in one row, so that the rows add up to
 * the whole price.
 */
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
