/**
 * The shape that all views share: a head, and rows by key. Two views can be compared, so that unchanged rows
 * are not sent again.
 */
import { atOnce, type Steps } from "../../base/steps.ts";

export interface View<Head = unknown, Row = unknown> {
  readonly head: Head;
  readonly rows: ReadonlyMap<string, Row>;
}

/** The changes that turn the view `before`, which a page has, into `after`. */
export interface ViewPatch {
  /** Whether the patch has the whole view. Then the page must drop everything that it had. */
  readonly whole?: true;
  readonly head?: unknown;
  readonly set: Readonly<Record<string, unknown>>;
  readonly del: readonly string[];
}

/** A view in a form that can be compared: each row as JSON text. */
export interface Written {
  readonly head: string;
  readonly rows: ReadonlyMap<string, string>;
  /** The rows from which the texts were written. */
  readonly of: ReadonlyMap<string, unknown>;
}

/** Rows in one step. If all are new, a step takes about half a millisecond. */
const ROWS_PER_STEP = 256;

/** Converts a view like {@link writtenInSteps}, in one step. Exported for tests. */
export function written(...given: Parameters<typeof writtenInSteps>): Written {
  return atOnce(writtenInSteps(...given));
}

/**
 * Converts a view for comparison with an earlier one. Rows never change, so the text of a row that is the same
 * object as in `before` is used again.
 */
export function* writtenInSteps({ head, rows }: View, before?: Written): Steps<Written> {
  const texts = new Map<string, string>();
  let count = 0;
  for (const [key, row] of rows) {
    const known = before?.of.get(key) === row ? before?.rows.get(key) : undefined;
    texts.set(key, known ?? JSON.stringify(row));
    count += 1;
    if (count % ROWS_PER_STEP === 0) yield;
  }
  return { head: JSON.stringify(head), rows: texts, of: rows };
}

/** A {@link ViewPatch} as JSON; undefined if nothing changed. */
export function patchText(before: Written | undefined, after: Written): string | undefined {
  const set: string[] = [];
  const del: string[] = [];
  for (const [key, row] of after.rows)
    if (before?.rows.get(key) !== row) set.push(`${JSON.stringify(key)}:${row}`);
  for (const key of before?.rows.keys() ?? [])
    if (!after.rows.has(key)) del.push(JSON.stringify(key));
  const isHeadNew = before?.head !== after.head;
  if (!isHeadNew && set.length === 0 && del.length === 0) return undefined;
  const head = isHeadNew ? `"head":${after.head},` : "";
  const whole = before === undefined ? `"whole":true,` : "";
  return `{${whole}${head}"set":{${set.join(",")}},"del":[${del.join(",")}]}`;
}
