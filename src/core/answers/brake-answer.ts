/** The brake (core/safety/brake.ts) in answers about pools and nodes, while it is on. */
import { toRfc3339 } from "../../base/clock.ts";

/** Why the brake is on, and how it is released. */
export interface BrakeAnswer {
  readonly says: string;
  /** RFC 3339, as `until`. At `until` the brake is released without a person. */
  readonly since: string;
  readonly until: string;
  /** How many nodes may end, the size of the fleet, and which objects wait. */
  readonly why: string;
  /** The command by which a person releases it. */
  readonly release: string;
}

/** The answer about an active brake. The argument is the brake that core/safety reads from conditions of NodePools. */
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
