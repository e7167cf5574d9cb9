/** The sentence for a name that is not in the input, with the first few that are. */
export function unknown(kind: string, name: string, known: Iterable<string>): string {
  const names = [...known].sort();
  const shown = names.slice(0, 5).join(", ");
  const more = names.length > 5 ? ` and ${names.length - 5} more` : "";
  return `no ${kind} ${name} in the input; there: ${shown === "" ? "none" : `${shown}${more}`}`;
}
