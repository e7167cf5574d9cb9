/**
 * A cluster that is prepared for what-if questions: where do pods go if some nodes are removed? Everything that does
 * not depend on the removed nodes is computed once. When the real cluster changes, `follow` counts only the changed
 * nodes again.
 * Pending pods that fit on an existing node are placed there before the first question. Those that need a new node are
 * not part of any question. Those without any place are part of a question about nodes with pods that they must be
 * near.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { keyOf } from "../../../apis/meta.ts";
import { NO_RESOURCES } from "../../../apis/resources.ts";
import { assert } from "../../../base/assert.ts";
import { eachInSteps, mapInSteps, type Steps } from "../../../base/steps.ts";
import { isBufferPod } from "../../buffers/pods.ts";
import { Marks } from "../../scheduling/bits.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import { indexVolumes, VolumeIndex } from "../../scheduling/volumes.ts";
import { type NodeView, reschedulablePods } from "../../state/node-view.ts";
import { type BasePass, createPass } from "../base-pass.ts";
import { plannedDaemons } from "../batch/eligibility.ts";
import type { Draft, PodClass } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import {
  type Daemon,
  ExistingNode,
  inTargetOrder,
  merged,
  type Saved,
  toDaemon,
} from "../nodes/existing-node.ts";
import type { Pass } from "../place.ts";
import { seenSlots } from "../pools/attach-slots.ts";
import { isLimited, resetLimits } from "../pools/pool-template.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import { stayingPods } from "../solve.ts";
import { keepPlaces } from "../sticky.ts";
import type { TopologyGroup } from "../topology/topology-group.ts";
import { ClusterCounts, type CountedNode } from "./cluster-counts.ts";
import { MovingPods } from "./moving-pods.ts";
import { OpenQuestion, type SharedState } from "./open-question.ts";
import { isOfOneKind, nodeChanges } from "./picture-changes.ts";
import { QuestionClasses } from "./question-classes.ts";

const NONE: readonly never[] = [];

/** Equal pending pods that have no place because of limits of pools. */
export interface PodsOverLimits {
  readonly sample: Pod;
  readonly count: number;
  /** Alternative requirements of the pods' volumes. Empty: they have none. */
  readonly places: readonly Requirements[];
}

/** An existing node on which pending pods were placed before the first question. */
interface PlacedPending {
  readonly place: ExistingNode;
  readonly groups: readonly TopologyGroup[];
  readonly before: Saved;
}

/** A pending pod without a place, and the groups of its required affinities. */
interface Follower {
  readonly pod: Pod;
  readonly near: readonly TopologyGroup[];
}

export class PreparedCluster implements SharedState {
  readonly base: BasePass;
  readonly clusterCounts: ClusterCounts;
  readonly questionClasses: QuestionClasses;
  readonly movingPods: MovingPods;
  readonly #volumes: VolumeIndex;
  #input: SchedulingInput;
  #nodes: readonly ExistingNode[] = [];
  #placed: readonly PlacedPending[] = [];
  #podsOverLimits: readonly PodsOverLimits[] = [];
  /** Pending pods without a place that must be near other pods, each with the topology groups of these rules. */
  #followers: readonly Follower[] = [];
  /** Indices of the nodes that may take no pods. They are cached from the last question that named such nodes. */
  #closed: { readonly names: ReadonlySet<string>; readonly marks: Marks } | undefined;
  /** The most drafts (groups of equal pods) that are kept. With more, the cluster must be prepared again. */
  #mostDrafts = 0;

  /** Prepares a cluster. `input.pods`: pending pods, which are placed on existing nodes before any question. */
  static *of(input: SchedulingInput): Steps<PreparedCluster> {
    yield* indexVolumes(input.volumes);
    const cluster = new PreparedCluster(input);
    yield;
    yield* cluster.#prepare(input);
    return cluster;
  }

  private constructor(input: SchedulingInput) {
    this.#input = input;
    this.#volumes = new VolumeIndex(input.volumes);
    this.base = createPass({ ...input, nodes: [] }, this.#volumes, { idle: false, nodes: [] });
    const { devices } = input;
    const access = this.base.context.devices;
    if (devices !== undefined) access?.follow({ ...input, devices });
    if (access !== undefined) access.isAskedAgain = true;
    this.clusterCounts = new ClusterCounts(this.base.context.topology);
    this.questionClasses = new QuestionClasses(this.base.classes);
    const { base, clusterCounts, questionClasses } = this;
    this.movingPods = new MovingPods(
      { base, clusterCounts, questionClasses, volumes: this.#volumes },
      input,
    );
  }

  get nodes(): readonly ExistingNode[] {
    return this.#nodes;
  }

  /** Pending pods that have no place because of limits of pools, in the order in which they were tried. */
  get podsOverLimits(): readonly PodsOverLimits[] {
    return this.#podsOverLimits;
  }

  /**
   * Pending pods that have no place now, but must be near pods of these hosts. If the hosts are removed, they find a
   * place together with them. Otherwise a new node would be too small for the whole affinity group again.
   */
  boundTo(hosts: readonly CountedNode[]): readonly Pod[] {
    if (this.#followers.length === 0) return NONE;
    const counted = new Set(hosts.flatMap((host) => host.counted));
    return this.#followers
      .filter(({ near }) => near.some((group) => counted.has(group)))
      .map(({ pod }) => pod);
  }

  /**
   * Opens a question in which new nodes of these NodePools may be planned. `closed`: names of nodes that take no more
   * pods. The caller must end it.
   */
  openQuestion(templates: Pass["templates"], closed?: ReadonlySet<string>): OpenQuestion {
    const marks = closed === undefined ? undefined : this.#closedMarks(closed);
    return new OpenQuestion(this, templates, marks);
  }

  #closedMarks(names: ReadonlySet<string>): Marks {
    if (this.#closed?.names === names) return this.#closed.marks;
    const marks = new Marks();
    for (const name of names) {
      const host = this.clusterCounts.node(name);
      if (host?.isTarget === true) marks.add(host.place.index);
    }
    this.#closed = { names, marks };
    return marks;
  }

  *#prepare({ nodes, pods }: SchedulingInput): Steps<void> {
    const seen = yield* seenSlots(nodes, this.#volumes);
    for (const template of this.base.templates) template.slots.update(seen);
    const batch = new Set(pods.map(keyOf));
    const waiting = this.movingPods.eligible(pods);
    this.movingPods.announce(waiting);
    yield;
    const drafts = yield* mapInSteps(nodes, (view) => {
      this.clusterCounts.registerRules(stayingPods(view, batch));
      return this.movingPods.announce(movable(view));
    });
    this.#mostDrafts = 2 * this.base.classes.size + 1_000;
    this.clusterCounts.registerDomains();
    const daemons = this.#daemons();
    const targets: ExistingNode[] = [];
    yield* eachInSteps(nodes, (view, index) => {
      const place = new ExistingNode(view, view.deleting ? [] : daemons);
      if (!view.deleting) targets.push(place);
      const host = this.clusterCounts.add(place, !view.deleting, stayingPods(view, batch));
      this.clusterCounts.setDrafts(host, drafts[index] ?? NONE);
      if (isMovable(view)) host.movable = this.movingPods.movablePodsOf(view, host.drafts);
    });
    this.#nodes = yield* inTargetOrder(targets);
    this.questionClasses.setNodes(this.#nodes);
    yield* this.questionClasses.readAmounts();
    yield* this.#placePending(waiting);
  }

  #daemons(): readonly Daemon[] {
    return plannedDaemons(this.#input).map(toDaemon);
  }

  /**
   * Updates the prepared cluster to a newer state of the same cluster. False: it must be prepared again. The cases:
   * - Something else than nodes, pods, volumes, devices and usage of pools has changed (`isOfOneKind`).
   * - More groups of equal pods are kept than `#mostDrafts`.
   * - A changed node shares its host name with another node.
   * - A pod has a topology rule that no pod had before.
   */
  *follow(input: SchedulingInput): Steps<boolean> {
    if (this.base.classes.size > this.#mostDrafts || !isOfOneKind(this.#input, input)) return false;
    const before = this.#input;
    this.#closed = undefined;
    const { context, templates } = this.base;
    const known = context.topology.groups.length;
    const batch = new Set(input.pods.map(keyOf));
    const { changed, gone } = yield* nodeChanges(before, input, batch);
    const names = new Set(changed.map(({ name }) => name));
    for (const { name } of gone) names.add(name);
    const removed = yield* this.#removeNodes([...names]);
    if (removed === undefined) return false;
    this.#input = input;
    const { devices } = input;
    if (devices !== undefined) this.base.context.devices?.follow({ ...input, devices });
    yield* indexVolumes(input.volumes);
    this.#volumes.update(input.volumes);
    const seen = yield* seenSlots(input.nodes, this.#volumes);
    const usage = new Map(input.pools.map((one) => [one.pool.id, one.usage]));
    for (const template of templates) {
      resetLimits(template, usage.get(template.pool.id) ?? NO_RESOURCES);
      template.slots.update(seen);
    }
    const waiting = this.movingPods.eligible(input.pods);
    this.movingPods.announce(waiting);
    const drafts = yield* mapInSteps(changed, (view) => this.movingPods.announce(movable(view)));
    yield* this.#addNodes(changed, drafts, removed, batch);
    // A new topology rule needs counts of all pods, so the cluster must be prepared again.
    if (context.topology.groups.length > known) return false;
    yield* this.#placePending(waiting);
    return true;
  }

  /**
   * Takes back the placed pending pods, and removes these nodes from all counts. Returns their earlier state.
   * Undefined: impossible, because two nodes share a host name.
   */
  *#removeNodes(names: readonly string[]): Steps<ReadonlyMap<string, CountedNode> | undefined> {
    for (const { place, groups, before } of this.#placed) {
      place.restore(before);
      place.settle();
      this.clusterCounts.uncount(groups, place);
      this.questionClasses.noteChanged(place);
    }
    this.#placed = [];
    const removed = new Map<string, CountedNode>();
    for (const name of names) {
      yield;
      const host = this.clusterCounts.node(name);
      if (host === undefined) continue;
      if (this.clusterCounts.sharesItsHost(host.place)) return undefined;
      this.clusterCounts.remove(name);
      if (!host.isTarget) continue;
      host.place.gone = true;
      removed.set(name, host);
    }
    return removed;
  }

  /** Adds the changed nodes and counts their pods. A node keeps its index if possible. */
  *#addNodes(
    changed: readonly NodeView[],
    drafts: readonly (readonly Draft[])[],
    removed: ReadonlyMap<string, CountedNode>,
    batch: ReadonlySet<string>,
  ): Steps<void> {
    const daemons = this.#daemons();
    const nodes = [...this.#nodes];
    const fresh: ExistingNode[] = [];
    yield* eachInSteps(changed, (view, index) => {
      const former = removed.get(view.name);
      const place = new ExistingNode(view, view.deleting ? [] : daemons, former?.place.index);
      const host = this.clusterCounts.add(place, !view.deleting, stayingPods(view, batch), former);
      this.clusterCounts.setDrafts(host, drafts[index] ?? NONE);
      if (view.deleting) return;
      const isAlike = former?.place.view.initialized === view.initialized;
      if (isAlike && !this.clusterCounts.sharesItsHost(place)) {
        nodes[place.index] = place;
        this.questionClasses.noteChanged(place);
      } else {
        fresh.push(place);
      }
    });
    this.#nodes = nodes;
    if (fresh.length === 0) return;
    const staying = nodes.filter(({ gone }) => !gone);
    this.#nodes = merged(staying, fresh);
    this.questionClasses.setNodes(this.#nodes);
    yield* this.questionClasses.readAmounts();
  }

  /** Places pending pods on existing nodes. These placements hold for all questions. */
  *#placePending(waiting: readonly Pod[]): Steps<void> {
    this.#podsOverLimits = [];
    this.#followers = [];
    if (waiting.length === 0) return;
    const queued = this.movingPods.inPlacingOrder(waiting);
    const question = this.openQuestion(this.base.templates);
    const { rest } = yield* keepPlaces(question.pass, queued, this.#input.sticky);
    const failed = yield* question.place(rest);
    const placed = question.placed();
    question.end();
    const { topology } = this.base.context;
    this.#placed = placed.map(({ nodeName, pods }) => {
      const place = this.clusterCounts.node(nodeName)?.place;
      assert(place !== undefined, "pods are placed on nodes that are there");
      const before = place.save();
      const groups: TopologyGroup[] = [];
      for (const pod of pods) {
        const podClass = this.movingPods.classOf(pod);
        place.add(pod, podClass, this.base.context.devices);
        groups.push(...podClass.countedBy);
      }
      place.settle();
      this.questionClasses.noteChanged(place);
      for (const group of groups) topology.count(group, place);
      return { place, groups, before };
    });
    const places = (pod: Pod) => this.#volumes.alternatives(pod);
    // Pods of a CapacityBuffer do not exist for kube-scheduler and take no room, so they are left out.
    const stored = failed.filter(({ pod }) => !isBufferPod(pod));
    this.#followers = stored
      .map(({ pod, podClass }) => ({ pod, near: requiredNear(podClass) }))
      .filter(({ near }) => near.length > 0);
    this.#podsOverLimits = yield* this.#keptByLimits(alike(stored, places));
  }

  /** Those of the failed pods that would have a place if pools had no limits. One pod of each class is tried. */
  *#keptByLimits(failed: readonly PodsOverLimits[]): Steps<readonly PodsOverLimits[]> {
    const { templates } = this.base;
    if (failed.length === 0 || !templates.some(isLimited)) return NONE;
    const queued = this.movingPods.inPlacingOrder(failed.map(({ sample }) => sample));
    const question = this.openQuestion(templates);
    question.liftLimits();
    const hopeless = new Set((yield* question.place(queued)).map(({ pod }) => pod));
    question.end();
    return failed.filter(({ sample }) => !hopeless.has(sample));
  }
}

/** The topology groups of the class's required affinities. */
function requiredNear({ draft }: PodClass): readonly TopologyGroup[] {
  return draft.wishes.affinity.flatMap((term) => draft.groups.get(term) ?? []);
}

function isMovable({ managed, deleting }: NodeView): boolean {
  return managed && !deleting;
}

/** The pods of the node that would need another node if this one were removed. */
function movable(view: NodeView): readonly Pod[] {
  return isMovable(view) ? reschedulablePods(view) : NONE;
}

function alike(
  queued: readonly QueuedPod[],
  placesOf: (pod: Pod) => PodsOverLimits["places"],
): readonly PodsOverLimits[] {
  const byClass = new Map<PodClass, PodsOverLimits>();
  for (const { pod, podClass } of queued) {
    const known = byClass.get(podClass) ?? { sample: pod, count: 0, places: placesOf(pod) };
    byClass.set(podClass, { ...known, count: known.count + 1 });
  }
  return [...byClass.values()];
}
