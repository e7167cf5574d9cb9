/**
 * Topology spread, affinity and anti-affinity: which domains (zones, hosts, any label's values) a pod may use, given
 * where other pods are. A group is one rule with a count of pods for each domain. Pods with the same rule share the
 * group. Anti-affinity is counted both ways: an inverse group counts the pods that have the term, because they exclude
 * others.
 *
 * These rules hold while a plan is made:
 * - A planned node may be open to several zones. Each pod that is placed may narrow it; no pod widens it.
 * - Spread and affinity count a pod once its node has only one domain left. Until then the pod is uncounted, and the
 *   group lists the node (`noteUncounted`).
 * - Anti-affinity counts at once, in every domain that the node may still get.
 * - A pod may not go where kube-scheduler would refuse it after all uncounted pods are counted, in whatever order it
 *   binds them.
 * - Each change of a group's counts changes its `revision`. A refusal by topology is valid until then.
 * - In a fork, changes of counts and hosts are recorded in the journal, and are undone with the fork.
 *
 * Why nodes stay open: docs/designs/006-when-a-zone-is-settled.md.
 * upstream: pkg/controllers/provisioning/scheduling/topology.go
 */
import type { Namespace } from "../../../apis/core/kinds.ts";
import type {
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from "../../../apis/core/pod.ts";
import { HOSTNAME_LABEL_KEY, normalizedLabel } from "../../../apis/karpenter/labels.ts";
import { assert } from "../../../base/assert.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import { Marks } from "../../scheduling/bits.ts";
import type { Requirement } from "../../scheduling/requirement.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import type { Template } from "../pools/pool-template.ts";
import { HostCounts } from "./host-counts.ts";
import { HostNumbers } from "./host-numbers.ts";
import {
  ASSUMED_HOST,
  FirstPods,
  type LateCount,
  lateDomainsOf,
  type PlacesOf,
  type SpreadOfFirstPod,
} from "./late-counts.ts";
import { Selections } from "./selections.ts";
import {
  ANY_NODE,
  allowsOnHost,
  anyCounted,
  cheapestFirst,
  closesHosts,
  domainOf,
  eligible,
  firstPodDomains,
  type GroupDomains,
  type GroupShape,
  hasUncounted,
  isUndecided,
  type Labels,
  looksBeyond,
  type Narrowing,
  type NodeFilter,
  type NodePlace,
  namespacesOf,
  type Pricing,
  possibleDomains,
  reachable,
  spreadOptions,
  type TopologyGroup,
  type TopologyRule,
  withLabelKeys,
} from "./topology-group.ts";
import { topologySentence } from "./topology-sentence.ts";
import { universeOf } from "./topology-universe.ts";

/** One change in the journal, of a count, an excluded planned node, a host or a recorded first pod. */
interface Change {
  readonly group: TopologyGroup;
  readonly domain?: string;
  readonly host?: number;
  readonly before?: number | undefined;
  readonly closed?: number | undefined;
  readonly addedHost?: readonly [domain: string, hostname: string];
  readonly removedHost?: readonly [domain: string, hostname: string];
  readonly first?: true;
}

export class Topology {
  readonly #groups: TopologyGroup[] = [];
  readonly #withHosts: TopologyGroup[] = [];
  /** Groups with planned nodes in `uncountedOn`: of thousands of groups, only these are reset for a new plan. */
  readonly #withUncounted: TopologyGroup[] = [];
  readonly #byText = new Map<string, TopologyGroup>();
  readonly #written = new Map<string, TopologyGroup>();
  readonly #selections = new Selections(this.#groups);
  readonly #namespaces: readonly Namespace[];
  readonly #templates: readonly Template[];
  readonly #space: RequirementSpace;
  readonly #hosts = new HostNumbers();
  readonly firstPods = new FirstPods();
  readonly #withGroupDomains: TopologyGroup[] = [];
  /** The journal: the changes to undo, newest last. Undefined: changes are permanent. */
  #journal: Change[] | undefined;
  /** Whether rules are applied as in upstream, see {@link begin}. False after {@link end}. */
  #asUpstream = false;

  constructor(
    space: RequirementSpace,
    templates: readonly Template[],
    namespaces: readonly Namespace[],
  ) {
    this.#space = space;
    this.#templates = templates;
    this.#namespaces = namespaces;
  }

  get groups(): readonly TopologyGroup[] {
    return this.#groups;
  }

  /** The group of a spread. `eligible`: the spread counts over nodes that satisfy one of these requirements. */
  spread(
    constraint: TopologySpreadConstraint,
    owner: { namespace: string; labels: Labels; tolerations: readonly Toleration[] },
    eligible: readonly Requirements[],
  ): TopologyGroup {
    const filter: NodeFilter = {
      requirements: constraint.nodeAffinityPolicy === "Ignore" ? undefined : eligible,
      tolerations: constraint.nodeTaintsPolicy === "Honor" ? owner.tolerations : undefined,
    };
    const labels = constraint.matchLabelKeys === undefined ? undefined : owner.labels;
    const nodes = filter.requirements?.map(({ id }) => id);
    const written = [constraint, owner.namespace, labels, nodes, filter.tolerations];
    return this.#asWritten(written, () => ({
      type: "spread",
      inverse: false,
      key: normalizedLabel(constraint.topologyKey),
      namespaces: new Set([owner.namespace]),
      selector: withLabelKeys(constraint.labelSelector, owner.labels, constraint.matchLabelKeys),
      maxSkew: constraint.maxSkew,
      minDomains:
        constraint.whenUnsatisfiable === "DoNotSchedule" ? (constraint.minDomains ?? 0) : 0,
      filter,
    }));
  }

  /** The group of a term. `inverse`: it counts the pods that have the term, not the pods that the term selects. */
  affinity(
    term: PodAffinityTerm,
    type: "affinity" | "antiAffinity",
    owner: { namespace: string; labels: Labels },
    inverse = false,
  ): TopologyGroup {
    const { namespace, labels } = owner;
    const byKeys = term.matchLabelKeys !== undefined || term.mismatchLabelKeys !== undefined;
    const written = [type, inverse, term, namespace, byKeys ? labels : undefined];
    return this.#asWritten(written, () => {
      const selector = withLabelKeys(term.labelSelector, labels, term.matchLabelKeys);
      return {
        type,
        inverse,
        key: normalizedLabel(term.topologyKey),
        namespaces: namespacesOf(term, namespace, this.#namespaces),
        selector: withLabelKeys(selector, labels, term.mismatchLabelKeys, "NotIn"),
        maxSkew: 0,
        minDomains: 0,
        filter: ANY_NODE,
      };
    });
  }

  /** The groups whose selector matches a pod with these labels. All groups must be known before the first call. */
  selecting(namespace: string, labels: Labels): readonly TopologyGroup[] {
    return this.#selections.of(namespace, labels);
  }

  /** Adds the domains of an existing node to all groups that count over the node, even if it runs no pods. */
  addDomains(place: NodePlace): void {
    for (const group of this.#groups) {
      if (group.key === HOSTNAME_LABEL_KEY || !eligible(group.filter, place)) continue;
      for (const domain of place.domains(group.key)?.values ?? []) this.addDomain(group, domain);
    }
    this.addNode(place);
  }

  addDomain({ counts }: TopologyGroup, domain: string): void {
    if (!counts.has(domain)) counts.set(domain, 0);
  }

  /** Records that a node is, or will be, in its domains. Called again when a planned node is narrowed. */
  addNode(place: NodePlace): void {
    for (const group of this.#withHosts) {
      const domain = domainOf(group, place);
      if (domain === undefined || group.hosts?.get(domain)?.has(place.hostname)) continue;
      this.#addHost(group, domain, place.hostname);
      this.#journal?.push({ group, addedHost: [domain, place.hostname] });
    }
  }

  removeNode(place: NodePlace): void {
    for (const group of this.#withHosts) {
      const domain = domainOf(group, place);
      if (domain === undefined || !group.hosts?.get(domain)?.has(place.hostname)) continue;
      this.#removeHost(group, domain, place.hostname);
      this.#journal?.push({ group, removedHost: [domain, place.hostname] });
    }
  }

  /**
   * Spreads that are violated because a node opened a domain after {@link begin}, or a host affinity got its first pod
   * (late-counts.ts). `placesOf`: where pods of a spread were placed since then.
   */
  *lateCounts(placesOf: PlacesOf): Steps<readonly LateCount[]> {
    const firstPods = yield* this.firstPods.countedLate(placesOf);
    if (this.#withHosts.length === 0) return firstPods;
    const newDomains = new Map(this.#withHosts.map((group) => [group, new Set<string>()]));
    for (const change of this.#journal ?? [])
      if (change.addedHost !== undefined) newDomains.get(change.group)?.add(change.addedHost[0]);
    const late = yield* lateDomainsOf(
      this.#withHosts,
      (group, domain) => newDomains.get(group)?.has(domain) === true,
      placesOf,
    );
    return [...firstPods, ...late];
  }

  /** Until {@link end}: these late domains count as if they had a node, and these first pods get a decided zone. */
  assume(late: readonly LateCount[]): void {
    for (const one of late) {
      if ("affinity" in one) {
        this.firstPods.decideZone(one);
        continue;
      }
      const { group, domain } = one;
      this.#addHost(group, domain, ASSUMED_HOST);
      this.#journal?.push({ group, addedHost: [domain, ASSUMED_HOST] });
    }
  }

  #addHost(group: TopologyGroup, domain: string, hostname: string): void {
    if (group.hosts !== undefined) within(group.hosts, domain, () => new Set()).add(hostname);
    group.revision++;
  }

  #removeHost(group: TopologyGroup, domain: string, hostname: string): void {
    const hosts = group.hosts?.get(domain);
    hosts?.delete(hostname);
    if (hosts?.size === 0) group.hosts?.delete(domain);
    group.revision++;
  }

  /**
   * Counts pods of a group on a node. False: they are not counted yet, because the node's domain is open, or because it
   * is not decided whether the group counts over the node. The caller must call this again later.
   */
  count(group: TopologyGroup, place: NodePlace, pods = 1): boolean {
    if (!eligible(group.filter, place)) return true;
    if (group.key === HOSTNAME_LABEL_KEY) this.#countOnHost(group, place, pods);
    else {
      if (isUndecided(group.filter, place)) return false;
      const domains = possibleDomains(group, place);
      if (domains.length !== 1 && group.type !== "antiAffinity") return domains.length === 0;
      for (let at = 0; at < domains.length; at++) this.#add(group, domains[at] as string, pods);
    }
    return true;
  }

  /** Removes one pod on an existing node from the counts of the group. */
  uncount(group: TopologyGroup, place: NodePlace): void {
    if (!eligible(group.filter, place)) return;
    if (group.key === HOSTNAME_LABEL_KEY) this.#addOnHost(group, this.#hosts.of(place), -1);
    else for (const domain of possibleDomains(group, place)) this.#add(group, domain, -1);
  }

  #add(group: TopologyGroup, domain: string, change: number): void {
    const count = (group.counts.get(domain) ?? 0) + change;
    assert(count >= 0, "a pod is taken from a domain only after it was counted there");
    this.#set(group, domain, count);
  }

  #countOnHost(group: TopologyGroup, place: NodePlace, pods: number): void {
    this.#addOnHost(group, this.#hosts.of(place), pods);
    if (place.id === undefined || !closesHosts(group)) return;
    group.closed.add(place.id);
    this.#journal?.push({ group, closed: place.id });
  }

  #addOnHost(group: TopologyGroup, host: number, change: number): void {
    const before = group.perHost.get(host);
    this.#journal?.push({ group, host, before });
    this.#setOnHost(group, host, before + change);
  }

  #setOnHost(group: TopologyGroup, host: number, count: number): void {
    group.perHost.set(host, count);
    group.revision++;
  }

  /** Records that the last node with this host name was removed, with all counted pods. */
  forgetHost(hostname: string): void {
    this.#hosts.forget(hostname);
  }

  /** Removes the domain from the group. Its last node is gone, and no pool can launch another one. */
  forgetDomain(group: TopologyGroup, domain: string): void {
    this.#set(group, domain, undefined);
  }

  /**
   * Starts the journal, so that {@link rollBack} can undo later changes. `asUpstream`: rules are applied as in
   * upstream. A planned node with anti-affinity keeps every empty domain, and no other pod may use any of them. A pod
   * with a spread, and the first pod of an affinity, tries only its best domain.
   */
  begin(asUpstream = false): void {
    this.#journal = [];
    this.#asUpstream = asUpstream;
    this.firstPods.forget();
    for (const group of this.#withUncounted) group.uncountedOn.length = 0;
    this.#withUncounted.length = 0;
  }

  /** Records a planned node with pods that the group does not count yet, because the domain of the node is open. */
  noteUncounted(group: TopologyGroup, place: NodePlace): void {
    assert(place.id !== undefined, "only planned nodes have an open domain");
    if (group.uncountedOn.push(place) === 1) this.#withUncounted.push(group);
    if (group.type === "affinity") group.revision++;
  }

  /** Records that the first pod with this host affinity is on a planned node, uncounted by the spread. */
  noteFirstPod(first: SpreadOfFirstPod, place: NodePlace): void {
    if (first.group.type !== "spread" || this.#journal === undefined) return;
    this.firstPods.add(first, place);
    this.#journal.push({ group: first.group, first: true });
  }

  /** Until {@link end} is called, the first pod of each group may go only where the whole group fits. */
  limitFirstPods(groupDomains: ReadonlyMap<TopologyGroup, GroupDomains>): void {
    for (const [group, own] of groupDomains) {
      if (group.groupDomains === undefined) this.#withGroupDomains.push(group);
      group.groupDomains = own;
    }
  }

  /** Whether planned nodes have uncounted pods of an affinity in `rules`. A pod with these rules tries them first. */
  haveUncounted(rules: readonly TopologyRule[]): boolean {
    return (
      !this.#asUpstream &&
      rules.some(({ group, self }) => self && hasUncounted(group) && !anyCounted(group))
    );
  }

  /** The number of changes in the journal since {@link begin}. */
  get changes(): number {
    return this.#journal?.length ?? 0;
  }

  /** Undoes the changes since {@link begin}, except the first `changes`. */
  rollBack(changes: number): void {
    const journal = this.#journal ?? [];
    this.#journal = undefined;
    while (journal.length > changes) {
      const { group, domain, host, before, closed, addedHost, removedHost, first } =
        journal.pop() as Change;
      if (addedHost !== undefined) this.#removeHost(group, ...addedHost);
      if (removedHost !== undefined) this.#addHost(group, ...removedHost);
      if (first === true) this.firstPods.removeLast();
      if (closed !== undefined) group.closed.delete(closed);
      if (domain !== undefined) this.#set(group, domain, before);
      if (host !== undefined) this.#setOnHost(group, host, before ?? 0);
    }
    this.#journal = journal;
  }

  /** Undoes all changes since {@link begin}, and stops the journal: later changes are permanent. */
  end(): void {
    this.rollBack(0);
    for (const group of this.#withGroupDomains) group.groupDomains = undefined;
    this.#withGroupDomains.length = 0;
    this.#journal = undefined;
    this.#asUpstream = false;
  }

  #set(group: TopologyGroup, domain: string, count: number | undefined): void {
    this.#journal?.push({ group, domain, before: group.counts.get(domain) });
    if (count === undefined) group.counts.delete(domain);
    else group.counts.set(domain, count);
    group.revision++;
  }

  /**
   * The ways to satisfy a group on a node, the best first. Empty: the group refuses the pod. `self`: the group selects
   * the pod itself. `podDomains`: the pod's own requirement on the label.
   */
  options(
    group: TopologyGroup,
    place: NodePlace,
    self: boolean,
    podDomains: Requirement,
  ): readonly Narrowing[] {
    if (group.key === HOSTNAME_LABEL_KEY) {
      return allowsOnHost(group, this.#hosts.of(place), self, place) ? AS_IT_IS : NO_WAY;
    }
    const node = place.domains(group.key);
    if (node === undefined) return group.type === "antiAffinity" ? [undefined] : [];
    const pricing = this.#asUpstream ? UNPRICED : place;
    if (group.type === "spread") {
      const uncounted = place.uncounted?.(group) ?? 0;
      const options = spreadOptions(group, self, podDomains, node, pricing, uncounted);
      return this.#asUpstream ? options.slice(0, 1) : options;
    }
    const [taken, empty] = reachable(group, podDomains, node);
    if (group.type === "affinity") {
      // Pods on this node that are not counted yet are near the pod, whichever zone the node gets.
      const beside = empty.length > 0 && (place.uncounted?.(group) ?? 0) > 0 ? [empty] : [];
      if (taken.length > 0) return [taken, ...beside];
      if (beside.length > 0 || !self || anyCounted(group)) return beside;
      if (place.joins === true && hasUncounted(group)) return NO_WAY;
      const firsts = cheapestFirst(group.key, firstPodDomains(group, empty), pricing).map((one) => [
        one,
      ]);
      return this.#asUpstream ? firsts.slice(0, 1) : firsts;
    }
    if (taken.length === 0 && (group.inverse || empty.length === 0)) return [undefined];
    if (group.inverse || this.#asUpstream) return empty.length > 0 ? [empty] : [];
    return cheapestFirst(group.key, empty, pricing).map((domain) => [domain]);
  }

  /** Upstream's sentence for a group that cannot be satisfied. */
  explain(group: TopologyGroup, place: NodePlace, podDomains: Requirement): string {
    return topologySentence(group, this.counted(group), podDomains, place.domains(group.key));
  }

  /** The counts of the group by domain. For a rule about hosts, by host name. */
  counted({ counts, perHost }: TopologyGroup): [domain: string, count: number][] {
    const onHosts = [...perHost.entries()].map(([host, count]): [string, number] => [
      this.#hosts.name(host),
      count,
    ]);
    return [...counts, ...onHosts];
  }

  /** The group of a rule. Rules with equal texts share a group. */
  #asWritten(written: unknown, shape: () => GroupShape): TopologyGroup {
    return within(this.#written, JSON.stringify(written), () => this.#group(shape()));
  }

  #group(shape: GroupShape): TopologyGroup {
    const { requirements, tolerations } = shape.filter;
    const text = canonicalJson({
      ...shape,
      namespaces: shape.namespaces === undefined ? "*" : [...shape.namespaces].sort(),
      filter: [requirements?.map((one) => one.id) ?? "*", tolerations ?? "*"],
    });
    return within(this.#byText, text, () => {
      const group: TopologyGroup = {
        ...shape,
        index: this.#groups.length,
        counts: universeOf(shape, this.#templates, this.#space),
        perHost: new HostCounts(),
        closed: new Marks(),
        hosts: looksBeyond(shape) ? new Map() : undefined,
        revision: 0,
        uncountedOn: [],
        groupDomains: undefined,
      };
      this.#groups.push(group);
      if (group.hosts !== undefined) this.#withHosts.push(group);
      return group;
    });
  }
}

const AS_IT_IS: readonly Narrowing[] = [undefined];
const NO_WAY: readonly Narrowing[] = [];
const UNPRICED: Pricing = {};
