/** The best plan of a batch so far, and a record of every plan that was offered. The acceptance rule decides. */
import { assert } from "../../base/assert.ts";
import type { Steps } from "../../base/steps.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import { type AcceptanceRule, firstFailure } from "./acceptance.ts";
import { type Heuristic, type ImprovementName, type SourceName, uses } from "./heuristics.ts";
import { countDivided } from "./packing/domains.ts";
import { priceMicroUsd } from "./plan-price.ts";
import type { PlannerOptions } from "./planner-options.ts";
import type { Considered, PlannerRecord } from "./record.ts";
import { LARGEST_REPLANNED_BATCH, MIN_SPREAD_SHARE } from "./settings.ts";
import type { Race } from "./sources/race.ts";

export class PlanSelection {
  readonly batch: Batch;
  readonly options: PlannerOptions;
  /** Whether the batch may be packed by price: it is large enough, and no NodePool can launch reserved instances. */
  readonly mayPack: boolean;
  /** The race between greedy and packing: greedy stops once a packing is expected to be cheaper. Undefined: no race. */
  race?: Race | undefined;
  /** Whether the search is over, because no plan can save `--planner-min-saving` compared with the best one. */
  isSettled = false;
  #best: SchedulingResult | undefined;
  #source: SourceName | undefined;
  #improvements: readonly ImprovementName[] = [];
  readonly #considered: Considered[] = [];

  constructor(batch: Batch, options: PlannerOptions) {
    this.batch = batch;
    this.options = options;
    this.mayPack = mayPack(batch, options);
  }

  /** Whether the planner uses this part. Only the benchmark of heuristics leaves a part out. */
  uses(name: SourceName | Heuristic): boolean {
    return name === "greedy" || uses(this.options, name);
  }

  get hasPlan(): boolean {
    return this.#best !== undefined;
  }

  get best(): SchedulingResult {
    assert(this.#best !== undefined, "the greedy source or the packing source has made a plan");
    return this.#best;
  }

  /** The source of the best plan. Undefined: there is no plan yet. */
  get source(): SourceName | undefined {
    return this.#source;
  }

  get record(): PlannerRecord {
    const source = this.#source;
    assert(source !== undefined, "a plan has a source");
    return { source, improvements: this.#improvements, considered: this.#considered };
  }

  /** Whether the batch may be planned again: it is small, and the best plan has new nodes or pods without a place. */
  get mayReplan(): boolean {
    const { newClaims, unschedulable } = this.best;
    const isSmall = this.batch.queued.length <= LARGEST_REPLANNED_BATCH;
    return isSmall && newClaims.length + unschedulable.length > 0;
  }

  /**
   * Whether a source may place all pods again by price. Not with reservations: a node's price does not show what a
   * reserved instance saves. Not if running pods should keep their domains: plans by price ignore where pods run.
   */
  get mayRearrange(): boolean {
    const { batch, options } = this;
    if (!this.mayReplan || this.best.newClaims.length === 0) return false;
    return !hasReservations(batch) && options.domainNow === undefined;
  }

  /**
   * Offers the plan of a source. It becomes the best plan if it beats `known` under the rule. If `known` is not the
   * best plan, it must also beat the best plan, by any saving.
   */
  *offer(
    source: SourceName,
    plan: SchedulingResult,
    rule: AcceptanceRule,
    known = this.#best,
  ): Steps<void> {
    const rejectedBy = yield* this.#failure(plan, rule, known);
    this.#note({ source }, plan, rejectedBy);
    if (rejectedBy !== undefined) return;
    this.#best = plan;
    this.#source = source;
    this.#improvements = [];
  }

  /** Offers an improved form of the best plan. `known`: the plan that it must beat under the rule. */
  *offerImproved(
    improvement: ImprovementName,
    plan: SchedulingResult,
    rule: AcceptanceRule,
    known: SchedulingResult,
  ): Steps<void> {
    const { source } = this.record;
    const rejectedBy = yield* this.#failureAgainst(known, plan, rule);
    this.#note({ source, improvement }, plan, rejectedBy);
    if (rejectedBy !== undefined) return;
    this.#best = plan;
    this.#improvements = [...this.#improvements.filter((one) => one !== improvement), improvement];
  }

  /** Records that a source stopped early, because its plan would not be accepted. */
  noteStopped(source: SourceName): void {
    this.#considered.push({ source });
  }

  *#failure(
    plan: SchedulingResult,
    rule: AcceptanceRule,
    known: SchedulingResult | undefined,
  ): Steps<Considered["rejectedBy"]> {
    if (known === undefined || this.#best === undefined) return undefined;
    if (known !== this.#best) {
      const any: AcceptanceRule = { ...rule, saves: "anything", strandsNoMorePods: false };
      const failed = yield* this.#failureAgainst(this.#best, plan, any);
      if (failed !== undefined) return failed;
    }
    return yield* this.#failureAgainst(known, plan, rule);
  }

  #failureAgainst(
    known: SchedulingResult,
    plan: SchedulingResult,
    rule: AcceptanceRule,
  ): Steps<Considered["rejectedBy"]> {
    return firstFailure(this.batch, plan, known, rule, this.options);
  }

  #note(
    made: Pick<Considered, "source" | "improvement">,
    plan: SchedulingResult,
    rejectedBy: Considered["rejectedBy"],
  ): void {
    this.#considered.push({
      ...made,
      microUsdPerHour: priceMicroUsd(plan),
      pending: plan.unschedulable.length,
      ...(rejectedBy === undefined ? {} : { rejectedBy }),
    });
  }
}

function mayPack(batch: Batch, { policy, minPods }: PlannerOptions): boolean {
  const { queued, classes } = batch;
  if (policy === "greedy") return false;
  // An instance of a reservation serves one node only. A packing does not count such instances; the greedy rules do.
  if (hasReservations(batch)) return false;
  if (queued.length >= minPods) return true;
  return countDivided(queued, classes) >= Math.max(1, minPods * MIN_SPREAD_SHARE);
}

function hasReservations({ base }: Batch): boolean {
  return base.templates.some(({ table }) => table.offerings.hasReserved);
}
