/** The text of a caught value, for logs and conditions. JavaScript can throw any value. */

/**
 * The message; what is no Error is spelled out. Where a name with several addresses answers at none of them, Node has one
 * error for all, without a message: its code says why.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code = "" } = error as Error & { readonly code?: string | number };
  return message === "" ? String(code) : message;
}

/** The message without the drawing that parsers add below it. */
export function firstLineOf(error: unknown): string {
  return (errorText(error).split("\n")[0] as string).replace(/:$/, "");
}
