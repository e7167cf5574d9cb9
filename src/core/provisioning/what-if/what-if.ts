/**
 * Answers what-if questions: where would pods go if these nodes were removed? Each question changes the prepared state
 * of the cluster, plans, and undoes the change. The answer is what `solve` would plan in a cluster that never had the
 * nodes.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { addResources, NO_RESOURCES } from "../../../apis/resources.ts";
import { atOnce, filterInSteps, type Steps } from "../../../base/steps.ts";
import { isThere } from "../../state/node-view.ts";
import { areFewDomainsTaken, hasFewDomains } from "../batch/few-domains.ts";
import type { PodClass, Variant } from "../batch/pod-class.ts";
import { byKey, type QueuedPod } from "../batch/queue.ts";
import { placesHigherPriorities } from "../batch/scarcity.ts";
import { admittedSet } from "../feasibility/admission.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import { type ClaimKind, planClaims } from "../nodes/planned-claim.ts";
import type { Pass } from "../place.ts";
import { PriceFloor } from "../pools/price-floor.ts";
import { explainInSteps } from "../refusals/explain.ts";
import type { PlannedClaim, UnschedulablePod } from "../result.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import type { Opening } from "../solve.ts";
import type { CountedNode, MovablePod } from "./cluster-counts.ts";
import type { OpenQuestion, Placed } from "./open-question.ts";
import { type PodsOverLimits, PreparedCluster } from "./prepared-cluster.ts";

export interface Without {
  readonly newClaims: readonly PlannedClaim[];
  /** Existing nodes that would take pods of the removed nodes, each with these pods. */
  readonly existing: readonly Placed[];
  /** Pods without a place, sorted by key. Only the first `MAX_EXPLAINED` have their reasons explained. */
  readonly unschedulable: readonly UnschedulablePod[];
  /** Whether `opening` stopped the question. If so, no pod was placed. */
  readonly gaveUp: boolean;
}

const MAX_EXPLAINED = 5;
const NONE: readonly never[] = [];
const GAVE_UP: Without = { newClaims: [], existing: [], unschedulable: [], gaveUp: true };

/** A node that may be removed, and its pods that would need a place. */
export interface Leaving {
  readonly nodeName: string;
  readonly pods: readonly Pod[];
}

/** The conditions of a question. */
export interface Terms {
  /** New nodes must cost less than this, in micro-dollars per hour. Absent: any price. */
  readonly belowMicroUsd?: number | undefined;
  /** Names of nodes that stay but take no pods. The same set object in many questions is processed only once. */
  readonly closed?: ReadonlySet<string> | undefined;
  /**
   * Runs before the greedy rules. It places pods, or stops the question, for example because every plan costs too much.
   */
  readonly opening?: Opening | undefined;
}

interface Question {
  readonly nodeNames: readonly string[];
  readonly moving: readonly Pod[];
  readonly terms: Terms;
  /** The pods that are placed first. Absent: the largest. */
  readonly isEarly?: (podClass: PodClass) => boolean;
}

interface Asked {
  readonly answer: Without;
  readonly queued: readonly QueuedPod[];
}

export class WhatIf {
  readonly #cluster: PreparedCluster;
  readonly #options: SchedulingInput["options"];
  readonly #kinds = new Map<string, ClaimKind>();
  #prices: PriceFloor | undefined;

  /** Prepares the cluster. `input.pods`: pending pods, which are placed on existing nodes before any question. */
  static *of(input: SchedulingInput): Steps<WhatIf> {
    return new WhatIf(yield* PreparedCluster.of(input), input.options);
  }

  private constructor(cluster: PreparedCluster, options: SchedulingInput["options"]) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /**
   * Updates the prepared cluster to a newer state of the same cluster. False: it cannot be updated
   * (PreparedCluster.follow says when), and the caller must make a new one. Do not ask a question before this is done.
   */
  follow(input: SchedulingInput): Steps<boolean> {
    return this.#cluster.follow(input);
  }

  /**
   * The answer if these nodes were removed and their pods in `moving` needed a place. If other pods took the few
   * domains (zones) that a pod can use, a second try places such pods first. Only one question may be open at a time.
   */
  *without(
    nodeNames: readonly string[],
    moving: readonly Pod[],
    terms: Terms = {},
  ): Steps<Without> {
    const question = { nodeNames, moving, terms };
    const { answer, queued } = yield* this.#asked(question);
    if (answer.gaveUp || !areFewDomainsTaken(queued, answer)) return answer;
    const { answer: other } = yield* this.#asked({ ...question, isEarly: hasFewDomains });
    const isBetter = !other.gaveUp && other.unschedulable.length < answer.unschedulable.length;
    return isBetter && !placesHigherPriorities(answer, other) ? other : answer;
  }

  /**
   * The answer, and the pods that needed a place. Pending pods that must be near the moved pods are placed, too, unless
   * a moved pod has no place then.
   */
  *#asked(question: Question): Steps<Asked> {
    const hosts = question.nodeNames.flatMap(
      (name) => this.#cluster.clusterCounts.node(name) ?? [],
    );
    const bound = this.#cluster.boundTo(hosts);
    const asked = yield* this.#askedWith(question, hosts, bound);
    if (bound.length === 0 || asked.answer.unschedulable.length === 0) return asked;
    return yield* this.#askedWith(question, hosts, NONE);
  }

  *#askedWith(
    { moving, terms, isEarly }: Question,
    hosts: readonly CountedNode[],
    bound: readonly Pod[],
  ): Steps<Asked> {
    const { closed, belowMicroUsd, opening } = terms;
    const { movingPods, base } = this.#cluster;
    const { queued, refused } = movingPods.leaving(hosts, moving, bound);
    const question = this.#cluster.openQuestion(base.templates, closed);
    try {
      question.remove(hosts);
      if (belowMicroUsd !== undefined) question.onlyBelow(belowMicroUsd, this.#floor());
      const rest = opening === undefined ? queued : yield* opening(question.pass, queued);
      if (rest === undefined) return { answer: GAVE_UP, queued };
      const unplaced = yield* question.place(rest, { isEarly });
      // A pending pod had no place before, so it does not stop the removal.
      const waiting = new Set(bound);
      const failed = unplaced.filter(({ pod }) => !waiting.has(pod));
      return { answer: yield* this.#answer(question, failed, refused), queued };
    } finally {
      question.end();
    }
  }

  *#answer(
    question: OpenQuestion,
    failed: readonly QueuedPod[],
    refused: readonly UnschedulablePod[],
  ): Steps<Without> {
    const { pass } = question;
    const [options, kinds] = [this.#options, this.#kinds];
    const { space } = pass.context;
    return {
      newClaims: yield* planClaims(pass.claims.all, { space, options, kinds }),
      existing: question.placed(),
      unschedulable:
        refused.length + failed.length === 0
          ? NONE
          : [...refused, ...(yield* explained(failed, pass))].sort(byKey),
      gaveUp: false,
    };
  }

  /**
   * Those of the nodes, in order, that can be removed together without a new node. No removed node takes pods of
   * another one. `mayGo` is called last for each node, when its pods have a place. Only one question may be open at a
   * time.
   */
  *together<T extends Leaving>(
    leaving: readonly T[],
    mayGo: (one: T) => boolean,
  ): Steps<readonly T[]> {
    const { clusterCounts, movingPods } = this.#cluster;
    const question = this.#cluster.openQuestion([]);
    const { fork } = question;
    try {
      return yield* filterInSteps(leaving, (one) => {
        const host = clusterCounts.node(one.nodeName);
        if (host === undefined || fork.hasTouched(host.place)) return false;
        const before = fork.savepoint();
        const { queued, refused } = movingPods.leaving([host], one.pods);
        if (refused.length === 0 && !this.#isHopeless(queued, host.place)) {
          question.remove([host]);
          const failed = atOnce(question.place(queued, { allOrNone: true }));
          const taken = fork.touched(before).every(({ node }) => isThere(node.view));
          if (failed.length === 0 && taken && mayGo(one)) return true;
        }
        question.backTo(before);
        return false;
      });
    } finally {
      question.end();
    }
  }

  /** Whether one of the pods fits on no other existing node, whatever other nodes are removed. */
  #isHopeless(queued: readonly MovablePod[], place: ExistingNode): boolean {
    return queued.some(({ podClass }) => this.#cluster.questionClasses.hasNoRoom(podClass, place));
  }

  /**
   * For each class of running pods (equal for planning): the ids of the pools that could launch nodes for them. Pods
   * whose lists have a pool in common may share nodes.
   */
  openTo(): readonly (readonly string[])[] {
    const { classes, templates, context } = this.#cluster.base;
    return classes.running().map((podClass) => {
      const asWritten = classes.variant(podClass, 0) as Variant;
      return templates
        .filter((template) => admittedSet(template, asWritten, context.space) !== undefined)
        .map(({ pool }) => pool.id);
    });
  }

  /** Pending pods that have no place because of limits of NodePools. */
  podsOverLimits(): readonly PodsOverLimits[] {
    return this.#cluster.podsOverLimits;
  }

  /** A lower bound on the price of new nodes for these pods, in micro-dollars per hour. */
  leastPrice(pods: readonly Pod[]): number {
    const { movingPods } = this.#cluster;
    const all = pods.map((pod) => movingPods.classOf(pod).requests);
    return this.#floor().least(all.reduce(addResources, NO_RESOURCES));
  }

  #floor(): PriceFloor {
    const { templates, context } = this.#cluster.base;
    this.#prices ??= new PriceFloor(templates, context.space);
    return this.#prices;
  }
}

function* explained(failed: readonly QueuedPod[], pass: Pass): Steps<readonly UnschedulablePod[]> {
  const sorted = failed.toSorted(byKey);
  const rest = sorted.slice(MAX_EXPLAINED).map(({ pod }) => ({ pod, message: "", pools: [] }));
  return [...(yield* explainInSteps(sorted.slice(0, MAX_EXPLAINED), pass)), ...rest];
}
