/**
 * Sticky placement: remembers the node that a provisioning pass or a disruption command planned for each pod. The
 * remembered place of one pod is called its seat. It is on a claim, or on a Node without a claim. A seat ends when its
 * pod is bound or gone, or when a plan places the pod elsewhere. If a pod is evicted to move to its planned node, the
 * seat becomes vacant. The next pod of the same owner, its successor, then gets the seat.
 * Design: docs/designs/003-sticky-placement.md
 */
import { isOwnedByDaemonSet, isOwnedByNode, type Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { controllerOf, keyOf } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { deepEqual } from "../../base/json.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { isBufferPodUid } from "../buffers/pods.ts";
import type { NodeView } from "./node-view.ts";
import { countPlanned, isPlanned, plannedAs, plannedPodsOn } from "./planned-pods.ts";
import { RefusedNodes } from "./refused-nodes.ts";

/** How long a vacant seat is kept for a successor: ten minutes, the largest back-off of a Job. */
const RETURN_MS = 10 * 60_000;
/** How long a vacant seat is kept if the owner creates a new pod as soon as one ends (`PROMPT_KINDS`). */
const PROMPT_RETURN_MS = 60_000;
const PROMPT_KINDS: ReadonlySet<string> = new Set([
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
]);
/** How long a node is kept for pods that still run elsewhere. A PodDisruptionBudget may block their eviction. */
export const MOST_AWAITED_MS = 60 * 60_000;
/** Number of views that are read in one step. */
const VIEWS_PER_STEP = 1_024;
/** The most names of unplanned pods that are stored for each node. */
const MOST_UNPLANNED = 3;

/** The place that a plan chose for one pod. */
interface Seat {
  /** The name of the claim, or of a Node without a claim. */
  readonly target: string;
  /** The pod that has the seat. Absent: the seat is vacant. */
  podUid?: string;
  /** The UID of the pod's owner, by which a successor is recognized ({@link plannedAs}). */
  readonly workload: string;
  /**
   * The pod as it was planned last: its requests may be resized while it waits. Only pods with equal requests exchange
   * their seats. Absent: not known after a restart.
   */
  pod?: Pod;
  /** Whether the pod runs on another node and will move. Then its owner will create a successor for it. */
  readonly moves: boolean;
  /** How long the seat is kept once it is vacant. */
  readonly returnMs: number;
  /** When the seat was planned, in epoch milliseconds. */
  readonly plannedMs: number;
  /** Since when the seat is known to be vacant, in epoch milliseconds. */
  vacantMs?: number | undefined;
}

/** Pods that a node waits for. */
export interface AwaitedPods {
  readonly count: number;
  /** Until when the node is kept, in epoch milliseconds. */
  readonly untilMs: number;
}

/** The seats of all pods that a plan has placed and that do not run on their planned node yet, and the vacant seats. */
export class Placements {
  /** Pods whose planned nodes do not accept them. */
  readonly refusals = new RefusedNodes();
  readonly #byPod = new Map<string, Seat>();
  /** The vacant seats by {@link Seat.workload}. */
  readonly #vacant = new Map<string, Set<Seat>>();
  readonly #byTarget = new Map<string, Set<Seat>>();
  /** Names of nodes for which {@link fillLast} was called. */
  readonly #fillLast = new Set<string>();
  /** Keys of pods that were bound to a node without having a seat there, by name of the node. */
  readonly #unplannedPods = new Map<string, string[]>();
  /** UIDs of pods whose binding ended a seat while the claim of their Node was not known yet. */
  readonly #seated = new Set<string>();

  /** Records that a plan placed these pods on the node. Their earlier seats end. */
  plan(target: string, pods: readonly Pod[], nowMs: number): void {
    for (const pod of pods) {
      const { uid } = pod.metadata;
      const workload = plannedAs(pod);
      if (uid === undefined || workload === undefined) continue;
      const known = this.#byPod.get(uid);
      if (known?.target === target) {
        known.pod = pod;
        continue;
      }
      if (known !== undefined) this.#end(known);
      const inherited = this.#vacantAt(workload, [target]);
      if (inherited !== undefined) this.#end(inherited);
      const moves = inherited?.moves ?? Boolean(pod.spec.nodeName);
      const returnMs = returnMsOf(pod);
      this.#add({ target, podUid: uid, workload, pod, moves, returnMs, plannedMs: nowMs });
    }
  }

  /**
   * Marks a node that kube-scheduler should fill last. Pods that are planned for other nodes would fit on it, but the
   * pods planned for it fit on no other node.
   */
  fillLast(target: string): void {
    if (this.#byTarget.has(target)) this.#fillLast.add(target);
  }

  /** Whether the node should be filled last and has open seats. */
  isFilledLast(target: string): boolean {
    return this.#fillLast.has(target);
  }

  /** The name of the node that a plan chose for this pod. Undefined: none, or only for an earlier pod of its owner. */
  targetOf({ metadata }: Pod): string | undefined {
    return this.#byPod.get(metadata.uid ?? "")?.target;
  }

  /**
   * For each pod (by key): the name of the node that was planned for it, or for an earlier pod of its owner. Seats that
   * were vacant for too long end.
   */
  assign(pods: readonly Pod[], nowMs: number): ReadonlyMap<string, string> {
    this.#expire(nowMs);
    const assigned = new Map<string, string>();
    if (this.#byTarget.size === 0) return assigned;
    const taken = new Map<string, Iterator<Seat>>();
    for (const pod of pods) {
      const target = this.targetOf(pod) ?? this.#nextVacant(pod, taken)?.target;
      if (target !== undefined) assigned.set(keyOf(pod), target);
    }
    return assigned;
  }

  /**
   * Records that the pod will not run on its planned node, so its seat ends. `target`: the node of a vacant seat that
   * {@link assign} gave to the pod.
   */
  giveUp(pod: Pod, target?: string): void {
    const own = this.#byPod.get(pod.metadata.uid ?? "");
    const inherited = () =>
      target === undefined ? undefined : this.#vacantAt(plannedAs(pod) ?? "", [target]);
    const seat = own ?? inherited();
    if (seat !== undefined) this.#end(seat);
  }

  /**
   * Records that the pod was bound to a node. kube-scheduler may bind pods of one owner in any order. If the pod took
   * the seat of an equal pod of its owner, that other pod gets the seat of this pod. `namesOf`: the names of the Node
   * and its claim. It is not called while there are no seats.
   */
  bound(pod: Pod, namesOf: () => readonly string[]): void {
    this.refusals.bound(pod);
    if (this.#byTarget.size === 0) return;
    const names = namesOf();
    const own = this.#byPod.get(pod.metadata.uid ?? "");
    const workload = plannedAs(pod) ?? "";
    const vacant = own ?? this.#vacantAt(workload, names);
    // A successor that is bound elsewhere needs no seat any more.
    const seat = vacant ?? this.#vacant.get(workload)?.values().next().value;
    const isElsewhere = seat === undefined || !names.includes(seat.target);
    const taken = isElsewhere ? this.#openAt(names, workload) : undefined;
    const isAlike = taken?.pod !== undefined && deepEqual(podRequests(taken.pod), podRequests(pod));
    if (seat !== undefined && isAlike && taken !== undefined) this.#move(taken, seat.target);
    else if (isElsewhere) this.#noteUnplannedPod(pod, names);
    if (seat === undefined) return;
    if (names.length === 1) this.#seated.add(pod.metadata.uid ?? "");
    this.#end(seat);
  }

  /**
   * Records that the claim `target` owns the Node to which these pods are bound. Vacant seats on the claim that these
   * pods have taken end. Otherwise the claim would wait for pods that run on its Node already. Each pod ends at most
   * one seat, here or when it is bound.
   */
  joined(target: string, pods: readonly Pod[]): void {
    if (this.#byTarget.size === 0 && this.#seated.size === 0) return;
    for (const pod of pods) {
      if (this.#seated.delete(pod.metadata.uid ?? "")) continue;
      const seat = this.#vacantAt(plannedAs(pod) ?? "", [target]);
      if (seat !== undefined) this.#end(seat);
    }
  }

  /** Records that the pod ended or was deleted. */
  gone(pod: Pod): void {
    this.#seated.delete(pod.metadata.uid ?? "");
    const seat = this.#byPod.get(pod.metadata.uid ?? "");
    if (seat === undefined) return;
    if (!seat.moves || controllerOf(pod) === undefined) {
      this.#end(seat);
      return;
    }
    this.#byPod.delete(pod.metadata.uid ?? "");
    delete seat.podUid;
    this.#addVacant(seat);
  }

  /**
   * Records that the node can take no more pods. Seats of existing pods are kept until a plan places the pods
   * elsewhere.
   */
  targetGone(target: string): void {
    for (const seat of [...(this.#byTarget.get(target) ?? [])])
      if (seat.podUid === undefined) this.#end(seat);
  }

  /** Keys of the first pods that were bound to the node without a seat, while other pods had seats there. */
  unplannedPodsOn(target: string): readonly string[] {
    return this.#unplannedPods.get(target) ?? [];
  }

  /**
   * How many moving pods have seats on the node and do not run there yet. Undefined: none, or the node was kept for
   * long enough.
   */
  awaitedAt(target: string, nowMs: number): AwaitedPods | undefined {
    let count = 0;
    let untilMs = 0;
    for (const seat of this.#byTarget.get(target) ?? []) {
      const endMs = seat.moves ? endOf(seat, nowMs) : 0;
      if (endMs <= nowMs) continue;
      count++;
      untilMs = Math.max(untilMs, endMs);
    }
    return count === 0 ? undefined : { count, untilMs };
  }

  /** Whether the node keeps room for pods of a CapacityBuffer. */
  hostsBufferPods(target: string): boolean {
    for (const { podUid } of this.#byTarget.get(target) ?? [])
      if (isBufferPodUid(podUid)) return true;
    return false;
  }

  /**
   * Must be called after a start of the process. Adds vacant seats for pods that a claim was planned for, by its
   * annotation, and that do not run on its node. A node that has been initialized for longer than {@link RETURN_MS}
   * gets no seats.
   */
  *recall(views: readonly NodeView[], nowMs: number): Steps<void> {
    yield* eachInSteps(views, VIEWS_PER_STEP, ({ claim, deleting, pods }) => {
      if (claim === undefined || deleting || !isPlanned(claim)) return;
      if (this.#byTarget.has(claim.metadata.name)) return;
      // Nearly all nodes are old, so their annotation is not decoded.
      const usable = condition(claim, "Initialized");
      const usableMs = usable?.status === "True" ? fromRfc3339(usable.lastTransitionTime) : nowMs;
      const sinceMs = usableMs ?? nowMs;
      if (nowMs - sinceMs > RETURN_MS) return;
      const there = countPlanned(pods);
      for (const [workload, count] of plannedPodsOn(claim))
        for (let missing = count - (there.get(workload) ?? 0); missing > 0; missing--)
          this.#addVacant({
            target: claim.metadata.name,
            workload,
            moves: true,
            returnMs: RETURN_MS,
            plannedMs: sinceMs,
            vacantMs: sinceMs,
          });
    });
  }

  #add(seat: Seat): void {
    if (seat.podUid !== undefined) this.#byPod.set(seat.podUid, seat);
    const seats = this.#byTarget.get(seat.target) ?? new Set();
    this.#byTarget.set(seat.target, seats.add(seat));
  }

  #addVacant(seat: Seat): void {
    this.#add(seat);
    const seats = this.#vacant.get(seat.workload) ?? new Set();
    this.#vacant.set(seat.workload, seats.add(seat));
  }

  #end(seat: Seat): void {
    if (seat.podUid !== undefined) this.#byPod.delete(seat.podUid);
    deleteFrom(this.#vacant, seat.workload, seat);
    deleteFrom(this.#byTarget, seat.target, seat);
    if (this.#byTarget.has(seat.target)) return;
    this.#unplannedPods.delete(seat.target);
    this.#fillLast.delete(seat.target);
  }

  #move(seat: Seat, target: string): void {
    this.#end(seat);
    const moved = { ...seat, target };
    if (moved.podUid === undefined) this.#addVacant(moved);
    else this.#add(moved);
  }

  /** A seat for pods of this owner on the node with these names. */
  #openAt(names: readonly string[], workload: string): Seat | undefined {
    for (const name of names)
      for (const seat of this.#byTarget.get(name) ?? [])
        if (seat.workload === workload) return seat;
    return undefined;
  }

  #vacantAt(workload: string, targets: readonly string[]): Seat | undefined {
    for (const seat of this.#vacant.get(workload) ?? [])
      if (targets.includes(seat.target)) return seat;
    return undefined;
  }

  /**
   * The next vacant seat of this pod's owner. `taken`: for each owner, an iterator over its vacant seats, so that no
   * seat is returned twice.
   */
  #nextVacant(pod: Pod, taken: Map<string, Iterator<Seat>>): Seat | undefined {
    const workload = plannedAs(pod) ?? "";
    const seats = this.#vacant.get(workload);
    // A pod that runs on a node is not the successor of another pod.
    if (seats === undefined || pod.spec.nodeName) return undefined;
    const rest = within(taken, workload, () => seats.values());
    const next = rest.next();
    return next.done === true ? undefined : next.value;
  }

  #noteUnplannedPod(pod: Pod, names: readonly string[]): void {
    if (isOwnedByDaemonSet(pod) || isOwnedByNode(pod)) return;
    for (const name of names) {
      if (!this.#byTarget.has(name)) continue;
      const unplanned = this.#unplannedPods.get(name) ?? [];
      if (unplanned.length < MOST_UNPLANNED)
        this.#unplannedPods.set(name, [...unplanned, keyOf(pod)]);
    }
  }

  #expire(nowMs: number): void {
    for (const seats of [...this.#vacant.values()])
      for (const seat of [...seats]) if (endOf(seat, nowMs) <= nowMs) this.#end(seat);
  }
}

/**
 * When the seat ends if no pod takes it, in epoch milliseconds. The first call for a vacant seat stores since when it
 * is vacant. Planning is not the only caller, because it does not run while no pod is pending.
 */
function endOf(seat: Seat, nowMs: number): number {
  if (seat.podUid !== undefined) return seat.plannedMs + MOST_AWAITED_MS;
  seat.vacantMs ??= nowMs;
  return seat.vacantMs + seat.returnMs;
}

function returnMsOf(pod: Pod): number {
  return PROMPT_KINDS.has(controllerOf(pod)?.kind ?? "") ? PROMPT_RETURN_MS : RETURN_MS;
}

function deleteFrom<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
