/** What the real kube-scheduler said of each case: its choice and final scores, or why it refused. */
import { fileURLToPath } from "node:url";

export type SchedulerAnswer =
  | {
      readonly node: string;
      /** Of every feasible node; absent when only one was feasible. */
      readonly scores?: Readonly<Record<string, number>>;
    }
  | { readonly refused: string };

export const CASES = 400;
export const RECORDING = fileURLToPath(new URL("../recorded/scheduler.json", import.meta.url));
