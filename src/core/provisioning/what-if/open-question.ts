/**
 * The changes that one what-if question makes to a prepared cluster (the scheduling state that all questions share):
 * nodes are removed, and pods are placed. The question undoes them at its end. Only one question may be open at a time.
 */
import { ITEMS_PER_STEP, type Steps } from "../../../base/steps.ts";
import { intersectionOf, type Marks } from "../../scheduling/bits.ts";
import { type NodeView, reschedulablePods } from "../../state/node-view.ts";
import type { BasePass } from "../base-pass.ts";
import type { PodClass } from "../batch/pod-class.ts";
import { Queue, type QueuedPod } from "../batch/queue.ts";
import type { Fork, Savepoint } from "../fork.ts";
import { groupDomainsOf } from "../nodes/affinity-groups.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import { OpenClaims } from "../nodes/open-claims.ts";
import { type Pass, place } from "../place.ts";
import { creditLimits, isLimited, unlimited } from "../pools/pool-template.ts";
import type { PriceFloor } from "../pools/price-floor.ts";
import type { PodsOnNode } from "../result.ts";
import type { ClusterCounts, CountedNode } from "./cluster-counts.ts";
import type { MovingPods } from "./moving-pods.ts";
import type { QuestionClasses } from "./question-classes.ts";

/** The parts of the prepared cluster that a question changes and restores. */
export interface SharedState {
  readonly base: BasePass;
  readonly clusterCounts: ClusterCounts;
  readonly questionClasses: QuestionClasses;
  readonly movingPods: MovingPods;
  /** Nodes that can take pods, by index. A node that the question removed has `gone` set. */
  readonly nodes: readonly ExistingNode[];
}

/** An existing node, and the pods that were placed on it. */
export interface Placed extends PodsOnNode {
  readonly view: NodeView;
}

interface Wanted {
  /** Placing stops as soon as one pod has no place. */
  readonly allOrNone?: boolean;
  /** Pods that are placed before all others. Absent: none. */
  readonly isEarly?: ((podClass: PodClass) => boolean) | undefined;
}

export class OpenQuestion {
  readonly pass: Pass;
  readonly fork: Fork;
  readonly #state: SharedState;
  readonly #gone: CountedNode[] = [];

  /** `templates`: the NodePools whose nodes may be planned. `closed`: indices of nodes that may take no pods. */
  constructor(state: SharedState, templates: Pass["templates"], closed?: Marks) {
    const { base, clusterCounts, questionClasses } = state;
    const fork = base.forks.openOutermost({ templates, forget: () => questionClasses.forget() });
    this.#state = state;
    this.fork = fork;
    this.pass = {
      context: {
        ...base.context,
        reservations: base.context.reservations.copy(),
        strictReservations: false,
      },
      templates,
      nodes: state.nodes,
      classes: state.questionClasses,
      claims: new OpenClaims(),
      closed,
      isUntouched: (node) =>
        !(node.gone || fork.hasTouched(node) || clusterCounts.sharesItsHost(node)),
      onTouch: (node) => fork.touch(node),
    };
  }

  /** Removes these nodes. Their capacity is added to what is left of their pools' limits. */
  remove(hosts: readonly CountedNode[]): void {
    const { clusterCounts, movingPods } = this.#state;
    const { topology } = this.pass.context;
    for (const host of hosts) {
      const { place: node } = host;
      this.fork.remove(node);
      this.#gone.push(host);
      clusterCounts.uncountPods(host);
      this.pass.context.devices?.state.leave(reschedulablePods(node.view));
      for (const pod of node.pods)
        for (const group of movingPods.classOf(pod).countedBy) topology.uncount(group, node);
      topology.removeNode(node);
      for (const template of this.pass.templates)
        if (template.pool.id === node.view.poolId && isLimited(template))
          creditLimits(template, node.view.capacity);
    }
    clusterCounts.forgetDomains(this.#gone);
  }

  /** Removes the limits of all pools until the question ends. */
  liftLimits(): void {
    for (const template of this.pass.templates)
      if (isLimited(template)) template.limitsLeft = unlimited(template).limitsLeft;
  }

  /** Until the question ends, new nodes must cost less than this per hour. */
  onlyBelow(belowMicroUsd: number, floor: PriceFloor): void {
    for (const template of this.pass.templates) {
      const { limitsLeft } = template;
      const below = floor.below(template, belowMicroUsd);
      template.limitsLeft = { ...limitsLeft, within: intersectionOf(limitsLeft.within, below) };
    }
  }

  /** Places the pods. Returns the pods that have no place. */
  *place(
    queued: readonly QueuedPod[],
    { allOrNone = false, isEarly }: Wanted = {},
  ): Steps<readonly QueuedPod[]> {
    this.#limitFirstPods(queued);
    const queue = new Queue(queued, { isEarly });
    const failed: QueuedPod[] = [];
    let tries = 0;
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
      const outcome = place(this.pass, item);
      if (outcome === "tryAgain") queue.giveBack(item);
      else if (outcome !== "placed") failed.push(item);
      if (failed.length > 0 && allOrNone) return failed;
      if (++tries % ITEMS_PER_STEP === 0) yield;
    }
    return [...failed, ...queue.rest()];
  }

  /**
   * Lets the first pod of an affinity go only where all its pods fit. Skipped without new nodes, because it would check
   * all existing nodes.
   */
  #limitFirstPods(queued: readonly QueuedPod[]): void {
    const { context, templates } = this.pass;
    if (templates.length > 0) context.topology.limitFirstPods(groupDomainsOf(this.pass, queued));
  }

  /** The existing nodes that took pods in this question, each with these pods. */
  placed(): readonly Placed[] {
    return this.fork.touched().map(({ node, pods }) => ({
      nodeName: node.view.name,
      view: node.view,
      pods: node.pods.slice(pods),
    }));
  }

  /** Undoes all placements and removals of nodes after this moment. Price limits and lifted limits of pools stay. */
  backTo(moment: Savepoint): void {
    this.fork.backTo(moment);
    this.#gone.length = moment.gone;
  }

  end(): void {
    this.fork.undo();
    this.#gone.length = 0;
  }
}
