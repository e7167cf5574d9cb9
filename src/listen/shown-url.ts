/** Makes URLs from unknown clients fit for log lines: short, and without control characters. */
import { printable } from "../base/printable.ts";

const LONGEST = 200;

/** At most 200 characters of the URL, safe for a terminal. */
export function shownUrl(url = ""): string {
  return printable(url.length > LONGEST ? `${url.slice(0, LONGEST)}…` : url);
}
