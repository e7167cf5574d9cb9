/** Checks for lists that many kinds share: check each item, no duplicates, not too many items. */
import { duplicate, tooMany } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import type { Raw } from "./kind-rules.ts";

/** The errors of all items. A missing list has none. */
export function eachOf(
  list: Raw,
  path: string,
  check: (item: Raw, field: string) => readonly FieldError[],
): FieldError[] {
  return ((list ?? []) as readonly Raw[]).flatMap((item, at) => check(item, `${path}[${at}]`));
}

/** Errors for items whose `key` an earlier item already has. */
export function uniqueBy(list: readonly Raw[], key: string, path: string): FieldError[] {
  const seen = new Set<unknown>();
  return list.flatMap((item, at) => {
    const isKnown = seen.has(item[key]);
    seen.add(item[key]);
    return isKnown ? [duplicate(`${path}[${at}].${key}`, item[key])] : [];
  });
}

/** Errors for values that an earlier item already has. */
export function uniqueValues(list: readonly string[], path: string): FieldError[] {
  return list.flatMap((value, at) =>
    list.indexOf(value) < at ? [duplicate(`${path}[${at}]`, value)] : [],
  );
}

/** An error if the list has more than `max` items. */
export function atMost(list: Raw, max: number, path: string): FieldError[] {
  const count = (list ?? []).length;
  return count > max ? [tooMany(path, count, max)] : [];
}
