/**
 * What `migrate check` and `doctor` print: one line for each item with its state, then what to do. The exit code
 * follows from the states.
 */
import { counted } from "../../base/counted.ts";
import { type Printed, printedLines } from "../../base/printable.ts";
import { table } from "../program/layout.ts";
import { printed } from "../program/manifest-text.ts";

/**
 * - `ready`: nothing to do.
 * - `differs`: works, and is not as before or as usual.
 * - `drift`: a node would be replaced.
 * - `todo`: must be done first.
 * - `unknown`: could not be seen.
 */
export type CheckState = "ready" | "differs" | "drift" | "todo" | "unknown";

/** One item that was looked at. */
export interface CheckedItem {
  readonly area: string;
  readonly item: string;
  readonly state: CheckState;
  /** What was found: one sentence. */
  readonly says: string;
  /** What to do, where something is to be done. */
  readonly remedy?: string;
}

/** Words of the states in the table. */
const WORDS: Readonly<Record<CheckState, string>> = {
  ready: "ready",
  differs: "differs",
  drift: "would drift",
  todo: "to do",
  unknown: "unknown",
};

/** 0: nothing is to be done; 2: something is. */
export function exitCodeOf(checks: readonly CheckedItem[]): 0 | 2 {
  return checks.some(({ state }) => state === "todo" || state === "drift") ? 2 : 0;
}

/** How the checks are printed. */
export interface ChecksPrint {
  readonly output: "text" | "json";
  readonly version: string;
  readonly notes?: readonly string[];
}

/** All checks: a table, then the remedies by item, or JSON for programs. */
export function printedChecks(
  checks: readonly CheckedItem[],
  { output, version, notes = [] }: ChecksPrint,
): Printed {
  if (output === "json")
    return printed({ version, exitCode: exitCodeOf(checks), notes, checks }, "json");
  const rows = checks.map(({ area, item, state, says }) => [area, item, WORDS[state], says]);
  const remedies = checks.flatMap(({ area, item, remedy }) =>
    remedy === undefined ? [] : [`  ${area} ${item}: ${remedy}`],
  );
  const open = checks.filter(({ state }) => state === "todo" || state === "drift").length;
  return printedLines([
    ...table([["AREA", "ITEM", "STATE", "FOUND"], ...rows]),
    ...(remedies.length === 0 ? [] : ["", "What to do:", ...remedies]),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => `note: ${note}`)]),
    "",
    open === 0 ? "Nothing is to be done." : `${counted(open, "item")} to see to.`,
  ]);
}
