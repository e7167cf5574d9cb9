/**
 * Remembers whether each pool's last four claims registered, in memory, for the condition NodeRegistrationHealthy. Two
 * failures among them make a pool unhealthy.
 * upstream: pkg/state/nodepoolhealth/tracker.go
 */

const SIZE = 4;
const UNHEALTHY_FAILURES = 2;

/** How well the nodes of a pool register. `unknown`: there were too few attempts. */
export type RegistrationVerdict = "healthy" | "unhealthy" | "unknown";

/** Records whether the last claims of each pool registered. */
export interface RegistrationTracker {
  /** Counts one attempt of a claim of the pool to register, and whether its node joined. */
  record(poolUid: string, joined: boolean): void;
  verdict(poolUid: string): RegistrationVerdict;
  /**
   * Drops the attempts of a pool. Call it when the pool or its node class has changed, so that they no longer count.
   */
  reset(poolUid: string, to?: RegistrationVerdict): void;
}

/** Keeps the last attempts of each pool in memory. */
export function createRegistrationTracker(): RegistrationTracker {
  const attempts = new Map<string, readonly boolean[]>();
  return {
    record: (uid, joined) => {
      attempts.set(uid, [...(attempts.get(uid) ?? []), joined].slice(-SIZE));
    },
    verdict: (uid) => {
      const last = attempts.get(uid) ?? [];
      if (last.length === 0) return "unknown";
      const failures = last.filter((joined) => !joined).length;
      if (failures >= UNHEALTHY_FAILURES) return "unhealthy";
      return last.some((joined) => joined) ? "healthy" : "unknown";
    },
    reset: (uid, to = "unknown") => {
      if (to === "unknown") attempts.delete(uid);
      else attempts.set(uid, to === "healthy" ? [true] : [false, false]);
    },
  };
}
