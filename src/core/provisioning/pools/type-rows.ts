/**
 * Instance types as planning looks at them: a type of which some offerings come with another capacity
 * is a row for each capacity, with the offerings that have it. So whatever holds of a row (what fits,
 * which daemons, what limits exclude) holds of each of its offerings. upstream:
 * pkg/cloudprovider/types.go (AllocatableOfferings)
 */
import { canonicalJson } from "../../../base/json.ts";
import type { InstanceType, Offering } from "../../cloudprovider/instance-type.ts";

/** Rows by name, the type's own capacity first. Types without overrides are rows as they are. */
export function typeRows(types: readonly InstanceType[]): InstanceType[] {
  const rows = types.flatMap((type) => (type.offerings.some(isOverridden) ? split(type) : [type]));
  return rows.sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1));
}

/** Rows of one type as one type again, in the order of their first rows. */
export function mergedRows(rows: readonly InstanceType[]): InstanceType[] {
  if (!rows.some(isSplit)) return [...rows];
  const byName = new Map<string, InstanceType>();
  for (const row of rows) {
    const known = byName.get(row.name);
    const merged =
      known === undefined ? row : { ...known, offerings: [...known.offerings, ...row.offerings] };
    byName.set(row.name, merged);
  }
  return byName.size === rows.length ? [...rows] : [...byName.values()];
}

function split(type: InstanceType): InstanceType[] {
  const groups = new Map<string, Offering[]>();
  const own = type.offerings.filter((one) => !isOverridden(one));
  if (own.length > 0) groups.set("", own);
  for (const offering of type.offerings.filter(isOverridden)) {
    const { capacityOverride = {}, overheadOverride = {} } = offering;
    const text = canonicalJson([capacityOverride, overheadOverride]);
    const alike = groups.get(text) ?? [];
    alike.push(offering);
    groups.set(text, alike);
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

/** One of several rows of its type has a capacity of its own; the offerings of a row are alike in that. */
function isSplit({ offerings }: InstanceType): boolean {
  // By number: each kind of node asks this of all its types.
  const first = offerings[0];
  return first !== undefined && isOverridden(first);
}

function isOverridden({ capacityOverride, overheadOverride }: Offering): boolean {
  return capacityOverride !== undefined || overheadOverride !== undefined;
}
