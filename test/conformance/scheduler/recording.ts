/**
 * What the real kube-scheduler said of each case: its choice and final scores, or why it refused and whom
 * it sends away for the pod.
 */
import { fileURLToPath } from "node:url";

export type SchedulerAnswer =
  | {
      readonly node: string;
      /** Of every feasible node; absent when only one was feasible. */
      readonly scores?: Readonly<Record<string, number>>;
    }
  | { readonly refused: string; readonly preempts?: Preempts };

export interface Preempts {
  readonly node: string;
  /** Names, sorted. */
  readonly victims: readonly string[];
}

export const CASES = 2_000;
const KEPT = fileURLToPath(new URL("../recorded/scheduler.json", import.meta.url));
/** Another file for cases beyond those that are kept, drawn and looked at once. */
export const RECORDING = process.env["SCHEDULER_ANSWERS"] ?? KEPT;

export interface Recorded {
  readonly kubernetes: string;
  /** The case that the first answer is of; 0 where it is not said. */
  readonly first?: number;
  readonly answers: readonly SchedulerAnswer[];
}
