/**
 * Plans one batch: from pods and the state of the cluster to new NodeClaims, placements on existing nodes, and a reason
 * for each pod without a place. Equal input gives an equal plan, whatever the order of its lists is.
 * Pods are placed one by one, the largest first (place.ts). If a pod has no place while pods of lower priority have
 * one, the batch is planned again by priority. Planning is a generator, so a large batch does not block other
 * controllers.
 * upstream: pkg/controllers/provisioning/scheduling/scheduler.go
 */

import type { Pod } from "../../apis/core/pod.ts";
import { isTerminating } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { assert } from "../../base/assert.ts";
import {
  atOnce,
  eachInSteps,
  flatMapInSteps,
  mapInSteps,
  type Steps,
  sortInSteps,
} from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { requiredOf } from "../scheduling/pod-requirements.ts";
import { VolumeIndex } from "../scheduling/volumes.ts";
import type { NodeView } from "../state/node-view.ts";
import { type BasePass, createPass } from "./base-pass.ts";
import { plannedDaemons } from "./batch/eligibility.ts";
import { areFewDomainsTaken, hasFewDomains } from "./batch/few-domains.ts";
import { type Draft, forgetTries, type PodClass } from "./batch/pod-class.ts";
import { inOrderInSteps, Queue, type QueuedPod } from "./batch/queue.ts";
import { isPriorityInverted, placesHigherPriorities } from "./batch/scarcity.ts";
import { type BatchPod, sortOut } from "./batch/sort-out.ts";
import type { Fork } from "./fork.ts";
import { groupDomainsOf } from "./nodes/affinity-groups.ts";
import { ClaimsInUpstreamOrder } from "./nodes/claims-in-upstream-order.ts";
import { ExistingNode, targetNodes } from "./nodes/existing-node.ts";
import { OpenClaims } from "./nodes/open-claims.ts";
import { placesByRule } from "./nodes/places-by-rule.ts";
import { type ClaimKind, planClaims } from "./nodes/planned-claim.ts";
import { isStuck, type Pass, place } from "./place.ts";
import { type PoolNotes, poolNotes } from "./pools/pool-notes.ts";
import { isLimited, mayRunOut } from "./pools/pool-template.ts";
import { explainInSteps } from "./refusals/explain.ts";
import { withoutHopeless } from "./refusals/fits-nowhere.ts";
import type { PoolRejection, SchedulingResult, UnschedulablePod, Unstuck } from "./result.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { keepPlaces } from "./sticky.ts";
import { placeAffinityGroups } from "./together.ts";
import { type LateCount, refusedBy } from "./topology/late-counts.ts";
import type { Topology } from "./topology/topology.ts";
import type { GroupDomains, TopologyGroup } from "./topology/topology-group.ts";

const TRIES_PER_STEP = 64;
/** A step ends after `TRIES_PER_STEP` tried pods, or after this number of checks of planned nodes. */
const ASKED_PER_STEP = 1_024;
/** A step also ends after this number of devices was tried. */
const DEVICES_PER_STEP = 4_096;

/**
 * Places some pods before the greedy rules do. Returns the pods that are left. Undefined: it placed nothing, because no
 * plan was worth its price. A what-if question ends then. A plan goes on with all pods.
 */
export type Opening = (
  pass: Pass,
  queued: readonly QueuedPod[],
) => Steps<readonly QueuedPod[] | undefined>;

/** Plans one batch. Never throws because of invalid pods, pools or volumes: the pods are in `unschedulable`. */
export function solve(input: SchedulingInput): SchedulingResult {
  return atOnce(solveInSteps(input));
}

/** Like {@link solve}, in steps. */
export function solveInSteps(input: SchedulingInput): Steps<SchedulingResult> {
  return importantPodsFirst(input, function* (whole) {
    const batch = yield* prepare(whole);
    return yield* wholePlan(batch, yield* planOf(batch));
  });
}

/**
 * Plans with sticky pods kept on their nodes. If then a pod has no place while pods of lower priority have one, plans
 * again without sticky pods: kube-scheduler would give the room to the pod of higher priority anyway.
 */
export function* importantPodsFirst<R extends SchedulingResult>(
  input: SchedulingInput,
  plan: (input: SchedulingInput) => Steps<R>,
): Steps<R> {
  const kept = yield* plan(input);
  const { sticky, ...free } = input;
  if (sticky === undefined || sticky.size === 0 || !isPriorityInverted(kept)) return kept;
  const other = yield* plan(free);
  if (!placesHigherPriorities(other, kept)) return kept;
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

/** Adds the pods that were left out before planning, and sorts all pods without a place by namespace and name. */
export function* wholePlan(batch: Batch, plan: SchedulingResult): Steps<SchedulingResult> {
  const { leftOut, unstuck } = batch;
  const unschedulable = yield* byKey([...leftOut, ...plan.unschedulable]);
  return { ...plan, unschedulable, ...(unstuck.length > 0 ? { unstuck } : {}) };
}

/** A batch that is ready to be planned. Any number of plans can be made from it; no plan affects another. */
export interface Batch {
  readonly input: SchedulingInput;
  /** The scheduling state before any pod is placed, except sticky pods. */
  readonly base: BasePass;
  /** The pods to place, in the order in which the greedy rules place them. */
  readonly queued: readonly QueuedPod[];
  /** The classes of the pods, without those that fit nowhere. */
  readonly classes: ReadonlySet<PodClass>;
  readonly isOfOnePriority: boolean;
  /** Pods that were refused before planning or that fit nowhere. No plan tries to place them. */
  readonly leftOut: readonly UnschedulablePod[];
  readonly notes: PoolNotes;
  readonly unstuck: readonly Unstuck[];
  /** Sorted instance types and prices for planned nodes with equal requirements, shared by all plans of the batch. */
  readonly kinds: Map<string, ClaimKind>;
  /** For each group of pods that require each other by pod affinity: where the first of them may go. */
  readonly groupDomains: ReadonlyMap<TopologyGroup, GroupDomains>;
  /** Pod affinities whose pods are placed before all other pods. Absent: pods are placed by size only. */
  readonly together?: ReadonlySet<TopologyGroup>;
}

/** Refuses pods that cannot be planned, sorts the rest into classes, and places sticky pods. */
export function* prepare(input: SchedulingInput): Steps<Batch> {
  const volumes = new VolumeIndex(input.volumes);
  const { batch, refused } = yield* sortOut(input, volumes);
  const idle = batch.length === 0;
  const nodes = idle ? [] : yield* targetNodes(input.nodes, plannedDaemons(input));
  const base = createPass(input, volumes, { idle, nodes });
  const classes = new Set<PodClass>();
  const classified = yield* classify(base, input, batch, classes);
  const { rest, unstuck } = yield* keepPlaces(base, classified, input.sticky);
  const { some, lost } = yield* withoutHopeless(base, rest, classes);
  const queued = yield* inOrderInSteps(some);
  for (const template of base.templates)
    if (isLimited(template)) template.isAmple = !mayRunOut(template, queued.length);
  yield;
  return {
    input,
    base,
    queued,
    classes,
    isOfOnePriority: batch.every(({ alike }) => alike.priority === batch[0]?.alike.priority),
    leftOut: [...refused, ...(yield* explainInSteps(lost, base, input.askedPod))],
    notes: poolNotes(base.templates, base.context),
    kinds: new Map(),
    groupDomains: groupDomainsOf(base, queued),
    unstuck,
  };
}

/**
 * One plan by the greedy rules. If a pod lacks a place while a pod of lower priority has one, plans again by priority.
 */
export function* planOf(batch: Batch, opening?: Opening): Steps<SchedulingResult> {
  const result = yield* orChargedAsLargest(batch, yield* completePlan(batch, { opening }));
  if (!isPriorityInverted(result)) return result;
  const other = yield* completePlan(batch, { importantFirst: true });
  return placesHigherPriorities(other, result) ? other : result;
}

/** The greedy plan, for pods of equal priority. Undefined: `isEnough` said that the open nodes are too expensive. */
export function* planUntil(batch: Batch, isEnough: Stop): Steps<SchedulingResult | undefined> {
  const plan = yield* planned(batch, { isEnough });
  return plan === undefined ? undefined : yield* orChargedAsLargest(batch, plan);
}

/**
 * The plan by upstream's exact rules, which differ from the greedy rules of karpenter-ts:
 * - Among planned nodes with equally many pods, the node that got a pod last is tried first.
 * - A pod with anti-affinity leaves its planned node open to several domains.
 * - A spread tries only the domain with the fewest pods, and the first pod of an affinity only the first domain by
 *   name. Prices have no effect.
 * Undefined: kube-scheduler might refuse pods of this plan, because a spread counts a domain too late (late-counts.ts).
 */
export function* planAsUpstream(batch: Batch): Steps<SchedulingResult | undefined> {
  const plan = yield* plannedOnce(batch, { asUpstream: true });
  return plan?.late.length === 0 ? plan.result : undefined;
}

/**
 * The greedy plan, but each pod goes to the node where it raises the price least: a planned node, or a new one if that
 * is cheaper. `nodeMicroUsd`: cost of a node per hour beyond its instance. New nodes are not of burstable types.
 */
export function planByCheapestNode(
  batch: Batch,
  nodeMicroUsd: number,
  opening?: Opening,
): Steps<SchedulingResult> {
  return completePlan(batch, { nodeMicroUsd, opening });
}

type Stop = (claims: OpenClaims) => boolean;

/**
 * If limits leave pods without a place, plans again and charges each planned node as its largest type, as upstream
 * does. So early nodes can grow. Returns the plan that places more pods.
 */
function* orChargedAsLargest(batch: Batch, plan: SchedulingResult): Steps<SchedulingResult> {
  const isShort = plan.unschedulable.some(({ pools }) => pools.some(isKeptOutByLimits));
  if (!isShort || !batch.isOfOnePriority) return plan;
  const other = yield* completePlan(batch, { chargesMost: true });
  return other.unschedulable.length < plan.unschedulable.length ? other : plan;
}

function isKeptOutByLimits({ rejected }: PoolRejection): boolean {
  return rejected.limits !== undefined;
}

/** The settings in which a plan differs from the plain greedy plan. */
interface GreedySettings {
  readonly opening?: Opening | undefined;
  readonly isEnough?: Stop | undefined;
  readonly importantFirst?: boolean;
  /** Places pods that have few domains to choose from first, see {@link hasFewDomains}. */
  readonly fewDomainsFirst?: boolean;
  readonly asUpstream?: boolean;
  /** Whether limits are charged with the largest type that a planned node may become. */
  readonly chargesMost?: boolean;
  readonly nodeMicroUsd?: number;
  /**
   * Domains and first pods that an earlier plan of this batch counted only after it had placed pods of the spread
   * (topology/late-counts.ts). This plan takes them into account from its start.
   */
  readonly assumed?: readonly LateCount[];
}

function* completePlan(batch: Batch, settings: GreedySettings): Steps<SchedulingResult> {
  const result = yield* planned(batch, settings);
  assert(result !== undefined, "a plan is made to its end");
  return result;
}

/**
 * Plans again if a topology rule kept out a pod that has few domains to choose from. Then such pods come first. The
 * second plan is kept if it has fewer pending pods and places no fewer pods of a higher priority.
 */
function* planned(batch: Batch, settings: GreedySettings): Steps<SchedulingResult | undefined> {
  const first = yield* plannedWithLateCounts(batch, settings);
  if (first === undefined || settings.importantFirst === true) return first?.result;
  if (!areFewDomainsTaken(batch.queued, first.result)) return first.result;
  const again = { ...settings, isEnough: undefined, fewDomainsFirst: true };
  const other = yield* plannedWithLateCounts(batch, again);
  const isBetter =
    other !== undefined &&
    pendingBy(other) < pendingBy(first) &&
    !placesHigherPriorities(first.result, other.result);
  return isBetter ? other.result : first.result;
}

/**
 * Plans again if a spread learned of a domain, or of the first pod of a host affinity, only after its own pods were
 * placed. Pods that kube-scheduler would refuse count as pending. The second plan is kept unless more pods are pending.
 */
function* plannedWithLateCounts(
  batch: Batch,
  settings: GreedySettings,
): Steps<Planned | undefined> {
  const first = yield* plannedOnce(batch, settings);
  if (first === undefined || first.late.length === 0) return first;
  const again = { ...settings, isEnough: undefined, assumed: first.late };
  const other = yield* plannedOnce(batch, again);
  return other === undefined || pendingBy(other) > pendingBy(first) ? first : other;
}

/** A plan. `late`: counts that a spread learned of only after its own pods were placed (late-counts.ts). */
interface Planned {
  readonly result: SchedulingResult;
  readonly late: readonly LateCount[];
}

function pendingBy({ result, late }: Planned): number {
  return result.unschedulable.length + refusedBy(late);
}

function* plannedOnce(
  batch: Batch,
  { opening, isEnough, assumed = [], ...settings }: GreedySettings,
): Steps<Planned | undefined> {
  const { pass, fork } = openPass(batch, settings);
  if (settings.asUpstream !== true) pass.context.topology.limitFirstPods(batch.groupDomains);
  pass.context.topology.assume(assumed);
  const { input, queued, together } = batch;
  const unschedulable: UnschedulablePod[] = [];
  const later =
    together === undefined ? queued : yield* placeAffinityGroups(pass, queued, together);
  const rest = (opening && (yield* opening(pass, later))) ?? later;
  const isEarly = settings.fewDomainsFirst === true ? hasFewDomains : undefined;
  const queue = new Queue(rest, { importantFirst: settings.importantFirst, isEarly });
  const failed: QueuedPod[] = [];
  const stuck = (podClass: PodClass) => isStuck(pass, podClass);
  let [tries, asked, steps] = [0, 0, 0];
  const { devices } = pass.context;
  for (let item = queue.pop(stuck); item !== undefined; item = queue.pop(stuck)) {
    const isTurn = ++tries % TRIES_PER_STEP === 0;
    if (isTurn && isEnough?.(pass.claims) === true) {
      fork.undo();
      return undefined;
    }
    const searched = devices?.state.steps ?? 0;
    if (
      isTurn ||
      pass.claims.asked > asked + ASKED_PER_STEP ||
      searched > steps + DEVICES_PER_STEP
    ) {
      asked = pass.claims.asked;
      steps = searched;
      yield;
    }
    const outcome = place(pass, item);
    if (outcome === "tryAgain") queue.giveBack(item);
    else if (outcome === "hopeless") failed.push(item);
    else if (outcome === "deferred") unschedulable.push(deferral(item));
  }
  failed.push(...queue.rest());
  for (const one of yield* explainInSteps(failed, pass, input.askedPod)) unschedulable.push(one);
  const result = {
    newClaims: yield* planClaims(pass.claims.all, {
      space: pass.context.space,
      options: input.options,
      kinds: batch.kinds,
    }),
    existing: pass.nodes
      .filter((node) => node.pods.length > 0)
      .map((node) => ({ nodeName: node.view.name, pods: [...node.pods] })),
    unschedulable,
    ...batch.notes,
  };
  const late = yield* pass.context.topology.lateCounts(placesByRule(pass, queued));
  fork.undo();
  return { result, late };
}

function* byKey(pods: readonly UnschedulablePod[]): Steps<readonly UnschedulablePod[]> {
  const keyed = pods.map((one) => ({ one, key: keyOf(one.pod) }));
  const sorted = yield* sortInSteps(keyed, (a, b) => (a.key < b.key ? -1 : 1));
  return sorted.map(({ one }) => one);
}

/** Opens a fork of the batch's scheduling state (changes that can be undone), and a pass that works on the fork. */
function openPass(
  { base, classes }: Batch,
  {
    asUpstream = false,
    chargesMost = asUpstream,
    nodeMicroUsd,
  }: Pick<GreedySettings, "asUpstream" | "chargesMost" | "nodeMicroUsd">,
): { readonly pass: Pass; readonly fork: Fork } {
  const { context, templates, forks } = base;
  const forget = () => {
    for (const podClass of classes) forgetTries(podClass);
  };
  const fork = forks.open({ templates, asUpstream, forget });
  const pass: Pass = {
    ...base,
    context: { ...context, reservations: context.reservations.copy(), chargesMost },
    claims: asUpstream ? new ClaimsInUpstreamOrder() : new OpenClaims(),
    nodeMicroUsd,
    onTouch: (node) => fork.touch(node),
  };
  return { pass, fork };
}

function deferral({ pod, podClass }: QueuedPod): UnschedulablePod {
  return { pod, message: podClass.deferred ?? "", pools: [], deferred: true };
}

/** Sorts pods into `classes` (pods that are equal for planning), and counts running pods for the topology groups. */
function* classify(
  pass: BasePass,
  input: SchedulingInput,
  pods: readonly BatchPod[],
  classes: Set<PodClass>,
): Steps<QueuedPod[]> {
  const { topology } = pass.context;
  yield* eachInSteps(pods, ({ alike }) => {
    alike.draft ??= pass.classes.announce(alike.sample);
  });
  const batch = new Set(input.nodes.length === 0 ? [] : input.pods.map(keyOf));
  // Running pods with required anti-affinity add groups. All groups must be known before pods are counted.
  const holding = yield* flatMapInSteps(input.nodes, (view) => {
    const pods =
      holders.get(view) ?? within(holders, view, () => view.pods.filter(hasAntiAffinity));
    const held = stayingPods({ pods }, batch).flatMap((pod) => heldGroups(topology, pod));
    return held.length === 0 ? [] : [{ place: new ExistingNode(view, []), held }];
  });
  for (const node of pass.nodes) topology.addDomains(node);
  for (const { held, place } of holding) for (const group of held) topology.count(group, place);
  if (topology.groups.length > 0)
    yield* eachInSteps(input.nodes, (view) => countPods(topology, view, batch));
  return yield* mapInSteps(pods, ({ pod, alike }) => {
    let { podClass } = alike;
    if (podClass === undefined) {
      podClass = pass.classes.classOf(alike.sample, alike.draft as Draft);
      alike.podClass = podClass;
      classes.add(podClass);
    }
    return { pod, podClass };
  });
}

/** Counts the pods of a node for the groups that select them. */
function countPods(topology: Topology, view: NodeView, batch: ReadonlySet<string>): void {
  let place: ExistingNode | undefined;
  for (const { metadata } of stayingPods(view, batch)) {
    const { namespace = "default", labels = {} } = metadata;
    for (const group of topology.selecting(namespace, labels)) {
      if (group.inverse) continue;
      place ??= new ExistingNode(view, []);
      topology.count(group, place);
    }
  }
}

/** The pods of each view with anti-affinity. A view never changes, and most views are planned with many times. */
const holders = new WeakMap<NodeView, readonly Pod[]>();

function hasAntiAffinity({ spec }: Pod): boolean {
  return spec.affinity?.podAntiAffinity !== undefined;
}

/** The pods of a node that topology rules count: pods that are not terminating, and not in `batch` (keys of pods). */
export function stayingPods(
  { pods }: Pick<NodeView, "pods">,
  batch: ReadonlySet<string>,
): readonly Pod[] {
  return pods.filter((pod) => !isTerminating(pod) && !(batch.size > 0 && batch.has(keyOf(pod))));
}

/** The topology groups of the pod's required anti-affinities: they keep other pods away from this pod. */
export function heldGroups(topology: Topology, pod: Pod): readonly TopologyGroup[] {
  const { namespace = "default", labels = {} } = pod.metadata;
  return requiredOf(pod.spec.affinity?.podAntiAffinity).map((term) =>
    topology.affinity(term, "antiAffinity", { namespace, labels }, true),
  );
}
