/**
 * A pool's instance types as sets of bits, one bit for each type: which types satisfy a set of requirements, have an
 * available offering, or have enough of a resource. Results are cached, so testing a pod on a planned node is a few
 * bitwise ANDs.
 * upstream: pkg/controllers/provisioning/scheduling/nodeclaim.go (filterInstanceTypesByRequirements)
 */
import { CAPACITY_TYPE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { NO_RESOURCES, type Resources } from "../../../apis/resources.ts";
import { firstNotBelow } from "../../../base/sorted.ts";
import { within } from "../../../base/within.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import {
  allBits,
  type Bits,
  bitIndices,
  clearBit,
  hasBit,
  intersectBits,
  noBits,
  setBit,
  uniteBits,
} from "../../scheduling/bits.ts";
import { allows, allowsAbsence, type Requirement } from "../../scheduling/requirement.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { SharedBits } from "../../scheduling/shared-bits.ts";
import { type AfterDaemons, afterDaemons, type PoolDaemon } from "./after-daemons.ts";
import { overlaps } from "./daemon-rows.ts";
import type { OfferingTable } from "./offering-table.ts";
import type { TypeRow } from "./type-rows.ts";
import {
  capacityColumn,
  firstAtLeast,
  labelColumn,
  type OrderedColumn,
  type ResourceColumn,
  resourceColumn,
  sheetOf,
  type TypeSheet,
} from "./type-sheet.ts";

/** The values that a requirement allows, each with a number. */
interface CountableValues {
  /** For each type, by position: the numbers of the values that it has. */
  readonly ofType: readonly (readonly number[])[];
  /** For each value: the number of the last call that counted it, so that a call counts each value once. */
  readonly seenIn: Float64Array;
}

export class TypeTable {
  /** The rows in the order of names. Bit `i` of a result stands for `types[i]`. */
  readonly types: readonly TypeRow[];
  readonly offerings: OfferingTable;
  readonly #space: RequirementSpace;
  readonly #sheet: TypeSheet;
  #after: AfterDaemons;
  readonly #byRequirement = new Map<Requirement, Bits>();
  readonly #bySet: Bits[] = [];
  readonly #countables = new Map<Requirement, CountableValues>();
  #questions = 0;
  readonly #offered = new Map<SetId, Bits>();
  readonly #offeringPart = new Map<SetId, SetId>();
  readonly #prices = new Map<SetId, OrderedColumn>();
  readonly #open = new Map<SetId, Bits>();
  readonly #reserved = new Map<SetId, readonly (readonly string[])[]>();
  /** Cached results of {@link hasFitting} and {@link hasEach}. */
  #fitted: {
    readonly bits: Bits | undefined;
    readonly bySet: WeakMap<Resources, boolean>[];
  } = { bits: undefined, bySet: [] };
  readonly #each = new WeakMap<Resources, boolean>();
  /** Scratch memory: the rows of bits that a call combines. */
  readonly #rows: Bits[] = [];
  readonly #starts: number[] = [];
  readonly #left: Bits;
  /** Cached results of {@link fitting}. */
  readonly #given = new SharedBits();
  /** Cached results of {@link withCapacityUpTo}, by number of types with more capacity. */
  readonly #upTo = new Map<string, Map<number, Bits>>();
  /** Cached results of {@link valuesOf}. */
  readonly #values = new WeakMap<Bits, Map<Requirement, readonly string[]>>();

  constructor(types: readonly InstanceType[], space: RequirementSpace) {
    this.#sheet = sheetOf(types);
    this.types = this.#sheet.types;
    this.offerings = this.#sheet.offerings;
    this.#space = space;
    this.#after = afterDaemons(this.#sheet, []);
    this.#left = noBits(this.size);
  }

  get size(): number {
    return this.types.length;
  }

  /** Labels in which rows (parts) of one type may differ: those of offerings, and those of the pool. */
  get splittingKeys(): readonly string[] {
    return [...this.#sheet.given.keys(), ...this.#sheet.offeringKeys];
  }

  /** The types that are not burstable. Undefined: no type is burstable. */
  get steady(): Bits | undefined {
    return this.#sheet.steady;
  }

  get hasSplitTypes(): boolean {
    return this.#sheet.hasSplitTypes;
  }

  /** Subtracts the requests of daemons from what pods can request on each type. */
  reserve(daemons: readonly PoolDaemon[]): void {
    this.#after = afterDaemons(this.#sheet, daemons);
  }

  /** The requests of all daemons on a node of the type at this position. */
  daemonRequests(index: number): Resources {
    return this.#after.requests[index] as Resources;
  }

  /** The types whose labels and one available offering satisfy the requirements. Do not change the result. */
  compatible(set: SetId): Bits {
    let bits = this.#bySet[set];
    if (bits === undefined) {
      bits = this.satisfying(set).slice();
      intersectBits(bits, this.offered(set));
      this.#bySet[set] = bits;
    }
    return bits;
  }

  /** The types whose own labels satisfy the requirements. A label that a type does not set satisfies everything. */
  satisfying(set: SetId): Bits {
    const bits = allBits(this.size);
    for (const requirement of this.#space.get(set).all()) {
      intersectBits(bits, this.#allowed(requirement));
    }
    return bits;
  }

  /** The types with an available offering whose labels satisfy the requirements. */
  offered(set: SetId): Bits {
    const id = this.#aboutOfferings(set);
    return within(this.#offered, id, () => this.offerings.offered(this.#space.get(id)));
  }

  /** Whether the set has requirements on labels of offerings. */
  isAboutOfferings(set: SetId): boolean {
    return this.#space.get(this.#aboutOfferings(set)).size > 0;
  }

  /** Like {@link offered}, but reserved offerings do not count. */
  open(set: SetId): Bits {
    return within(this.#open, set, () => this.offerings.open(this.#space.get(set)));
  }

  /** Price of the cheapest offering of the types in `bits` under the requirements, in micro-dollars per hour. */
  leastPrice(bits: Bits, set: SetId): number {
    const found = this.#cheapestAt(bits, set);
    return found === undefined ? Number.POSITIVE_INFINITY : (found.amounts[found.at] as number);
  }

  /** Index of the type in `bits` whose offering is cheapest under the requirements. Undefined: there is none. */
  cheapestType(bits: Bits, set: SetId): number | undefined {
    const found = this.#cheapestAt(bits, set);
    return found === undefined ? undefined : (found.order[found.at] as number);
  }

  #cheapestAt(bits: Bits, set: SetId): (OrderedColumn & { readonly at: number }) | undefined {
    const id = this.#aboutOfferings(set);
    const column =
      this.#prices.get(id) ??
      within(this.#prices, id, () => {
        const amounts = this.offerings
          .cheapest(this.#space.get(id))
          .map((offering) => offering?.priceMicroUsd ?? Number.POSITIVE_INFINITY);
        const order = [...amounts.keys()].sort(
          (a, b) => (amounts[a] as number) - (amounts[b] as number),
        );
        return { order, amounts: order.map((index) => amounts[index] as number) };
      });
    const compatible = this.compatible(set);
    const { order, amounts } = column;
    for (let at = 0; at < order.length; at++) {
      const index = order[at] as number;
      if (hasBit(bits, index) && hasBit(compatible, index)) return { order, amounts, at };
    }
    return undefined;
  }

  /** The ids of all reservations into which types of `bits` could be launched under the requirements. Sorted. */
  reservations(bits: Bits, set: SetId): readonly string[] {
    const byType = this.#reservedIn(set);
    const ids = bitIndices(bits).flatMap((index) => byType[index] ?? []);
    return [...new Set(ids)].sort();
  }

  /** The types of `bits` that could be launched into one of these reservations under the requirements. */
  reservable(bits: Bits, set: SetId, ids: readonly string[]): Bits {
    const byType = this.#reservedIn(set);
    const left = noBits(this.size);
    for (const index of bitIndices(bits)) {
      if (byType[index]?.some((id) => ids.includes(id))) setBit(left, index);
    }
    return left;
  }

  #reservedIn(set: SetId): readonly (readonly string[])[] {
    return within(this.#reserved, set, () => this.offerings.reserved(this.#space.get(set)));
  }

  /**
   * The types of `bits` that satisfy the requirements and have room for `used` and `added` together. Undefined: none.
   * Types of `bits` must have room for `used`. Do not change the result: equal results share one object.
   */
  fitting(bits: Bits, set: SetId, used: Resources, added: Resources): Bits | undefined {
    const count = this.#ask(bits.length, set, used, added);
    if (count === 0) return undefined;
    const left = this.#left;
    const rows = this.#rows;
    const starts = this.#starts;
    let isNone = true;
    let isAll = true;
    for (let word = 0; word < bits.length; word++) {
      const own = bits[word] as number;
      let common = own;
      for (let at = 0; at < count && common !== 0; at++)
        common &= (rows[at] as Bits)[(starts[at] as number) + word] as number;
      // `&` gives a signed number, but bits are stored as unsigned numbers.
      common >>>= 0;
      left[word] = common;
      if (common !== 0) isNone = false;
      if (common !== own) isAll = false;
    }
    if (isNone) return undefined;
    return isAll ? bits : this.#given.of(left);
  }

  /** Puts the sets of bits that `fitting` combines into `#rows` and `#starts`. Returns their number. 0: none fits. */
  #ask(words: number, set: SetId, used: Resources, added: Resources): number {
    const rows = this.#rows;
    const starts = this.#starts;
    let count = 0;
    for (const name in added) {
      const wanted = added[name] as number;
      if (wanted <= 0) continue;
      const column = this.#resource(name);
      const row = firstAtLeast(column.amounts, wanted + (used[name] ?? 0));
      if (row === column.amounts.length) return 0;
      starts[count] = row * words;
      rows[count++] = column.rows;
    }
    starts[count] = 0;
    rows[count++] = this.compatible(set);
    starts[count] = 0;
    rows[count++] = this.#after.fitting;
    return count;
  }

  /** Whether a type of `bits` satisfies the requirements and has room for the requests alone. */
  hasFitting(bits: Bits, set: SetId, requests: Resources): boolean {
    if (bits !== this.#fitted.bits) this.#fitted = { bits, bySet: [] };
    const { bySet } = this.#fitted;
    const known = bySet[set] ?? new WeakMap<Resources, boolean>();
    bySet[set] = known;
    return within(
      known,
      requests,
      () => this.fitting(bits, set, NO_RESOURCES, requests) !== undefined,
    );
  }

  /** Whether for each resource some type has enough. It may be another type for each resource. */
  hasEach(requests: Resources): boolean {
    return within(this.#each, requests, () =>
      Object.entries(requests).every(
        ([name, wanted]) => wanted <= 0 || wanted <= (this.#resource(name).amounts.at(-1) ?? 0),
      ),
    );
  }

  mostCapacity(bits: Bits, name: string): number {
    const { order, amounts } = capacityColumn(this.#sheet, name);
    let at = 0;
    while (at < order.length && !hasBit(bits, order[at] as number)) at++;
    return Math.max(0, amounts[at] ?? 0);
  }

  /** The types with at most this amount of a capacity. Undefined: all types. Do not change the result. */
  withCapacityUpTo(name: string, amount: number): Bits | undefined {
    const { order, amounts } = capacityColumn(this.#sheet, name);
    if ((amounts[0] ?? 0) <= amount) return undefined;
    const larger = firstNotBelow(amounts.length, (at) => (amounts[at] as number) > amount);
    const known = within(this.#upTo, name, () => new Map<number, Bits>());
    return within(known, larger, () => {
      const bits = allBits(this.size);
      for (let at = 0; at < larger; at++) clearBit(bits, order[at] as number);
      return bits;
    });
  }

  /** The number of distinct values that the types of `bits` can have under a requirement, as minValues counts. */
  distinctValues(bits: Bits, requirement: Requirement): number {
    const { ofType, seenIn } = this.#countable(requirement);
    const question = ++this.#questions;
    let count = 0;
    for (const index of bitIndices(bits)) {
      for (const value of ofType[index] as readonly number[]) {
        if (seenIn[value] === question) continue;
        seenIn[value] = question;
        count++;
      }
    }
    return count;
  }

  /** Like {@link distinctValues}, but only a reserved node has the capacity type `reserved`, and it has no other. */
  launchedValues(bits: Bits, requirement: Requirement, isReserved: boolean): number {
    const { key } = requirement;
    if (key !== CAPACITY_TYPE_LABEL_KEY || !this.offerings.hasReserved)
      return this.distinctValues(bits, requirement);
    const found = bitIndices(bits).flatMap((index) => this.types[index]?.labels[key] ?? []);
    const values = [...new Set(found)].filter((one) => allows(requirement, one));
    return values.filter((one) => (one === "reserved") === isReserved).length;
  }

  #countable(requirement: Requirement): CountableValues {
    return within(this.#countables, requirement, () => {
      const numbers = new Map<string, number>();
      const numberOf = (value: string) => within(numbers, value, () => numbers.size);
      const ofType = this.types.map(({ labels }) =>
        (labels[requirement.key] ?? []).filter((value) => allows(requirement, value)).map(numberOf),
      );
      return { ofType, seenIn: new Float64Array(numbers.size) };
    });
  }

  /** The values of a label that the types of `bits` have and the requirement allows. */
  valuesOf(bits: Bits, requirement: Requirement): readonly string[] {
    const known = this.#values.get(bits) ?? within(this.#values, bits, () => new Map());
    return (
      known.get(requirement) ?? within(known, requirement, () => this.#valuesOf(bits, requirement))
    );
  }

  #valuesOf(bits: Bits, requirement: Requirement): string[] {
    const column = labelColumn(this.#sheet, requirement.key);
    const values: string[] = [];
    for (const [value, having] of column.byValue) {
      if (!allows(requirement, value)) continue;
      if (having.some((word, at) => (word & (bits[at] as number)) !== 0)) values.push(value);
    }
    return values.sort();
  }

  /** The requirements of the set that are about labels of offerings, as a set. */
  #aboutOfferings(set: SetId): SetId {
    return within(this.#offeringPart, set, () => {
      const all = [...this.#space.get(set).all()];
      const relevant = all.filter((one) => this.#sheet.offeringKeys.has(one.key));
      return this.#space.intern(Requirements.of(relevant));
    });
  }

  #allowed(requirement: Requirement): Bits {
    let bits = this.#byRequirement.get(requirement);
    if (bits !== undefined) return bits;
    const column = labelColumn(this.#sheet, requirement.key);
    bits = column.silent.slice();
    if (allowsAbsence(requirement)) uniteBits(bits, column.never);
    if (!requirement.complement) {
      for (const value of requirement.values) {
        const having = column.byValue.get(value);
        if (having !== undefined) uniteBits(bits, having);
      }
    } else {
      for (const [value, having] of column.byValue) {
        if (allows(requirement, value)) uniteBits(bits, having);
      }
    }
    for (const { index, value } of this.#sheet.given.get(requirement.key) ?? [])
      if (!overlaps(value, requirement)) clearBit(bits, index);
    this.#byRequirement.set(requirement, bits);
    return bits;
  }

  #resource(name: string): ResourceColumn {
    const { columns, allocatable } = this.#after;
    return within(columns, name, () => resourceColumn(allocatable, name));
  }

  /** The resources that pods can request on a node of this type, after its daemons. For explanations. */
  allocatable(index: number): Resources {
    return this.#after.allocatable[index] as Resources;
  }

  /** The types with room for `requests`, whatever their labels are. For explanations. */
  holding(requests: Resources): Bits {
    const bits = this.#after.fitting.slice();
    for (const name in requests) {
      const wanted = requests[name] as number;
      if (wanted <= 0) continue;
      const { amounts, rows } = this.#resource(name);
      const row = firstAtLeast(amounts, wanted);
      if (row === amounts.length) return noBits(this.size);
      intersectBits(bits, rows.subarray(row * bits.length, (row + 1) * bits.length));
    }
    return bits;
  }
}
