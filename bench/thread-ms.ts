/** The clock of benches that measure turns. It does not count other work on the machine. */
import { readFileSync } from "node:fs";

/** CPU time of this process' main thread in milliseconds. On other systems than Linux, wall time. */
export function threadMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return performance.now();
  }
}
