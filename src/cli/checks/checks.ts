/**
 * The output of `migrate check` and `doctor`: one line for each item with its state, and remedies. The exit code
 * follows from the states.
 */
import { counted } from "../../base/counted.ts";
import { type Printed, printedLines } from "../../base/printable.ts";
import { table } from "../program/layout.ts";
import { printed } from "../program/manifest-text.ts";

/**
 * The state of an item.
 * - `ready`: nothing to do.
 * - `differs`: works, but not as before or as usual.
 * - `drift`: a node would be replaced.
 * - `todo`: must be done first.
 * - `unknown`: could not be checked.
 */
export type CheckState = "ready" | "differs" | "drift" | "todo" | "unknown";

/** An item of a command's report that was checked. */
export interface CheckedItem {
  readonly area: string;
  readonly item: string;
  readonly state: CheckState;
  /** The finding in one sentence. */
  readonly says: string;
  /** What to do, if anything. */
  readonly remedy?: string;
}

/** A list that the API server did not give: the plural of its kind, and why. */
export interface Unread {
  readonly what: string;
  readonly why: string;
}

/** The area of the items for lists that were not read. */
const READING = "reading";

/** Checks of lists that were read, by the plurals of the kinds. From a list that was not read nothing follows. */
export interface Section {
  readonly needs: readonly string[];
  readonly check: () => readonly CheckedItem[];
}

/**
 * The items of the sections whose lists were all read, and then one item for each list that was not. `command`: the
 * command to run again.
 */
export function checkSections(
  sections: readonly Section[],
  unread: readonly Unread[],
  command: string,
): readonly CheckedItem[] {
  const missing = new Set(unread.map(({ what }) => what));
  return [
    ...sections
      .filter(({ needs }) => !needs.some((plural) => missing.has(plural)))
      .flatMap(({ check }) => check()),
    ...unread.map(
      ({ what, why }): CheckedItem => ({
        area: READING,
        item: what,
        state: "unknown",
        says: `It could not be read, so it was not checked: ${why}`,
        remedy: `run ${command} as a user who may list what could not be read`,
      }),
    ),
  ];
}

/** The command that installs the definitions, or upgrades them. */
export function installDefinitions(namespace: string): string {
  return `helm upgrade --install karpenter-crd deploy/charts/karpenter-crd --namespace ${namespace} --create-namespace`;
}

/** The text of each state in the table. */
const WORDS: Readonly<Record<CheckState, string>> = {
  ready: "ready",
  differs: "differs",
  drift: "would drift",
  todo: "to do",
  unknown: "unknown",
};

/**
 * Whether someone must see to the item. A list that was not read counts, because something to do may be in it. A file
 * that was not given does not count.
 */
export function isOpen(item: CheckedItem): boolean {
  return item.state === "todo" || item.state === "drift" || isUnread(item);
}

/** Whether the item is a list that was not read. Its `item` is the plural of the kind. */
export function isUnread({ area }: CheckedItem): boolean {
  return area === READING;
}

/** The exit code: 0 if nothing is to be done, otherwise 2. */
export function exitCodeOf(checks: readonly CheckedItem[]): 0 | 2 {
  return checks.some(isOpen) ? 2 : 0;
}

/** How the checks are printed. */
export interface ChecksPrint {
  readonly output: "text" | "json";
  readonly version: string;
  readonly notes?: readonly string[];
}

/** One line for each remedy, with the first item that needs it. */
function remediesOf(checks: readonly CheckedItem[]): readonly string[] {
  const items = new Map<string, CheckedItem[]>();
  for (const one of checks)
    if (one.remedy !== undefined) items.set(one.remedy, [...(items.get(one.remedy) ?? []), one]);
  return [...items].map(([remedy, needing]) => {
    const [{ area, item }] = needing as [CheckedItem];
    const more = needing.length === 1 ? "" : ` and ${needing.length - 1} more`;
    return `  ${area} ${item}${more}: ${remedy}`;
  });
}

/** Prints all checks: a table and then the remedies, or JSON. */
export function printedChecks(
  checks: readonly CheckedItem[],
  { output, version, notes = [] }: ChecksPrint,
): Printed {
  if (output === "json")
    return printed({ version, exitCode: exitCodeOf(checks), notes, checks }, "json");
  const rows = checks.map(({ area, item, state, says }) => [area, item, WORDS[state], says]);
  const remedies = remediesOf(checks);
  const open = checks.filter(isOpen).length;
  const heading = open === 0 ? "Advice:" : "What to do:";
  return printedLines([
    ...table([["AREA", "ITEM", "STATE", "FOUND"], ...rows]),
    ...(remedies.length === 0 ? [] : ["", heading, ...remedies]),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => `note: ${note}`)]),
    "",
    open === 0 ? "Nothing is to be done." : `${counted(open, "item")} to see to.`,
  ]);
}
