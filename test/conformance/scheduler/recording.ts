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
export const RECORDING = fileURLToPath(new URL("../recorded/scheduler.json", import.meta.url));
