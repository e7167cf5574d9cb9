/** The error sentence for an unknown name. It lists names that were probably meant, or the first few names. */
import { firstNames } from "../../base/counted.ts";
import { meantName } from "../../base/slips.ts";

const NAMED = 5;
/** The most names to list that begin with the given text. */
const CANDIDATES = 20;

/** The sentence for a name that is not known, with the names that may be meant. */
export function unknown(kind: string, name: string, known: Iterable<string>): string {
  const names = [...new Set(known)].sort();
  const begun = name === "" ? [] : names.filter((one) => one.startsWith(name));
  if (begun.length > 0)
    return `there is no ${kind} ${name}; names that begin so: ${firstNames(begun, CANDIDATES)}`;
  const meant = meantName(name, names);
  if (meant !== undefined) return `there is no ${kind} ${name}; did you mean ${meant}?`;
  return `there is no ${kind} ${name}; known: ${firstNames(names, NAMED) || "none"}`;
}
