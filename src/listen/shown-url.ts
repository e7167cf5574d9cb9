/** URLs of strangers in log lines: short, and without characters that a terminal would obey. */
import { printable } from "../base/printable.ts";

const LONGEST = 200;

/** At most 200 characters of the URL, safe for a terminal. */
export function shownUrl(url = ""): string {
  return printable(url.length > LONGEST ? `${url.slice(0, LONGEST)}…` : url);
}
