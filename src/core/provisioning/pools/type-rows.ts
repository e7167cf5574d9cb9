/**
 * Splits instance types into rows, in which planning looks for room. Offerings may override the capacity of their type,
 * and daemons may run in some zones only. So a type has one row for each capacity, and for each set of daemons that run
 * on it (daemon-rows.ts). All offerings of a row have the same room for pods.
 * upstream: pkg/cloudprovider/types.go (AllocatableOfferings)
 */
import { canonicalJson } from "../../../base/json.ts";
import { within } from "../../../base/within.ts";
import type { InstanceType, Offering } from "../../cloudprovider/instance-type.ts";
import type { Requirement } from "../../scheduling/requirement.ts";

/** An instance type, or the part of one with the same capacity and the same daemons. */
export interface TypeRow extends InstanceType {
  /** Labels of the pool for which nodes of this row have only these values. Absent: all values that the pool allows. */
  readonly given?: readonly Requirement[];
}

/** The rows sorted by name, the type's own capacity first. A type without overrides is one row. */
export function typeRows(types: readonly TypeRow[]): TypeRow[] {
  const rows = types.flatMap((type) => (type.offerings.some(isOverridden) ? split(type) : [type]));
  return rows.sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1));
}

/** Joins the rows of each type into one type again, in the order of their first rows. */
export function mergedRows(rows: readonly TypeRow[]): InstanceType[] {
  const byName = new Map<string, InstanceType>();
  for (const { given: _, ...row } of rows) {
    const known = byName.get(row.name);
    if (known === undefined) byName.set(row.name, row);
    else {
      // Rows that differ only in the pool's labels have the same offerings, so each offering is added once.
      const more = row.offerings.filter((one) => !known.offerings.includes(one));
      byName.set(row.name, { ...known, offerings: [...known.offerings, ...more] });
    }
  }
  return [...byName.values()];
}

function split(type: TypeRow): TypeRow[] {
  const groups = new Map<string, Offering[]>();
  const own = type.offerings.filter((one) => !isOverridden(one));
  if (own.length > 0) groups.set("", own);
  for (const offering of type.offerings.filter(isOverridden)) {
    const { capacityOverride = {}, overheadOverride = {} } = offering;
    const text = canonicalJson([capacityOverride, overheadOverride]);
    within(groups, text, () => []).push(offering);
  }
  return [...groups.keys()].sort().map((text) => {
    const offerings = groups.get(text) as Offering[];
    const { capacityOverride, overheadOverride } = offerings[0] as Offering;
    return {
      ...type,
      capacity: { ...type.capacity, ...capacityOverride },
      overhead: { ...type.overhead, ...overheadOverride },
      offerings,
    };
  });
}

function isOverridden({ capacityOverride, overheadOverride }: Offering): boolean {
  return capacityOverride !== undefined || overheadOverride !== undefined;
}
