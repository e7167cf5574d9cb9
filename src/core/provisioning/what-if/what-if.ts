/**
 * The cluster without some of its nodes, asked many times over: on a cluster made ready once, each question
 * changes a little, looks, and takes the change back. What comes out is what `solve` would plan for the pods
 * concerned on a cluster that never had those nodes.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { keyOf } from "../../../apis/meta.ts";
import { addResources, NO_RESOURCES } from "../../../apis/resources.ts";
import { atOnce, filterInSteps, type Steps } from "../../../base/steps.ts";
import { isThere } from "../../state/node-view.ts";
import type { Variant } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import { admittedSet } from "../nodes/admission.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import { type Kind, planClaims } from "../nodes/planned-claim.ts";
import type { Pass } from "../place.ts";
import { PriceFloor } from "../pools/price-floor.ts";
import { explain } from "../refusals/explain.ts";
import type { PlannedClaim, UnschedulablePod } from "../result.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import type { Host, LeftPod } from "./census.ts";
import { PreparedCluster, type Stranded } from "./prepared-cluster.ts";
import type { Seeking } from "./seeking.ts";
import type { Placed, Trial } from "./trial.ts";

export interface Without {
  /** New nodes that the pods would need. */
  readonly newClaims: readonly PlannedClaim[];
  /** Nodes that would take pods of those that go, and which pods. */
  readonly existing: readonly Placed[];
  /** Pods without a place, by key; at most `MAX_EXPLAINED` with their reasons worked out. */
  readonly unschedulable: readonly UnschedulablePod[];
  /** It was not worth while to the opening: nobody was placed. */
  readonly gaveUp: boolean;
}

const MAX_EXPLAINED = 5;
/** Nodes that are to go together. */
const ASKED_PER_STEP = 8;
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

export class WhatIf {
  readonly #cluster: PreparedCluster;
  readonly #options: SchedulingInput["options"];
  readonly #kinds = new Map<string, Kind>();
  #prices: PriceFloor | undefined;

  /** `input.pods`: those that need a place as it is. */
  static of(input: SchedulingInput): WhatIf {
    return atOnce(WhatIf.inSteps(input));
  }

  /** As {@link of}. */
  static *inSteps(input: SchedulingInput): Steps<WhatIf> {
    return new WhatIf(yield* PreparedCluster.inSteps(input), input.options);
  }

  private constructor(cluster: PreparedCluster, options: SchedulingInput["options"]) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /**
   * Goes on from another picture of the same cluster: what has changed is counted anew, the rest stays.
   * False: too much has changed, and this one is good for nothing any more; make a new one.
   */
  follow(input: SchedulingInput): boolean {
    return atOnce(this.followInSteps(input));
  }

  /** As {@link follow}. Nothing may be asked before it is done. */
  followInSteps(input: SchedulingInput): Steps<boolean> {
    return this.#cluster.followInSteps(input);
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
      trial.end();
    }
  }

  /** As {@link without}. A question that is asked before it is done is an assertion error. */
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
      trial.end();
    }
  }

  #begin(
    nodeNames: readonly string[],
    moving: readonly Pod[],
    { closed, belowMicroUsd }: Terms,
  ): Seeking & { readonly trial: Trial } {
    const { census, seekers, base } = this.#cluster;
    const hosts: Host[] = [];
    for (const name of nodeNames) {
      const host = census.host(name);
      if (host !== undefined) hosts.push(host);
    }
    const { queued, refused } = seekers.leaving(hosts, moving);
    const trial = this.#cluster.suppose(base.templates, closed);
    try {
      trial.remove(hosts);
      if (belowMicroUsd !== undefined) trial.onlyBelow(belowMicroUsd, this.#floor());
      return { trial, queued, refused };
    } catch (error) {
      trial.end();
      throw error;
    }
  }

  #outcome(
    trial: Trial,
    queued: readonly QueuedPod[],
    refused: readonly UnschedulablePod[],
  ): Without {
    const failed = trial.place(queued);
    if (failed.length > 0) trial.vacateThoroughly();
    const { pass } = trial;
    return {
      newClaims: planClaims(pass.claims.all, pass.context.space, this.#options, this.#kinds),
      existing: trial.placed(),
      unschedulable:
        refused.length + failed.length === 0
          ? NOBODY
          : [...refused, ...explained(failed, pass)].sort(byKey),
      gaveUp: false,
    };
  }

  /**
   * Of these nodes, in order, those that can go together without a new node, none of them taking pods of
   * another. `mayGo` has the last word on each; it is asked once the pods have a place. A question that is asked
   * before it is done is an assertion error.
   */
  *togetherInSteps<T extends Leaving>(
    leaving: readonly T[],
    mayGo: (one: T) => boolean,
    { closed }: Pick<Terms, "closed"> = {},
  ): Steps<readonly T[]> {
    const { census, seekers } = this.#cluster;
    const trial = this.#cluster.suppose([], closed);
    const { fork } = trial;
    try {
      return yield* filterInSteps(leaving, ASKED_PER_STEP, (one) => {
        const host = census.host(one.nodeName);
        if (host === undefined || fork.hasTouched(host.place)) return false;
        const before = fork.now();
        const { queued, refused } = seekers.leaving([host], one.pods);
        if (refused.length === 0 && !this.#isHopeless(queued, host.place)) {
          trial.remove([host]);
          const failed = trial.place(queued, "allOrNone");
          const taken = fork.touched(before).every(({ node }) => isThere(node.view));
          if (failed.length === 0 && taken && mayGo(one)) return true;
        }
        trial.backTo(before);
        return false;
      });
    } finally {
      trial.end();
    }
  }

  /** One of its pods has no room on any other node, whatever else is supposed. */
  #isHopeless(queued: readonly LeftPod[], place: ExistingNode): boolean {
    return queued.some(({ podClass }) => this.#cluster.trying.hasNoRoom(podClass, place));
  }

  /**
   * Ids of pools, each list those that running pods of one kind could have new nodes of, as far as labels
   * and taints go: pods of such pools may share machines.
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

  /** Pods that wait, and that nothing but limits keeps from a place. */
  stranded(): readonly Stranded[] {
    return this.#cluster.stranded;
  }

  /** No new nodes that hold these pods cost less, in micro-dollars an hour. */
  leastPrice(pods: readonly Pod[]): number {
    const { seekers } = this.#cluster;
    const requests = pods.reduce((sum, pod) => addResources(sum, seekers.classOf(pod).requests), {
      ...NO_RESOURCES,
    });
    return this.#floor().least(requests);
  }

  #floor(): PriceFloor {
    const { templates, context } = this.#cluster.base;
    this.#prices ??= new PriceFloor(templates, context.space);
    return this.#prices;
  }
}

function explained(failed: readonly QueuedPod[], pass: Pass): readonly UnschedulablePod[] {
  const sorted = failed.toSorted((a, b) => (keyOf(a.pod) < keyOf(b.pod) ? -1 : 1));
  const rest = sorted.slice(MAX_EXPLAINED).map(({ pod }) => ({ pod, message: "", pools: [] }));
  return [...explain(sorted.slice(0, MAX_EXPLAINED), pass), ...rest];
}

function byKey(a: UnschedulablePod, b: UnschedulablePod): number {
  return keyOf(a.pod) < keyOf(b.pod) ? -1 : 1;
}
