/**
 * The owner of a promise that only a bug can reject: work that runs in the background and handles its own
 * failures. If such a loop ended unnoticed, caches would become stale and queues would stop. So the process
 * ends instead: its handler of unhandled rejections logs what failed, releases the Lease and exits.
 */

/** `what` names the work in the log: "work queue". */
export function mustNotFail(work: Promise<unknown>, what: string): void {
  work.catch((cause: unknown) => {
    throw new Error(`${what} failed, which is a bug: ${String(cause)}`, { cause });
  });
}
