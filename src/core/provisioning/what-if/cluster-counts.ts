/**
 * The nodes of a prepared cluster (the scheduling state that all what-if questions share), and the pods that are
 * counted on them. Removing a node also removes its counts, its host, and the domains that exist only because of it. So
 * a prepared cluster can follow the real cluster.
 */
import type { Pod, PodAffinityTerm } from "../../../apis/core/pod.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { assert } from "../../../base/assert.ts";
import { deepEqual } from "../../../base/json.ts";
import { within } from "../../../base/within.ts";
import { requiredOf } from "../../scheduling/pod-requirements.ts";
import type { Draft } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import type { UnschedulablePod } from "../result.ts";
import { heldGroups } from "../solve.ts";
import type { Topology } from "../topology/topology.ts";
import { eligible, type TopologyGroup } from "../topology/topology-group.ts";
import type { QuestionClass } from "./question-classes.ts";

/** A node, and the pods that are counted on it. */
export interface CountedNode {
  readonly place: ExistingNode;
  /** Whether pods can be placed on the node: it is not leaving. Only nodes that take pods make their domains exist. */
  readonly isTarget: boolean;
  /** The topology groups that count pods of the node: one entry for each counted pod and group. */
  readonly counted: readonly TopologyGroup[];
  /** The topology domains (such as zones) that exist only while they have a node: no new node can be launched there. */
  readonly ownDomains: readonly NodeDomain[];
  /** The pods that would need a place if the node were removed. Undefined: not computed yet. */
  movable: MovablePods | undefined;
  /** One draft for each group of equal pods on the node that may need another node. */
  drafts: readonly Draft[];
}

/** The pods that would need another node if this node were removed. */
export interface MovablePods {
  /** The pods of the node's view when this was computed. A newer view has another list. */
  readonly of: readonly Pod[];
  /** The pods to place, in the order of placement. */
  readonly queued: readonly MovablePod[];
  /** Pods that are not planned, with reasons. */
  readonly refused: readonly UnschedulablePod[];
}

/** A queued pod, with the pod class that what-if questions use. */
export interface MovablePod extends QueuedPod {
  readonly podClass: QuestionClass;
}

interface NodeDomain {
  readonly group: TopologyGroup;
  readonly domain: string;
}

export class ClusterCounts {
  readonly #topology: Topology;
  readonly #hosts = new Map<string, CountedNode>();
  /** Number of nodes by host name. Pods on one of two nodes with the same host name affect the other one. */
  readonly #perHostname = new Map<string, number>();
  /** Cached: the domains in which new nodes can be launched, by group. */
  readonly #possible = new Map<TopologyGroup, ReadonlySet<string>>();
  /** For domains that exist only because of nodes: the number of these nodes. */
  readonly #nodesIn = new Map<TopologyGroup, Map<string, number>>();
  /** Cached results by kind of node, because many nodes are of few kinds. */
  readonly #ownDomains = new Map<string, readonly NodeDomain[]>();
  /** Cached groups of anti-affinity terms that do not refer to the pod's own labels, by list of terms and namespace. */
  readonly #held = new WeakMap<readonly PodAffinityTerm[], Map<string, readonly TopologyGroup[]>>();
  /** Whether a node filter of a spread names host names. If so, no two nodes are of the same kind. */
  #areAllDifferent = false;

  constructor(topology: Topology) {
    this.#topology = topology;
  }

  /** Registers the topology groups of the pods' anti-affinity terms. Must be called before any pod is counted. */
  registerRules(pods: readonly Pod[]): void {
    for (const pod of pods) this.#heldBy(pod);
  }

  /** Prepares the counts by domain. Must be called after all topology groups are registered. */
  registerDomains(): void {
    for (const group of this.#topology.groups) {
      if (group.filter.requirements?.some((one) => one.has(HOSTNAME_LABEL_KEY)))
        this.#areAllDifferent = true;
      if (group.key === HOSTNAME_LABEL_KEY) continue;
      this.#possible.set(group, new Set(group.counts.keys()));
      this.#nodesIn.set(group, new Map());
    }
  }

  node(name: string): CountedNode | undefined {
    return this.#hosts.get(name);
  }

  sharesItsHost({ hostname }: ExistingNode): boolean {
    return (this.#perHostname.get(hostname) ?? 0) > 1;
  }

  /** Adds a node and counts its pods. `staying`: the counted pods. `former`: the earlier state of the node. */
  add(
    place: ExistingNode,
    isTarget: boolean,
    staying: readonly Pod[],
    former?: CountedNode,
  ): CountedNode {
    const ownDomains = isTarget ? this.#ownDomainsOf(place, former) : NOTHING;
    if (isTarget) {
      for (const { group, domain } of ownDomains) {
        this.#topology.addDomain(group, domain);
        this.#countNodesIn(group, domain, 1);
      }
      this.#topology.addNode(place);
    }
    const counted: TopologyGroup[] = [];
    for (const pod of staying) {
      const { namespace = "default", labels = {} } = pod.metadata;
      for (const group of this.#heldBy(pod)) counted.push(group);
      for (const group of this.#topology.selecting(namespace, labels))
        if (!group.inverse) counted.push(group);
    }
    for (const group of counted) this.#topology.count(group, place);
    const host = { place, isTarget, counted, ownDomains, movable: undefined, drafts: NOTHING };
    this.#hosts.set(place.view.name, host);
    const others = this.#perHostname.get(place.hostname) ?? 0;
    this.#perHostname.set(place.hostname, others + 1);
    return host;
  }

  /**
   * Stores the drafts (groups of equal pods) of the host's pods that may need another node, and counts them as running.
   */
  setDrafts(host: CountedNode, drafts: readonly Draft[]): void {
    host.drafts = drafts;
    for (const draft of drafts) draft.running++;
  }

  remove(name: string): void {
    const host = this.#hosts.get(name);
    assert(host !== undefined, "only a node that is there can leave");
    const { place, isTarget, counted, ownDomains } = host;
    this.#hosts.delete(name);
    for (const draft of host.drafts) draft.running--;
    const others = (this.#perHostname.get(place.hostname) ?? 0) - 1;
    if (others > 0) this.#perHostname.set(place.hostname, others);
    if (isTarget) {
      this.#topology.removeNode(place);
      for (const { group, domain } of ownDomains) this.#countNodesIn(group, domain, -1);
      for (const { group } of ownDomains) this.#tidy(group, place);
    }
    this.uncount(counted, place);
    if (others > 0) return;
    this.#perHostname.delete(place.hostname);
    this.#topology.forgetHost(place.hostname);
  }

  /** Removes one pod of the node from the counts of each of these groups, for all later questions too. */
  uncount(groups: readonly TopologyGroup[], place: ExistingNode): void {
    for (const group of groups) this.#topology.uncount(group, place);
    for (const group of new Set(groups)) this.#tidy(group, place);
  }

  /** Removes the counts of the host's pods for the current question. */
  uncountPods({ place, counted }: CountedNode): void {
    for (const group of counted) this.#topology.uncount(group, place);
  }

  /** Removes the domains that exist only because of these nodes. */
  forgetDomains(gone: readonly CountedNode[]): void {
    if (gone.every(({ ownDomains }) => ownDomains.length === 0)) return;
    const leaving = new Map<TopologyGroup, Map<string, number>>();
    for (const { group, domain } of gone.flatMap(({ ownDomains }) => ownDomains)) {
      const domains = leaving.get(group) ?? new Map<string, number>();
      leaving.set(group, domains.set(domain, (domains.get(domain) ?? 0) + 1));
    }
    for (const [group, domains] of leaving) {
      for (const [domain, count] of domains) {
        const isEmpty = (group.counts.get(domain) ?? 0) <= 0;
        const isLast = this.#nodesIn.get(group)?.get(domain) === count;
        if (isEmpty && isLast) this.#topology.forgetDomain(group, domain);
      }
    }
  }

  /** The topology groups of the pod's own anti-affinity terms. Pods of one template and namespace share the list. */
  #heldBy(pod: Pod): readonly TopologyGroup[] {
    const terms = requiredOf(pod.spec.affinity?.podAntiAffinity);
    if (terms.length === 0) return NONE;
    if (terms.some(dependsOnLabels)) return heldGroups(this.#topology, pod);
    const { namespace = "default" } = pod.metadata;
    const known = within(this.#held, terms, () => new Map<string, readonly TopologyGroup[]>());
    return within(known, namespace, () => heldGroups(this.#topology, pod));
  }

  #ownDomainsOf(place: ExistingNode, former: CountedNode | undefined): readonly NodeDomain[] {
    const { view, taints, hostname } = place;
    // If only the node's pods changed, its labels are still the same object.
    if (former?.place.view.labels === view.labels && deepEqual(former.place.taints, taints))
      return former.ownDomains;
    const { [HOSTNAME_LABEL_KEY]: _, ...labels } = view.labels;
    const own = this.#areAllDifferent ? hostname : "";
    return within(this.#ownDomains, JSON.stringify([labels, taints, own]), () =>
      [...this.#nodesIn.keys()].flatMap((group) => {
        const domain = this.#ownDomain(group, place);
        return domain === undefined ? [] : [{ group, domain }];
      }),
    );
  }

  /** The node's domain of the group, if no new node can be launched in it. Undefined: there is no such domain. */
  #ownDomain(group: TopologyGroup, place: ExistingNode): string | undefined {
    const domain = place.domain(group.key);
    if (domain === undefined || this.#possible.get(group)?.has(domain)) return undefined;
    return eligible(group.filter, place) ? domain : undefined;
  }

  #countNodesIn(group: TopologyGroup, domain: string, change: 1 | -1): void {
    const counts = this.#nodesIn.get(group);
    assert(counts !== undefined, "no node is counted in a domain before the groups are known");
    counts.set(domain, (counts.get(domain) ?? 0) + change);
    if (counts.get(domain) === 0) counts.delete(domain);
  }

  /**
   * Removes the node's domain from the group, if the domain has no pods and no nodes, and none can be launched there.
   */
  #tidy(group: TopologyGroup, place: ExistingNode): void {
    const domain = place.domain(group.key);
    if (domain === undefined || group.counts.get(domain) !== 0) return;
    const isMade = this.#possible.get(group)?.has(domain) || this.#nodesIn.get(group)?.has(domain);
    if (isMade !== true) this.#topology.forgetDomain(group, domain);
  }
}

function dependsOnLabels({ matchLabelKeys, mismatchLabelKeys }: PodAffinityTerm): boolean {
  return matchLabelKeys !== undefined || mismatchLabelKeys !== undefined;
}

const NONE: readonly TopologyGroup[] = [];
const NOTHING: readonly never[] = [];
