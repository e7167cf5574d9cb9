/**
 * When StatefulSets create their pods. With the policy OrderedReady, the default, a StatefulSet creates the pod of the
 * next ordinal only once the pod before it is ready. So a planning pass does not see both of them as pending. Pods of
 * several StatefulSets are in one pass if their predecessors become ready at the same time.
 */
import type { StatefulSet } from "../../apis/apps/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { controllerOf, type KubeObject, keyOf } from "../../apis/meta.ts";
import { within } from "../../base/within.ts";
import type { MadeClaim } from "../provisioning/nodes/made-claims.ts";
import type { SchedulingResult, UnschedulablePod } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";

/** Milliseconds from the launch of a node until its pods are ready. Only their order matters, not their length. */
const LAUNCH_MS = 60_000;
/** Milliseconds until a pod on a node that is ready is ready itself. */
const START_MS = 2_000;
/** Pods that are created within so many milliseconds are in one batch. */
const BATCH_MS = 1_000;

/** Which pods of a batch exist in each pass, as StatefulSets create them. */
export class CreationOrder {
  readonly #pods: readonly Pod[];
  /** By key of a pod that does not exist at the beginning: the pod that must be ready before it is created. */
  readonly #before: ReadonlyMap<string, Pod>;
  /** When nodes become ready. Absent: a node was ready from the beginning. */
  readonly #nodeReadyMs = new Map<string, number>();
  /** When pods with a place become ready, by key. */
  readonly #readyMs = new Map<string, number>();
  readonly #created = new Set<Pod>();
  #nowMs = 0;

  constructor(input: SchedulingInput) {
    this.#pods = input.pods;
    this.#before = predecessors(input);
    for (const pod of input.pods) if (!this.#before.has(keyOf(pod))) this.#created.add(pod);
    for (const { name, initialized } of input.nodes)
      if (!initialized) this.#nodeReadyMs.set(name, LAUNCH_MS);
  }

  /** The pods that exist now. */
  get created(): readonly Pod[] {
    const isAll = this.#created.size === this.#pods.length;
    return isAll ? this.#pods : this.#pods.filter((pod) => this.#created.has(pod));
  }

  /** Carries out the plan of a pass, until StatefulSets create pods. Returns whether they do. */
  advance({ existing }: Pick<SchedulingResult, "existing">, made: readonly MadeClaim[]): boolean {
    if (this.#created.size === this.#pods.length) return false;
    for (const { name, plan } of made) {
      this.#nodeReadyMs.set(name, this.#nowMs + LAUNCH_MS);
      this.#place(name, plan.pods);
    }
    for (const { nodeName, pods } of existing) this.#place(nodeName, pods);
    const next = this.#pods.flatMap((pod) => {
      const before = this.#before.get(keyOf(pod));
      const atMs = before && this.#readyMs.get(keyOf(before));
      return atMs === undefined || this.#created.has(pod) ? [] : [{ pod, atMs }];
    });
    if (next.length === 0) return false;
    this.#nowMs = next.reduce((first, { atMs }) => Math.min(first, atMs), Number.POSITIVE_INFINITY);
    for (const { pod, atMs } of next) if (atMs <= this.#nowMs + BATCH_MS) this.#created.add(pod);
    return true;
  }

  /** From now on, all pods exist. Returns how many did not exist. */
  createAll(): number {
    const left = this.#pods.length - this.#created.size;
    for (const pod of this.#pods) this.#created.add(pod);
    return left;
  }

  /**
   * The pods that do not exist yet, and for each of them which pod it waits for. `unschedulable`: the pods without a
   * place. A fix for one of them must also place the pods that wait for it.
   */
  notCreated(unschedulable: readonly UnschedulablePod[]): UnschedulablePod[] {
    if (this.#created.size === this.#pods.length) return [];
    const pools = new Map(unschedulable.map((one) => [keyOf(one.pod), one.pools]));
    const left = this.#pods
      .filter((pod) => !this.#created.has(pod))
      .sort((a, b) => ordinalOf(a) - ordinalOf(b));
    return left.map((pod) => {
      const before = this.#before.get(keyOf(pod)) as Pod;
      const ofBefore = pools.get(keyOf(before)) ?? [];
      pools.set(keyOf(pod), ofBefore);
      const message = `StatefulSet ${controllerOf(pod)?.name} creates it only once its pod ${before.metadata.name} is ready`;
      return { pod, message, pools: ofBefore, isCreated: false };
    });
  }

  #place(node: string, pods: readonly Pod[]): void {
    const readyMs = Math.max(this.#nowMs, this.#nodeReadyMs.get(node) ?? 0) + START_MS;
    for (const pod of pods)
      if (!this.#readyMs.has(keyOf(pod))) this.#readyMs.set(keyOf(pod), readyMs);
  }
}

/** By key of each pod that does not exist yet and whose StatefulSet creates it in order: the pod before it. */
function predecessors({ pods, defaultSpread }: SchedulingInput): ReadonlyMap<string, Pod> {
  const before = new Map<string, Pod>();
  const sets = new Set((defaultSpread?.workloads ?? []).filter(isOrdered).map(keyOf));
  if (sets.size === 0) return before;
  const bySet = new Map<string, Pod[]>();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    const key = `${pod.metadata.namespace}/${owner?.name}`;
    if (owner?.kind === "StatefulSet" && sets.has(key)) within(bySet, key, () => []).push(pod);
  }
  for (const own of bySet.values()) {
    own.sort((a, b) => ordinalOf(a) - ordinalOf(b));
    for (const [index, pod] of own.entries()) {
      const previous = own[index - 1];
      // A pod from a cluster has a UID: it exists already.
      if (previous === undefined || pod.metadata.uid !== undefined) continue;
      before.set(keyOf(pod), previous);
    }
  }
  return before;
}

function isOrdered(workload: KubeObject): boolean {
  if (workload.kind !== "StatefulSet") return false;
  return (workload as StatefulSet).spec.podManagementPolicy !== "Parallel";
}

/** The number at the end of the pod's name. */
function ordinalOf({ metadata: { name } }: Pod): number {
  return Number(name.slice(name.lastIndexOf("-") + 1));
}
