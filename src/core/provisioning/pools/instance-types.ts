/**
 * A pool's instance types as columns of bits: which types satisfy a set of requirements, which have an available
 * offering, which have a given amount of a resource. Each answer is kept, so testing a pod on a planned node is a few
 * bitwise ANDs.
 * upstream: pkg/controllers/provisioning/scheduling/nodeclaim.go (filterInstanceTypesByRequirements)
 */
import { CAPACITY_TYPE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { NO_RESOURCES, type Resources } from "../../../apis/resources.ts";
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
  firstAtMost,
  labelColumn,
  type OrderedColumn,
  type ResourceColumn,
  resourceColumn,
  sheetOf,
  type TypeSheet,
} from "./type-sheet.ts";

/** The values that a requirement allows, numbered. */
interface CountableValues {
  /** Indexed by position of the type: the numbers of its values. */
  readonly ofType: readonly (readonly number[])[];
  /** For each value, the number of the last question that counted it. */
  readonly seenIn: Float64Array;
}

export class TypeTable {
  /** Rows, by name: bit `i` is `types[i]`. */
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
  /** The last answers of {@link hasFitting} and {@link hasEach}. */
  #fitted: {
    readonly bits: Bits | undefined;
    readonly bySet: WeakMap<Resources, boolean>[];
  } = { bits: undefined, bySet: [] };
  readonly #each = new WeakMap<Resources, boolean>();
  /** The rows to combine, reused for each question. */
  readonly #rows: Bits[] = [];
  readonly #starts: number[] = [];
  readonly #left: Bits;
  /** Kept answers of {@link fitting}. */
  readonly #given = new SharedBits();
  /** Kept answers of {@link withCapacityUpTo}, by number of types with more capacity. */
  readonly #upTo = new Map<string, Map<number, Bits>>();
  /** Kept answers of {@link valuesOf}. */
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

  /** Labels by which rows of one type may differ: labels of offerings, and labels of the pool that daemons select. */
  get splittingKeys(): readonly string[] {
    return [...this.#sheet.given.keys(), ...this.#sheet.offeringKeys];
  }

  /** Types that are not burstable; undefined: none is burstable. */
  get steady(): Bits | undefined {
    return this.#sheet.steady;
  }

  /** Whether some type has several rows. */
  get hasSplitTypes(): boolean {
    return this.#sheet.hasSplitTypes;
  }

  /**
   * Subtracts the daemons' requests from each type, and returns them by position of the type. Call it before any
   * question about resources.
   */
  reserve(daemons: readonly PoolDaemon[]): readonly Resources[] {
    this.#after = afterDaemons(this.#sheet, daemons);
    return this.#after.requests;
  }

  /**
   * Types whose labels satisfy the requirements and that have an available offering under them. Do not change the
   * result.
   */
  compatible(set: SetId): Bits {
    let bits = this.#bySet[set];
    if (bits === undefined) {
      bits = this.meeting(set).slice();
      intersectBits(bits, this.offered(set));
      this.#bySet[set] = bits;
    }
    return bits;
  }

  /**
   * Types whose labels satisfy the requirements. A type without a label satisfies every requirement about it.
   */
  meeting(set: SetId): Bits {
    const bits = allBits(this.size);
    for (const requirement of this.#space.get(set).all()) {
      intersectBits(bits, this.#allowed(requirement));
    }
    return bits;
  }

  /**
   * Types with an available offering that satisfies the requirements. Looks at labels of offerings only.
   */
  offered(set: SetId): Bits {
    const id = this.#aboutOfferings(set);
    return within(this.#offered, id, () => this.offerings.offered(this.#space.get(id)));
  }

  /** Whether the set has requirements about labels of offerings. */
  isAboutOfferings(set: SetId): boolean {
    return this.#space.get(this.#aboutOfferings(set)).size > 0;
  }

  /** Like {@link offered}, without reserved offerings. */
  open(set: SetId): Bits {
    return within(this.#open, set, () => this.offerings.open(this.#space.get(set)));
  }

  /** Price of the cheapest offering of the types in `bits` under the requirements, in micro-dollars per hour. */
  leastPrice(bits: Bits, set: SetId): number {
    const found = this.#cheapestAt(bits, set);
    return found === undefined ? Number.POSITIVE_INFINITY : (found.amounts[found.at] as number);
  }

  /** Position of the type with that offering; undefined: there is none. */
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

  /** Ids of the reservations that types in `bits` could be launched into under the set, ascending. */
  reservations(bits: Bits, set: SetId): readonly string[] {
    const byType = this.#reservedIn(set);
    const ids = bitIndices(bits).flatMap((index) => byType[index] ?? []);
    return [...new Set(ids)].sort();
  }

  /** The types in `bits` that could be launched into one of these reservations under the set. */
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
   * The types of `bits` that satisfy the requirements and have room for `used` and `added` together; undefined: none.
   * The caller knows that they have room for `used`, so only resources in `added` are checked. Do not change the
   * result: it may be `bits` itself, and equal results share one object.
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
      // `&` gives signed words, but stored words are unsigned.
      common >>>= 0;
      left[word] = common;
      if (common !== 0) isNone = false;
      if (common !== own) isAll = false;
    }
    if (isNone) return undefined;
    return isAll ? bits : this.#given.of(left);
  }

  /** Prepares the rows that are ANDed. Returns their number; 0: no type has enough of some resource. */
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

  /** The largest capacity of each resource among the types in `bits`. */
  mostCapacity(bits: Bits, name: string): number {
    const { order, amounts } = capacityColumn(this.#sheet, name);
    let at = 0;
    while (at < order.length && !hasBit(bits, order[at] as number)) at++;
    return Math.max(0, amounts[at] ?? 0);
  }

  /** Types with at most `amount` of a capacity; undefined: all types. Do not change the result. */
  withCapacityUpTo(name: string, amount: number): Bits | undefined {
    const { order, amounts } = capacityColumn(this.#sheet, name);
    if ((amounts[0] ?? 0) <= amount) return undefined;
    const larger = firstAtMost(amounts, amount);
    const known = within(this.#upTo, name, () => new Map<number, Bits>());
    return within(known, larger, () => {
      const bits = allBits(this.size);
      for (let at = 0; at < larger; at++) clearBit(bits, order[at] as number);
      return bits;
    });
  }

  /**
   * Distinct values that the types in `bits` can have under a requirement: what minValues counts.
   */
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

  /**
   * Like {@link distinctValues}, for the node that is launched. A reserved node has only the capacity type `reserved`,
   * and no other node has it.
   */
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

  /** Values of a label among the types in `bits`, as far as the requirement allows them. */
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

  /** The part of a set that is about labels of offerings. */
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

  /** What pods can request on a type, after the daemons' requests. For explanations. */
  allocatable(index: number): Resources {
    return this.#after.allocatable[index] as Resources;
  }

  /** Types that hold `requests`, whatever their labels; for explanations. */
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
