/**
 * The scheduler's view of the cluster: nodes with their pods, updated by each change. It also keeps tallies:
 * for a selector, the number of matching pods on each node. A tally is counted once and then updated, so
 * spreading and affinity visit nodes instead of pods.
 */

import type { Service } from "../../apis/core/kinds.ts";
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { matchesLabelSelector } from "../../apis/core/selectors.ts";
import type { LabelSelector } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { canonicalJson } from "../../base/json.ts";
import type { DeviceObjects } from "./devices/pod-claims.ts";
import { NodeInfo } from "./node-info.ts";
import type { Labels, PodInfo, Term } from "./pod-info.ts";
import type { SchedulerProfile } from "./profiles.ts";
import type { VolumeObjects } from "./volumes.ts";

/** Other objects that filters and scores read. They are looked up when needed. */
export interface Surroundings {
  readonly volumes: VolumeObjects;
  readonly devices: DeviceObjects;
  /** The profile that schedules pods with this `spec.schedulerName`. Undefined: another scheduler does. */
  profile(schedulerName: string | undefined): SchedulerProfile | undefined;
  namespaceLabels(namespace: string): Labels;
  services(namespace: string): readonly Service[];
  budgets(namespace: string): readonly PodDisruptionBudget[];
  /** The selector of the ReplicaSet, StatefulSet or ReplicationController that controls the pod. */
  ownerSelector(pod: Pod): LabelSelector | undefined;
}

/** One affinity term of placed pods: the nodes of these pods and their total weight. */
export interface PlacedTerm {
  readonly term: Term;
  readonly weightByNode: Map<string, number>;
}

interface Tally {
  readonly matches: (pod: PodInfo) => boolean;
  readonly countByNode: Map<string, number>;
}

/** Number of tallies that are kept. The least recently used ones are dropped and counted again later. */
const TALLIES_KEPT = 256;
/** The default of kube-scheduler's `hardPodAffinityWeight`. */
const HARD_AFFINITY_WEIGHT = 1;

/** Nodes and placed pods now. Preemption removes pods from it to try what would fit, and puts them back. */
export class Snapshot {
  readonly surroundings: Surroundings;
  /** Required anti-affinity terms of placed pods. */
  readonly placedAntiAffinity = new Map<string, PlacedTerm>();
  /**
   * Preferred terms and required affinity of placed pods. A positive weight attracts new pods, a negative one
   * repels them.
   */
  readonly placedPreferences = new Map<string, PlacedTerm>();
  readonly #infos = new Map<string, NodeInfo>();
  readonly #nodeOfPod = new Map<string, string>();
  readonly #tallies = new Map<string, Tally>();
  #ordered: readonly NodeInfo[] | undefined;

  constructor(surroundings: Surroundings) {
    this.surroundings = surroundings;
  }

  /** Nodes that exist, by name. */
  get nodes(): readonly NodeInfo[] {
    this.#ordered ??= [...this.#infos.values()]
      .filter((info) => info.node !== undefined)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    return this.#ordered;
  }

  node(name: string): NodeInfo | undefined {
    return this.#infos.get(name);
  }

  nodeOf(podKey: string): string | undefined {
    return this.#nodeOfPod.get(podKey);
  }

  setNode(node: Node): void {
    const info = this.#info(node.metadata.name);
    if (info.node === undefined) this.#ordered = undefined;
    info.setNode(node);
  }

  removeNode(name: string): void {
    this.#infos.get(name)?.setNode(undefined);
    this.#ordered = undefined;
    this.#forgetIfEmpty(name);
  }

  /** Places a pod on a node. If it was on another node, it is moved. */
  setPod(pod: PodInfo, nodeName: string): void {
    this.removePod(pod.key);
    this.#info(nodeName).add(pod);
    this.#nodeOfPod.set(pod.key, nodeName);
    this.#count(pod, nodeName, 1);
  }

  removePod(key: string): PodInfo | undefined {
    const nodeName = this.#nodeOfPod.get(key);
    if (nodeName === undefined) return undefined;
    this.#nodeOfPod.delete(key);
    const pod = this.#infos.get(nodeName)?.remove(key);
    if (pod !== undefined) this.#count(pod, nodeName, -1);
    this.#forgetIfEmpty(nodeName);
    return pod;
  }

  /** Number of matching pods on each node. Calls with the same `id` must have the same `matches`. */
  tally(id: string, matches: (pod: PodInfo) => boolean): ReadonlyMap<string, number> {
    const known = this.#tallies.get(id);
    if (known !== undefined) {
      this.#tallies.delete(id);
      this.#tallies.set(id, known);
      return known.countByNode;
    }
    const countByNode = new Map<string, number>();
    for (const info of this.#infos.values()) {
      let count = 0;
      for (const pod of info.pods.values()) if (matches(pod)) count++;
      if (count > 0) countByNode.set(info.name, count);
    }
    this.#tallies.set(id, { matches, countByNode });
    if (this.#tallies.size > TALLIES_KEPT) {
      const oldest = this.#tallies.keys().next();
      if (oldest.done !== true) this.#tallies.delete(oldest.value);
    }
    return countByNode;
  }

  /**
   * Number of pods on each node that are in `namespace`, match `selector` and are not being deleted, for
   * topology spread.
   */
  tallySelector(namespace: string, selector: LabelSelector): ReadonlyMap<string, number> {
    return this.tally(
      `spread ${namespace} ${canonicalJson(selector)}`,
      (pod) =>
        !pod.terminating &&
        pod.namespace === namespace &&
        matchesLabelSelector(selector, pod.labels),
    );
  }

  /** Drops all tallies. The labels of namespaces decide which pods an affinity term matches. */
  namespacesChanged(): void {
    this.#tallies.clear();
  }

  #info(name: string): NodeInfo {
    let info = this.#infos.get(name);
    if (info === undefined) {
      info = new NodeInfo(name);
      this.#infos.set(name, info);
    }
    return info;
  }

  #forgetIfEmpty(name: string): void {
    const info = this.#infos.get(name);
    if (info !== undefined && info.node === undefined && info.pods.size === 0) {
      this.#infos.delete(name);
    }
  }

  #count(pod: PodInfo, nodeName: string, sign: 1 | -1): void {
    for (const { matches, countByNode } of this.#tallies.values()) {
      if (matches(pod)) bump(countByNode, nodeName, sign);
    }
    for (const term of pod.antiAffinity) place(this.placedAntiAffinity, term, nodeName, sign);
    for (const term of pod.affinity) {
      place(this.placedPreferences, term, nodeName, sign * HARD_AFFINITY_WEIGHT);
    }
    for (const { term, weight } of pod.preferredAffinity) {
      place(this.placedPreferences, term, nodeName, sign * weight);
    }
    for (const { term, weight } of pod.preferredAntiAffinity) {
      place(this.placedPreferences, term, nodeName, -sign * weight);
    }
  }
}

function place(terms: Map<string, PlacedTerm>, term: Term, nodeName: string, weight: number): void {
  let placed = terms.get(term.id);
  if (placed === undefined) {
    placed = { term, weightByNode: new Map() };
    terms.set(term.id, placed);
  }
  bump(placed.weightByNode, nodeName, weight);
  if (placed.weightByNode.size === 0) terms.delete(term.id);
}

function bump(counts: Map<string, number>, name: string, by: number): void {
  const next = (counts.get(name) ?? 0) + by;
  if (next === 0) counts.delete(name);
  else counts.set(name, next);
}
