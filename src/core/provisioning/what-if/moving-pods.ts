/**
 * Finds the pods of a what-if question (where do pods go if some nodes are removed?): which pods are planned, their
 * classes, and their order. Each round of disruption asks about each node, so its pods are sorted only once.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { perTemplate } from "../../../apis/core/pod-template.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import { assert } from "../../../base/assert.ts";
import type { VolumeIndex } from "../../scheduling/volumes.ts";
import { type NodeView, reschedulablePods } from "../../state/node-view.ts";
import type { BasePass } from "../base-pass.ts";
import { type EligibilityFacts, refusal } from "../batch/eligibility.ts";
import type { Draft, PodClass } from "../batch/pod-class.ts";
import { inOrder } from "../batch/queue.ts";
import type { UnschedulablePod } from "../result.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import type { ClusterCounts, CountedNode, MovablePod, MovablePods } from "./cluster-counts.ts";
import type { QuestionClasses } from "./question-classes.ts";

/** The state that is needed to look up pods. */
interface Known {
  readonly base: BasePass;
  readonly clusterCounts: ClusterCounts;
  readonly questionClasses: QuestionClasses;
  readonly volumes: VolumeIndex;
}

/** The metadata of any pod without volumes: such pods are planned without regard to their names. */
const NAMELESS: Pod["metadata"] = { name: "" };
const NONE: readonly never[] = [];

export class MovingPods {
  readonly #known: Known;
  readonly #checks: Omit<EligibilityFacts, "volumes">;
  readonly #refusalOf = perTemplate((spec) => this.#reason({ metadata: NAMELESS, spec }));

  /** Uses only those parts of the input that stay the same while the questions follow the real cluster. */
  constructor(known: Known, { options, pools }: Pick<SchedulingInput, "options" | "pools">) {
    this.#known = known;
    this.#checks = {
      wellKnownLabels: options.wellKnownLabels,
      ownerLabels: pools.map(({ pool }) => vocabulary(pool.generation).ownerLabel),
      plansClaims: known.base.context.devices !== undefined,
    };
  }

  eligible(pods: readonly Pod[]): readonly Pod[] {
    return pods.filter((pod) => this.#refusal(pod) === undefined);
  }

  /** Registers the topology groups of pods that later questions may be about, before pods are counted. */
  announce(pods: readonly Pod[]): readonly Draft[] {
    return pods.map((pod) => this.#known.base.classes.announce(pod));
  }

  /**
   * The pods that need a place if these hosts are removed, in order of placement: `moving`, the pending pods that the
   * plan placed on the hosts, and `bound` (see `PreparedCluster.boundTo`).
   */
  leaving(
    hosts: readonly CountedNode[],
    moving: readonly Pod[],
    bound: readonly Pod[] = NONE,
  ): Omit<MovablePods, "of"> {
    const [host, ...others] = hosts;
    const isOne = others.length === 0 && bound.length === 0 && host?.place.pods.length === 0;
    if (isOne) {
      host.movable ??= this.movablePodsOf(host.place.view);
      if (moving === host.movable.of) {
        for (const { podClass } of host.movable.queued) this.#known.questionClasses.use(podClass);
        return host.movable;
      }
    }
    const { fine, refused } = this.#sortOut([
      ...moving,
      ...hosts.flatMap(({ place: { pods } }) => pods),
      ...bound,
    ]);
    return { queued: this.inPlacingOrder(fine), refused };
  }

  /** The pods in order of placement, with their classes prepared for the current question. */
  inPlacingOrder(pods: readonly Pod[]): readonly MovablePod[] {
    const queued = inOrder(
      pods.map((pod) => ({ pod, podClass: this.#known.questionClasses.of(this.classOf(pod)) })),
    );
    for (const { podClass } of queued) this.#known.questionClasses.use(podClass);
    return queued;
  }

  /** The pods that need a place if the node is removed. `drafts`: the known groups of equal pods of these pods. */
  movablePodsOf(view: NodeView, drafts?: readonly Draft[]): MovablePods {
    const movable = reschedulablePods(view);
    const { fine, refused } = this.#sortOut(movable);
    const queued = inOrder(
      fine.map((pod) => {
        const podClass = this.#findClass(pod, drafts?.[movable.indexOf(pod)]);
        return { pod, podClass: this.#known.questionClasses.of(podClass) };
      }),
    );
    return { of: movable, queued, refused: refused.length === 0 ? NONE : refused };
  }

  classOf(pod: Pod): PodClass {
    const host = this.#known.clusterCounts.node(pod.spec.nodeName ?? "");
    const known = host?.movable?.queued.find((one) => one.pod === pod);
    return known?.podClass.original ?? this.#findClass(pod);
  }

  #findClass(pod: Pod, announced?: Draft): PodClass {
    const { classes, context } = this.#known.base;
    const known = context.topology.groups.length;
    const draft = announced ?? classes.announce(pod);
    const isNew = context.topology.groups.length > known;
    assert(!isNew, "only pods that wait, or run on nodes of ours, are asked about");
    return classes.classOf(pod, draft);
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

  #refusal(pod: Pod): string | undefined {
    return pod.spec.volumes === undefined ? this.#refusalOf(pod.spec) : this.#reason(pod);
  }

  #reason(pod: Pod): string | undefined {
    return refusal(pod, { ...this.#checks, volumes: this.#known.volumes });
  }
}
