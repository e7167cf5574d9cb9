/** The clock of benches that tell of turns: what else the machine does at the time is not in it. */
import { readFileSync } from "node:fs";

/** Time on a core that this process's main thread has had, in ms; elsewhere than on Linux by the wall. */
export function threadMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return performance.now();
  }
}
