/**
 * Facts about a list of instance types that do not depend on a pool: its rows by name, and for each label and resource
 * the types by value. Pools and passes share a list until prices or capacity change, so the facts are computed once.
 */
import {
  CAPACITY_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { type Resources, subtractResources } from "../../../apis/resources.ts";
import { within } from "../../../base/within.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { allBits, type Bits, noBits, setBit } from "../../scheduling/bits.ts";
import type { Requirement } from "../../scheduling/requirement.ts";
import { OfferingTable } from "./offering-table.ts";
import { type TypeRow, typeRows } from "./type-rows.ts";

/** For one label: which instance types have which of its values. */
export interface LabelColumn {
  readonly byValue: ReadonlyMap<string, Bits>;
  /** The types that do not set the label, so their nodes may have any value of it. */
  readonly silent: Bits;
  /** The types that set the label to no value, so their nodes never have it. */
  readonly never: Bits;
}

/** The types by the amount of a resource that pods can request. Row `i` of `rows`: those with at least `amounts[i]`. */
export interface ResourceColumn {
  readonly amounts: readonly number[];
  readonly rows: Bits;
}

/** The types in the order of an amount, largest first, or of price, cheapest first. */
export interface OrderedColumn {
  readonly order: readonly number[];
  readonly amounts: readonly number[];
}

/** The amounts that pods and daemons together may request on a node of the type. */
function allocatableOf(type: InstanceType): Resources {
  const result = subtractResources(type.capacity, type.overhead) as Record<string, number>;
  for (const name in type.capacity) {
    if (!name.startsWith("hugepages-")) continue;
    result["memory"] = Math.max(0, (result["memory"] ?? 0) - (type.capacity[name] as number));
  }
  return result;
}

/** The facts that depend only on labels, capacities and overheads. Lists that differ only in offerings share them. */
interface TypeColumns {
  readonly allocatable: readonly Resources[];
  readonly labels: Map<string, LabelColumn>;
  readonly labelKeys: ReadonlySet<string>;
  readonly resources: Map<string, ResourceColumn>;
  readonly capacities: Map<string, OrderedColumn>;
}

export interface TypeSheet extends TypeColumns {
  readonly types: readonly TypeRow[];
  /** Whether some type has several rows. */
  readonly hasSplitTypes: boolean;
  readonly offerings: OfferingTable;
  readonly offeringKeys: ReadonlySet<string>;
  /** The types that are not burstable. Undefined: no type is burstable. */
  readonly steady: Bits | undefined;
  /** For each label of the pool: the rows (parts of a type) whose nodes have only some of its values. */
  readonly given: ReadonlyMap<string, readonly GivenLabel[]>;
}

interface GivenLabel {
  readonly index: number;
  readonly value: Requirement;
}

/** The sheet of each list of types. Lists never change. */
const sheets = new WeakMap<readonly InstanceType[], TypeSheet>();

export function sheetOf(list: readonly InstanceType[]): TypeSheet {
  return within(sheets, list, () => {
    const types = typeRows(list);
    return {
      ...columnsOf(types),
      types,
      hasSplitTypes: types.some(({ name }, at) => types[at - 1]?.name === name),
      given: givenOf(types),
      offerings: new OfferingTable(types),
      offeringKeys: keysOf(types),
      steady: steadyOf(types),
    };
  });
}

/**
 * The last list of types and its columns, by the labels object of the first type in the list. A new list of the same
 * types, for example with new prices, finds the columns here and reuses them.
 */
const lastColumns = new WeakMap<
  InstanceType["labels"],
  { readonly types: readonly TypeRow[]; readonly columns: TypeColumns }
>();

function columnsOf(types: readonly TypeRow[]): TypeColumns {
  const labels = types[0]?.labels ?? {};
  const last = lastColumns.get(labels);
  if (last !== undefined && haveSameColumns(types, last.types)) return last.columns;
  const columns: TypeColumns = {
    allocatable: types.map(allocatableOf),
    labels: new Map(),
    labelKeys: new Set(types.flatMap((type) => Object.keys(type.labels))),
    resources: new Map(),
    capacities: new Map(),
  };
  lastColumns.set(labels, { types, columns });
  return columns;
}

/** Whether the lists have the same labels, capacities and overheads. They are immutable, so equal ones are the same. */
function haveSameColumns(types: readonly TypeRow[], before: readonly TypeRow[]): boolean {
  return (
    types.length === before.length &&
    types.every((type, index) => {
      const { labels, capacity, overhead } = before[index] as TypeRow;
      return type.labels === labels && type.capacity === capacity && type.overhead === overhead;
    })
  );
}

const ASKED_RESOURCES = ["cpu", "memory", "pods"];

/**
 * Computes the columns of all labels and of {@link ASKED_RESOURCES}, so that the first pass is as fast as later ones.
 */
export function readTypes(list: readonly InstanceType[]): void {
  const sheet = sheetOf(list);
  for (const key of sheet.labelKeys) labelColumn(sheet, key);
  for (const name of ASKED_RESOURCES) {
    within(sheet.resources, name, () => resourceColumn(sheet.allocatable, name));
    capacityColumn(sheet, name);
  }
}

/** The types by their values of this label. */
export function labelColumn(sheet: TypeSheet, key: string): LabelColumn {
  return within(sheet.labels, key, () => columnOf(sheet, key));
}

function columnOf({ types, labelKeys }: TypeSheet, key: string): LabelColumn {
  const byValue = new Map<string, Bits>();
  const never = noBits(types.length);
  if (!labelKeys.has(key)) return { byValue, silent: allBits(types.length), never };
  const silent = noBits(types.length);
  for (let index = 0; index < types.length; index++) {
    const values = (types[index] as InstanceType).labels[key];
    if (values === undefined) setBit(silent, index);
    else if (values.length === 0) setBit(never, index);
    for (const value of values ?? []) {
      const having = within(byValue, value, () => noBits(types.length));
      setBit(having, index);
    }
  }
  return { byValue, silent, never };
}

/** The types by the amount of a resource that pods can request. `allocatable`: by position of the type. */
export function resourceColumn(allocatable: readonly Resources[], name: string): ResourceColumn {
  const all = Float64Array.from(allocatable, (amounts) => amounts[name] ?? 0);
  const order = largestFirst(all);
  const amounts = [...new Set(order.map((index) => all[index] as number))].reverse();
  const having = noBits(all.length);
  const rows = new Uint32Array(having.length * amounts.length);
  for (let row = amounts.length - 1, at = 0; row >= 0; row--) {
    for (; at < order.length && all[order[at] as number] === amounts[row]; at++) {
      setBit(having, order[at] as number);
    }
    rows.set(having, row * having.length);
  }
  return { amounts, rows };
}

/** The types in the order of this capacity, largest first. */
export function capacityColumn({ types, capacities }: TypeSheet, name: string): OrderedColumn {
  return within(capacities, name, () => {
    const all = Float64Array.from(types, ({ capacity }) => capacity[name] ?? 0);
    const order = largestFirst(all);
    return { order, amounts: order.map((index) => all[index] as number) };
  });
}

/** The positions of amounts, largest amount first. Equal amounts keep their order. */
function largestFirst(amounts: Float64Array): number[] {
  return [...amounts.keys()].sort((a, b) => (amounts[b] as number) - (amounts[a] as number));
}

function givenOf(types: readonly TypeRow[]): TypeSheet["given"] {
  const byKey = new Map<string, GivenLabel[]>();
  types.forEach(({ given = [] }, index) => {
    for (const value of given) within(byKey, value.key, () => []).push({ index, value });
  });
  return byKey;
}

function steadyOf(types: readonly InstanceType[]): Bits | undefined {
  if (types.every(({ baseline }) => baseline === undefined)) return undefined;
  const steady = noBits(types.length);
  for (const [index, { baseline }] of types.entries())
    if (baseline === undefined) setBit(steady, index);
  return steady;
}

function keysOf(types: readonly InstanceType[]): ReadonlySet<string> {
  const keys = new Set([TOPOLOGY_ZONE_LABEL_KEY, CAPACITY_TYPE_LABEL_KEY]);
  for (const { offerings } of types) {
    for (const { labels } of offerings) for (const key in labels) keys.add(key);
  }
  return keys;
}

/** In amounts that ascend: index of the first one that is at least `wanted`. If there is none, the length. */
export function firstAtLeast(amounts: readonly number[], wanted: number): number {
  let low = 0;
  let high = amounts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((amounts[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
