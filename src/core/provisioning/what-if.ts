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
import type { Pod } from "../../apis/core/pod.ts";
import { perTemplate } from "../../apis/core/pod-template.ts";
import { firstUntolerated } from "../../apis/core/tolerations.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { keyOf } from "../../apis/meta.ts";
import { addResources, NO_RESOURCES } from "../../apis/resources.ts";
import { assert } from "../../base/assert.ts";
import { atOnce, eachInSteps, mapInSteps, type Steps } from "../../base/steps.ts";
import { intersectionOf, Marks } from "../scheduling/bits.ts";
import { VolumeIndex } from "../scheduling/volumes.ts";
import { type NodeView, reschedulablePods } from "../state/node-view.ts";
import { seenSlotsInSteps } from "./attach-slots.ts";
import { Census, type Host, type Left, stayingPods } from "./census.ts";
import { hasDynamicResources, refusal } from "./eligibility.ts";
import { type Daemon, ExistingNode, inTargetOrder, merged, toDaemon } from "./existing-node.ts";
import { explain } from "./explain.ts";
import { OpenClaims } from "./open-claims.ts";
import { changedNodes, goneNodes, isOfOneKind } from "./picture-changes.ts";
import { type Kind, planClaims } from "./planned-claim.ts";
import type { Draft, PodClass, Variant } from "./pod-class.ts";
import { creditLimits, resetLimits } from "./pool-template.ts";
import { PriceFloor } from "./price-floor.ts";
import { inOrder, Queue, type QueuedPod } from "./queue.ts";
import type { PlannedClaim, UnschedulablePod } from "./result.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { createPass, type Pass, place } from "./solve.ts";
import type { TopologyGroup } from "./topology-group.ts";
import { Trying } from "./trying.ts";

export interface Without {
  /** New nodes that the pods would need. */
  readonly newClaims: readonly PlannedClaim[];
  /** Nodes that would take pods of those that go. Which pods, by node name. */
  readonly existing: readonly { readonly nodeName: string; readonly pods: readonly Pod[] }[];
  /** Pods without a place, by key; at most `MAX_EXPLAINED` with their reasons worked out. */
  readonly unschedulable: readonly UnschedulablePod[];
  /** It was not worth while to the opening: nobody was placed. */
  readonly gaveUp: boolean;
}

const MAX_EXPLAINED = 5;
/** Each a few milliseconds at most. */
const NODES_PER_STEP = 64;
const TRIES_PER_STEP = 64;
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

/** The cluster with some changes that can be taken back, latest first. */
interface Supposed {
  readonly pass: Pass;
  /** Nodes that got pods: how many they had before. */
  readonly touched: ReadonlyMap<ExistingNode, number>;
  /** Those that got their first one in the current trial. */
  readonly fresh: ExistingNode[];
  readonly undo: (() => void)[];
  readonly gone: Host[];
}

interface Mark {
  readonly undo: number;
  readonly changes: number;
}

/** Who looks for a place, in order, and who does not. */
interface Seeking {
  readonly queued: readonly QueuedPod[];
  readonly refused: readonly UnschedulablePod[];
}

/** A waiting pod's room. */
interface Housed {
  readonly place: ExistingNode;
  readonly groups: readonly TopologyGroup[];
  readonly takeBack: () => void;
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
  #trying: Trying;
  #prices: PriceFloor | undefined;
  readonly #ownerLabels: readonly string[];
  readonly #refusalOf = perTemplate((spec) => this.#reason({ metadata: NAMELESS, spec }));

  /** `input.pods`: those that need a place as it is. */
  static of(input: SchedulingInput): WhatIf {
    return atOnce(WhatIf.inSteps(input));
  }

  /** As {@link of}. */
  static *inSteps(input: SchedulingInput): Steps<WhatIf> {
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
    this.#trying = this.#newTrying();
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
      return movable(view).map((pod) => this.#base.classes.announce(pod));
    });
    this.#mostWishes = 2 * this.#base.classes.size + 1_000;
    this.#census.open();
    const daemons = this.#daemons();
    const targets: ExistingNode[] = [];
    yield* eachInSteps(nodes, NODES_PER_STEP, (view, index) => {
      const place = new ExistingNode(view, view.deleting ? [] : daemons);
      if (!view.deleting) targets.push(place);
      const host = this.#census.add(place, !view.deleting, stayingPods(view, batch));
      if (isMovable(view)) host.left = this.#leftOf(view, drafts[index]);
    });
    this.#nodes = yield* inTargetOrder(targets);
    this.#trying = this.#newTrying();
    yield;
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
    const changed = yield* changedNodes(before, input, batch);
    const names = new Set(changed.map(({ name }) => name));
    for (const { name } of yield* goneNodes(before, input)) names.add(name);
    const left = yield* this.#leave([...names]);
    if (left === undefined) return false;
    this.#input = input;
    this.#volumes.see(input.volumes);
    const seen = yield* seenSlotsInSteps(input.nodes, this.#volumes);
    const usage = new Map(input.pools.map((one) => [one.pool.id, one.usage]));
    for (const template of templates) {
      resetLimits(template, usage.get(template.pool.id) ?? NO_RESOURCES);
      template.slots.see(seen);
    }
    const waiting = input.pods.filter((pod) => this.#refusal(pod) === undefined);
    this.#announce(waiting);
    yield* eachInSteps(changed, NODES_PER_STEP, (view) => this.#announce(movable(view)));
    yield* this.#come(changed, left, batch);
    // A rule that nobody had before: it would have to be asked about everybody.
    if (context.topology.groups.length > known) return false;
    yield* this.#house(waiting);
    return true;
  }

  /**
   * What happens when these nodes go, and these pods of theirs need a place.
   */
  without(nodeNames: readonly string[], moving: readonly Pod[], terms: Terms = {}): Without {
    return atOnce(this.withoutInSteps(nodeNames, moving, terms));
  }

  /** As {@link without}. Nothing else may be asked before it is done. */
  *withoutInSteps(
    nodeNames: readonly string[],
    moving: readonly Pod[],
    terms: Terms,
  ): Steps<Without> {
    const hosts = nodeNames.flatMap((name) => this.#census.host(name) ?? []);
    const { queued: items, refused } = this.#queued(hosts, moving);
    const { belowMicroUsd } = terms;
    const supposed = this.#begin(this.#base.templates, terms.closed);
    try {
      this.#remove(supposed, hosts);
      if (belowMicroUsd !== undefined) this.#onlyBelow(supposed, belowMicroUsd);
      const { pass, touched } = supposed;
      const rest = terms.opening === undefined ? items : yield* terms.opening(pass, items);
      if (rest === undefined) return GAVE_UP;
      const failed = run(pass, new Queue(rest));
      const { space } = pass.context;
      return {
        newClaims: planClaims(pass.claims.all, space, this.#input.options, this.#kinds),
        existing: placedOn(touched),
        unschedulable: [...refused, ...explained(failed, pass)].sort(byKey),
        gaveUp: false,
      };
    } finally {
      this.#end(supposed);
    }
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
   * another. `mayGo` has the last word on each; it is asked once the pods have a place.
   */
  together<T extends Leaving>(
    leaving: readonly T[],
    mayGo: (one: T) => boolean,
    { closed }: Pick<Terms, "closed"> = {},
  ): readonly T[] {
    const supposed = this.#begin([], closed);
    try {
      return leaving.filter((one) => {
        const host = this.#census.host(one.nodeName);
        if (host === undefined || supposed.touched.has(host.place)) return false;
        const before = this.#mark(supposed);
        const { queued, refused } = this.#queued([host], one.pods);
        if (refused.length === 0) {
          supposed.fresh.length = 0;
          this.#remove(supposed, [host]);
          const failed = run(supposed.pass, new Queue(queued), "allOrNone");
          const taken = supposed.fresh.every(({ view }) => isThere(view));
          if (failed.length === 0 && taken && mayGo(one)) return true;
        }
        this.#backTo(supposed, before);
        return false;
      });
    } finally {
      this.#end(supposed);
    }
  }

  /** In order: these pods of the hosts, and those that are supposed to be there. */
  #queued(hosts: readonly Host[], moving: readonly Pod[]): Seeking {
    const [host, ...others] = hosts;
    const isOne = others.length === 0 && host?.place.pods.length === 0;
    // Asked of each node in each sweep: its pods are put in order once.
    if (isOne && moving === reschedulablePods(host.place.view)) {
      host.left ??= this.#leftOf(host.place.view);
      const { pods, classes, refused } = host.left;
      const of = (podClass: PodClass) => this.#trying.of(podClass);
      const queued = pods.map((pod, at) => ({ pod, podClass: of(classes[at] as PodClass) }));
      return { queued, refused };
    }
    const { fine, refused } = this.#sortOut([
      ...moving,
      ...hosts.flatMap(({ place: { pods } }) => pods),
    ]);
    return { queued: this.#inOrder(fine), refused };
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

  #inOrder(pods: readonly Pod[]): readonly QueuedPod[] {
    return inOrder(pods.map((pod) => ({ pod, podClass: this.#trying.of(this.#classOf(pod)) })));
  }

  #newTrying(): Trying {
    return new Trying(this.#base.classes, this.#nodes);
  }

  /** `drafts`: of all its pods that may have to leave, where they are known. */
  #leftOf(view: NodeView, drafts?: readonly Draft[]): Left {
    const movable = reschedulablePods(view);
    const { fine, refused } = this.#sortOut(movable);
    const sorted = inOrder(
      fine.map((pod) => ({ pod, podClass: this.#findClass(pod, drafts?.[movable.indexOf(pod)]) })),
    );
    return {
      pods: sorted.map(({ pod }) => pod),
      classes: sorted.map(({ podClass }) => podClass),
      refused: refused.length === 0 ? NOBODY : refused,
    };
  }

  #refusal(pod: Pod): string | undefined {
    return pod.spec.volumes === undefined ? this.#refusalOf(pod.spec) : this.#reason(pod);
  }

  #reason(pod: Pod): string | undefined {
    const { wellKnownLabels } = this.#input.options;
    return refusal(pod, this.#volumes, wellKnownLabels, this.#ownerLabels);
  }

  /** Pods that a question could be about: all topology groups must be known before counting. */
  #announce(pods: readonly Pod[]): void {
    for (const pod of pods) this.#base.classes.announce(pod);
  }

  /**
   * Takes back what the picture before knew of these nodes; says where those stood. Undefined: not to be
   * had, for two nodes have one host name.
   */
  *#leave(names: readonly string[]): Steps<ReadonlyMap<string, ExistingNode> | undefined> {
    for (const { place, groups, takeBack } of this.#housed) {
      takeBack();
      place.settle();
      this.#census.uncount(groups, place);
      this.#trying.roomAgain(place);
    }
    this.#housed = [];
    const left = new Map<string, ExistingNode>();
    for (const [index, name] of names.entries()) {
      if (index % NODES_PER_STEP === 0) yield;
      const host = this.#census.host(name);
      if (host === undefined) continue;
      if (this.#census.sharesItsHost(host.place)) return undefined;
      this.#census.remove(name);
      if (!host.isTarget) continue;
      host.place.gone = true;
      left.set(name, host.place);
    }
    return left;
  }

  /** Counts what has changed. Who can take the place of its former self does; else all are put in order. */
  *#come(
    changed: readonly NodeView[],
    left: ReadonlyMap<string, ExistingNode>,
    batch: ReadonlySet<string>,
  ): Steps<void> {
    const daemons = this.#daemons();
    const nodes = [...this.#nodes];
    const fresh: ExistingNode[] = [];
    yield* eachInSteps(changed, NODES_PER_STEP, (view) => {
      const former = left.get(view.name);
      const place = new ExistingNode(view, view.deleting ? [] : daemons, former?.index);
      this.#census.add(place, !view.deleting, stayingPods(view, batch));
      if (view.deleting) return;
      const isAlike = former?.view.initialized === view.initialized;
      if (isAlike && !this.#census.sharesItsHost(place)) {
        nodes[place.index] = place;
        this.#trying.roomAgain(place);
      } else {
        fresh.push(place);
      }
    });
    this.#nodes = nodes;
    if (fresh.length === 0) return;
    this.#nodes = merged(
      nodes.filter(({ gone }) => !gone),
      fresh,
    );
    this.#trying = this.#newTrying();
  }

  /** Waiting pods that find room as it is have it from now on. */
  *#house(waiting: readonly Pod[]): Steps<void> {
    if (waiting.length === 0) return;
    const supposed = this.#begin(this.#base.templates);
    yield* runInSteps(supposed.pass, new Queue(this.#inOrder(waiting)));
    const housed = placedOn(supposed.touched);
    this.#end(supposed);
    const { topology } = this.#base.context;
    this.#housed = housed.map(({ nodeName, pods }) => {
      const place = this.#census.host(nodeName)?.place;
      assert(place !== undefined, "pods are placed on nodes that are there");
      const takeBack = place.remember();
      const groups: TopologyGroup[] = [];
      for (const pod of pods) {
        const podClass = this.#classOf(pod);
        place.add(pod, podClass, this.#volumes);
        groups.push(...podClass.countedBy);
      }
      place.settle();
      this.#trying.roomAgain(place);
      for (const group of groups) topology.count(group, place);
      return { place, groups, takeBack };
    });
  }

  #classOf(pod: Pod): PodClass {
    const host = this.#census.host(pod.spec.nodeName ?? "");
    const at = host?.left?.pods.indexOf(pod) ?? -1;
    return host?.left?.classes[at] ?? this.#findClass(pod);
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

  #begin(templates: Pass["templates"], closed?: ReadonlySet<string>): Supposed {
    const { context } = this.#base;
    context.topology.begin();
    const undo = templates.map((template) => creditLimits(template, []));
    const touched = new Map<ExistingNode, number>();
    const fresh: ExistingNode[] = [];
    const pass: Pass = {
      ...this.#base,
      nodes: this.#nodes,
      templates,
      context: { ...context, reservations: context.reservations.copy(), strictReservations: false },
      classes: this.#trying,
      claims: new OpenClaims(),
      closed: closed === undefined ? undefined : this.#closedMarks(closed),
      isAsEver: (node) => !(node.gone || touched.has(node) || this.#census.sharesItsHost(node)),
      onTouch: (node) => {
        if (touched.has(node)) return;
        touched.set(node, node.pods.length);
        fresh.push(node);
        const takeBack = node.remember();
        undo.push(() => {
          takeBack();
          touched.delete(node);
        });
      },
    };
    return { pass, touched, fresh, undo, gone: [] };
  }

  #remove({ pass, undo, gone }: Supposed, hosts: readonly Host[]): void {
    const { topology } = pass.context;
    for (const template of pass.templates) {
      const own = hosts.filter(({ place: { view } }) => view.poolId === template.pool.id);
      if (own.length === 0) continue;
      const capacities = own.map(({ place: { view } }) => view.capacity);
      undo.push(creditLimits(template, capacities));
    }
    for (const host of hosts) {
      const { place: node, counted } = host;
      node.gone = true;
      gone.push(host);
      undo.push(() => {
        node.gone = false;
        gone.pop();
      });
      for (const group of counted) topology.uncount(group, node);
      for (const pod of node.pods)
        for (const group of this.#classOf(pod).countedBy) topology.uncount(group, node);
      topology.leave(node);
    }
    this.#census.forgetDomains(gone);
  }

  #onlyBelow({ pass, undo }: Supposed, belowMicroUsd: number): void {
    for (const template of pass.templates) {
      const { budget } = template;
      const { within } = budget;
      budget.within = intersectionOf(within, this.#floor().below(template, belowMicroUsd));
      undo.push(() => {
        budget.within = within;
      });
    }
  }

  #floor(): PriceFloor {
    this.#prices ??= new PriceFloor(this.#base.templates, this.#base.context.space);
    return this.#prices;
  }

  #mark({ undo }: Supposed): Mark {
    return { undo: undo.length, changes: this.#base.context.topology.changes };
  }

  #backTo({ undo }: Supposed, mark: Mark): void {
    while (undo.length > mark.undo) undo.pop()?.();
    this.#base.context.topology.rollBack(mark.changes);
    this.#trying.forget();
  }

  #end(supposed: Supposed): void {
    this.#backTo(supposed, { undo: 0, changes: 0 });
    this.#base.context.topology.end();
  }
}

function isMovable({ managed, deleting }: NodeView): boolean {
  return managed && !deleting;
}

/** Pods that may have to leave the node. */
function movable(view: NodeView): readonly Pod[] {
  return isMovable(view) ? reschedulablePods(view) : NOBODY;
}

/** A node of ours that is not ready may never be: nothing is taken down on its account. */
function isThere({ managed, initialized }: NodeView): boolean {
  return !managed || initialized;
}

/** Nodes in order with the pods they got; `touched`: how many they had before. */
function placedOn(touched: ReadonlyMap<ExistingNode, number>): Without["existing"] {
  return [...touched]
    .toSorted(([a], [b]) => a.index - b.index)
    .map(([{ view, pods }, before]) => ({ nodeName: view.name, pods: pods.slice(before) }));
}

/** `allOrNone`: once one has no place, whatever happens, the others are not tried. */
type Wanted = "all" | "allOrNone";

/** Places all it can; returns the others. */
function run(pass: Pass, queue: Queue, wanted?: Wanted): QueuedPod[] {
  return atOnce(runInSteps(pass, queue, wanted));
}

function* runInSteps(pass: Pass, queue: Queue, wanted: Wanted = "all"): Steps<QueuedPod[]> {
  const failed: QueuedPod[] = [];
  let tries = 0;
  for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
    if (++tries % TRIES_PER_STEP === 0) yield;
    const outcome = place(pass, item);
    if (outcome === "tryAgain") queue.giveBack(item);
    else if (outcome !== "placed") failed.push(item);
    if (failed.length > 0 && wanted === "allOrNone") break;
  }
  return [...failed, ...queue.rest()];
}

function explained(failed: readonly QueuedPod[], pass: Pass): UnschedulablePod[] {
  const sorted = failed.toSorted((a, b) => (keyOf(a.pod) < keyOf(b.pod) ? -1 : 1));
  const rest = sorted.slice(MAX_EXPLAINED).map(({ pod }) => ({ pod, message: "", pools: [] }));
  return [...explain(sorted.slice(0, MAX_EXPLAINED), pass), ...rest];
}

function byKey(a: UnschedulablePod, b: UnschedulablePod): number {
  return keyOf(a.pod) < keyOf(b.pod) ? -1 : 1;
}
