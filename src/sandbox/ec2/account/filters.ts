/**
 * EC2's filters and pages. The values of one filter are alternatives; all filters must match. `*` and `?` are
 * wildcards, unless a backslash stands before them. A filter that the call does not know is refused, as in
 * EC2.
 */
import type { Filter } from "../../../providers/aws/api/call.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";

/** An item's values for each filter name. A filter matches if one of its values does. */
export type FilterFields = Readonly<Record<string, readonly string[] | string | undefined>>;

/** An item as filters see it. Its tags answer `tag:<key>`, `tag-key` and `tag-value`. */
export interface Filterable {
  readonly fields: FilterFields;
  readonly tags: ReadonlyMap<string, string> | undefined;
}

type Test = (item: Filterable) => boolean;

/**
 * The items that match all filters. `known` are the call's filter names except those for tags. Throws
 * `InvalidParameterValue` for any other name, and `FilterLimitExceeded` for too many filters and too many or
 * too long values.
 */
export function applyFilters<T>(
  items: Iterable<T>,
  filters: readonly Filter[] | undefined,
  known: ReadonlySet<string>,
  describe: (item: T) => Filterable,
): T[] {
  if (filters === undefined || filters.length === 0) return [...items];
  checkLimits(filters);
  const tests = filters.map((filter) => compile(filter, known));
  const kept: T[] = [];
  for (const item of items) {
    const subject = describe(item);
    if (tests.every((test) => test(subject))) kept.push(item);
  }
  return kept;
}

/**
 * EC2's limits of one call, as its user guide tells them. Its errors say that the values of all filters count together.
 * The text about the number of filters is not EC2's own.
 */
const MAX_FILTERS = 50;
const MAX_VALUES = 200;
const MAX_VALUE_LENGTH = 255;

function checkLimits(filters: readonly Filter[]): void {
  const values = filters.flatMap(({ Values }) => Values ?? []);
  const tooLong = values.some(({ length }) => length > MAX_VALUE_LENGTH);
  const text =
    filters.length > MAX_FILTERS
      ? `The maximum number of filters specified on a single call is ${MAX_FILTERS}`
      : values.length > MAX_VALUES
        ? `The maximum number of filter values specified on a single call is ${MAX_VALUES}`
        : tooLong
          ? `The maximum length for a filter value is ${MAX_VALUE_LENGTH} characters`
          : undefined;
  if (text !== undefined) throw new AwsError("FilterLimitExceeded", text);
}

function compile(filter: Filter, known: ReadonlySet<string>): Test {
  const name = filter.Name;
  const patterns = (filter.Values ?? []).map(toPattern);
  const hit = (value: string): boolean => patterns.some((pattern) => pattern(value));
  if (name?.startsWith("tag:")) {
    const key = name.slice(4);
    return ({ tags }) => {
      const value = tags?.get(key);
      return value !== undefined && hit(value);
    };
  }
  if (name === "tag-key") return ({ tags }) => tags !== undefined && [...tags.keys()].some(hit);
  if (name === "tag-value") return ({ tags }) => tags !== undefined && [...tags.values()].some(hit);
  if (!known.has(name)) {
    throw new AwsError("InvalidParameterValue", `The filter '${name}' is invalid`);
  }
  return ({ fields }) => {
    const value = fields[name];
    if (value === undefined) return false;
    return typeof value === "string" ? hit(value) : value.some(hit);
  };
}

function toPattern(text: string): (value: string) => boolean {
  if (!/[*?\\]/.test(text)) return (value) => value === text;
  let source = "";
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string;
    if (char === "\\" && i + 1 < text.length) source += quoted(text[++i] as string);
    else if (char === "*") source += "[\\s\\S]*";
    else if (char === "?") source += "[\\s\\S]";
    else source += quoted(char);
  }
  const regex = new RegExp(`^${source}$`);
  return (value) => regex.test(value);
}

function quoted(char: string): string {
  return /[.*+?^${}()|[\]\\/]/.test(char) ? `\\${char}` : char;
}

/** The page that a call asks for. */
export interface PageRequest {
  readonly MaxResults?: number;
  readonly NextToken?: string;
}

/**
 * One page of `items`, which must have the same order in every call. Without `MaxResults` the page has
 * `defaultSize` items; if that is absent too, all. `MaxResults` above `limit` is reduced to it.
 */
export function pageOf<T>(
  items: readonly T[],
  request: PageRequest,
  limits: { readonly limit: number; readonly defaultSize?: number },
): { readonly items: readonly T[]; readonly next: { NextToken?: string } } {
  const start = readToken(request.NextToken);
  const wish = request.MaxResults;
  if (wish !== undefined && (!Number.isInteger(wish) || wish < 1)) {
    throw new AwsError(
      "InvalidParameterValue",
      `Value ( ${wish} ) for parameter maxResults is invalid. Expecting a value greater than 0.`,
    );
  }
  const size = Math.min(wish ?? limits.defaultSize ?? Number.POSITIVE_INFINITY, limits.limit);
  const end = wish === undefined && limits.defaultSize === undefined ? items.length : start + size;
  return {
    items: items.slice(start, end),
    next: end < items.length ? { NextToken: writeToken(end) } : {},
  };
}

function writeToken(offset: number): string {
  return Buffer.from(`offset:${offset}`).toString("base64url");
}

function readToken(token: string | undefined): number {
  if (token === undefined || token === "") return 0;
  const text = Buffer.from(token, "base64url").toString("utf8");
  const offset = /^offset:(\d+)$/.exec(text)?.[1];
  if (offset === undefined) {
    throw new AwsError("InvalidNextToken", "The specified token is not valid.");
  }
  return Number(offset);
}
