/** The text of a caught value, for logs and conditions. JavaScript can throw any value. */

/**
 * The message of an Error, or any other value as text. An Error without a message gives its code. Node throws such an
 * error if no address of a host name answers.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code = "" } = error as Error & { readonly code?: string | number };
  return message === "" ? String(code) : message;
}

/** The first line of the message. Parsers show the wrong place of the input in the lines below it. */
export function firstLineOf(error: unknown): string {
  return (errorText(error).split("\n")[0] as string).replace(/:$/, "");
}
