/**
 * The changes that one what-if question makes to a prepared cluster: nodes and their counts are removed, pods are
 * placed, and new nodes may have a price limit. Each change stands next to the code that undoes it. Only one trial may
 * exist at a time. The code that begins a trial must end it.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { ITEMS_PER_STEP, type Steps } from "../../../base/steps.ts";
import { intersectionOf, type Marks } from "../../scheduling/bits.ts";
import { type NodeView, reschedulablePods } from "../../state/node-view.ts";
import type { BasePass } from "../base-pass.ts";
import type { PodClass } from "../batch/pod-class.ts";
import { Queue, type QueuedPod } from "../batch/queue.ts";
import type { Fork, Moment } from "../fork.ts";
import { meetingPlaces } from "../nodes/affinity-groups.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import { OpenClaims } from "../nodes/open-claims.ts";
import { type Pass, place } from "../place.ts";
import { creditLimits, isLimited, liftLimits } from "../pools/pool-template.ts";
import type { PriceFloor } from "../pools/price-floor.ts";
import type { Census, Host } from "./census.ts";
import type { Seekers } from "./seeking.ts";
import type { Trying } from "./trying.ts";

/** The parts of the prepared cluster that a trial changes and restores. */
export interface Ground {
  readonly base: BasePass;
  readonly census: Census;
  readonly trying: Trying;
  readonly seekers: Seekers;
  /** Nodes that can take pods, by index. A node that the trial removed has `gone` set. */
  readonly nodes: readonly ExistingNode[];
}

/** An existing node, and the pods that were placed on it. */
export interface Placed {
  readonly nodeName: string;
  readonly view: NodeView;
  readonly pods: readonly Pod[];
}

interface Wanted {
  /** The trial stops as soon as one pod has no place. */
  readonly allOrNone?: boolean;
  /** Pods that are placed before all others. Absent: none. */
  readonly isEarly?: ((podClass: PodClass) => boolean) | undefined;
}

export class Trial {
  readonly pass: Pass;
  readonly fork: Fork;
  readonly #ground: Ground;
  /** The removed nodes. */
  readonly #gone: Host[] = [];

  /** `templates`: the templates of new nodes that may be planned. `closed`: indices of nodes that may take no pods. */
  constructor(ground: Ground, templates: Pass["templates"], closed?: Marks) {
    const { base, census, trying } = ground;
    const fork = base.forks.openFirst({ templates, forget: () => trying.forget() });
    this.#ground = ground;
    this.fork = fork;
    this.pass = {
      context: {
        ...base.context,
        reservations: base.context.reservations.copy(),
        strictReservations: false,
      },
      templates,
      nodes: ground.nodes,
      classes: ground.trying,
      claims: new OpenClaims(),
      attempt: base.attempt,
      closed,
      isUntouched: (node) => !(node.gone || fork.hasTouched(node) || census.sharesItsHost(node)),
      onTouch: (node) => fork.touch(node),
    };
  }

  /** Removes these nodes. Their capacity is added to what is left of their pools' limits. */
  remove(hosts: readonly Host[]): void {
    const { census, seekers } = this.#ground;
    const { topology } = this.pass.context;
    for (const host of hosts) {
      const { place: node } = host;
      this.fork.remove(node);
      this.#gone.push(host);
      census.vacate(host);
      this.pass.context.devices?.state.leave(reschedulablePods(node.view));
      for (const pod of node.pods)
        for (const group of seekers.classOf(pod).countedBy) topology.uncount(group, node);
      topology.leave(node);
      for (const template of this.pass.templates)
        if (template.pool.id === node.view.poolId && isLimited(template))
          creditLimits(template, node.view.capacity);
    }
    census.forgetDomains(this.#gone);
  }

  /** Removes the limits of all pools until the trial ends. */
  liftLimits(): void {
    for (const template of this.pass.templates) if (isLimited(template)) liftLimits(template);
  }

  /** Until the trial ends, new nodes must cost less than this per hour. */
  onlyBelow(belowMicroUsd: number, floor: PriceFloor): void {
    for (const template of this.pass.templates) {
      const { budget } = template;
      const below = floor.below(template, belowMicroUsd);
      template.budget = { ...budget, within: intersectionOf(budget.within, below) };
    }
  }

  /** Places the pods. Returns the pods that have no place. */
  *place(
    queued: readonly QueuedPod[],
    { allOrNone = false, isEarly }: Wanted = {},
  ): Steps<readonly QueuedPod[]> {
    this.#gather(queued);
    const queue = new Queue(queued, isEarly === undefined ? {} : { isEarly });
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
   * Computes where affinity groups can meet. Skipped if no new nodes are allowed, because it would check all existing
   * nodes. Then the first pod of a group is placed like any other pod.
   */
  #gather(queued: readonly QueuedPod[]): void {
    const { context, templates } = this.pass;
    if (templates.length > 0) context.topology.gather(meetingPlaces(this.pass, queued));
  }

  /** The existing nodes that took pods in this trial, each with these pods. */
  placed(): readonly Placed[] {
    return this.fork.touched().map(({ node, pods }) => ({
      nodeName: node.view.name,
      view: node.view,
      pods: node.pods.slice(pods),
    }));
  }

  /** Undoes all placements and removals of nodes after the moment. Price limits and removed pool limits stay. */
  backTo(moment: Moment): void {
    this.fork.backTo(moment);
    this.#gone.length = moment.gone;
  }

  /** Undoes everything. */
  end(): void {
    this.fork.undo();
    this.#gone.length = 0;
  }
}
