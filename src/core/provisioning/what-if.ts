/**
 * The cluster without some of its nodes, asked many times over: everything that does not depend on which
 * nodes go is worked out once, and each question changes a little, looks, and takes the change back. What
 * comes out is what `solve` would plan for the pods concerned on a cluster that never had those nodes.
 *
 * Pods that wait for a place anyway, and find one on a node that is there, keep it: they are put there
 * before the first question. Those that need a new node of their own play no part.
 */
import { isTerminating, type Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { HOSTNAME_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { keyOf } from "../../apis/meta.ts";
import { addResources, NO_RESOURCES } from "../../apis/resources.ts";
import { assert } from "../../base/assert.ts";
import { intersectionOf } from "../scheduling/bits.ts";
import { VolumeIndex } from "../scheduling/volumes.ts";
import type { NodeView } from "../state/node-view.ts";
import { refusal } from "./eligibility.ts";
import { ExistingNode } from "./existing-node.ts";
import { explain } from "./explain.ts";
import { OpenClaims } from "./open-claims.ts";
import { type Kind, planClaims } from "./planned-claim.ts";
import {
  type Draft,
  forgetTrials,
  type PodClass,
  type PodClasses,
  untried,
  type Variant,
} from "./pod-class.ts";
import { creditLimits } from "./pool-template.ts";
import { PriceFloor } from "./price-floor.ts";
import { inOrder, Queue, type QueuedPod } from "./queue.ts";
import type { PlannedClaim, UnschedulablePod } from "./result.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { createPass, heldTerms, type Pass, place } from "./solve.ts";
import type { TopologyGroup } from "./topology-group.ts";

export interface Without {
  /** New nodes that the pods would need. */
  readonly newClaims: readonly PlannedClaim[];
  /** Nodes that would take pods of those that go. Which pods, by node name. */
  readonly existing: readonly { readonly nodeName: string; readonly pods: readonly Pod[] }[];
  /** Pods without a place, by key; at most `MAX_EXPLAINED` with their reasons worked out. */
  readonly unschedulable: readonly UnschedulablePod[];
}

const MAX_EXPLAINED = 5;

/** A node, and who is counted as being there. */
interface Host {
  readonly place: ExistingNode;
  readonly counted: readonly TopologyGroup[];
}

/** A node that might go, and its pods that would need a place. */
export interface Leaving {
  readonly nodeName: string;
  readonly pods: readonly Pod[];
}

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

export class WhatIf {
  readonly #input: SchedulingInput;
  readonly #volumes: VolumeIndex;
  readonly #base: ReturnType<typeof createPass>;
  readonly #drafts = new Map<Pod, Draft>();
  readonly #classes = new Map<Pod, PodClass>();
  readonly #hosts = new Map<string, Host>();
  /** Nodes by host name: who has one to itself is not concerned by what happens on others. */
  readonly #perHostname = new Map<string, number>();
  /** Domains that only nodes make: how many do. */
  readonly #nodesIn = new Map<TopologyGroup, Map<string, number>>();
  readonly #kinds = new Map<string, Kind>();
  #trying: Trying;
  #prices: PriceFloor | undefined;
  readonly #ownerLabels: readonly string[];
  readonly #refusals = new WeakMap<Pod, { readonly reason: string | undefined }>();

  /** `input.pods`: those that need a place as it is. */
  constructor(input: SchedulingInput) {
    this.#input = input;
    this.#volumes = new VolumeIndex(input.volumes);
    this.#base = createPass(input, this.#volumes, false);
    this.#ownerLabels = input.pools.map(({ pool }) => vocabulary(pool.generation).ownerLabel);
    this.#trying = this.#newTrying();
    const waiting = input.pods.filter((pod) => this.#refusal(pod) === undefined);
    this.#announce(waiting);
    this.#countWhatRuns(new Set(input.pods.map(keyOf)));
    this.#house(waiting);
  }

  /**
   * What happens when these nodes go, and these pods of theirs need a place. New nodes are of types that
   * can be had for less than `belowMicroUsd` an hour; absent: of any.
   */
  without(nodeNames: readonly string[], moving: readonly Pod[], belowMicroUsd?: number): Without {
    const hosts = nodeNames.flatMap((name) => this.#hosts.get(name) ?? []);
    const displaced = hosts.flatMap(({ place: { pods } }) => pods);
    const pods = [...moving, ...displaced];
    const refused: UnschedulablePod[] = [];
    const fine = pods.filter((pod) => {
      const reason = this.#refusal(pod);
      if (reason !== undefined) refused.push({ pod, message: reason, pools: [], ignored: true });
      return reason === undefined;
    });
    const supposed = this.#begin(this.#base.templates);
    try {
      this.#remove(supposed, hosts);
      if (belowMicroUsd !== undefined) this.#onlyBelow(supposed, belowMicroUsd);
      const { pass, touched } = supposed;
      const failed = run(pass, this.#queue(fine));
      const { space } = pass.context;
      return {
        newClaims: planClaims(pass.claims.all, space, this.#input.options, this.#kinds),
        existing: placedOn(touched),
        unschedulable: [...refused, ...explained(failed, pass)].sort(byKey),
      };
    } finally {
      this.#end(supposed);
    }
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
  together<T extends Leaving>(leaving: readonly T[], mayGo: (one: T) => boolean): readonly T[] {
    const supposed = this.#begin([]);
    try {
      return leaving.filter((one) => {
        const host = this.#hosts.get(one.nodeName);
        if (host === undefined || supposed.touched.has(host.place)) return false;
        const before = this.#mark(supposed);
        const pods = [...one.pods, ...host.place.pods];
        const refused = pods.some((pod) => this.#refusal(pod) !== undefined);
        if (!refused) {
          supposed.fresh.length = 0;
          this.#remove(supposed, [host]);
          const failed = run(supposed.pass, this.#queue(pods));
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

  #queue(pods: readonly Pod[]): Queue {
    return new Queue(inOrder(pods.map((pod) => ({ pod, podClass: this.#trying.of(pod) }))));
  }

  #newTrying(): Trying {
    return new Trying(this.#base.classes, (pod) => this.#classOf(pod));
  }

  #refusal(pod: Pod): string | undefined {
    let known = this.#refusals.get(pod);
    if (known === undefined) {
      const { wellKnownLabels } = this.#input.options;
      known = { reason: refusal(pod, this.#volumes, wellKnownLabels, this.#ownerLabels) };
      this.#refusals.set(pod, known);
    }
    return known.reason;
  }

  /** Every pod that a question could be about: all topology groups must be known before counting. */
  #announce(waiting: readonly Pod[]): void {
    const { classes } = this.#base;
    const movable = this.#input.nodes
      .filter(({ managed, deleting }) => managed && !deleting)
      .flatMap(({ pods }) => pods.filter(isReschedulable));
    for (const pod of [...waiting, ...movable]) this.#drafts.set(pod, classes.announce(pod));
  }

  #countWhatRuns(batch: ReadonlySet<string>): void {
    const { topology } = this.#base.context;
    const targets = new Map(this.#base.nodes.map((node) => [node.view.name, node]));
    const running = this.#input.nodes.map((view) => ({
      place: targets.get(view.name) ?? new ExistingNode(view, []),
      staying: view.pods.filter((pod) => !isTerminating(pod) && !batch.has(keyOf(pod))),
    }));
    const held = new Map<Pod, readonly TopologyGroup[]>();
    for (const pod of running.flatMap(({ staying }) => staying)) {
      const terms = heldTerms(pod);
      if (terms.length === 0) continue;
      const { namespace = "default", labels = {} } = pod.metadata;
      const owner = { namespace, labels };
      held.set(
        pod,
        terms.map((term) => topology.affinity(term, "antiAffinity", owner, true)),
      );
    }
    this.#addDomains();
    for (const { place: node, staying } of running) {
      const counted = staying.flatMap((pod) => {
        const { namespace = "default", labels = {} } = pod.metadata;
        const direct = topology.selecting(namespace, labels).filter(({ inverse }) => !inverse);
        return [...(held.get(pod) ?? []), ...direct];
      });
      for (const group of counted) topology.count(group, node);
      this.#hosts.set(node.view.name, { place: node, counted });
      this.#perHostname.set(node.hostname, (this.#perHostname.get(node.hostname) ?? 0) + 1);
    }
  }

  /** Nodes are domains too; those that no pool could make go with their last node. */
  #addDomains(): void {
    const { context, nodes } = this.#base;
    const possible = new Map(
      context.topology.groups.map((group) => [group, new Set(group.counts.keys())]),
    );
    for (const node of nodes) context.topology.addDomains(node);
    for (const [group, fromPools] of possible) {
      if (group.key === HOSTNAME_LABEL_KEY || group.counts.size === fromPools.size) continue;
      const counts = new Map<string, number>();
      for (const node of nodes) {
        const domain = node.domain(group.key);
        if (domain === undefined || fromPools.has(domain) || !group.counts.has(domain)) continue;
        counts.set(domain, (counts.get(domain) ?? 0) + 1);
      }
      this.#nodesIn.set(group, counts);
    }
  }

  /** Waiting pods that find room as it is have it from now on. */
  #house(waiting: readonly Pod[]): void {
    if (waiting.length === 0) return;
    const supposed = this.#begin(this.#base.templates);
    run(supposed.pass, this.#queue(waiting));
    const housed = placedOn(supposed.touched);
    this.#end(supposed);
    const { topology } = this.#base.context;
    for (const { nodeName, pods } of housed) {
      const node = this.#hosts.get(nodeName)?.place;
      assert(node !== undefined, "pods are placed on nodes that are there");
      for (const pod of pods) {
        const podClass = this.#classOf(pod);
        node.add(pod, podClass, this.#volumes);
        for (const group of podClass.countedBy) topology.count(group, node);
      }
    }
    // Rooms have become smaller.
    this.#trying = this.#newTrying();
  }

  #classOf(pod: Pod): PodClass {
    let podClass = this.#classes.get(pod);
    if (podClass === undefined) {
      const draft = this.#drafts.get(pod);
      assert(draft !== undefined, "only pods that wait, or run on nodes of ours, are asked about");
      podClass = this.#base.classes.classOf(pod, draft);
      this.#classes.set(pod, podClass);
    }
    return podClass;
  }

  #begin(templates: Pass["templates"]): Supposed {
    const { context } = this.#base;
    context.topology.begin();
    const undo = templates.map((template) => creditLimits(template, []));
    const touched = new Map<ExistingNode, number>();
    const fresh: ExistingNode[] = [];
    const pass: Pass = {
      ...this.#base,
      templates,
      context: { ...context, reservations: context.reservations.copy(), strictReservations: false },
      classes: this.#trying,
      claims: new OpenClaims(),
      isAsEver: (node) => !(node.gone || touched.has(node) || this.#sharesItsHost(node)),
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
    this.#forgetDomains(gone);
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

  #sharesItsHost({ hostname }: ExistingNode): boolean {
    return (this.#perHostname.get(hostname) ?? 0) > 1;
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

  #forgetDomains(hosts: readonly Host[]): void {
    const { topology } = this.#base.context;
    for (const [group, counts] of this.#nodesIn) {
      const leaving = new Map<string, number>();
      for (const { place: node } of hosts) {
        const domain = node.domain(group.key);
        if (domain !== undefined) leaving.set(domain, (leaving.get(domain) ?? 0) + 1);
      }
      for (const [domain, count] of leaving)
        if (counts.get(domain) === count) topology.forgetDomain(group, domain);
    }
  }
}

/** The classes as questions use them: what one question tried, the next has forgotten. */
class Trying {
  readonly #classes: PodClasses;
  readonly #classOf: (pod: Pod) => PodClass;
  readonly #copies = new Map<PodClass, PodClass>();
  readonly #originals = new Map<PodClass, PodClass>();
  /** Copies that this question is about. */
  readonly #used = new Set<PodClass>();

  constructor(classes: PodClasses, classOf: (pod: Pod) => PodClass) {
    this.#classes = classes;
    this.#classOf = classOf;
  }

  of(pod: Pod): PodClass {
    const original = this.#classOf(pod);
    let copy = this.#copies.get(original);
    if (copy === undefined) {
      copy = { ...original, variants: [], failedAt: -1 };
      this.#copies.set(original, copy);
      this.#originals.set(copy, original);
    }
    this.#used.add(copy);
    return copy;
  }

  variant(podClass: PodClass, step: number): Variant | undefined {
    const known = podClass.variants[step];
    if (known !== undefined) return known;
    const original = this.#originals.get(podClass) as PodClass;
    const variant = this.#classes.variant(original, step);
    if (variant === undefined) return undefined;
    const fresh = untried(variant);
    podClass.variants.push(fresh);
    return fresh;
  }

  forget(): void {
    for (const podClass of this.#used) {
      podClass.failedAt = -1;
      delete podClass.deferred;
      for (const variant of podClass.variants) forgetTrials(variant);
    }
    this.#used.clear();
  }
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

/** Places all it can; returns the others. */
function run(pass: Pass, queue: Queue): QueuedPod[] {
  const failed: QueuedPod[] = [];
  for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
    const outcome = place(pass, item);
    if (outcome === "tryAgain") queue.giveBack(item);
    else if (outcome !== "placed") failed.push(item);
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
