/**
 * Who may see the console. On a local machine, everybody who knows the printed address. In a cluster,
 * everybody whose token the API server accepts and who may read `/console`. After that the browser gets a
 * random session value as a cookie.
 */
import type { Clock } from "../base/clock.ts";

export interface ConsoleDoor {
  /** What the page asks the person to enter. */
  readonly wants: "address" | "token";
  /**
   * Checks the token that the person gave. Resolves with the value of the cookie, or with undefined if the person may
   * not see the console.
   */
  enter(given: string): Promise<string | undefined>;
  /** Whether this is the value of a valid cookie. */
  isKnown(value: string): boolean;
}

/** Checks the token in the printed address. `isEqual` must compare in constant time. */
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

/** Milliseconds for which an accepted token is not checked again. */
const SESSION_MS = 15 * 60_000;
const MOST_SESSIONS = 64;
/** Maximum number of reviews at the same time, because each guess costs the API server one. */
const MOST_REVIEWS = 4;

export interface ReviewDoorOptions {
  /** Asks the API server by TokenReview and SubjectAccessReview whether the bearer may see the page. */
  readonly review: (token: string) => Promise<boolean>;
  readonly clock: Pick<Clock, "elapsedMs">;
  /** Returns a random value that cannot be guessed. */
  readonly draw: () => string;
}

/** Checks a token of the cluster. The token itself is not kept. */
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
