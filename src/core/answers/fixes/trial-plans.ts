/**
 * Plans the batch with edits applied, to find out whether they are a fix, and makes templates of edited pools. Many
 * searches need the same plans and templates, so each is cached.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { WELL_KNOWN_LABELS } from "../../../apis/karpenter/labels.ts";
import { assert } from "../../../base/assert.ts";
import { atOnce, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import { plannedDaemons } from "../../provisioning/batch/eligibility.ts";
import { type SeenSlots, seenSlots } from "../../provisioning/pools/attach-slots.ts";
import { createTemplate, type Template } from "../../provisioning/pools/pool-template.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { VolumeIndex } from "../../scheduling/volumes.ts";
import { applyEdits, type Edit, editedPool, type PoolEdit } from "./edits.ts";

/** Makes the templates of pools after edits. A template has what all new nodes of a pool have in common. */
export class Templates {
  readonly space: RequirementSpace;
  readonly volumes: VolumeIndex;
  readonly #input: SchedulingInput;
  readonly #daemonPods: readonly Pod[];
  readonly #seen: SeenSlots;
  readonly #known = new Map<string, Template>();

  constructor(input: SchedulingInput) {
    const { wellKnownLabels } = input.options;
    this.space = new RequirementSpace(new Set([...WELL_KNOWN_LABELS, ...wellKnownLabels]));
    this.volumes = new VolumeIndex(input.volumes);
    this.#input = input;
    this.#seen = atOnce(seenSlots(input.nodes, this.volumes));
    this.#daemonPods = plannedDaemons(input);
  }

  of(poolId: string, edits: readonly PoolEdit[]): Template {
    const text = `${poolId} ${JSON.stringify(edits)}`;
    return within(this.#known, text, () => {
      const own = this.#input.pools.find(({ pool }) => pool.id === poolId);
      assert(own !== undefined, "fixes are looked for in pools of the batch");
      const pool = { ...own, pool: edits.reduce(editedPool, own.pool) };
      return createTemplate(pool, 0, this.space, this.#daemonPods, this.#seen);
    });
  }
}

/** Plans a batch in steps. */
export type TrialPlan = (input: SchedulingInput) => Steps<SchedulingResult>;

/**
 * Plans the batch again after edits. A plan with only edits of NodePools is the same for every kind of pod, so it is
 * kept for all kinds.
 */
export class TrialPlans {
  /** Number of plans made so far. */
  #made = 0;
  /** The most plans: for the current kind of pod, and for all kinds. */
  #most = 0;
  #inAll = 0;
  readonly #input: SchedulingInput;
  readonly #plan: TrialPlan;
  readonly #known = new Map<string, SchedulingResult>();
  /** Cached plans for the kind of pod that is being searched for. */
  readonly #own = new Map<string, SchedulingResult>();

  constructor(input: SchedulingInput, plan: TrialPlan) {
    this.#input = input;
    this.#plan = plan;
  }

  /** Allows `count` further plans in all. */
  allow(count: number): void {
    this.#inAll = this.#made + count;
  }

  /** Starts with another kind of pod, which may use `count` plans. */
  begin(count: number): void {
    this.#own.clear();
    this.#most = Math.min(this.#inAll, this.#made + count);
  }

  /** Whether this kind of pod may use no further plan. */
  get areUsedUp(): boolean {
    return this.#made >= this.#most;
  }

  /** Whether no further plan is allowed for any kind. */
  get areAllMade(): boolean {
    return this.#made >= this.#inAll;
  }

  /**
   * The plan after these edits. `pods`: keys of the pods that edits of pods change. `unlimited`: the id of a pool whose
   * limits are removed.
   */
  *of(
    pods: ReadonlySet<string>,
    wanted: readonly Edit[],
    unlimited?: string,
  ): Steps<SchedulingResult> {
    // The pool has no limits in this plan, so edits of its limits change nothing.
    const edits = wanted.filter((one) => one.change !== "limit" || one.poolId !== unlimited);
    const isShared = edits.every(({ on }) => on === "pool");
    const all = isShared ? this.#known : this.#own;
    const text = `${unlimited} ${edits.map((edit) => JSON.stringify(edit)).sort()}`;
    const known = all.get(text);
    if (known !== undefined) return known;
    this.#made++;
    const edited = applyEdits(this.#input, pods, edits);
    const pools = edited.pools.map((one) =>
      one.pool.id === unlimited ? { ...one, pool: { ...one.pool, limits: {} } } : one,
    );
    yield;
    const result = yield* this.#plan({ ...edited, pools });
    all.set(text, result);
    return result;
  }
}
