/**
 * Handles uncaught errors: it logs the error with its place, closes everything, and exits with code 1 after
 * `EXIT_WITHIN_MS` at the latest. Continuing would mean to decide with state that may be inconsistent.
 */
import { errorText } from "../../base/error-text.ts";

const EXIT_WITHIN_MS = 10_000;

interface UncaughtFailure {
  readonly kind: "uncaughtException" | "unhandledRejection";
  readonly error: string;
  /** The stack trace of the error. */
  readonly stack: string | undefined;
}

interface LastResort {
  readonly log: (failure: UncaughtFailure) => void;
  /** Releases the Lease and closes the ports. */
  readonly close: () => Promise<void>;
}

/** Installs the handler for this process. */
export function exitOnUncaught({ log, close }: LastResort): void {
  let isEnding = false;
  const end = (kind: UncaughtFailure["kind"], error: unknown): void => {
    // Errors during the shutdown are reported by the code that closes.
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), EXIT_WITHIN_MS);
    try {
      log({ kind, error: errorText(error), stack: stackOf(error) });
    } finally {
      const exit = (): never => process.exit(1);
      close().then(exit, exit);
    }
  };
  process.on("uncaughtException", (error) => end("uncaughtException", error));
  process.on("unhandledRejection", (reason) => end("unhandledRejection", reason));
}

/** The stack of the innermost cause, which is the place of the error. */
function stackOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const cause = stackOf(error.cause);
  return cause === undefined ? error.stack : `${error.stack}\ncaused by ${cause}`;
}
