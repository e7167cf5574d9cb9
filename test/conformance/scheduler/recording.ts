/**
 * The real kube-scheduler's answer to each case: its choice and final scores, or why it refused the pod and which
 * pods it preempts.
 */
import { fileURLToPath } from "node:url";

export type SchedulerAnswer =
  | {
      readonly node: string;
      /** Scores of all feasible nodes; absent when only one was feasible. */
      readonly scores?: Readonly<Record<string, number>>;
    }
  | { readonly refused: string; readonly preempts?: Preempts };

export interface Preempts {
  readonly node: string;
  /** Names of the preempted pods, sorted. */
  readonly victims: readonly string[];
}

export const CASES = 2_000;
const KEPT = fileURLToPath(new URL("../recorded/scheduler.json", import.meta.url));
/** SCHEDULER_ANSWERS names another file, for cases that are compared once and not kept. */
export const RECORDING = process.env["SCHEDULER_ANSWERS"] ?? KEPT;

export interface Recorded {
  readonly kubernetes: string;
  /** The index of the first answer's case. Default: 0. */
  readonly first?: number;
  readonly answers: readonly SchedulerAnswer[];
}
