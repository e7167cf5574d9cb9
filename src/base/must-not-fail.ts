/**
 * Handles a promise that only a bug can reject: work that runs in the background and handles its own failures. If such
 * a loop ended unnoticed, caches would become outdated and queues would stop. So the process exits instead: its handler
 * of unhandled rejections logs the error, releases the Lease and exits.
 */

/** Ends the process if `work` rejects. `what`: the name of the work for the log, such as "work queue". */
export function mustNotFail(work: Promise<unknown>, what: string): void {
  work.catch((cause: unknown) => {
    throw new Error(`${what} failed, which is a bug: ${String(cause)}`, { cause });
  });
}
