/**
 * The answer about the brake (core/safety/brake.ts), which stops terminations that nobody requested. Answers about
 * pools and nodes contain it while the brake is on.
 */
import { toRfc3339 } from "../../base/clock.ts";

/** Why the brake is on, and how it is released. */
export interface BrakeAnswer {
  readonly says: string;
  /** When the brake was set, as RFC 3339. At `until` it is released automatically. */
  readonly since: string;
  readonly until: string;
  /** How many nodes would be terminated, the number of all nodes, and which objects wait. */
  readonly why: string;
  /** The command with which a person releases the brake. */
  readonly release: string;
}

/**
 * The answer about a brake that is on. The argument: the brake as core/safety reads it from conditions of NodePools.
 */
export function brakeAnswer({
  sinceMs,
  untilMs,
  why,
  release,
}: {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly why: string;
  readonly release: string;
}): BrakeAnswer {
  const [since, until] = [toRfc3339(sinceMs), toRfc3339(untilMs)];
  const says = `the brake is on since ${since}, until ${until}: garbage collection, node repair and initialization timeouts end no node`;
  return { says, since, until, why, release };
}
