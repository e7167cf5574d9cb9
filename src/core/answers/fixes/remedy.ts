/**
 * For each pod without a place: the node that it comes closest to, and the smallest fix that would place it. Each
 * possible fix is tested by planning the whole batch again, so it places the pod and all equal pods. The smallest fix
 * has the fewest edits; among equal ones, those that owners mind least. Live passes do not run this, because it is
 * slow. `karpenter plan` does.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { controllerOf, keyOf } from "../../../apis/meta.ts";
import { Heap } from "../../../base/heap.ts";
import { atOnce, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type {
  PoolRejection,
  SchedulingResult,
  UnschedulablePod,
} from "../../provisioning/result.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import { solve } from "../../provisioning/solve.ts";
import { requiredAlternatives } from "../../scheduling/pod-requirements.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import {
  type FixCandidate,
  type ForAnyNode,
  type ForNewNode,
  idOf,
  isTriedBefore,
  type Ranked,
  ranked,
} from "./candidates.ts";
import { type Edit, editedPod, editText } from "./edits.ts";
import { KnownFixes } from "./known-fixes.ts";
import { largestAmounts } from "./largest-amount.ts";
import { firstEnough, leastFix, notEnough } from "./least-fix.ts";
import { fittedLimits, type LimitFacts, largestOf, limitWays } from "./limit-ways.ts";
import {
  costOf,
  domainWays,
  labelObstacles,
  minValuesWays,
  type Obstacle,
  type PodAndPool,
  removalCost,
  smallerWays,
  type TypeMiss,
  taintObstacles,
  typeMisses,
  typeObstacle,
  volumeObstacles,
} from "./obstacles.ts";
import { podWays, portEdits, ruleEdits } from "./pod-ways.ts";
import { Templates, type TrialPlan, TrialPlans } from "./trial-plans.ts";

/** The new node on which the pod would need the fewest changes to fit. */
export interface NearMiss {
  readonly poolId: string;
  /**
   * The closest instance type. Absent: the pod misses the pool for another reason than the types, such as a label, a
   * taint or a limit.
   */
  readonly instanceType?: string;
  readonly missing: readonly string[];
}

export interface Fix {
  readonly edits: readonly Edit[];
  /** Keys of the edited pods: the pods without a place, and the other pods of their workloads. */
  readonly pods: ReadonlySet<string>;
  /** The edits as one sentence. */
  readonly text: string;
}

/** What a person can do about a pod without a place. */
export interface Remedy {
  readonly nearest?: NearMiss;
  readonly fix?: Fix;
}

/**
 * The most plans that are made in the first round: to find a fix for one kind of pod, to make one fix smaller, and for
 * all kinds together. A kind is a group of pods with the same explanation. The numbers are fixed, so results do not
 * depend on how fast the computer is.
 */
const PLANS_PER_CLASS = 24;
const PLANS_PER_FIX = 64;
const PLANS = 400;
/**
 * The most plans that are made in further rounds: for all kinds, to make one fix smaller, and to find a fix for one
 * kind. They are for kinds whose fix was not found or not made small. They are also limited by work, which is pods
 * times instance types and nodes.
 */
const MORE_PLANS = 600;
const MORE_PLANS_PER_FIX = 128;
const MORE_PLANS_PER_CLASS = 128;
const MORE_WORK = 20_000_000;
/** The most candidates that are examined for one kind of pod. */
const LOOKS_PER_CLASS = 300;
/** The most pods that are planned in all trial plans together. In a large batch, fewer kinds of pods get a fix. */
const PLANNED_PODS = 200_000;
/** The most edits of a fix. A fix with more edits would be a new design of the workload. */
const MOST_EDITS = 4;
const NO_WAY: Obstacle = { texts: [], ways: [] };
/** The most required terms of a pod, and the most places of its volumes, that are tried. */
const TRIED_TERMS = 4;

/**
 * Remedies by the key `namespace/name` of the pod. Two sorts of pods have none: those refused before planning, for
 * example because of an invalid selector, and those that only wait for a reservation and get a place in a later pass.
 */
export function remedies(
  input: SchedulingInput,
  result: SchedulingResult,
  plan: (input: SchedulingInput) => SchedulingResult = solve,
): ReadonlyMap<string, Remedy> {
  // biome-ignore lint/correctness/useYield: a plan at once has no steps.
  const planned = function* (edited: SchedulingInput): Steps<SchedulingResult> {
    return plan(edited);
  };
  return atOnce(remediesInSteps(input, result, planned));
}

/** Like {@link remedies}, in steps. */
export function* remediesInSteps(
  input: SchedulingInput,
  result: SchedulingResult,
  plan: TrialPlan,
): Steps<ReadonlyMap<string, Remedy>> {
  const plans = new TrialPlans(input, plan);
  const templates = new Templates(input);
  const known = new KnownFixes();
  const searches = classesOf(result.unschedulable).map(
    (alike) => new Search(input, alike, plans, templates, known),
  );
  /**
   * For each kind: a fix by edits of pools that was found for another kind and also places these pods. It may be
   * smaller than the kind's own fix.
   */
  const shared = new Map<Search, Fix>();
  const makeSmall = function* (search: Search, count: number): Steps<void> {
    plans.begin(count);
    yield* search.makeSmall();
    const own = search.fix;
    if (own?.edits.every(({ on }) => on === "pool") !== true) return;
    for (const other of searches) {
      const known = shared.get(other);
      const isLess = known === undefined || costOf(own.edits) < costOf(known.edits);
      if (isLess && other.isPlacedBy(search)) shared.set(other, own);
    }
  };
  // First round: the kinds with the most pods come first. Each gets a fix, which is then made small.
  plans.allow(Math.min(PLANS, Math.ceil(PLANNED_PODS / (input.pods.length + 1))));
  for (const search of searches) {
    plans.begin(PLANS_PER_CLASS);
    yield* search.run();
    yield* makeSmall(search, PLANS_PER_FIX);
  }
  // Second round: first the kinds for which no plan was left get a fix, then all fixes are made small.
  plans.allow(Math.min(MORE_PLANS, Math.floor(MORE_WORK / workOf(input))));
  for (const search of searches) {
    plans.begin(PLANS_PER_CLASS);
    if (!search.isTried) yield* search.run();
  }
  for (const search of searches) yield* makeSmall(search, MORE_PLANS_PER_FIX);
  // Third round: more plans for the kinds without a fix.
  for (const search of searches) {
    if (search.fix !== undefined) continue;
    plans.begin(MORE_PLANS_PER_CLASS);
    yield* search.run();
    yield* makeSmall(search, MORE_PLANS_PER_FIX);
  }
  return new Map(searches.flatMap((search) => search.remedies(shared.get(search))));
}

/** An estimate of the work of one plan. */
function workOf({ pods, pools, nodes }: SchedulingInput): number {
  const types = pools.reduce((sum, { instanceTypes }) => sum + instanceTypes.length, 0);
  return (pods.length + 1) * (types + nodes.length + 1);
}

/**
 * Groups pods into kinds: pods with the same explanation are of one kind. The largest kinds come first. Equally large
 * kinds are sorted by the names of their pods.
 */
function classesOf(unschedulable: readonly UnschedulablePod[]): UnschedulablePod[][] {
  const classes = new Map<readonly PoolRejection[], UnschedulablePod[]>();
  for (const one of unschedulable) {
    if (one.ignored === true || one.deferred === true) continue;
    within(classes, one.pools, () => []).push(one);
  }
  return [...classes.values()].sort((a, b) => b.length - a.length);
}

/** The search for a fix for one kind of pods. */
class Search {
  readonly #input: SchedulingInput;
  /** Keys of the pods that the fix must place. */
  readonly #keys: ReadonlySet<string>;
  /** Keys of the pods that are edited: an edit of a workload changes all its pods. */
  readonly #siblings: ReadonlySet<string>;
  /** One of these equal pods. All checks are made for it. */
  readonly #one: UnschedulablePod;
  /** The places where the pod's volumes can all be attached, as requirements on nodes. */
  readonly #places: readonly Requirements[];
  readonly #plans: TrialPlans;
  readonly #templates: Templates;
  /** Keys of the pods without a place in the last plan that placed all pods of this kind. */
  #left: ReadonlySet<string> | undefined;
  readonly #misses = new WeakMap<ForNewNode, readonly TypeMiss[]>();
  #nearest: (NearMiss & { readonly cost: number }) | undefined;
  /** The fix that was found. It may have more edits than needed. */
  #found: readonly Edit[] | undefined;
  #asIs: readonly ForNewNode[] | undefined;
  #open: Heap<Ranked> | undefined;
  readonly #seen = new Set<string>();
  #looks = 0;
  /** Whether all candidates were examined. */
  #isLooked = false;
  /** Whether this kind had its turn: its search is over, or it has used up the plans for one kind. */
  #isTried = false;
  #isSmall = false;
  readonly #knownFixes: KnownFixes;

  constructor(
    input: SchedulingInput,
    alike: readonly UnschedulablePod[],
    plans: TrialPlans,
    templates: Templates,
    known: KnownFixes,
  ) {
    this.#templates = templates;
    this.#knownFixes = known;
    this.#input = input;
    this.#keys = new Set(alike.map(({ pod }) => keyOf(pod)));
    const owners = new Set(alike.map(({ pod }) => ownerOf(pod)));
    const siblings = input.pods.filter((pod) => ownerOf(pod) && owners.has(ownerOf(pod)));
    this.#siblings = new Set([...this.#keys, ...siblings.map(keyOf)]);
    this.#one = alike[0] as UnschedulablePod;
    const places = templates.volumes.alternatives(this.#one.pod).slice(0, TRIED_TERMS);
    this.#places = places.length === 0 ? [Requirements.NONE] : places;
    this.#plans = plans;
  }

  /** Whether the fix of the other search places these pods, too. Its last plan shows that. */
  isPlacedBy(other: Search): boolean {
    return [...this.#keys].every((key) => other.#left?.has(key) === false);
  }

  get isTried(): boolean {
    return this.#isTried;
  }

  /**
   * Searches for a fix, the cheapest candidate first. If it is called again, it continues where the plans were used up.
   */
  *run(): Steps<void> {
    this.#asIs ??= this.#statesAsIs();
    while (!this.#isLooked && !this.#plans.areUsedUp) {
      this.#open ??= this.#opened(this.#asIs);
      const cheapest = this.#looks++ < LOOKS_PER_CLASS ? this.#open.pop() : undefined;
      if (cheapest !== undefined) this.#found = yield* this.#examine(cheapest.state, this.#open);
      this.#isLooked = cheapest === undefined || this.#found !== undefined;
    }
    this.#isTried = this.#isLooked || !this.#plans.areAllMade;
  }

  #opened(asIs: readonly ForNewNode[]): Heap<Ranked> {
    const anywhere = podWays(this.#one.pod, this.#input.nodes).map(
      (edits): ForAnyNode => ({ edits }),
    );
    const open = new Heap<Ranked>(isTriedBefore);
    for (const state of [...asIs, ...anywhere]) open.push(ranked(state, idOf(state)));
    return open;
  }

  /**
   * Examines one candidate. Returns its edits, or smaller ones, if they are enough. Undefined: they are not. Then
   * candidates with more edits were added to `open`.
   */
  *#examine(state: FixCandidate, open: Heap<Ranked>): Steps<readonly Edit[] | undefined> {
    yield;
    const remaining = this.#remaining(state)[0];
    const like = remaining === undefined ? yield* this.#likeOthers(state) : undefined;
    if (like !== undefined) return like;
    const first = remaining ?? (yield* this.#planned(state));
    if (first === undefined) return yield* this.#fitted(state.edits);
    for (const [at, way] of first.ways.entries()) {
      const edits = [...state.edits, ...way];
      const next = { ...state, edits };
      const id = idOf(next);
      if (edits.length > MOST_EDITS || this.#seen.has(id)) continue;
      this.#seen.add(id);
      open.push(ranked(next, id, at));
    }
    return undefined;
  }

  /**
   * One candidate without edits for each pool, required term of the pod, and place of its volumes. The one with the
   * fewest obstacles is remembered for {@link NearMiss}.
   */
  #statesAsIs(): ForNewNode[] {
    const terms = requiredAlternatives(this.#one.pod.spec).slice(0, TRIED_TERMS);
    const states = this.#input.pools.flatMap(({ pool: { id: poolId } }) =>
      terms.flatMap((_, term) =>
        this.#places.map((_, place): ForNewNode => ({ poolId, term, place, edits: [] })),
      ),
    );
    for (const state of states) this.#noteNearest(state, this.#remaining(state));
    return states;
  }

  /** Makes the fix as small as the allowed plans permit. */
  *makeSmall(): Steps<void> {
    if (this.#found === undefined || this.#isSmall) return;
    let isCutShort = false;
    this.#found = yield* leastFix(this.#found, this.#one.pod, (tried) => {
      if (!this.#plans.areUsedUp) return this.#isEnough(tried);
      isCutShort = true;
      return notEnough();
    });
    this.#isSmall = !isCutShort;
    if (this.#isSmall) this.#knownFixes.add(this.#found);
  }

  get fix(): Fix | undefined {
    const edits = this.#found;
    return edits && { edits, pods: this.#siblings, text: this.#text(edits) };
  }

  /** Pairs of a pod's key and its remedy. `shared`: a fix of another kind that also places these pods. */
  remedies(shared: Fix | undefined): [string, Remedy][] {
    const own = this.fix;
    const isLess = own === undefined || (shared && costOf(shared.edits) < costOf(own.edits));
    const fix = isLess ? shared : own;
    const { cost: _, ...nearest } = this.#nearest ?? { cost: 0 };
    const remedy = {
      ...("poolId" in nearest ? { nearest } : {}),
      ...(fix === undefined ? {} : { fix }),
    };
    return [...this.#keys].map((key) => [key, remedy]);
  }

  /**
   * The same edits with amounts that were enough for another kind. Undefined: no such fix is known, or it is not
   * enough.
   */
  *#likeOthers({ edits }: FixCandidate): Steps<readonly Edit[] | undefined> {
    const less = this.#knownFixes.like(edits);
    return less !== undefined && (yield* this.#isEnough(less)) ? less : undefined;
  }

  /** The obstacles that remain after the edits of the candidate, as far as they can be found without a plan. */
  #remaining(state: FixCandidate): Obstacle[] {
    if (state.poolId === undefined) return [];
    const { pod, wanted, volumes, template, space } = this.#comparison(state);
    const taints = taintObstacles(pod, template.taints);
    const others = [
      ...labelObstacles(wanted, template, space),
      ...volumeObstacles(volumes, template, space),
    ];
    if (others.length > 0) return [...taints, ...others];
    const typed = typeObstacle(this.#missesOf(state));
    return typed === undefined ? taints : [...taints, typed];
  }

  /** Plans with the edits. Returns the pods of this kind that have no place. */
  *#withoutPlace(edits: readonly Edit[]): Steps<UnschedulablePod[]> {
    const { unschedulable } = yield* this.#plans.of(this.#siblings, edits);
    const out = unschedulable.filter(({ pod }) => this.#keys.has(keyOf(pod)));
    if (out.length === 0) this.#left = new Set(unschedulable.map(({ pod }) => keyOf(pod)));
    return out;
  }

  *#isEnough(edits: readonly Edit[]): Steps<boolean> {
    return (yield* this.#withoutPlace(edits)).length === 0;
  }

  /** Plans with the edits. Returns the obstacle that the plan shows. Undefined: all pods of this kind have a place. */
  *#planned(state: FixCandidate): Steps<Obstacle | undefined> {
    const [one] = yield* this.#withoutPlace(state.edits);
    if (one === undefined) return undefined;
    if (state.poolId === undefined) return NO_WAY;
    const { poolId } = state;
    const rejection = one.pools.find((pool) => pool.poolId === poolId);
    const reasons = Object.keys(rejection?.rejected ?? {});
    const fell = new Set<string>([...reasons, ...(rejection?.otherwise ?? [])]);
    const texts = [rejection?.why ?? rejection?.message ?? one.message];
    const ways: (readonly Edit[])[] = [];
    const { template, pod } = this.#comparison(state);
    const { pool } = template;
    if (fell.has("limits")) {
      const { newClaims } = yield* this.#plans.of(this.#siblings, state.edits, poolId);
      ways.push(...limitWays(this.#counted(poolId, state.edits), newClaims));
      ways.push(...smallerWays(template, podRequests(pod)));
    }
    if (fell.has("topology")) ways.push(...ruleEdits(one.pod).map((edit) => [edit]));
    if (fell.has("hostPorts")) ways.push(...portEdits(one.pod).map((edit) => [edit]));
    // The plan does not say why it opened no further node. A topology rule or minValues may be the reason. More zones
    // or capacity types may also help other pods, which then leave room.
    const isFull = fell.has("limits") || fell.has("minValues");
    if (isFull || fell.has("topology") || rejection?.promised) ways.push(...domainWays(template));
    // A topology rule may require a planned node that the pod cannot join because of minValues.
    if (isFull || fell.has("topology")) ways.push(...minValuesWays(pool));
    return { texts, ways };
  }

  /** The facts to compare with the pool's limits, after the edits. */
  #counted(poolId: string, edits: readonly Edit[]): LimitFacts {
    const template = this.#templateAfter(poolId, edits);
    const usage = this.#input.pools.find(({ pool }) => pool.id === poolId)?.usage ?? {};
    const pods = this.#input.pods.length;
    return { pool: template.pool, usage, largest: largestOf(template), pods };
  }

  #templateAfter(poolId: string, edits: readonly Edit[]): Template {
    const ofPool = edits
      .filter((edit) => edit.on === "pool")
      .filter((one) => one.poolId === poolId);
    return this.#templates.of(poolId, ofPool);
  }

  /**
   * The edits, with limits lowered to what the nodes of this plan need, if these limits are enough. Otherwise the same
   * edits.
   */
  *#fitted(edits: readonly Edit[]): Steps<readonly Edit[]> {
    const { newClaims } = yield* this.#plans.of(this.#siblings, edits);
    const countedOf = (poolId: string) => this.#counted(poolId, edits);
    const fitted = fittedLimits(edits, countedOf, newClaims);
    return (yield* firstEnough(fitted, (less) => this.#isEnough(less))) ?? edits;
  }

  #noteNearest(state: ForNewNode, obstacles: readonly Obstacle[]): void {
    const { poolId } = state;
    const [miss] = this.#missesOf(state);
    const pooled = obstacles.flatMap(({ texts }) => texts);
    const typed = miss !== undefined && obstacles.at(-1)?.texts === miss.texts;
    const own = this.#one.pools.find((pool) => pool.poolId === poolId);
    const missing = pooled.length > 0 ? pooled : [own?.why ?? own?.message ?? this.#one.message];
    const cost =
      obstacles.length === 0
        ? 0
        : pooled.length + (typed ? miss.shortage : 0) + removalCost(obstacles);
    if (this.#nearest !== undefined && this.#nearest.cost <= cost) return;
    this.#nearest = {
      poolId,
      ...(typed ? { instanceType: miss.instanceType } : {}),
      missing,
      cost,
    };
  }

  /** What each instance type lacks. Cached, because a candidate is examined several times. */
  #missesOf(state: ForNewNode): readonly TypeMiss[] {
    return within(this.#misses, state, () => typeMisses(this.#comparison(state)));
  }

  #comparison({ poolId, term, place, edits }: ForNewNode): PodAndPool {
    const written = this.#one.pod;
    const pod = edits.filter((edit) => edit.on === "pod").reduce(editedPod, written);
    const terms = requiredAlternatives(pod.spec);
    const wanted = (terms[term] ?? terms[0]) as Requirements;
    const ofPool = edits.filter((edit) => edit.on === "pool");
    const template = this.#templates.of(poolId, ofPool);
    const volumes = this.#places[place] as Requirements;
    const attached = this.#templates.volumes.usage(written);
    return { pod, wanted, volumes, attached, template, space: this.#templates.space };
  }

  #text(edits: readonly Edit[]): string {
    const { pools } = this.#input;
    const templateOf = (poolId: string) => this.#templateAfter(poolId, edits);
    const states = this.#asIs ?? [];
    const fits = (state: ForNewNode) => this.#remaining(state).length === 0;
    const largest = largestAmounts(this.#one.pod, edits, { pools, templateOf, states, fits });
    const last = edits.some(({ on }) => on === "pod") ? this.#deletion() : [];
    return [...edits.map((edit) => editText(edit, pools)), ...largest, ...last].join("; ");
  }

  /**
   * The advice to delete the pod of a StatefulSet after the edit. A StatefulSet with the policy OrderedReady waits for
   * its pending pod and does not replace it. A pod without a UID is from a file, so it cannot be deleted.
   */
  #deletion(): string[] {
    const { metadata } = this.#one.pod;
    const set = controllerOf(this.#one.pod);
    if (set?.kind !== "StatefulSet" || metadata.uid === undefined || this.#keys.size > 1) return [];
    return [
      `then delete pod ${metadata.name}, unless StatefulSet ${set.name} replaces it by itself`,
    ];
  }
}

function ownerOf(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  return owner && `${pod.metadata.namespace} ${owner.kind} ${owner.name}`;
}
