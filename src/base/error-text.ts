/** What was caught, as text: anything may be thrown, and a log line or a condition wants words. */

/** The message; what is no Error is spelled out. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The message without the drawing that parsers add below it. */
export function firstLineOf(error: unknown): string {
  return (errorText(error).split("\n")[0] as string).replace(/:$/, "");
}
