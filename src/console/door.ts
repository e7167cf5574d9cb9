/**
 * Who may look. On one's own machine: whoever has the address that was printed. In a cluster: whoever the API server
 * knows by a token, and lets read `/console`. What is shown to the page afterwards is a random value of a session.
 */
import type { Clock } from "../base/clock.ts";

export interface ConsoleDoor {
  /** What the page asks a person for. */
  readonly wants: "address" | "token";
  /** The value of the cookie for whoever may look; undefined: not with what was given. */
  enter(given: string): Promise<string | undefined>;
  /** Whether a cookie has such a value. */
  isKnown(value: string): boolean;
}

/** By the token of the printed address. `isEqual`: in constant time. */
export function addressDoor(
  token: string,
  isEqual: (a: string, b: string) => boolean,
): ConsoleDoor {
  return {
    wants: "address",
    enter: async (given) => (isEqual(given, token) ? token : undefined),
    isKnown: (value) => isEqual(value, token),
  };
}

/** The API server is asked again after so long. */
const SESSION_MS = 15 * 60_000;
const MOST_SESSIONS = 64;
/** Guesses cost the API server a review each. */
const MOST_REVIEWS = 4;

export interface ReviewDoorOptions {
  /** TokenReview and SubjectAccessReview: whether the bearer may look. */
  readonly review: (token: string) => Promise<boolean>;
  readonly clock: Pick<Clock, "elapsedMs">;
  /** A value that nobody can guess. */
  readonly draw: () => string;
}

/** By a token of the cluster. The token itself is not kept. */
export function reviewDoor({ review, clock, draw }: ReviewDoorOptions): ConsoleDoor {
  const sessions = new Map<string, number>();
  let reviews = 0;
  return {
    wants: "token",
    enter: async (given) => {
      if (given === "" || reviews >= MOST_REVIEWS) return undefined;
      reviews += 1;
      try {
        if (!(await review(given))) return undefined;
      } finally {
        reviews -= 1;
      }
      const [oldest] = sessions.keys();
      if (sessions.size >= MOST_SESSIONS && oldest !== undefined) sessions.delete(oldest);
      const value = draw();
      sessions.set(value, clock.elapsedMs() + SESSION_MS);
      return value;
    },
    isKnown: (value) => {
      const untilMs = sessions.get(value);
      if (untilMs === undefined) return false;
      if (clock.elapsedMs() < untilMs) return true;
      sessions.delete(value);
      return false;
    },
  };
}
