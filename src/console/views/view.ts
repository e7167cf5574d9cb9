/**
 * The one shape of every view: a head and rows by key, and what differs between two of them. Rows that did not
 * change are not sent again.
 */

export interface View<Head = unknown, Row = unknown> {
  readonly head: Head;
  readonly rows: ReadonlyMap<string, Row>;
}

/** What a page that has `before` needs to have `after`. */
export interface ViewPatch {
  /** Everything is in it: what the page had before counts for nothing. */
  readonly whole?: true;
  readonly head?: unknown;
  readonly set: Readonly<Record<string, unknown>>;
  readonly del: readonly string[];
}

/** A view whose rows can be compared: each as the text that is sent. */
export interface Written {
  readonly head: string;
  readonly rows: ReadonlyMap<string, string>;
  /** What the texts were written from. */
  readonly of: ReadonlyMap<string, unknown>;
}

/**
 * To be compared with what was sent before. A row that is the same object as in `before` is not written again: rows
 * never change.
 */
export function written({ head, rows }: View, before?: Written): Written {
  const texts = new Map<string, string>();
  for (const [key, row] of rows) {
    const known = before?.of.get(key) === row ? before?.rows.get(key) : undefined;
    texts.set(key, known ?? JSON.stringify(row));
  }
  return { head: JSON.stringify(head), rows: texts, of: rows };
}

/** As JSON of a {@link ViewPatch}; undefined: nothing changed. */
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
