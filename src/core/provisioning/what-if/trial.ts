/**
 * What one question changes about a prepared cluster, while it is asked: nodes go with all that was counted there,
 * new ones have to be cheap, pods get a place. Each change stands beside what takes it back. There is one trial at
 * a time, and whoever begins it ends it, whatever happens in between.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { Steps } from "../../../base/steps.ts";
import { intersectionOf, type Marks } from "../../scheduling/bits.ts";
import type { NodeView } from "../../state/node-view.ts";
import { Queue, type QueuedPod } from "../batch/queue.ts";
import type { Fork, Moment } from "../fork.ts";
import { meetingPlaces } from "../nodes/affinity-groups.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import { OpenClaims } from "../nodes/open-claims.ts";
import { type Pass, place } from "../place.ts";
import { creditLimits, isLimited, liftLimits } from "../pools/pool-template.ts";
import type { PriceFloor } from "../pools/price-floor.ts";
import type { createPass } from "../solve.ts";
import type { Census, Host } from "./census.ts";
import type { Seekers } from "./seeking.ts";
import type { Trying } from "./trying.ts";

/** What a trial changes, and leaves as it was. */
export interface Ground {
  readonly base: ReturnType<typeof createPass>;
  readonly census: Census;
  readonly trying: Trying;
  readonly seekers: Seekers;
  /** Those that may take pods, by index; who has left is `gone`. */
  readonly nodes: readonly ExistingNode[];
}

/** A node, and the pods it got. */
export interface Placed {
  readonly nodeName: string;
  readonly view: NodeView;
  readonly pods: readonly Pod[];
}

/** `allOrNone`: once one has no place, whatever happens, the others are not tried. */
type Wanted = "all" | "allOrNone";

const TRIES_PER_STEP = 64;
const NOBODY: readonly never[] = [];

export class Trial {
  readonly pass: Pass;
  readonly fork: Fork;
  readonly #ground: Ground;
  /** Those that are supposed away. */
  readonly #gone: Host[] = [];

  /**
   * `templates`: new nodes that may be planned. `closed`: nodes that take no pods, by index.
   */
  constructor(ground: Ground, templates: Pass["templates"], closed?: Marks) {
    const { base, census, trying } = ground;
    const { space, topology, minValuesPolicy, volumes, reservations } = base.context;
    const fork = base.forks.openFirst({ templates, forget: () => trying.forget() });
    this.#ground = ground;
    this.fork = fork;
    // Written out: there is one for each node of a sweep.
    this.pass = {
      context: {
        space,
        topology,
        minValuesPolicy,
        volumes,
        reservations: reservations.copy(),
        chargesMost: false,
        strictReservations: false,
      },
      templates,
      nodes: ground.nodes,
      classes: ground.trying,
      claims: new OpenClaims(),
      attempt: base.attempt,
      closed,
      isAsEver: (node) => !(node.gone || fork.hasTouched(node) || census.sharesItsHost(node)),
      onTouch: (node) => fork.touch(node),
    };
  }

  /** Supposes these nodes away; their pools may have as much more. */
  remove(hosts: readonly Host[]): void {
    const { census, seekers } = this.#ground;
    const { topology } = this.pass.context;
    for (const host of hosts) {
      const { place: node } = host;
      this.fork.remove(node);
      this.#gone.push(host);
      census.vacate(host);
      for (const pod of node.pods)
        for (const group of seekers.classOf(pod).countedBy) topology.uncount(group, node);
      topology.leave(node);
      for (const template of this.pass.templates)
        if (template.pool.id === node.view.poolId && isLimited(template))
          creditLimits(template, node.view.capacity);
    }
    census.forgetDomains(this.#gone);
  }

  /** From now on pools have no limits. */
  liftLimits(): void {
    for (const template of this.pass.templates) if (isLimited(template)) liftLimits(template);
  }

  /** From now on new nodes are of types that can be had for less than this an hour. */
  onlyBelow(belowMicroUsd: number, floor: PriceFloor): void {
    for (const template of this.pass.templates) {
      const { budget } = template;
      const below = floor.below(template, belowMicroUsd);
      template.budget = { ...budget, within: intersectionOf(budget.within, below) };
    }
  }

  /** Places all it can; returns the others. */
  place(queued: readonly QueuedPod[], wanted: Wanted = "all"): readonly QueuedPod[] {
    this.#gather(queued);
    const queue = new Queue(queued);
    const failed: QueuedPod[] = [];
    while (placeNext(this.pass, queue, failed)) {
      if (failed.length > 0 && wanted === "allOrNone") return failed;
    }
    return failed.length === 0 && queue.length === 0 ? NOBODY : [...failed, ...queue.rest()];
  }

  /** As {@link place}. */
  *placeInSteps(queued: readonly QueuedPod[]): Steps<readonly QueuedPod[]> {
    this.#gather(queued);
    const queue = new Queue(queued);
    const failed: QueuedPod[] = [];
    let tries = 0;
    while (placeNext(this.pass, queue, failed)) if (++tries % TRIES_PER_STEP === 0) yield;
    return [...failed, ...queue.rest()];
  }

  /** Where only nodes that are there take pods, each question would ask all of them: there the first pod chooses. */
  #gather(queued: readonly QueuedPod[]): void {
    const { context, templates } = this.pass;
    if (templates.length > 0) context.topology.meetings.gather(meetingPlaces(this.pass, queued));
  }

  /** The nodes that were there already, with the pods they got since. */
  placed(): readonly Placed[] {
    return this.fork.touched().map(({ node, pods }) => ({
      nodeName: node.view.name,
      view: node.view,
      pods: node.pods.slice(pods),
    }));
  }

  /** Counts become those of a cluster without the nodes, to the last: somebody wants to read them. */
  vacateThoroughly(): void {
    for (const host of this.#gone) this.#ground.census.vacate(host, true);
  }

  /** Undoes what came after the moment. Prices and limits stay. */
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

/** False: there is nobody left to try. */
function placeNext(pass: Pass, queue: Queue, failed: QueuedPod[]): boolean {
  const item = queue.pop();
  if (item === undefined) return false;
  const outcome = place(pass, item);
  if (outcome === "tryAgain") queue.giveBack(item);
  else if (outcome !== "placed") failed.push(item);
  return true;
}
