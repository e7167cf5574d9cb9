/** Checks that lists of many kinds share: each item, no name twice, not too many. */
import { duplicate, tooMany } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import type { Raw } from "./kind-rules.ts";

/** The complaints about each item. A list that is not there has none. */
export function eachOf(
  list: Raw,
  path: string,
  check: (item: Raw, field: string) => readonly FieldError[],
): FieldError[] {
  return ((list ?? []) as readonly Raw[]).flatMap((item, at) => check(item, `${path}[${at}]`));
}

/** Items whose `key` an earlier one has. */
export function uniqueBy(list: readonly Raw[], key: string, path: string): FieldError[] {
  const seen = new Set<unknown>();
  return list.flatMap((item, at) => {
    const isKnown = seen.has(item[key]);
    seen.add(item[key]);
    return isKnown ? [duplicate(`${path}[${at}].${key}`, item[key])] : [];
  });
}

/** Whether the list has more items than it may. */
export function atMost(list: Raw, max: number, path: string): FieldError[] {
  const count = (list ?? []).length;
  return count > max ? [tooMany(path, count, max)] : [];
}
