/**
 * Converts selector terms to EC2 filters. An object must match one term, and everything inside that term. So each term
 * is a query; terms with only an id (or only a name) share one. `*` matches any value of a key; other wildcards are
 * EC2's own.
 */
import type { Filter } from "../api/call.ts";
import type { SelectorQuery } from "../selection/proven-lists.ts";

/** A term of any selector: id, name or tags. */
export interface SelectorTerm {
  readonly id?: string;
  readonly name?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

/** EC2's names for the filters by ID and by name of one kind of resource. */
export interface FilterNames {
  readonly idFilter: string;
  readonly nameFilter: string;
}

/** The queries that find what the terms select. */
export function selectorQueries(
  terms: readonly SelectorTerm[],
  { idFilter, nameFilter }: FilterNames,
): readonly SelectorQuery[] {
  const ids = new Set<string>();
  const names = new Set<string>();
  const sets: Filter[][] = [];
  for (const { id, name, tags } of terms) {
    const tagged = Object.keys(tags ?? {}).length > 0;
    if (id !== undefined && name === undefined && !tagged) ids.add(id);
    else if (name !== undefined && id === undefined && !tagged) names.add(name);
    else {
      const filters: Filter[] = [];
      if (id !== undefined) filters.push({ Name: idFilter, Values: [id] });
      if (name !== undefined) filters.push({ Name: nameFilter, Values: [name] });
      sets.push([...filters, ...tagFilters(tags)]);
    }
  }
  if (names.size > 0) sets.unshift([{ Name: nameFilter, Values: [...names].sort() }]);
  if (ids.size > 0) sets.unshift([{ Name: idFilter, Values: [...ids].sort() }]);
  return sets.filter((filters) => filters.length > 0).map((Filters) => ({ Filters }));
}

/** EC2 filters for tags. The value `*` asks for the key alone. */
export function tagFilters(tags: Readonly<Record<string, string>> | undefined): Filter[] {
  return Object.keys(tags ?? {})
    .sort()
    .map((key) => {
      const value = (tags as Readonly<Record<string, string>>)[key] as string;
      return value === "*"
        ? { Name: "tag-key", Values: [key] }
        : { Name: `tag:${key}`, Values: [value] };
    });
}
