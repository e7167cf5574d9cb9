/**
 * A NodeClaim names instance types, but planning chooses rows: parts of a type with equal capacity and daemons
 * (type-rows.ts). The cloud might launch a row on which the pods do not fit. So the claim's requirements are narrowed
 * until only chosen rows can be launched.
 */
import {
  CAPACITY_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import type { Offering } from "../../cloudprovider/instance-type.ts";
import {
  isCheaper,
  isCompatible,
  isUsable,
  usableOfferings,
} from "../../cloudprovider/offerings.ts";
import {
  type Bits,
  bitIndices,
  clearBit,
  countBits,
  hasBit,
  noBits,
  setBit,
} from "../../scheduling/bits.ts";
import { oneOf, type Requirement } from "../../scheduling/requirement.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { overlaps } from "./daemon-rows.ts";
import type { TypeTable } from "./instance-types.ts";
import type { TypeRow } from "./type-rows.ts";

interface Launchable {
  readonly row: TypeRow;
  readonly offering: Offering;
}

/** A claim's requirements, and the rows that are left under them. */
export interface Chosen {
  readonly requirements: Requirements;
  readonly rows: Bits;
}

/**
 * Narrowed requirements, under which a type of `rows` can be launched only as one of these rows. They still allow the
 * cheapest offering, and as many values of each label as possible.
 */
export function withWholeTypes(table: TypeTable, requirements: Requirements, rows: Bits): Chosen {
  if (!table.hasSplitTypes) return { requirements, rows };
  const left = leftOutOf(table, rows);
  const isLaunched = (row: TypeRow) => canLaunch(row, requirements);
  if (!left.some(isLaunched)) return { requirements, rows };
  const launchable = byPrice(table, requirements, rows);
  const [cheapest] = launchable;
  if (cheapest === undefined) return { requirements, rows };
  const keeps = (some: Requirements) => !left.some((row) => canLaunch(row, some));
  let narrowed = requirements.and(labelsOf(cheapest));
  for (const key of table.splittingKeys) {
    const own = requirements.has(key) ? [requirements.get(key)] : [];
    const open = Requirements.of([...narrowed.without(new Set([key])).all(), ...own]);
    narrowed = keeps(open) ? open : widened(narrowed, key, launchable, requirements, keeps);
  }
  const kept = noBits(table.size);
  for (const index of bitIndices(rows))
    if (canLaunch(table.types[index] as TypeRow, narrowed)) setBit(kept, index);
  return { requirements: narrowed, rows: kept };
}

/**
 * The rows of `bits` that a node with these requirements can be. If no row of a type can be launched, all its rows are
 * kept for the explanation.
 */
export function rowsUnder(table: TypeTable, bits: Bits, requirements: Requirements): Bits {
  if (!table.hasSplitTypes) return bits;
  const { types } = table;
  const isLaunched = (index: number) => canLaunch(types[index] as TypeRow, requirements);
  const indices = bitIndices(bits);
  const having = new Set(indices.filter(isLaunched).map((index) => types[index]?.name));
  const left = bits.slice();
  for (const index of indices)
    if (having.has(types[index]?.name) && !isLaunched(index)) clearBit(left, index);
  return left;
}

/** The number of types to which these rows belong. */
export function countTypes({ types, hasSplitTypes }: TypeTable, bits: Bits): number {
  return hasSplitTypes
    ? new Set(bitIndices(bits).map((index) => types[index]?.name)).size
    : countBits(bits);
}

/** The rows that are not in `rows`, but whose type has a row in it. */
function leftOutOf({ types }: TypeTable, rows: Bits): readonly TypeRow[] {
  const named = new Set(bitIndices(rows).map((index) => types[index]?.name));
  return types.filter(({ name }, index) => named.has(name) && !hasBit(rows, index));
}

function canLaunch({ offerings, given = [] }: TypeRow, requirements: Requirements): boolean {
  if (!given.every((one) => overlaps(one, requirements.get(one.key)))) return false;
  return offerings.some((one) => isUsable(one) && isCompatible(one, requirements));
}

function byPrice(table: TypeTable, requirements: Requirements, rows: Bits): Launchable[] {
  const cheapest = table.offerings.cheapest(requirements);
  const found = bitIndices(rows).flatMap((index): Launchable[] => {
    const offering = cheapest[index];
    return offering === undefined ? [] : [{ row: table.types[index] as TypeRow, offering }];
  });
  return found.sort(
    (a, b) =>
      Number(isCheaper(b.offering, a.offering)) - Number(isCheaper(a.offering, b.offering)) ||
      (a.row.name < b.row.name ? -1 : 1),
  );
}

function labelsOf({ row: { given = [] }, offering }: Launchable): Requirements {
  const { zone, capacityType, labels = {} } = offering;
  const own = { [TOPOLOGY_ZONE_LABEL_KEY]: zone, [CAPACITY_TYPE_LABEL_KEY]: capacityType };
  return Requirements.fromLabels({ ...labels, ...own }).and(Requirements.of(given));
}

/** Adds as many values of the label as possible, those of the cheapest rows first. */
function widened(
  narrowed: Requirements,
  key: string,
  launchable: readonly Launchable[],
  requirements: Requirements,
  keeps: (some: Requirements) => boolean,
): Requirements {
  let best = narrowed;
  const others = narrowed.without(new Set([key]));
  for (const value of valuesOf(key, launchable, requirements)) {
    const wider = unionOf(best.get(key), value);
    if (wider === undefined) continue;
    const some = Requirements.of([...others.all(), wider]);
    if (keeps(some)) best = some;
  }
  return best;
}

function valuesOf(
  key: string,
  launchable: readonly Launchable[],
  requirements: Requirements,
): readonly string[] {
  const values = launchable.flatMap(({ row }) => [
    ...(row.given ?? [])
      .filter((one) => one.key === key && !one.complement)
      .flatMap((one) => one.values),
    ...usableOfferings(row, requirements).flatMap((one) => labelOf(one, key) ?? []),
  ]);
  return [...new Set(values)];
}

/** The value of the label that an instance of this offering has. Undefined: the offering does not set the label. */
export function labelOf({ zone, capacityType, labels }: Offering, key: string): string | undefined {
  if (key === TOPOLOGY_ZONE_LABEL_KEY) return zone;
  return key === CAPACITY_TYPE_LABEL_KEY ? capacityType : labels?.[key];
}

/** The requirement with one more value. Undefined: it allows the value already, or only excludes values (NotIn). */
function unionOf({ key, complement, values, minValues }: Requirement, value: string) {
  if (complement || values.includes(value)) return undefined;
  return { ...oneOf(key, [...values, value]), minValues };
}
