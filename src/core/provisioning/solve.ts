/**
 * The heart: pods and what there is go in, a plan comes out, with a reason for everything that is
 * not in it. Pure and synchronous: equal input gives an equal plan, in whatever order the lists
 * come.
 *
 * Largest pods first, each goes to the first place that takes it: a node that exists, then a node
 * this pass already plans (the one with fewest pods), then a new node of the heaviest pool that
 * can. A pod that finds none gives up its preferences one by one. When there is not room for all, it
 * is done once more with the important pods first. It all goes in steps, so that a large batch need
 * not hold up a controller. upstream:
 * pkg/controllers/provisioning/scheduling/scheduler.go
 */

import type { Pod } from "../../apis/core/pod.ts";
import { isTerminating } from "../../apis/core/pod.ts";
import { WELL_KNOWN_LABELS } from "../../apis/karpenter/labels.ts";
import { keyOf } from "../../apis/meta.ts";
import { assert } from "../../base/assert.ts";
import { atOnce, eachInSteps, mapInSteps, type Steps, sortInSteps } from "../../base/steps.ts";
import { MOST_AT_ONCE, sortedByText } from "../../base/text-order.ts";
import { RequirementSpace } from "../scheduling/requirement-space.ts";
import { someAreAvoided } from "../scheduling/taints.ts";
import { VolumeIndex } from "../scheduling/volumes.ts";
import { defaultSpreader } from "./batch/default-spread.ts";
import { hasDynamicResources } from "./batch/eligibility.ts";
import { type Draft, forgetTries, type PodClass, PodClasses } from "./batch/pod-class.ts";
import { inOrderInSteps, Queue, type QueuedPod } from "./batch/queue.ts";
import { lesserPodsHaveItsRoom, placesMoreImportantPods } from "./batch/scarcity.ts";
import { type BatchPod, PODS_PER_STEP, sortOut } from "./batch/sort-out.ts";
import { type Fork, Forks } from "./fork.ts";
import { meetingPlaces } from "./nodes/affinity-groups.ts";
import { ClaimsAsMoved } from "./nodes/claims-as-moved.ts";
import { Attempt, ExistingNode, targetNodes } from "./nodes/existing-node.ts";
import { homesOf } from "./nodes/homes-of.ts";
import { OpenClaims } from "./nodes/open-claims.ts";
import { type Kind, planClaimsInSteps } from "./nodes/planned-claim.ts";
import { Reservations } from "./nodes/reservations.ts";
import { isStuck, type Pass, place } from "./place.ts";
import { seenSlots } from "./pools/attach-slots.ts";
import { type PoolNotes, poolNotes } from "./pools/pool-notes.ts";
import { createTemplate, isLimited, weighLimits } from "./pools/pool-template.ts";
import { highestFirst } from "./pools/rank.ts";
import { explainInSteps } from "./refusals/explain.ts";
import { withoutLost } from "./refusals/fits-nowhere.ts";
import type { PoolRejection, SchedulingResult, UnschedulablePod, Unstuck } from "./result.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { keepPlaces } from "./sticky.ts";
import { placedTogether } from "./together.ts";
import { type Latecomer, refusedBy } from "./topology/latecomers.ts";
import { Topology } from "./topology/topology.ts";
import type { MeetingPlace, TopologyGroup } from "./topology/topology-group.ts";

/** Each a few milliseconds at most. */
const NODES_PER_STEP = 64;
const TRIES_PER_STEP = 64;
/** Where prices choose, a pod may ask every planned node. */
const ASKED_PER_STEP = 1_024;

/** Places what it likes before the rules below do; returns the rest. */
export type Opening = (pass: Pass, queued: readonly QueuedPod[]) => Steps<readonly QueuedPod[]>;

/** Plans one batch. Never throws for bad pods, pools or volumes: they are in `unschedulable`. */
export function solve(input: SchedulingInput): SchedulingResult {
  return atOnce(
    importantPodsFirst(input, function* (whole) {
      const batch = yield* prepare(whole);
      return yield* wholePlan(batch, yield* planOf(batch));
    }),
  );
}

/**
 * A pod that is more important than sticky ones and stays without a place may take their room, as kube-scheduler gives
 * it: then no pod is sticky.
 */
export function* importantPodsFirst<R extends SchedulingResult>(
  input: SchedulingInput,
  plan: (input: SchedulingInput) => Steps<R>,
): Steps<R> {
  const kept = yield* plan(input);
  const { sticky, ...free } = input;
  if (sticky === undefined || sticky.size === 0 || !lesserPodsHaveItsRoom(kept)) return kept;
  const other = yield* plan(free);
  if (!placesMoreImportantPods(other, kept)) return kept;
  const places = new Map(
    other.existing.flatMap(({ nodeName, pods }) => pods.map((pod) => [pod, nodeName])),
  );
  const unstuck = kept.existing.flatMap(({ nodeName, pods }) =>
    pods.flatMap((pod): Unstuck[] => {
      const target = sticky.get(keyOf(pod));
      if (target === undefined || places.get(pod) === nodeName) return [];
      return [{ pod, target, reason: "priority" }];
    }),
  );
  return { ...other, unstuck: [...(kept.unstuck ?? []), ...unstuck] };
}

/** The plan with all pods that have no place, by name: plans that are only compared need no such list. */
export function* wholePlan(batch: Batch, plan: SchedulingResult): Steps<SchedulingResult> {
  const { leftOut, unstuck } = batch;
  const unschedulable = yield* byKey([...leftOut, ...plan.unschedulable]);
  return { ...plan, unschedulable, ...(unstuck.length > 0 ? { unstuck } : {}) };
}

/** A batch made ready. Any number of plans can be made of it, each as if it were the only one. */
export interface Batch {
  readonly input: SchedulingInput;
  /** Only sticky pods are placed yet. */
  readonly base: ReturnType<typeof createPass>;
  /** Those that have no place yet, in the order in which they are to be placed. */
  readonly queued: readonly QueuedPod[];
  /** Theirs, each once. */
  readonly classes: ReadonlySet<PodClass>;
  /** No pod is more important than another. */
  readonly isOfOnePriority: boolean;
  /** No plan looks at these: they were refused, or fit nowhere. */
  readonly leftOut: readonly UnschedulablePod[];
  readonly notes: PoolNotes;
  /** Sticky pods that did not keep their nodes. */
  readonly unstuck: readonly Unstuck[];
  /** What plans found out about kinds of nodes. */
  readonly kinds: Map<string, Kind>;
  /** Where pods that need each other can meet, by their rules. */
  readonly meetings: ReadonlyMap<TopologyGroup, MeetingPlace>;
  /** Rules of pods that need each other and are placed ahead of all others. Absent: all come by size. */
  readonly together?: ReadonlySet<TopologyGroup>;
}

/** Sorts out what cannot be planned for, and the rest into classes. */
export function* prepare(input: SchedulingInput): Steps<Batch> {
  const volumes = new VolumeIndex(input.volumes);
  const { batch, refused } = yield* sortOut(input, volumes);
  const base = createPass(input, volumes, batch.length === 0);
  const classes = new Set<PodClass>();
  const classified = yield* classify(base, input, batch, classes);
  const { rest, unstuck } = yield* keepPlaces(base, classified, input.sticky);
  const { some, lost } = yield* withoutLost(base, rest, classes);
  const queued = yield* inOrderInSteps(some);
  for (const template of base.templates)
    if (isLimited(template)) weighLimits(template, queued.length);
  yield;
  return {
    input,
    base,
    queued,
    classes,
    isOfOnePriority: batch.every(({ alike }) => alike.priority === batch[0]?.alike.priority),
    leftOut: [...refused, ...(yield* explainInSteps(lost, base))],
    notes: poolNotes(base.templates, base.context),
    kinds: new Map(),
    meetings: meetingPlaces(base, queued),
    unstuck,
  };
}

/** One plan for the batch; `opening` has its say first. Pods that {@link Batch.leftOut} names are not in it. */
export function* planOf(batch: Batch, opening?: Opening): Steps<SchedulingResult> {
  const result = yield* orWithLargeShares(batch, yield* plannedToItsEnd(batch, { opening }));
  if (!lesserPodsHaveItsRoom(result)) return result;
  const other = yield* plannedToItsEnd(batch, { importantFirst: true });
  return placesMoreImportantPods(other, result) ? other : result;
}

/**
 * The plan by the rules as {@link planOf} makes it of pods that are equally important; undefined once
 * `isEnough` says of the nodes planned so far that nobody wants to know the rest.
 */
export function* planUntil(batch: Batch, isEnough: Stop): Steps<SchedulingResult | undefined> {
  const plan = yield* plannedWithForesight(batch, { isEnough });
  return plan === undefined ? undefined : yield* orWithLargeShares(batch, plan);
}

/**
 * The plan by upstream's rules to the letter where ours go a way of their own: of nodes with as many pods
 * the one that got there last comes first, pods that keep apart leave a planned node all its domains, of
 * other rules only the emptiest domain is tried, and no price decides between domains. Fewer pods may find a
 * place than by {@link planOf}, and fewer wishes are met; now and then it costs less, or a first pod gets a
 * larger node and those that must be near it a place. Undefined: pods of it could not come, for no domain is
 * foreseen.
 */
export function* planAsUpstream(batch: Batch): Steps<SchedulingResult | undefined> {
  const plan = yield* planned(batch, { asUpstream: true });
  return plan?.late.length === 0 ? plan.result : undefined;
}

/**
 * The plan by the rules, but that each pod goes to the planned node whose price rises least by it, and to a
 * new one where that is cheaper, of pools of one rank to the cheapest. The rules pay any price for a node
 * that is planned already: one wish or label that only dear machines meet then turns a large node into such a one.
 * `nodeMicroUsd`: what a node costs an hour beyond its machine. A new node counts on no credits.
 */
export function planByCheapestNode(
  batch: Batch,
  nodeMicroUsd: number,
  opening?: Opening,
): Steps<SchedulingResult> {
  return plannedToItsEnd(batch, { nodeMicroUsd, opening });
}

type Stop = (claims: OpenClaims) => boolean;

/**
 * The plan, or another one that leaves fewer pods, where limits are what some were left for. There each planned node
 * takes of limits what its largest type has, as by upstream's rules. So the first nodes may grow, where else
 * later nodes would have taken the limits.
 */
function* orWithLargeShares(batch: Batch, plan: SchedulingResult): Steps<SchedulingResult> {
  const isShort = plan.unschedulable.some(({ pools }) => pools.some(isKeptOutByLimits));
  if (!isShort || !batch.isOfOnePriority) return plan;
  const other = yield* plannedToItsEnd(batch, { chargesMost: true });
  return other.unschedulable.length < plan.unschedulable.length ? other : plan;
}

function isKeptOutByLimits({ rejected }: PoolRejection): boolean {
  return rejected.limits !== undefined;
}

interface Manner {
  readonly opening?: Opening | undefined;
  readonly isEnough?: Stop;
  readonly importantFirst?: boolean;
  readonly asUpstream?: boolean;
  /** A planned node takes of limits what the largest type it may become has. */
  readonly chargesMost?: boolean;
  readonly nodeMicroUsd?: number;
  /** Domains that spreads are to look at from the start. */
  readonly foreseen?: readonly Latecomer[];
}

function* plannedToItsEnd(batch: Batch, manner: Manner): Steps<SchedulingResult> {
  const result = yield* plannedWithForesight(batch, manner);
  assert(result !== undefined, "a plan is made to its end");
  return result;
}

/**
 * Once more where a node came to stand in a domain that a spread had not looked at when it let pods go elsewhere;
 * unless more pods would stay pending, those among them that have a place and would be refused there. `isEnough` has
 * seen the nodes of the first plan, and is not asked of others.
 */
function* plannedWithForesight(batch: Batch, manner: Manner): Steps<SchedulingResult | undefined> {
  const first = yield* planned(batch, manner);
  if (first === undefined || first.late.length === 0) return first?.result;
  const { isEnough: _, ...toItsEnd } = manner;
  const other = yield* planned(batch, { ...toItsEnd, foreseen: first.late });
  assert(other !== undefined, "a plan is made to its end");
  return (pendingBy(other) > pendingBy(first) ? first : other).result;
}

/** A plan, and what its spreads learnt too late. */
interface Planned {
  readonly result: SchedulingResult;
  readonly late: readonly Latecomer[];
}

function pendingBy({ result, late }: Planned): number {
  return result.unschedulable.length + refusedBy(late);
}

function* planned(
  batch: Batch,
  { opening, isEnough, importantFirst = false, foreseen = [], ...manner }: Manner,
): Steps<Planned | undefined> {
  const { pass, fork } = tryOut(batch, manner);
  if (manner.asUpstream !== true) pass.context.topology.meetings.gather(batch.meetings);
  pass.context.topology.foresee(foreseen);
  const { input, queued, together } = batch;
  const unschedulable: UnschedulablePod[] = [];
  const later = together === undefined ? queued : yield* placedTogether(pass, queued, together);
  const rest = opening === undefined ? later : yield* opening(pass, later);
  const queue = new Queue(rest, importantFirst);
  const failed: QueuedPod[] = [];
  const stuck = (podClass: PodClass) => isStuck(pass, podClass);
  let [tries, asked] = [0, 0];
  for (let item = queue.pop(stuck); item !== undefined; item = queue.pop(stuck)) {
    const isTurn = ++tries % TRIES_PER_STEP === 0;
    if (isTurn && isEnough?.(pass.claims) === true) {
      fork.undo();
      return undefined;
    }
    if (isTurn || pass.claims.asked > asked + ASKED_PER_STEP) {
      asked = pass.claims.asked;
      yield;
    }
    const outcome = place(pass, item);
    if (outcome === "tryAgain") queue.giveBack(item);
    else if (outcome === "hopeless") failed.push(item);
    else if (outcome === "deferred") unschedulable.push(deferral(item));
  }
  failed.push(...queue.rest());
  for (const one of yield* explainInSteps(failed, pass)) unschedulable.push(one);
  const result = {
    newClaims: yield* planClaimsInSteps(
      pass.claims.all,
      pass.context.space,
      input.options,
      batch.kinds,
    ),
    existing: pass.nodes
      .filter((node) => node.pods.length > 0)
      .map((node) => ({ nodeName: node.view.name, pods: [...node.pods] })),
    unschedulable,
    ...batch.notes,
  };
  const late = yield* pass.context.topology.latecomers(homesOf(pass, queued));
  fork.undo();
  return { result, late };
}

function* byKey(pods: readonly UnschedulablePod[]): Steps<readonly UnschedulablePod[]> {
  if (pods.length <= MOST_AT_ONCE) {
    const namespace = pods[0]?.pod.metadata.namespace;
    const isOne = pods.every(({ pod }) => pod.metadata.namespace === namespace);
    // Texts that are there need not be made.
    const keys = pods.map(({ pod }) => (isOne ? pod.metadata.name : keyOf(pod)));
    return sortedByText(pods, keys, () => 0);
  }
  const keyed = pods.map((one) => ({ one, key: keyOf(one.pod) }));
  const sorted = yield* sortInSteps(keyed, (a, b) => (a.key < b.key ? -1 : 1));
  return sorted.map(({ one }) => one);
}

/** A pass over the batch on a fork of its state. */
function tryOut(
  { base, classes }: Batch,
  {
    asUpstream = false,
    chargesMost = asUpstream,
    nodeMicroUsd,
  }: Pick<Manner, "asUpstream" | "chargesMost" | "nodeMicroUsd">,
): { readonly pass: Pass; readonly fork: Fork } {
  const { context, templates, forks } = base;
  const forget = () => {
    for (const podClass of classes) forgetTries(podClass);
  };
  const fork = forks.open({ templates, asUpstream, forget });
  const pass: Pass = {
    ...base,
    context: { ...context, reservations: context.reservations.copy(), chargesMost },
    claims: asUpstream ? new ClaimsAsMoved() : new OpenClaims(),
    nodeMicroUsd,
    onTouch: (node) => fork.touch(node),
  };
  return { pass, fork };
}

function deferral({ pod, podClass }: QueuedPod): UnschedulablePod {
  return { pod, message: podClass.deferred ?? "", pools: [], deferred: true };
}

/** A pass before anything is placed; `idle`: nothing will be. */
export function createPass(
  input: SchedulingInput,
  volumes: VolumeIndex,
  idle: boolean,
): Pass & { readonly classes: PodClasses; readonly forks: Forks } {
  const { options } = input;
  const daemonPods = input.daemonPods.filter((pod) => !hasDynamicResources(pod));
  const space = new RequirementSpace(new Set([...WELL_KNOWN_LABELS, ...options.wellKnownLabels]));
  const seen = seenSlots(input.nodes, volumes);
  const templates = idle
    ? []
    : input.pools
        .toSorted((a, b) => highestFirst(a.pool, b.pool))
        .map((pool, index) => createTemplate(pool, index, space, daemonPods, seen));
  const topology = new Topology(space, templates, input.namespaces);
  const canTolerate = someAreAvoided(templates) || someAreAvoided(input.nodes);
  const { minValuesPolicy } = options;
  const reserved = templates.filter(({ table }) => table.offerings.hasReserved);
  const complete = defaultSpreader(input.defaultSpread);
  const context = {
    space,
    topology,
    minValuesPolicy,
    volumes,
    reservations: new Reservations(reserved.flatMap(({ table }) => table.types)),
    chargesMost: false,
    strictReservations: options.reservedCapacity === "strict",
  };
  return {
    context,
    attempt: new Attempt(context),
    templates,
    nodes: idle ? [] : targetNodes(input.nodes, daemonPods),
    classes: new PodClasses({ space, topology, volumes, settings: options, canTolerate, complete }),
    claims: new OpenClaims(),
    forks: new Forks(topology),
  };
}

/** Sorts the batch into `classes`, and counts for their topology what already runs. */
function* classify(
  pass: ReturnType<typeof createPass>,
  input: SchedulingInput,
  pods: readonly BatchPod[],
  classes: Set<PodClass>,
): Steps<QueuedPod[]> {
  const { topology } = pass.context;
  yield* eachInSteps(pods, PODS_PER_STEP, ({ alike }) => {
    alike.draft ??= pass.classes.announce(alike.sample);
  });
  const batch = new Set(input.nodes.length === 0 ? [] : input.pods.map(keyOf));
  const running = yield* mapInSteps(input.nodes, NODES_PER_STEP, (view) => {
    const place = new ExistingNode(view, []);
    const staying = view.pods.filter((pod) => !isTerminating(pod) && !batch.has(keyOf(pod)));
    return { place, staying };
  });
  const holders = running.flatMap(({ place, staying }) =>
    staying.flatMap((pod) => heldTerms(pod).map((term) => ({ place, pod, term }))),
  );
  const held = holders.map(({ place, pod, term }) => {
    const { namespace = "default", labels = {} } = pod.metadata;
    const group = topology.affinity(term, "antiAffinity", { namespace, labels }, true);
    return { group, place };
  });
  for (const node of pass.nodes) topology.addDomains(node);
  for (const { group, place } of held) topology.count(group, place);
  yield* eachInSteps(running, NODES_PER_STEP, ({ place, staying }) => {
    for (const pod of staying) {
      const { namespace = "default", labels = {} } = pod.metadata;
      for (const group of topology.selecting(namespace, labels)) {
        if (!group.inverse) topology.count(group, place);
      }
    }
  });
  return yield* mapInSteps(pods, PODS_PER_STEP, ({ pod, alike }) => {
    let { podClass } = alike;
    if (podClass === undefined) {
      podClass = pass.classes.classOf(alike.sample, alike.draft as Draft);
      alike.podClass = podClass;
      classes.add(podClass);
    }
    return { pod, podClass };
  });
}

export function heldTerms(pod: Pod) {
  const { requiredDuringSchedulingIgnoredDuringExecution: terms = [] } =
    pod.spec.affinity?.podAntiAffinity ?? {};
  return terms;
}
