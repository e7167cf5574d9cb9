/** The brake on ends that nobody asked for, while it holds, as pools and nodes tell of it. */
import { toRfc3339 } from "../../base/clock.ts";

/** Why the brake is on, and how it is released. */
export interface BrakeAnswer {
  readonly says: string;
  /** RFC 3339, as `until`: when it goes off by itself. */
  readonly since: string;
  readonly until: string;
  /** How many nodes may end, of how many, and what waits. */
  readonly why: string;
  /** The command by which a person releases it. */
  readonly release: string;
}

/** Of what core/safety reads from the pools' conditions. */
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
