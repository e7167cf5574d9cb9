/**
 * What happens to a failure that nobody caught: it is logged with its place, the command closes what it has opened,
 * and the process exits with code 1, at the latest after `EXIT_WITHIN_MS`. Going on would mean to decide with
 * state that the failure may have left half changed.
 */
import { errorText } from "../../base/error-text.ts";

const EXIT_WITHIN_MS = 10_000;

interface UncaughtFailure {
  readonly kind: "uncaughtException" | "unhandledRejection";
  readonly error: string;
  /** Where it was thrown. */
  readonly stack: string | undefined;
}

interface LastResort {
  readonly log: (failure: UncaughtFailure) => void;
  /** Releases the lease and closes the ports. */
  readonly close: () => Promise<void>;
}

/** From now on, for this process. */
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

/** With the stack of the cause, which is where it happened. */
function stackOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const cause = stackOf(error.cause);
  return cause === undefined ? error.stack : `${error.stack}\ncaused by ${cause}`;
}
