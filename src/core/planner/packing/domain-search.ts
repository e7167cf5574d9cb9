/**
 * Searches for a better division of pods with topology spread over domains (such as zones) than domains.ts made. If the
 * pods do not divide evenly, the odd pod may need a larger node in one domain than in another. The search makes the
 * move of one pod that saves most, until no move saves enough or the budget is spent.
 */
import { assert } from "../../../base/assert.ts";
import { ITEMS_PER_STEP, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { PodClass } from "../../provisioning/batch/pod-class.ts";
import type { TopologyGroup } from "../../provisioning/topology/topology-group.ts";
import type { PlannerOptions } from "../planner-options.ts";
import { LEAST_GAIN_OF_DOMAIN } from "../settings.ts";
import type { ClassPods, Domain } from "./class-demands.ts";
import type { PackingDemand, PodRow } from "./demand.ts";
import { countingOf, type DomainNow, GroupCounts } from "./domains.ts";
import { pack } from "./pack.ts";
import { type Packing, type PatternUse, packingPrice, type WorkBudget } from "./packing.ts";
import { type PackingPart, partsOf } from "./parts.ts";
import type { ResourcePrices } from "./resource-prices.ts";

/** A packing problem (pods as rows, instance types as kinds of bins) with its solution. */
export interface PackedDemand {
  readonly demand: PackingDemand;
  readonly solution: readonly PatternUse[];
}

/** Returns the demand with a better division and its new packing. Moves pods between the `items` of its classes. */
export function* withBetterDomains(
  { demand, solution }: PackedDemand,
  options: PlannerOptions,
): Steps<PackedDemand> {
  const budget = { units: options.domainSearchWork ?? 0 };
  const divided = budget.units > 0 ? dividedClasses(demand.rows) : [];
  if (divided.length === 0) return { demand, solution };
  const packings = new Packings(demand, budget, options);
  const counts = new GroupCounts();
  for (const { domains, counting } of divided)
    for (const { domain, pods } of domains) counts.add(counting, domain.value, pods.items.length);
  const rowCounts = demand.rows.map(({ count }) => count);
  let price = packingPrice(demand, solution);
  let better = solution;
  let tried = 0;
  for (;;) {
    let best: { readonly move: Move; readonly packed: PackedWhole } | undefined;
    let least = price * (1 - LEAST_GAIN_OF_DOMAIN);
    for (const move of divided.flatMap(movesOf)) {
      if (budget.units <= 0) break;
      if (move.from.pods.items.length === 0 || !isAllowed(move, counts)) continue;
      if (++tried % ITEMS_PER_STEP === 0) yield;
      const packed = yield* packings.after(move, rowCounts);
      if (packed === undefined || packed.price >= least) continue;
      best = { move, packed };
      least = packed.price;
    }
    if (best === undefined) break;
    const { from, to } = best.move;
    rowCounts[from.row] = (rowCounts[from.row] as number) - 1;
    rowCounts[to.row] = (rowCounts[to.row] as number) + 1;
    counts.add(best.move.divided.counting, from.domain.value, -1);
    counts.add(best.move.divided.counting, to.domain.value, 1);
    movePod(best.move, options.domainNow);
    [better, price] = [best.packed.solution(), least];
  }
  const rows = demand.rows.map((row, index) => ({ ...row, count: rowCounts[index] as number }));
  return { demand: { ...demand, rows }, solution: better };
}

interface ClassInDomain {
  readonly row: number;
  readonly domain: Domain;
  readonly pods: ClassPods;
}

interface DividedClass {
  readonly domains: readonly ClassInDomain[];
  /** The topology groups that count its pods. */
  readonly counting: readonly TopologyGroup[];
}

interface Move {
  readonly divided: DividedClass;
  readonly from: ClassInDomain;
  readonly to: ClassInDomain;
}

function dividedClasses(rows: readonly PodRow[]): readonly DividedClass[] {
  const domains = new Map<PodClass, ClassInDomain[]>();
  rows.forEach(({ domain, classes }, row) => {
    if (domain === undefined) return;
    for (const pods of classes) {
      within(domains, pods.podClass, () => []).push({ row, domain, pods });
    }
  });
  return [...domains]
    .filter(([, own]) => own.length > 1)
    .map(([podClass, own]) => ({
      domains: own,
      counting: countingOf(podClass, (own[0] as ClassInDomain).domain.key),
    }));
}

function movesOf(divided: DividedClass): readonly Move[] {
  const { domains } = divided;
  return domains.flatMap((from) =>
    domains.flatMap((to) => (from === to ? [] : [{ divided, from, to }])),
  );
}

/** Whether the new domain has fewer pods of every group that counts the pod. Then no spread becomes less even. */
function isAllowed({ divided, from, to }: Move, counts: GroupCounts): boolean {
  return divided.counting.every(
    (group) => counts.of(group, to.domain.value) < counts.of(group, from.domain.value),
  );
}

/** The packing of one independent part. Parts share no bins, for example pods of different zones. */
interface PackedPart {
  readonly solution: readonly PatternUse[];
  readonly price: number;
}

interface PackedWhole {
  readonly price: number;
  /** Computed only for the move that is made. */
  readonly solution: () => readonly PatternUse[];
}

interface KnownPart extends PackingPart {
  /** Parts with equal rows and bins have the same number, even if their counts differ. */
  readonly shape: number;
}

/**
 * Packs the parts of the demand again after a move. Most moves leave most parts as they are, so packings are cached.
 */
class Packings {
  readonly #parts: readonly KnownPart[];
  /** The packings so far, by shape of the part and counts of its rows. */
  readonly #known = new Map<string, PackedPart | "impossible">();
  readonly #resourcePrices: ResourcePrices;
  readonly #budget: WorkBudget;
  readonly #options: PlannerOptions;

  constructor(demand: PackingDemand, budget: WorkBudget, options: PlannerOptions) {
    // Zones with equal offerings at equal prices have equal packings.
    const shapes = new Map<string, number>();
    this.#parts = partsOf(demand).map((part) => {
      const text = textOf(part.packing);
      const shape = within(shapes, text, () => shapes.size);
      return { ...part, shape };
    });
    this.#resourcePrices = demand.resourcePrices;
    this.#budget = budget;
    this.#options = options;
  }

  /** The whole packing after the move. `rowCounts`: the pods of each row before. Undefined: a part cannot be packed. */
  *after(move: Move, rowCounts: readonly number[]): Steps<PackedWhole | undefined> {
    const found: PackedPart[] = [];
    const counts = afterMove(rowCounts, move);
    let price = 0;
    for (const part of this.#parts) {
      const one = yield* this.#packed(part, counts);
      if (one === "impossible") return undefined;
      price += one.price;
      found.push(one);
    }
    const solution = () =>
      found.flatMap((one, index) => (this.#parts[index] as KnownPart).inWhole(one.solution));
    return { price, solution };
  }

  *#packed(
    { packing, rows, shape }: KnownPart,
    rowCounts: readonly number[],
  ): Steps<PackedPart | "impossible"> {
    const counts = rows.map((row) => rowCounts[row] as number);
    const key = `${shape} ${counts.join()}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const part = {
      ...packing,
      rows: packing.rows.map((row, at) => ({ ...row, count: counts[at] as number })),
    };
    const solution = yield* pack(part, this.#resourcePrices, this.#budget, this.#options);
    const found =
      solution === undefined ? "impossible" : { solution, price: packingPrice(part, solution) };
    this.#known.set(key, found);
    return found;
  }
}

function textOf({ rows, bins }: Packing): string {
  return JSON.stringify([
    rows.map(({ amounts, perBin }) => [[...amounts], perBin]),
    bins.map(({ amounts, price, rows: allowed }) => [[...amounts], price, allowed]),
  ]);
}

/**
 * Moves one pod to the new domain: first a pod that runs there already, then one that does not run in the old domain.
 */
function movePod({ from, to }: Move, domainNow: DomainNow = () => undefined): void {
  const { items } = from.pods;
  const now = items.map(({ pod }) => domainNow(pod, from.domain.key));
  const there = now.indexOf(to.domain.value);
  const elsewhere = now.findIndex((one) => one !== from.domain.value);
  const [item] = items.splice(there >= 0 ? there : elsewhere, 1);
  assert(item !== undefined, "a class has a pod in the domain that the move starts from");
  to.pods.items.push(item);
}

function afterMove(rowCounts: readonly number[], { from, to }: Move): readonly number[] {
  return rowCounts.map(
    (count, row) => count - (row === from.row ? 1 : 0) + (row === to.row ? 1 : 0),
  );
}
