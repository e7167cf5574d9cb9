/**
 * A better division of pods that are spread over zones. How many of each kind go to which zone is settled before
 * anything is packed (domains.ts). That one zone gets one more of a kind than another is as good as drawn by lot
 * then, though it may decide how large a machine is needed there. So a pod goes to a zone that has fewer of its kind
 * where packing the two anew costs less: one after the other, each time the one that saves most.
 */
import { assert } from "../../../base/assert.ts";
import type { Steps } from "../../../base/steps.ts";
import type { PodClass } from "../../provisioning/batch/pod-class.ts";
import type { TopologyGroup } from "../../provisioning/topology/topology-group.ts";
import type { PlannerOptions } from "../planner-options.ts";
import type { Demand, PodRow } from "./demand.ts";
import { countingOf, type DomainNow } from "./domains.ts";
import type { Domain, Waiting } from "./homes.ts";
import { pack } from "./pack.ts";
import { type Budget, type Packing, priceOf, type Use } from "./packing.ts";
import { type Part, partsOf } from "./parts.ts";
import type { ResourcePrices } from "./resource-prices.ts";

/** What is saved by less than this share of the price is not worth another zone. */
const LEAST_GAIN = 0.001;
/** Most of them cost what they did when they were last weighed. */
const MOVES_PER_STEP = 64;

export interface Divided {
  readonly demand: Demand;
  readonly uses: readonly Use[];
}

/** `uses`: how the demand is packed as it is divided. */
export function* betterDivided({ demand, uses }: Divided, options: PlannerOptions): Steps<Divided> {
  const budget = { units: options.exchangeWork ?? 0 };
  const kinds = budget.units > 0 ? kindsOf(demand.rows) : [];
  if (kinds.length === 0) return { demand, uses };
  const packings = new Packings(demand, budget, options);
  const counts = new Counts(kinds);
  const amounts = demand.rows.map(({ count }) => count);
  let price = priceOf(demand, uses);
  let better = uses;
  let weighed = 0;
  for (;;) {
    let best: { readonly move: Move; readonly packed: Packed } | undefined;
    let least = price * (1 - LEAST_GAIN);
    for (const move of kinds.flatMap(movesOf)) {
      if (budget.units <= 0) break;
      if (move.from.waiting.items.length === 0 || !counts.allow(move)) continue;
      if (++weighed % MOVES_PER_STEP === 0) yield;
      const packed = yield* packings.after(move, amounts);
      if (packed === undefined || packed.price >= least) continue;
      best = { move, packed };
      least = packed.price;
    }
    if (best === undefined) break;
    const { from, to } = best.move;
    amounts[from.row] = (amounts[from.row] as number) - 1;
    amounts[to.row] = (amounts[to.row] as number) + 1;
    counts.note(best.move);
    packings.note(best.move);
    carry(best.move, options.domainNow);
    [better, price] = [best.packed.uses(), least];
  }
  const rows = demand.rows.map((row, index) => ({ ...row, count: amounts[index] as number }));
  return { demand: { ...demand, rows }, uses: better };
}

/** Pods of one class that go to one domain. */
interface Place {
  readonly row: number;
  readonly domain: Domain;
  readonly waiting: Waiting;
}

/** Pods of one class: where they go, and by what groups they count there. */
interface Kind {
  readonly places: readonly Place[];
  readonly counting: readonly TopologyGroup[];
}

/** One pod of a kind goes elsewhere. */
interface Move {
  readonly kind: Kind;
  readonly from: Place;
  readonly to: Place;
}

/** Those that go to several domains. */
function kindsOf(rows: readonly PodRow[]): readonly Kind[] {
  const places = new Map<PodClass, Place[]>();
  rows.forEach(({ domain, classes }, row) => {
    if (domain === undefined) return;
    for (const waiting of classes) {
      const own = places.get(waiting.podClass);
      if (own === undefined) places.set(waiting.podClass, [{ row, domain, waiting }]);
      else own.push({ row, domain, waiting });
    }
  });
  return [...places]
    .filter(([, own]) => own.length > 1)
    .map(([podClass, own]) => ({
      places: own,
      counting: countingOf(podClass, (own[0] as Place).domain.key),
    }));
}

function movesOf(kind: Kind): readonly Move[] {
  const { places } = kind;
  return places.flatMap((from) =>
    places.flatMap((to) => (from === to ? [] : [{ kind, from, to }])),
  );
}

/** Pods of each group by domain, all that are divided counted in. */
class Counts {
  readonly #counts = new Map<TopologyGroup, Map<string, number>>();

  constructor(kinds: readonly Kind[]) {
    for (const { places, counting } of kinds)
      for (const { domain, waiting } of places)
        for (const group of counting) this.#add(group, domain, waiting.items.length);
  }

  /** Whether it is from a domain with more to one with fewer: no spread gets wider by that. */
  allow({ kind, from, to }: Move): boolean {
    return kind.counting.every(
      (group) => this.#of(group, to.domain) < this.#of(group, from.domain),
    );
  }

  note({ kind, from, to }: Move): void {
    for (const group of kind.counting) {
      this.#add(group, from.domain, -1);
      this.#add(group, to.domain, 1);
    }
  }

  #of(group: TopologyGroup, { value }: Domain): number {
    return this.#counts.get(group)?.get(value) ?? 0;
  }

  #add(group: TopologyGroup, { value }: Domain, pods: number): void {
    const counts = this.#counts.get(group) ?? new Map(group.counts);
    this.#counts.set(group, counts.set(value, (counts.get(value) ?? 0) + pods));
  }
}

/** How a part can be packed. */
interface Priced {
  readonly uses: readonly Use[];
  readonly price: number;
}

/** All parts together. */
interface Packed {
  readonly price: number;
  readonly uses: () => readonly Use[];
}

interface KnownPart extends Part {
  /** The same number: the same rows and bins, however many of each row there are. */
  readonly shape: number;
  readonly has: ReadonlySet<number>;
  /** As it is now, by what a move changes of it. Undefined: there is no packing. */
  readonly afterMoves: Map<string, Priced | undefined>;
}

/** What packing so many of each row costs, each part as it is first asked for: most are not about what has changed. */
class Packings {
  readonly #parts: readonly KnownPart[];
  /** By shape, and how many of each row. */
  readonly #known = new Map<string, Priced | undefined>();
  readonly #worth: ResourcePrices;
  readonly #budget: Budget;
  readonly #options: PlannerOptions;

  constructor(demand: Demand, budget: Budget, options: PlannerOptions) {
    // Zones that sell the same at the same prices are packed alike.
    const shapes = new Map<string, number>();
    this.#parts = partsOf(demand).map((part) => {
      const text = textOf(part.packing);
      const shape = shapes.get(text) ?? shapes.size;
      shapes.set(text, shape);
      return { ...part, shape, has: new Set(part.rows), afterMoves: new Map() };
    });
    this.#worth = demand.worth;
    this.#budget = budget;
    this.#options = options;
  }

  /** `amounts`: of each row, before the move. */
  *after(move: Move, amounts: readonly number[]): Steps<Packed | undefined> {
    const found: Priced[] = [];
    let price = 0;
    for (const part of this.#parts) {
      const change = [move.from, move.to].map(({ row }) => (part.has.has(row) ? row : "")).join();
      let one = part.afterMoves.get(change);
      if (one === undefined && !part.afterMoves.has(change)) {
        one = yield* this.#packed(part, afterMove(amounts, move));
        part.afterMoves.set(change, one);
      }
      if (one === undefined) return undefined;
      price += one.price;
      found.push(one);
    }
    const uses = () =>
      found.flatMap((one, index) => (this.#parts[index] as KnownPart).inWhole(one.uses));
    return { price, uses };
  }

  /** The move is made: what it changes is another now. */
  note({ from, to }: Move): void {
    for (const { has, afterMoves } of this.#parts)
      if (has.has(from.row) || has.has(to.row)) afterMoves.clear();
  }

  *#packed(
    { packing, rows, shape }: KnownPart,
    amounts: readonly number[],
  ): Steps<Priced | undefined> {
    const counts = rows.map((row) => amounts[row] as number);
    const key = `${shape} ${counts.join()}`;
    if (this.#known.has(key)) return this.#known.get(key);
    const part = {
      ...packing,
      rows: packing.rows.map((row, at) => ({ ...row, count: counts[at] as number })),
    };
    const uses = yield* pack(part, this.#worth, this.#budget, this.#options);
    const found = uses === undefined ? undefined : { uses, price: priceOf(part, uses) };
    this.#known.set(key, found);
    return found;
  }
}

function textOf({ rows, bins }: Packing): string {
  return JSON.stringify([
    rows.map(({ amounts, perBin }) => [[...amounts], perBin]),
    bins.map(({ amounts, price, rows: welcome }) => [[...amounts], price, welcome]),
  ]);
}

/** One that runs there already, if there is one; else one that does not run where it was to go. */
function carry({ from, to }: Move, domainNow: DomainNow = () => undefined): void {
  const { items } = from.waiting;
  const now = items.map(({ pod }) => domainNow(pod, from.domain.key));
  const there = now.indexOf(to.domain.value);
  const elsewhere = now.findIndex((one) => one !== from.domain.value);
  const [item] = items.splice(there >= 0 ? there : elsewhere, 1);
  assert(item !== undefined, "a kind's pods are where they are counted");
  to.waiting.items.push(item);
}

function afterMove(amounts: readonly number[], { from, to }: Move): readonly number[] {
  return amounts.map((count, row) => count - (row === from.row ? 1 : 0) + (row === to.row ? 1 : 0));
}
