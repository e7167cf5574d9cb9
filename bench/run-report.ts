/** What one run of either engine reports. upstream/main.go prints the same fields. */

/** One run. Times are milliseconds. */
export interface RunReport {
  readonly pods: number;
  readonly setupMs: number;
  readonly solveMs: number;
  /** Of all threads, garbage collection and compilation included. */
  readonly cpuMs: number;
  /** Of the thread that plans; undefined where nobody tells, and for upstream. */
  readonly threadMs?: number;
  readonly rssBytes?: number;
  readonly nodes: number;
  readonly priceMicroUsdPerHour: number;
  readonly unschedulable: number;
  /** What the validator has against the plan; undefined: it was not asked. */
  readonly faults?: readonly string[];
}
