/**
 * For a pod that found no place: how close it came, and the smallest change that would give it one.
 * The change is found by making candidates and planning the whole batch anew, so that making it does
 * place the pod, and every pod like it. Small = fewest edits, then the ones that owners mind least.
 * Too dear for a live pass: `karpenter plan` asks for it.
 */
import { hostPorts } from "../../apis/core/host-ports.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { WELL_KNOWN_LABELS } from "../../apis/karpenter/labels.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Resources } from "../../apis/resources.ts";
import { assert } from "../../base/assert.ts";
import { requiredAlternatives } from "../scheduling/pod-requirements.ts";
import { RequirementSpace } from "../scheduling/requirement-space.ts";
import type { Requirements } from "../scheduling/requirements.ts";
import { VolumeIndex } from "../scheduling/volumes.ts";
import { applyEdits, type Edit, editedPod, editedPool, editText, type PoolEdit } from "./edits.ts";
import { hasDynamicResources } from "./eligibility.ts";
import {
  costOf,
  labelObstacles,
  type Obstacle,
  type TypeMiss,
  taintObstacles,
  typeMisses,
  typeObstacle,
  volumeWays,
} from "./obstacles.ts";
import { createTemplate, type Template } from "./pool-template.ts";
import type { PoolRejection, SchedulingResult, UnschedulablePod } from "./result.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { solve } from "./solve.ts";

/** The place that comes closest. */
export interface NearMiss {
  readonly poolId: string;
  /** Absent when it is the pool as a whole that will not do. */
  readonly instanceType?: string;
  readonly missing: readonly string[];
}

export interface Fix {
  readonly edits: readonly Edit[];
  /** Keys of the pods that are edited: those without a place, and others of the same owner. */
  readonly pods: ReadonlySet<string>;
  /** The edits as one sentence. */
  readonly text: string;
}

export interface Remedy {
  readonly nearest?: NearMiss;
  readonly fix?: Fix;
}

/** Most plans made for one kind of pod, and in all: bounds that do not depend on the machine. */
const PLANS_PER_CLASS = 24;
const PLANS = 200;
/** Most states looked at for one kind of pod. */
const LOOKS_PER_CLASS = 300;
/** Pods planned in all: of a large batch fewer kinds get a fix. */
const PLANNED_PODS = 200_000;
/** Most edits of a fix; more are a new design, not a fix. */
const MOST_EDITS = 4;
/** What costs more is minded no more. */
const MOST_DISLIKED = 1_000;
/** Most required terms of a pod that are worth meeting. */
const TRIED_TERMS = 4;
/** Limits are raised by whole ones of these: cores, gibibytes. Of other resources, by one. */
const UNITS: Readonly<Record<string, number>> = {
  cpu: 1_000,
  memory: 2 ** 30,
  "ephemeral-storage": 2 ** 30,
};

/** By key of the pod. Pods that were refused before planning have none. */
export function remedies(
  input: SchedulingInput,
  result: SchedulingResult,
  plan: (input: SchedulingInput) => SchedulingResult = solve,
): ReadonlyMap<string, Remedy> {
  const found = new Map<string, Remedy>();
  const allowed = Math.min(PLANS, Math.ceil(PLANNED_PODS / (input.pods.length + 1)));
  const plans = new Plans(input, plan);
  const templates = new Templates(input);
  const classes = classesOf(result.unschedulable);
  /** Fixes of NodePools that place other pods too, for those that the search does not get to. */
  const shared = new Map<UnschedulablePod[], Fix>();
  for (const alike of classes) {
    plans.allow(Math.min(allowed - plans.made, PLANS_PER_CLASS));
    const search = new Search(input, alike, plans, templates);
    const own = search.run();
    const fix = own.fix ?? shared.get(alike);
    const remedy = fix === undefined ? own : { ...own, fix };
    for (const { pod } of alike) found.set(keyOf(pod), remedy);
    if (own.fix?.edits.every(({ on }) => on === "pool") !== true) continue;
    for (const other of classes) {
      if (!shared.has(other) && search.placesToo(other)) shared.set(other, own.fix);
    }
  }
  return found;
}

/** Pods with one explanation are alike. Large classes first: equals stay in the order of the pods' names. */
function classesOf(unschedulable: readonly UnschedulablePod[]): UnschedulablePod[][] {
  const classes = new Map<readonly PoolRejection[], UnschedulablePod[]>();
  for (const one of unschedulable) {
    if (one.ignored === true || one.deferred === true) continue;
    const alike = classes.get(one.pools);
    if (alike === undefined) classes.set(one.pools, [one]);
    else alike.push(one);
  }
  return [...classes.values()].sort((a, b) => b.length - a.length);
}

/** Edits under way towards a node of one pool. */
interface State {
  readonly poolId: string;
  /** Which of the pod's required terms is to be met. */
  readonly term: number;
  readonly edits: readonly Edit[];
}

/** What a new node of each pool would be, with edits made. Many searches ask for the same. */
class Templates {
  readonly space: RequirementSpace;
  readonly volumes: VolumeIndex;
  readonly #input: SchedulingInput;
  readonly #daemonPods: readonly Pod[];
  readonly #known = new Map<string, Template>();

  constructor(input: SchedulingInput) {
    const { wellKnownLabels } = input.options;
    this.space = new RequirementSpace(new Set([...WELL_KNOWN_LABELS, ...wellKnownLabels]));
    this.volumes = new VolumeIndex(input.volumes);
    this.#input = input;
    this.#daemonPods = input.daemonPods.filter((one) => !hasDynamicResources(one));
  }

  of(poolId: string, edits: readonly PoolEdit[]): Template {
    const text = `${poolId} ${JSON.stringify(edits)}`;
    let template = this.#known.get(text);
    if (template === undefined) {
      const own = this.#input.pools.find(({ pool }) => pool.id === poolId);
      assert(own !== undefined, "fixes are looked for in pools of the batch");
      const pool = { ...own, pool: edits.reduce(editedPool, own.pool) };
      template = createTemplate(pool, 0, this.space, this.#daemonPods);
      this.#known.set(text, template);
    }
    return template;
  }
}

/** Plans with edits made. Those that change pools only are the same for every kind of pod. */
class Plans {
  made = 0;
  #most = 0;
  readonly #input: SchedulingInput;
  readonly #plan: (input: SchedulingInput) => SchedulingResult;
  readonly #known = new Map<string, SchedulingResult>();

  constructor(input: SchedulingInput, plan: (input: SchedulingInput) => SchedulingResult) {
    this.#input = input;
    this.#plan = plan;
  }

  /** So many more may be made from here on. */
  allow(count: number): void {
    this.#most = this.made + count;
  }

  get areUsedUp(): boolean {
    return this.made >= this.#most;
  }

  /** `pods`: keys of those that edits of pods are for; `unlimited`: the pool whose limits are put aside. */
  of(pods: ReadonlySet<string>, edits: readonly Edit[], unlimited?: string): SchedulingResult {
    const isShared = edits.every(({ on }) => on === "pool");
    const text = `${unlimited} ${JSON.stringify(edits)}`;
    const known = isShared ? this.#known.get(text) : undefined;
    if (known !== undefined) return known;
    this.made++;
    const edited = applyEdits(this.#input, pods, edits);
    const pools = edited.pools.map((one) =>
      one.pool.id === unlimited ? { ...one, pool: { ...one.pool, limits: {} } } : one,
    );
    const result = this.#plan({ ...edited, pools });
    if (isShared) this.#known.set(text, result);
    return result;
  }
}

class Search {
  readonly #input: SchedulingInput;
  /** To be placed. */
  readonly #keys: ReadonlySet<string>;
  /** To be edited: who edits one pod of a workload edits them all. */
  readonly #siblings: ReadonlySet<string>;
  /** One for all: they are alike. */
  readonly #one: UnschedulablePod;
  readonly #plans: Plans;
  readonly #templates: Templates;
  /** Keys of the pods that the last plan left. */
  #left: ReadonlySet<string> | undefined;
  readonly #misses = new WeakMap<State, readonly TypeMiss[]>();
  #nearest: (NearMiss & { readonly cost: number }) | undefined;

  constructor(
    input: SchedulingInput,
    alike: readonly UnschedulablePod[],
    plans: Plans,
    templates: Templates,
  ) {
    this.#templates = templates;
    this.#input = input;
    this.#keys = new Set(alike.map(({ pod }) => keyOf(pod)));
    const owners = new Set(alike.map(({ pod }) => ownerOf(pod)));
    const siblings = input.pods.filter((pod) => ownerOf(pod) && owners.has(ownerOf(pod)));
    this.#siblings = new Set([...this.#keys, ...siblings.map(keyOf)]);
    this.#one = alike[0] as UnschedulablePod;
    this.#plans = plans;
  }

  /** Whether the plan that showed the fix places these pods as well. */
  placesToo(others: readonly UnschedulablePod[]): boolean {
    return others.every(({ pod }) => this.#left?.has(keyOf(pod)) === false);
  }

  run(): Remedy {
    const terms = requiredAlternatives(this.#one.pod.spec).slice(0, TRIED_TERMS);
    const open: State[] = this.#input.pools.flatMap(({ pool }) =>
      terms.map((_, term) => ({ poolId: pool.id, term, edits: [] })),
    );
    for (const state of open) this.#look(state, this.#standing(state));
    const seen = new Set<string>();
    let fix: Fix | undefined;
    for (let looks = 0; looks < LOOKS_PER_CLASS; looks++) {
      if (fix !== undefined || open.length === 0 || this.#plans.areUsedUp) break;
      open.sort(cheapestFirst);
      const state = open.shift() as State;
      const obstacles = this.#standing(state);
      const first = obstacles[0] ?? this.#planned(state);
      if (first === undefined) {
        const edits = this.#leastRaised(state);
        fix = { edits, pods: this.#siblings, text: this.#text(edits) };
      }
      for (const way of first?.ways ?? []) {
        const edits = [...state.edits, ...way];
        const { poolId, term } = state;
        const id = `${poolId} ${term} ${edits.map((edit) => JSON.stringify(edit)).sort()}`;
        if (edits.length > MOST_EDITS || seen.has(id)) continue;
        seen.add(id);
        open.push({ poolId, term, edits });
      }
    }
    const { cost: _, ...nearest } = this.#nearest ?? { cost: 0 };
    return {
      ...("poolId" in nearest ? { nearest: nearest as NearMiss } : {}),
      ...(fix === undefined ? {} : { fix }),
    };
  }

  /** What stands in the way once the edits are made, as far as it shows without planning. */
  #standing(state: State): Obstacle[] {
    const { pod, wanted, template, space } = this.#seenFrom(state);
    const whole = [
      ...taintObstacles(pod, template.taints),
      ...labelObstacles(wanted, template, space),
    ];
    if (whole.length > 0) return whole;
    const typed = typeObstacle(this.#missesOf(state));
    return typed === undefined ? [] : [typed];
  }

  /** Plans with the edits made. What keeps pods of the class out then; undefined = all are placed. */
  #planned(state: State): Obstacle | undefined {
    const { poolId, edits } = state;
    const result = this.#plans.of(this.#siblings, edits);
    this.#left = new Set(result.unschedulable.map(({ pod }) => keyOf(pod)));
    const out = result.unschedulable.filter(({ pod }) => this.#keys.has(keyOf(pod)));
    const [one] = out;
    if (one === undefined) return undefined;
    const rejection = one.pools.find((pool) => pool.poolId === poolId);
    const rejected = rejection?.rejected ?? {};
    const texts = [rejection?.why ?? rejection?.message ?? one.message];
    const ways: (readonly Edit[])[] = [];
    if (rejected.volumes !== undefined) {
      const { pod, template, space } = this.#seenFrom(state);
      ways.push(...volumeWays(this.#templates.volumes.alternatives(pod), template, space));
    }
    if (rejected.limits !== undefined) ways.push(...this.#limitWays(state));
    if (rejected.topology !== undefined) ways.push(...ruleWays(one.pod));
    if (rejected.hostPorts !== undefined) {
      for (const { port } of hostPorts(one.pod))
        ways.push([{ on: "pod", change: "dropHostPort", port }]);
    }
    if (rejected.minValues !== undefined)
      ways.push(...minValuesWays(this.#seenFrom(state).template.pool));
    return { texts, ways };
  }

  /** The edits of a fix, with limits no higher than they must be. */
  #leastRaised(state: State): readonly Edit[] {
    let { edits } = state;
    for (const [index, edit] of edits.entries()) {
      if (edit.change !== "limit") continue;
      const unit = UNITS[edit.resource] ?? 1;
      let [low, high] = [Math.floor(edit.from / unit), Math.ceil(edit.to / unit)];
      while (high - low > 1 && !this.#plans.areUsedUp) {
        const middle = Math.floor((low + high) / 2);
        const tried = edits.with(index, { ...edit, to: middle * unit });
        const left = this.#left;
        if (this.#planned({ ...state, edits: tried }) === undefined) {
          [edits, high] = [tried, middle];
        } else [this.#left, low] = [left, middle];
      }
    }
    return edits;
  }

  /** Limits as high as the plan without them would need: with its cheapest types, or with any. */
  #limitWays(state: State): Edit[][] {
    const { poolId, edits } = state;
    const free = this.#plans.of(this.#siblings, edits, poolId);
    const { limits } = this.#seenFrom(state).template.pool;
    const usage = this.#input.pools.find(({ pool }) => pool.id === poolId)?.usage ?? {};
    const claims = free.newClaims.filter(({ pool }) => pool.id === poolId);
    const of = (pick: (capacities: readonly Resources[], name: string) => number) =>
      Object.keys(limits)
        .sort()
        .flatMap((resource): Edit[] => {
          const from = limits[resource] as number;
          const added = claims.reduce((sum, { instanceTypes }) => {
            const capacities = instanceTypes.map(({ capacity }) => ({ ...capacity, nodes: 1 }));
            return sum + pick(capacities, resource);
          }, 0);
          const to = (usage[resource] ?? 0) + added;
          return to > from ? [{ on: "pool", poolId, change: "limit", resource, from, to }] : [];
        });
    const amounts = (capacities: readonly Resources[], name: string) =>
      capacities.map((one) => one[name] ?? 0);
    return [
      of((capacities, name) => capacities[0]?.[name] ?? 0),
      of((capacities, name) => Math.max(0, ...amounts(capacities, name))),
    ].filter((way) => way.length > 0);
  }

  #look(state: State, obstacles: readonly Obstacle[]): void {
    const { poolId } = state;
    const [miss] = this.#missesOf(state);
    const pooled = obstacles.flatMap(({ texts }) => texts);
    const typed = obstacles.length > 0 && miss !== undefined && pooled[0] === miss.texts[0];
    const own = this.#one.pools.find((pool) => pool.poolId === poolId);
    const missing = pooled.length > 0 ? pooled : [own?.why ?? own?.message ?? this.#one.message];
    const cost =
      obstacles.length === 0 ? 0 : pooled.length + (typed ? miss.shortage : 0) + dislike(obstacles);
    if (this.#nearest !== undefined && this.#nearest.cost <= cost) return;
    this.#nearest = {
      poolId,
      ...(typed ? { instanceType: miss.instanceType } : {}),
      missing,
      cost,
    };
  }

  /** Asked about a state several times, and of every type. */
  #missesOf(state: State): readonly TypeMiss[] {
    let misses = this.#misses.get(state);
    if (misses === undefined) {
      const { pod, wanted, template, space } = this.#seenFrom(state);
      misses = typeMisses(pod, wanted, template, space);
      this.#misses.set(state, misses);
    }
    return misses;
  }

  #seenFrom({ poolId, term, edits }: State) {
    const written = this.#one.pod;
    const pod = edits.filter((edit) => edit.on === "pod").reduce(editedPod, written);
    const terms = requiredAlternatives(pod.spec);
    const wanted = (terms[term] ?? terms[0]) as Requirements;
    const ofPool = edits.filter((edit) => edit.on === "pool");
    const template = this.#templates.of(poolId, ofPool);
    return { pod, wanted, template, space: this.#templates.space };
  }

  #text(edits: readonly Edit[]): string {
    return edits
      .map((edit) => {
        const pool =
          edit.on === "pod"
            ? undefined
            : this.#input.pools.find(({ pool }) => pool.id === edit.poolId)?.pool;
        return editText(edit, pool === undefined ? "" : nameOf(pool));
      })
      .join("; ");
  }
}

/** Of equally near places the one is nearer whose obstacles are taken away more gladly. */
function dislike(obstacles: readonly Obstacle[]): number {
  const least = obstacles.map(({ ways }) => Math.min(...ways.map(costOf), MOST_DISLIKED));
  return least.reduce((sum, one) => sum + one, 0) / (MOST_DISLIKED * 100);
}

function ownerOf({ metadata }: Pod): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner === undefined ? undefined : `${metadata.namespace} ${owner.kind} ${owner.name}`;
}

function nameOf({ generation, name }: Pool): string {
  return `${vocabulary(generation).poolKind} ${name}`;
}

function ruleWays({ spec }: Pod): Edit[][] {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const keys = (terms: readonly { readonly topologyKey: string }[] = []) => [
    ...new Set(terms.map(({ topologyKey }) => topologyKey)),
  ];
  const drop =
    (rule: "spread" | "affinity" | "antiAffinity") =>
    (topologyKey: string): Edit[] => [{ on: "pod", change: "dropRule", rule, topologyKey }];
  return [
    ...keys(spec.topologySpreadConstraints).map(drop("spread")),
    ...keys(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution).map(drop("affinity")),
    ...keys(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution).map(
      drop("antiAffinity"),
    ),
  ];
}

function minValuesWays({ id: poolId, requirements }: Pool): Edit[][] {
  return requirements
    .filter(({ minValues }) => (minValues ?? 0) > 1)
    .flatMap(({ key, minValues: from = 1 }) =>
      [...new Set([from - 1, Math.ceil(from / 2), 1])].map((to): Edit[] => [
        { on: "pool", poolId, change: "minValues", key, from, to },
      ]),
    );
}

function cheapestFirst(a: State, b: State): number {
  const [left, right] = [a, b].map(
    ({ poolId, term, edits }) => `${poolId} ${term} ${JSON.stringify(edits)}`,
  );
  return costOf(a.edits) - costOf(b.edits) || ((left as string) < (right as string) ? -1 : 1);
}
