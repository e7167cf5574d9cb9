/** What one run of either engine reports. upstream/main.go prints the same fields. */

/** One run. Times are milliseconds. */
export interface RunReport {
  readonly pods: number;
  readonly setupMs: number;
  readonly solveMs: number;
  /** CPU time of all threads, including garbage collection and compilation. */
  readonly cpuMs: number;
  /** CPU time of the planning thread. Undefined for upstream, and if the system does not report it. */
  readonly threadMs?: number;
  readonly rssBytes?: number;
  readonly nodes: number;
  readonly priceMicroUsdPerHour: number;
  readonly unschedulable: number;
  /** Faults that the validator found in the plan. Undefined: it was not run. */
  readonly faults?: readonly string[];
}
