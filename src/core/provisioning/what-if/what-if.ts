/**
 * The cluster without some of its nodes, asked many times over: everything that does not depend on which
 * nodes go is worked out once, and each question changes a little, looks, and takes the change back. What
 * comes out is what `solve` would plan for the pods concerned on a cluster that never had those nodes.
 *
 * Pods that wait for a place anyway, and find one on a node that is there, keep it: they are put there
 * before the first question. Those that need a new node of their own play no part.
 *
 * Kept together: every change to the picture stands beside what takes it back.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { perTemplate } from "../../../apis/core/pod-template.ts";
import { firstUntolerated } from "../../../apis/core/tolerations.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import { keyOf } from "../../../apis/meta.ts";
import { addResources, NO_RESOURCES } from "../../../apis/resources.ts";
import { assert } from "../../../base/assert.ts";
import { atOnce, eachInSteps, filterInSteps, mapInSteps, type Steps } from "../../../base/steps.ts";
import { intersectionOf, Marks } from "../../scheduling/bits.ts";
import { indexVolumes, VolumeIndex } from "../../scheduling/volumes.ts";
import { isThere, type NodeView, reschedulablePods } from "../../state/node-view.ts";
import { hasDynamicResources, refusal } from "../batch/eligibility.ts";
import type { Draft, PodClass, Variant } from "../batch/pod-class.ts";
import { inOrder, Queue, type QueuedPod } from "../batch/queue.ts";
import {
  type Daemon,
  ExistingNode,
  inTargetOrder,
  merged,
  type Saved,
  toDaemon,
} from "../nodes/existing-node.ts";
import { OpenClaims } from "../nodes/open-claims.ts";
import { type Kind, planClaims } from "../nodes/planned-claim.ts";
import { seenSlotsInSteps } from "../pools/attach-slots.ts";
import { type Budget, creditLimits, isLimited, resetLimits } from "../pools/pool-template.ts";
import { PriceFloor } from "../pools/price-floor.ts";
import { explain } from "../refusals/explain.ts";
import type { PlannedClaim, UnschedulablePod } from "../result.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import { createPass, type Pass, place } from "../solve.ts";
import type { TopologyGroup } from "../topology/topology-group.ts";
import { Census, type Host, type Left, type LeftPod, stayingPods } from "./census.ts";
import { isOfOneKind, nodeChanges } from "./picture-changes.ts";
import { BEGINNING, type Moment, Supposed } from "./supposed.ts";
import { Trying } from "./trying.ts";

export interface Without {
  /** New nodes that the pods would need. */
  readonly newClaims: readonly PlannedClaim[];
  /** Nodes that would take pods of those that go, and which pods. */
  readonly existing: readonly {
    readonly nodeName: string;
    readonly view: NodeView;
    readonly pods: readonly Pod[];
  }[];
  /** Pods without a place, by key; at most `MAX_EXPLAINED` with their reasons worked out. */
  readonly unschedulable: readonly UnschedulablePod[];
  /** It was not worth while to the opening: nobody was placed. */
  readonly gaveUp: boolean;
}

const MAX_EXPLAINED = 5;
/** The first ones are of kinds that nobody has met, and their code is cold: a hundred times what later ones take. */
const NODES_PER_STEP = 8;
const TRIES_PER_STEP = 64;
/** Nodes that are to go together. */
const ASKED_PER_STEP = 8;
/** Without volumes nobody asks for a pod's name. */
const NAMELESS: Pod["metadata"] = { name: "" };
const NOBODY: readonly never[] = [];
const GAVE_UP: Without = { newClaims: [], existing: [], unschedulable: [], gaveUp: true };

/** A node that might go, and its pods that would need a place. */
export interface Leaving {
  readonly nodeName: string;
  readonly pods: readonly Pod[];
}

/** What a question takes for granted. */
export interface Terms {
  /** New nodes are of types that can be had for less than this an hour; absent: of any. */
  readonly belowMicroUsd?: number | undefined;
  /**
   * Names of nodes that stay, with all that runs there, and on which nobody may be placed; absent: there
   * are none. The same set for many questions costs nothing.
   */
  readonly closed?: ReadonlySet<string> | undefined;
  /** Has its say before the rules: places what it likes, or finds that it is not worth while. */
  readonly opening?: WorthTrying | undefined;
}

/** As an {@link Opening}; undefined: not worth while. */
export type WorthTrying = (
  pass: Pass,
  queued: readonly QueuedPod[],
) => Steps<readonly QueuedPod[] | undefined>;

/** The cluster with some changes that can be taken back. */
interface Trial {
  readonly pass: Pass;
  readonly supposed: Supposed;
  /** Of the pass' templates, as they were. */
  readonly budgets: readonly Budget[];
  /** Those that are supposed away. */
  readonly gone: Host[];
}

/** Who looks for a place, in order, and who does not. */
interface Seeking {
  readonly queued: readonly LeftPod[];
  readonly refused: readonly UnschedulablePod[];
}

/** A waiting pod's room. */
interface Housed {
  readonly place: ExistingNode;
  readonly groups: readonly TopologyGroup[];
  readonly before: Saved;
}

export class WhatIf {
  #input: SchedulingInput;
  readonly #volumes: VolumeIndex;
  readonly #base: ReturnType<typeof createPass>;
  readonly #census: Census;
  /** Those that may take pods, by index; who has left is `gone`. */
  #nodes: readonly ExistingNode[] = [];
  #housed: readonly Housed[] = [];
  /** Of the last question that closed any. */
  #closed: { readonly names: ReadonlySet<string>; readonly marks: Marks } | undefined;
  /** Wishes of pods long gone are kept: with more of them the picture is made anew. */
  #mostWishes = 0;
  readonly #kinds = new Map<string, Kind>();
  readonly #trying: Trying;
  /** How many trials there have been. */
  #trials = 0;
  #prices: PriceFloor | undefined;
  readonly #ownerLabels: readonly string[];
  readonly #refusalOf = perTemplate((spec) => this.#reason({ metadata: NAMELESS, spec }));

  /** `input.pods`: those that need a place as it is. */
  static of(input: SchedulingInput): WhatIf {
    return atOnce(WhatIf.inSteps(input));
  }

  /** As {@link of}. */
  static *inSteps(input: SchedulingInput): Steps<WhatIf> {
    yield* indexVolumes(input.volumes);
    const whatIf = new WhatIf(input);
    yield;
    yield* whatIf.#takeIn(input);
    return whatIf;
  }

  private constructor(input: SchedulingInput) {
    this.#input = input;
    this.#volumes = new VolumeIndex(input.volumes);
    this.#base = createPass({ ...input, nodes: [] }, this.#volumes, false);
    this.#ownerLabels = input.pools.map(({ pool }) => vocabulary(pool.generation).ownerLabel);
    this.#census = new Census(this.#base.context.topology);
    this.#trying = new Trying(this.#base.classes);
  }

  *#takeIn({ nodes, pods }: SchedulingInput): Steps<void> {
    const seen = yield* seenSlotsInSteps(nodes, this.#volumes);
    for (const template of this.#base.templates) template.slots.see(seen);
    const batch = new Set(pods.map(keyOf));
    const waiting = pods.filter((pod) => this.#refusal(pod) === undefined);
    this.#announce(waiting);
    yield;
    const drafts = yield* mapInSteps(nodes, NODES_PER_STEP, (view) => {
      this.#census.expect(stayingPods(view, batch));
      return this.#announce(movable(view));
    });
    this.#mostWishes = 2 * this.#base.classes.size + 1_000;
    this.#census.open();
    const daemons = this.#daemons();
    const targets: ExistingNode[] = [];
    yield* eachInSteps(nodes, NODES_PER_STEP, (view, index) => {
      const place = new ExistingNode(view, view.deleting ? [] : daemons);
      if (!view.deleting) targets.push(place);
      const host = this.#census.add(place, !view.deleting, stayingPods(view, batch));
      this.#census.settle(host, drafts[index] ?? NOBODY);
      if (isMovable(view)) host.left = this.#leftOf(view, host.drafts);
    });
    this.#nodes = yield* inTargetOrder(targets);
    this.#trying.see(this.#nodes);
    yield* this.#trying.makeReady();
    yield* this.#house(waiting);
  }

  #daemons(): readonly Daemon[] {
    return this.#input.daemonPods.filter((pod) => !hasDynamicResources(pod)).map(toDaemon);
  }

  /**
   * Goes on from another picture of the same cluster: what has changed is counted anew, the rest stays.
   * False: too much has changed, and this one is good for nothing any more; make a new one.
   */
  follow(input: SchedulingInput): boolean {
    return atOnce(this.followInSteps(input));
  }

  /** As {@link follow}. Nothing may be asked before it is done. */
  *followInSteps(input: SchedulingInput): Steps<boolean> {
    if (this.#base.classes.size > this.#mostWishes || !isOfOneKind(this.#input, input))
      return false;
    const before = this.#input;
    this.#closed = undefined;
    const { context, templates } = this.#base;
    const known = context.topology.groups.length;
    const batch = new Set(input.pods.map(keyOf));
    const { changed, gone } = yield* nodeChanges(before, input, batch);
    const names = new Set(changed.map(({ name }) => name));
    for (const { name } of gone) names.add(name);
    const left = yield* this.#leave([...names]);
    if (left === undefined) return false;
    this.#input = input;
    yield* indexVolumes(input.volumes);
    this.#volumes.see(input.volumes);
    const seen = yield* seenSlotsInSteps(input.nodes, this.#volumes);
    const usage = new Map(input.pools.map((one) => [one.pool.id, one.usage]));
    for (const template of templates) {
      resetLimits(template, usage.get(template.pool.id) ?? NO_RESOURCES);
      template.slots.see(seen);
    }
    const waiting = input.pods.filter((pod) => this.#refusal(pod) === undefined);
    this.#announce(waiting);
    const drafts = yield* mapInSteps(changed, NODES_PER_STEP, (view) =>
      this.#announce(movable(view)),
    );
    yield* this.#come(changed, drafts, left, batch);
    // A rule that nobody had before: it would have to be asked about everybody.
    if (context.topology.groups.length > known) return false;
    yield* this.#house(waiting);
    return true;
  }

  /**
   * What happens when these nodes go, and these pods of theirs need a place.
   */
  without(nodeNames: readonly string[], moving: readonly Pod[], terms: Terms = {}): Without {
    if (terms.opening !== undefined) return atOnce(this.withoutInSteps(nodeNames, moving, terms));
    const { trial, queued, refused } = this.#begin(nodeNames, moving, terms);
    try {
      return this.#outcome(trial, queued, refused);
    } finally {
      this.#end(trial);
    }
  }

  /** As {@link without}. Nothing else may be asked before it is done. */
  *withoutInSteps(
    nodeNames: readonly string[],
    moving: readonly Pod[],
    terms: Terms,
  ): Steps<Without> {
    const { trial, queued, refused } = this.#begin(nodeNames, moving, terms);
    try {
      const rest = terms.opening === undefined ? queued : yield* terms.opening(trial.pass, queued);
      return rest === undefined ? GAVE_UP : this.#outcome(trial, rest, refused);
    } finally {
      this.#end(trial);
    }
  }

  #begin(
    nodeNames: readonly string[],
    moving: readonly Pod[],
    { closed, belowMicroUsd }: Terms,
  ): Seeking & { readonly trial: Trial } {
    const hosts: Host[] = [];
    for (const name of nodeNames) {
      const host = this.#census.host(name);
      if (host !== undefined) hosts.push(host);
    }
    const { queued, refused } = this.#queued(hosts, moving);
    const trial = this.#suppose(this.#base.templates, closed);
    try {
      this.#remove(trial, hosts);
      if (belowMicroUsd !== undefined) this.#onlyBelow(trial, belowMicroUsd);
      return { trial, queued, refused };
    } catch (error) {
      this.#end(trial);
      throw error;
    }
  }

  #outcome(
    { pass, supposed, gone }: Trial,
    queued: readonly QueuedPod[],
    refused: readonly UnschedulablePod[],
  ): Without {
    const failed = run(pass, new Queue(queued));
    if (failed.length > 0) for (const host of gone) this.#census.vacate(host, true);
    const { space } = pass.context;
    return {
      newClaims: planClaims(pass.claims.all, space, this.#input.options, this.#kinds),
      existing: placedOn(supposed.touched()),
      unschedulable:
        refused.length + failed.length === 0
          ? NOBODY
          : [...refused, ...explained(failed, pass)].sort(byKey),
      gaveUp: false,
    };
  }

  /**
   * Ids of pools, each list those that running pods of one kind could have new nodes of, as far as labels
   * and taints go: pods of such pools may share machines.
   */
  openTo(): readonly (readonly string[])[] {
    const { classes, templates, context } = this.#base;
    return classes.running().map((podClass) => {
      const { tolerations, set: wanted } = classes.variant(podClass, 0) as Variant;
      return templates
        .filter(({ taints }) => firstUntolerated(tolerations, taints) === undefined)
        .filter(({ set }) => context.space.join(set, wanted) !== undefined)
        .map(({ pool }) => pool.id);
    });
  }

  /** No new nodes that hold these pods cost less, in micro-dollars an hour. */
  leastPrice(pods: readonly Pod[]): number {
    const requests = pods.reduce((sum, pod) => addResources(sum, this.#classOf(pod).requests), {
      ...NO_RESOURCES,
    });
    return this.#floor().least(requests);
  }

  /**
   * Of these nodes, in order, those that can go together without a new node, none of them taking pods of
   * another. `mayGo` has the last word on each; it is asked once the pods have a place. Nothing else may be asked
   * before it is done.
   */
  *togetherInSteps<T extends Leaving>(
    leaving: readonly T[],
    mayGo: (one: T) => boolean,
    { closed }: Pick<Terms, "closed"> = {},
  ): Steps<readonly T[]> {
    const trial = this.#suppose([], closed);
    const { supposed, pass } = trial;
    const { topology } = this.#base.context;
    try {
      return yield* filterInSteps(leaving, ASKED_PER_STEP, (one) => {
        const host = this.#census.host(one.nodeName);
        if (host === undefined || supposed.hasTouched(host.place)) return false;
        const before = supposed.now();
        const { changes } = topology;
        const { queued, refused } = this.#queued([host], one.pods);
        if (refused.length === 0 && !this.#isHopeless(queued, host.place)) {
          this.#remove(trial, [host]);
          const failed = run(pass, new Queue(queued), "allOrNone");
          const taken = supposed.touched(before).every(({ node }) => isThere(node.view));
          if (failed.length === 0 && taken && mayGo(one)) return true;
        }
        this.#backTo(trial, before, changes);
        return false;
      });
    } finally {
      this.#end(trial);
    }
  }

  /** One of its pods has no room on any other node, whatever else is supposed. */
  #isHopeless(queued: readonly LeftPod[], place: ExistingNode): boolean {
    return queued.some(({ podClass }) => this.#trying.hasNoRoom(podClass, place));
  }

  /** In order: these pods of the hosts, and those that are supposed to be there. */
  #queued(hosts: readonly Host[], moving: readonly Pod[]): Seeking {
    const [host, ...others] = hosts;
    const isOne = others.length === 0 && host?.place.pods.length === 0;
    // Asked of each node in each sweep: its pods are put in order once.
    if (isOne) {
      host.left ??= this.#leftOf(host.place.view);
      if (moving === host.left.of) {
        for (const { podClass } of host.left.queued) this.#trying.use(podClass);
        return host.left;
      }
    }
    const { fine, refused } = this.#sortOut([
      ...moving,
      ...hosts.flatMap(({ place: { pods } }) => pods),
    ]);
    const queued = inOrder(fine.map((pod) => this.#toTry(pod)));
    for (const { podClass } of queued) this.#trying.use(podClass);
    return { queued, refused };
  }

  #sortOut(pods: readonly Pod[]): { readonly fine: readonly Pod[]; refused: UnschedulablePod[] } {
    const refused: UnschedulablePod[] = [];
    const fine = pods.filter((pod) => {
      const reason = this.#refusal(pod);
      if (reason !== undefined) refused.push({ pod, message: reason, pools: [], ignored: true });
      return reason === undefined;
    });
    return { fine, refused };
  }

  #toTry(pod: Pod): LeftPod {
    return { pod, podClass: this.#trying.of(this.#classOf(pod)) };
  }

  /** `drafts`: of all its pods that may have to leave, where they are known. */
  #leftOf(view: NodeView, drafts?: readonly Draft[]): Left {
    const movable = reschedulablePods(view);
    const { fine, refused } = this.#sortOut(movable);
    const queued = inOrder(
      fine.map((pod) => {
        const podClass = this.#findClass(pod, drafts?.[movable.indexOf(pod)]);
        return { pod, podClass: this.#trying.of(podClass) };
      }),
    );
    return { of: movable, queued, refused: refused.length === 0 ? NOBODY : refused };
  }

  #refusal(pod: Pod): string | undefined {
    return pod.spec.volumes === undefined ? this.#refusalOf(pod.spec) : this.#reason(pod);
  }

  #reason(pod: Pod): string | undefined {
    const { wellKnownLabels } = this.#input.options;
    return refusal(pod, this.#volumes, wellKnownLabels, this.#ownerLabels);
  }

  /** Pods that a question could be about: all topology groups must be known before counting. */
  #announce(pods: readonly Pod[]): readonly Draft[] {
    return pods.map((pod) => this.#base.classes.announce(pod));
  }

  /**
   * Takes back what the picture before knew of these nodes; says where those stood. Undefined: not to be
   * had, for two nodes have one host name.
   */
  *#leave(names: readonly string[]): Steps<ReadonlyMap<string, Host> | undefined> {
    for (const { place, groups, before } of this.#housed) {
      place.restore(before);
      place.settle();
      this.#census.uncount(groups, place);
      this.#trying.roomAgain(place);
    }
    this.#housed = [];
    const left = new Map<string, Host>();
    for (const [index, name] of names.entries()) {
      if (index % NODES_PER_STEP === 0) yield;
      const host = this.#census.host(name);
      if (host === undefined) continue;
      if (this.#census.sharesItsHost(host.place)) return undefined;
      this.#census.remove(name);
      if (!host.isTarget) continue;
      host.place.gone = true;
      left.set(name, host);
    }
    return left;
  }

  /** Counts what has changed. Who can take the place of its former self does; else all are put in order. */
  *#come(
    changed: readonly NodeView[],
    drafts: readonly (readonly Draft[])[],
    left: ReadonlyMap<string, Host>,
    batch: ReadonlySet<string>,
  ): Steps<void> {
    const daemons = this.#daemons();
    const nodes = [...this.#nodes];
    const fresh: ExistingNode[] = [];
    yield* eachInSteps(changed, NODES_PER_STEP, (view, index) => {
      const former = left.get(view.name);
      const place = new ExistingNode(view, view.deleting ? [] : daemons, former?.place.index);
      const host = this.#census.add(place, !view.deleting, stayingPods(view, batch), former);
      this.#census.settle(host, drafts[index] ?? NOBODY);
      if (view.deleting) return;
      const isAlike = former?.place.view.initialized === view.initialized;
      if (isAlike && !this.#census.sharesItsHost(place)) {
        nodes[place.index] = place;
        this.#trying.roomAgain(place);
      } else {
        fresh.push(place);
      }
    });
    this.#nodes = nodes;
    if (fresh.length === 0) return;
    const staying = nodes.filter(({ gone }) => !gone);
    const indices = staying.map(({ index }) => index);
    this.#nodes = merged(staying, fresh);
    this.#trying.see(this.#nodes, formerIndices(this.#nodes, staying, indices));
    yield* this.#trying.makeReady();
  }

  /** Waiting pods that find room as it is have it from now on. */
  *#house(waiting: readonly Pod[]): Steps<void> {
    if (waiting.length === 0) return;
    const queued = inOrder(waiting.map((pod) => this.#toTry(pod)));
    for (const { podClass } of queued) this.#trying.use(podClass);
    const trial = this.#suppose(this.#base.templates);
    yield* runInSteps(trial.pass, new Queue(queued));
    const housed = placedOn(trial.supposed.touched());
    this.#end(trial);
    const { topology } = this.#base.context;
    this.#housed = housed.map(({ nodeName, pods }) => {
      const place = this.#census.host(nodeName)?.place;
      assert(place !== undefined, "pods are placed on nodes that are there");
      const before = place.save();
      const groups: TopologyGroup[] = [];
      for (const pod of pods) {
        const podClass = this.#classOf(pod);
        place.add(pod, podClass);
        groups.push(...podClass.countedBy);
      }
      place.settle();
      this.#trying.roomAgain(place);
      for (const group of groups) topology.count(group, place);
      return { place, groups, before };
    });
  }

  #classOf(pod: Pod): PodClass {
    const host = this.#census.host(pod.spec.nodeName ?? "");
    const known = host?.left?.queued.find((one) => one.pod === pod);
    return known?.podClass.original ?? this.#findClass(pod);
  }

  #findClass(pod: Pod, announced?: Draft): PodClass {
    const { classes, context } = this.#base;
    const known = context.topology.groups.length;
    const draft = announced ?? classes.announce(pod);
    const isNew = context.topology.groups.length > known;
    assert(!isNew, "only pods that wait, or run on nodes of ours, are asked about");
    return classes.classOf(pod, draft);
  }

  #closedMarks(names: ReadonlySet<string>): Marks {
    if (this.#closed?.names === names) return this.#closed.marks;
    const marks = new Marks();
    for (const name of names) {
      const host = this.#census.host(name);
      if (host?.isTarget === true) marks.add(host.place.index);
    }
    this.#closed = { names, marks };
    return marks;
  }

  #suppose(templates: Pass["templates"], closed?: ReadonlySet<string>): Trial {
    const { space, topology, minValuesPolicy, volumes, reservations } = this.#base.context;
    topology.begin();
    const supposed = new Supposed(++this.#trials);
    // Written out: there is one for each node of a sweep.
    const pass: Pass = {
      context: {
        space,
        topology,
        minValuesPolicy,
        volumes,
        reservations: reservations.copy(),
        strictReservations: false,
      },
      templates,
      nodes: this.#nodes,
      classes: this.#trying,
      claims: new OpenClaims(),
      attempt: this.#base.attempt,
      closed: closed === undefined ? undefined : this.#closedMarks(closed),
      isAsEver: (node) =>
        !(node.gone || supposed.hasTouched(node) || this.#census.sharesItsHost(node)),
      onTouch: (node) => supposed.touch(node),
    };
    return { pass, supposed, budgets: templates.map(({ budget }) => budget), gone: [] };
  }

  #remove({ pass, supposed, gone }: Trial, hosts: readonly Host[]): void {
    const { topology } = pass.context;
    for (const host of hosts) {
      const { place: node } = host;
      supposed.sendAway(node);
      gone.push(host);
      this.#census.vacate(host);
      for (const pod of node.pods)
        for (const group of this.#classOf(pod).countedBy) topology.uncount(group, node);
      topology.leave(node);
      for (const template of pass.templates)
        if (template.pool.id === node.view.poolId && isLimited(template))
          creditLimits(template, node.view.capacity);
    }
    this.#census.forgetDomains(gone);
  }

  #onlyBelow({ pass }: Trial, belowMicroUsd: number): void {
    for (const template of pass.templates) {
      const { budget } = template;
      const below = this.#floor().below(template, belowMicroUsd);
      template.budget = { ...budget, within: intersectionOf(budget.within, below) };
    }
  }

  #floor(): PriceFloor {
    this.#prices ??= new PriceFloor(this.#base.templates, this.#base.context.space);
    return this.#prices;
  }

  #backTo({ supposed, gone }: Trial, moment: Moment, changes: number): void {
    supposed.backTo(moment);
    gone.length = moment.gone;
    this.#base.context.topology.rollBack(changes);
    this.#trying.forget();
  }

  #end(trial: Trial): void {
    this.#backTo(trial, BEGINNING, 0);
    trial.pass.templates.forEach((template, at) => {
      template.budget = trial.budgets[at] as Budget;
    });
    this.#base.context.topology.end();
  }
}

function isMovable({ managed, deleting }: NodeView): boolean {
  return managed && !deleting;
}

/** Where those that stay had `indices`; of all nodes, in order, where they were, or -1. */
function formerIndices(
  nodes: readonly ExistingNode[],
  staying: readonly ExistingNode[],
  indices: readonly number[],
): Int32Array {
  let next = 0;
  return Int32Array.from(nodes, (node) =>
    node === staying[next] ? (indices[next++] as number) : -1,
  );
}

/** Pods that may have to leave the node. */
function movable(view: NodeView): readonly Pod[] {
  return isMovable(view) ? reschedulablePods(view) : NOBODY;
}

/** The nodes with the pods they got since. */
function placedOn(touched: readonly Saved[]): Without["existing"] {
  return touched.map(({ node, pods }) => ({
    nodeName: node.view.name,
    view: node.view,
    pods: node.pods.slice(pods),
  }));
}

/** `allOrNone`: once one has no place, whatever happens, the others are not tried. */
type Wanted = "all" | "allOrNone";

/** Places all it can; returns the others. */
function run(pass: Pass, queue: Queue, wanted: Wanted = "all"): readonly QueuedPod[] {
  const failed: QueuedPod[] = [];
  while (placeNext(pass, queue, failed)) {
    if (failed.length > 0 && wanted === "allOrNone") return failed;
  }
  return failed.length === 0 && queue.length === 0 ? NOBODY : [...failed, ...queue.rest()];
}

/** As {@link run}, whoever finds no place. */
function* runInSteps(pass: Pass, queue: Queue): Steps<void> {
  const failed: QueuedPod[] = [];
  let tries = 0;
  while (placeNext(pass, queue, failed)) if (++tries % TRIES_PER_STEP === 0) yield;
}

/** False: there is nobody left to try. */
function placeNext(pass: Pass, queue: Queue, failed: QueuedPod[]): boolean {
  const item = queue.pop();
  if (item === undefined) return false;
  const outcome = place(pass, item);
  if (outcome === "tryAgain") queue.giveBack(item);
  else if (outcome !== "placed") failed.push(item);
  return true;
}

function explained(failed: readonly QueuedPod[], pass: Pass): readonly UnschedulablePod[] {
  const sorted = failed.toSorted((a, b) => (keyOf(a.pod) < keyOf(b.pod) ? -1 : 1));
  const rest = sorted.slice(MAX_EXPLAINED).map(({ pod }) => ({ pod, message: "", pools: [] }));
  return [...explain(sorted.slice(0, MAX_EXPLAINED), pass), ...rest];
}

function byKey(a: UnschedulablePod, b: UnschedulablePod): number {
  return keyOf(a.pod) < keyOf(b.pod) ? -1 : 1;
}
