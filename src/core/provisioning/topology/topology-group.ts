/**
 * One topology rule (spread, affinity or anti-affinity) with a count of pods for each domain, such as each zone. A pod
 * is *uncounted* while its planned node may still get several domains, because the rule cannot say where to count it.
 * upstream: pkg/controllers/provisioning/scheduling/topologygroup.go
 */
import type { Namespace } from "../../../apis/core/kinds.ts";
import type { Taint } from "../../../apis/core/node.ts";
import type { Pod, PodAffinityTerm, Toleration } from "../../../apis/core/pod.ts";
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { LabelSelector, LabelSelectorRequirement } from "../../../apis/meta.ts";
import { canonicalJson } from "../../../base/json.ts";
import { within } from "../../../base/within.ts";
import type { Marks } from "../../scheduling/bits.ts";
import { allows, type Requirement } from "../../scheduling/requirement.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import { areTolerated } from "../../scheduling/taints.ts";
import type { HostCounts } from "./host-counts.ts";
import type { Numbered } from "./host-numbers.ts";

export type Labels = Readonly<Record<string, string>>;

/** The nodes that a spread counts over. Pods on other nodes do not count. */
export interface NodeFilter {
  /** The node must satisfy one of these (nodeAffinityPolicy Honor). Undefined: every node counts. */
  readonly requirements: readonly Requirements[] | undefined;
  /** The tolerations must cover the node's taints (nodeTaintsPolicy Honor). Undefined: taints have no effect. */
  readonly tolerations: readonly Toleration[] | undefined;
}

export interface TopologyGroup {
  readonly index: number;
  readonly type: "spread" | "affinity" | "antiAffinity";
  /** Whether the group counts the pods that have an anti-affinity term, and refuses the pods that the term selects. */
  readonly inverse: boolean;
  readonly key: string;
  /** The namespaces of the counted pods. Undefined: all namespaces. */
  readonly namespaces: ReadonlySet<string> | undefined;
  readonly selector: LabelSelector | undefined;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly filter: NodeFilter;
  /** Number of pods by domain; 0 for a domain without pods. Empty for a rule over hosts. */
  readonly counts: Map<string, number>;
  /** Number of pods by host number (host-numbers.ts). Used only for rules over hosts. */
  readonly perHost: HostCounts;
  /** Ids of planned nodes that pods of this group may not use, because of an anti-affinity between hosts. */
  readonly closed: Marks;
  /**
   * Hosts by domain, for a spread that counts over nodes that its own pods cannot use. kube-scheduler counts such a
   * domain as soon as it has a node. Undefined: there are no such nodes.
   */
  readonly hosts: Map<string, Set<string>> | undefined;
  /** Increases with each change of the group that may change its answer to a pod. */
  revision: number;
  /** Planned nodes with uncounted pods of the group. Later pods of an affinity may join them there. */
  readonly uncountedOn: NodePlace[];
  /** Where all pods of this affinity fit. Set while a plan is made for pods with this affinity. */
  groupDomains: GroupDomains | undefined;
}

/** The domains or hosts where the first pod of an affinity may go, so that all other pods of the group can follow. */
export interface GroupDomains {
  /** The allowed domains. Undefined: all domains, or the rule is over hosts. */
  readonly domains: ReadonlySet<string> | undefined;
  /** Whether pods equal to `sample` fit in these domains. */
  isFor(sample: Pod): boolean;
  /** Whether no other host has room for more pods of the group. Only for a rule over hosts. */
  holdsMost(host: NodePlace): boolean;
}

export type GroupShape = Omit<
  TopologyGroup,
  "index" | "counts" | "perHost" | "closed" | "hosts" | "revision" | "uncountedOn" | "groupDomains"
>;

export interface Pricing {
  /** The lowest price of a planned node with this value of the label. Absent: prices have no effect. */
  leastPrice?(key: string, value: string): number;
}

/** A node where a pod would be placed: an existing or a planned one. */
export interface NodePlace extends Pricing, Numbered {
  readonly taints: readonly Taint[];
  /** The values that the label can still have. Undefined: the node will never have the label. */
  domains(key: string): Requirement | undefined;
  /** Those of `values` with which one of the node's types can be launched. Only planned nodes have this method. */
  launchable?(key: string, values: readonly string[]): readonly string[];
  /** The values of the label that the node's types have. Only planned nodes have this method. */
  openTo?(key: string): readonly string[];
  /** Number of uncounted pods on the node. Only for planned nodes. */
  uncounted?(group: TopologyGroup): number;
  /** Whether the pod must join uncounted pods of its affinity on this node. Only for planned nodes. */
  readonly joins?: boolean;
  /** Whether the node satisfies the requirements. For a planned node: whether it still can. */
  canMeet(requirements: Requirements): boolean;
  /** Whether later pods must narrow the node's labels so that it satisfies the requirements. Only for planned nodes. */
  meetsIfNarrowed?(requirements: Requirements): boolean;
}

/** The label values to which a planned node is narrowed. Undefined: it is not narrowed. */
export type Narrowing = readonly string[] | undefined;

export const ANY_NODE: NodeFilter = { requirements: undefined, tolerations: undefined };

/** A topology rule of some equal pods. `self`: whether the group counts these pods, too. */
export interface TopologyRule {
  readonly group: TopologyGroup;
  readonly self: boolean;
}

/** The sum of the revisions of all these rules. While it is unchanged, earlier answers of the rules are valid. */
export function revisionOf(rules: readonly TopologyRule[]): number {
  let sum = 0;
  for (let at = 0; at < rules.length; at++) sum += (rules[at] as TopologyRule).group.revision;
  return sum;
}

/** Whether a refusal by the group is final for the pass, because a host only gets fuller. */
export function isPermanent(group: TopologyGroup): boolean {
  return group.key === HOSTNAME_LABEL_KEY && group.type !== "affinity";
}

/** Whether one counted pod excludes all pods of the group from the host. */
export function closesHosts(group: TopologyGroup): boolean {
  return group.key === HOSTNAME_LABEL_KEY && group.type === "antiAffinity";
}

/** Whether the group's selector and namespaces match a pod with these labels. */
export function selects(group: TopologyGroup, namespace: string, labels: Labels): boolean {
  if (group.namespaces !== undefined && !group.namespaces.has(namespace)) return false;
  return matchesLabelSelector(group.selector, labels);
}

/** The domains that both the pod and the node allow, sorted by name: those with counted pods, and those without. */
export function reachable(
  group: TopologyGroup,
  podDomains: Requirement,
  node: Requirement,
): [taken: string[], empty: string[]] {
  const taken: string[] = [];
  const empty: string[] = [];
  group.counts.forEach((count, domain) => {
    if (allows(node, domain) && allows(podDomains, domain))
      (count > 0 ? taken : empty).push(domain);
  });
  return [taken.sort(), empty.sort()];
}

/**
 * The domains that the spread allows for one more pod on the node: those with the fewest pods first, then the cheapest.
 * The smallest count is taken over the domains that the pod may use, and over domains with a node that the spread
 * counts over. `self`: the spread counts the pod itself. `uncounted`: pods on this node that will count in its domain,
 * because kube-scheduler may bind them first.
 */
export function spreadOptions(
  group: TopologyGroup,
  self: boolean,
  podDomains: Requirement,
  node: Requirement,
  pricing: Pricing,
  uncounted: number,
): readonly Narrowing[] {
  const bounds = spreadBounds(group, self, podDomains, uncounted);
  const domains: string[] = [];
  group.counts.forEach((count, domain) => {
    if (!keepsSkew(count, bounds)) return;
    if (allows(node, domain) && allows(podDomains, domain)) domains.push(domain);
  });
  if (domains.length > 1) {
    const count = (domain: string) => group.counts.get(domain) as number;
    const ordered = cheapestFirst(group.key, domains.sort(), pricing);
    return ordered.toSorted((a, b) => count(a) - count(b)).map((domain) => [domain]);
  }
  return domains.map((domain) => [domain]);
}

/**
 * How many pods a domain may have before one more pod is placed there: `most`, or `mostOfLeast` in a domain with the
 * smallest count `least`.
 */
interface SpreadBounds {
  readonly least: number;
  readonly most: number;
  readonly mostOfLeast: number;
}

function spreadBounds(
  { counts, hosts, maxSkew, minDomains }: TopologyGroup,
  self: boolean,
  podDomains: Requirement,
  uncounted: number,
): SpreadBounds {
  let least = Number.POSITIVE_INFINITY;
  let next = Number.POSITIVE_INFINITY;
  let usable = 0;
  counts.forEach((count, domain) => {
    if (!allows(podDomains, domain) && !hosts?.has(domain)) return;
    usable++;
    if (count < least) {
      next = least;
      least = count;
    } else if (count < next) next = count;
  });
  if (usable < minDomains) {
    least = 0;
    next = 0;
  }
  const more = maxSkew - uncounted - (self ? 1 : 0);
  // If the uncounted pods are in a domain with the fewest pods, they also raise the smallest count.
  return { least, most: least + more, mostOfLeast: Math.min(next, least + uncounted) + more };
}

function keepsSkew(count: number, { least, most, mostOfLeast }: SpreadBounds): boolean {
  return count <= (count === least ? mostOfLeast : most);
}

/** Whether the group allows a pod on an existing node in this domain. */
export function isAllowedIn(
  group: TopologyGroup,
  domain: string,
  self: boolean,
  podDomains: Requirement,
): boolean {
  const count = allows(podDomains, domain) ? group.counts.get(domain) : undefined;
  if (group.type === "antiAffinity") return count === undefined || count <= 0;
  if (count === undefined) return false;
  if (group.type === "spread") return keepsSkew(count, spreadBounds(group, self, podDomains, 0));
  return count > 0 || (self && !anyCounted(group) && firstPodDomains(group, [domain]).length > 0);
}

/** Those of `domains` in which the first pod of the group may be placed, so that all its pods fit there. */
export function firstPodDomains(
  { groupDomains }: TopologyGroup,
  domains: readonly string[],
): readonly string[] {
  const best = groupDomains?.domains;
  return best === undefined ? domains : domains.filter((domain) => best.has(domain));
}

/** Sorts equally good domains by the price of the planned node, cheapest first. */
export function cheapestFirst(
  key: string,
  domains: readonly string[],
  pricing: Pricing,
): readonly string[] {
  if (domains.length < 2 || pricing.leastPrice === undefined) return domains;
  const prices = new Map(domains.map((one) => [one, pricing.leastPrice?.(key, one) as number]));
  return domains.toSorted((a, b) => (prices.get(a) as number) - (prices.get(b) as number));
}

/**
 * Whether the group counts a pod anywhere. Then kube-scheduler lets no other pod be the first of this affinity.
 * Upstream checks only the domains that the pod may use, and launches nodes on which such a pod stays pending.
 */
export function anyCounted(group: TopologyGroup): boolean {
  if (group.perHost.size > 0) return true;
  for (const count of group.counts.values()) if (count > 0) return true;
  return false;
}

/** Whether planned nodes have uncounted pods of this affinity. A pod that joins such a node is near them. */
export function hasUncounted({ type, uncountedOn }: TopologyGroup): boolean {
  return type === "affinity" && uncountedOn.length > 0;
}

/** Whether the spread may count over nodes that some of its own pods cannot use. */
export function looksBeyond({ type, key, filter: { requirements } }: GroupShape): boolean {
  return (
    type === "spread" &&
    key !== HOSTNAME_LABEL_KEY &&
    (requirements === undefined || requirements.length > 1)
  );
}

/** Whether the spread counts over this node. For a planned node: whether it still may. */
export function eligible(filter: NodeFilter, place: NodePlace): boolean {
  const { requirements, tolerations } = filter;
  if (tolerations !== undefined && !areTolerated(tolerations, place.taints)) return false;
  return (
    requirements === undefined || requirements.some((one) => one.size === 0 || place.canMeet(one))
  );
}

/** Whether pods that are placed later decide if the spread counts over this planned node. */
export function isUndecided({ requirements }: NodeFilter, place: NodePlace): boolean {
  if (requirements === undefined || place.meetsIfNarrowed === undefined) return false;
  // Most spreads count over every node, so this often-run loop ends early.
  for (let at = 0; at < requirements.length; at++) {
    const one = requirements[at] as Requirements;
    if (one.size === 0) return false;
    if (place.meetsIfNarrowed(one)) continue;
    // The caller has checked that the node can satisfy one of the requirements. If there is only one, it is this one.
    if (requirements.length === 1 || place.canMeet(one)) return false;
  }
  return true;
}

/** The namespaces of a term; undefined: all. `own`: the namespace of the pod that has the term. */
export function namespacesOf(
  { namespaces = [], namespaceSelector }: PodAffinityTerm,
  own: string,
  all: readonly Namespace[],
): ReadonlySet<string> | undefined {
  if (namespaceSelector === undefined) return new Set(namespaces.length > 0 ? namespaces : [own]);
  const everything = Object.keys(namespaceSelector).length === 0;
  if (everything) return undefined;
  const selected = all
    .filter((one) => matchesLabelSelector(namespaceSelector, one.metadata.labels))
    .map((one) => one.metadata.name);
  return new Set([...namespaces, ...selected]);
}

/** The selector, with the pod's own values of these labels added (matchLabelKeys). */
export function withLabelKeys(
  selector: LabelSelector | undefined,
  labels: Labels,
  keys: readonly string[] | undefined,
  operator: "In" | "NotIn" = "In",
): LabelSelector | undefined {
  if (selector === undefined || keys === undefined) return selector;
  const added: LabelSelectorRequirement[] = keys
    .filter((key) => labels[key] !== undefined)
    .map((key) => ({ key, operator, values: [labels[key] as string] }));
  if (added.length === 0) return selector;
  const known = new Set(selector.matchExpressions?.map((one) => canonicalJson(one)));
  const fresh = added.filter((one) => !known.has(canonicalJson(one)));
  return { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...fresh] };
}

/** Whether a rule over hosts allows a pod on the host with this number. `self`: the rule counts the pod itself. */
export function allowsOnHost(
  group: TopologyGroup,
  host: number,
  self: boolean,
  place: NodePlace,
): boolean {
  const here = group.perHost.get(host);
  if (group.type === "spread") return here + (self ? 1 : 0) <= group.maxSkew;
  if (group.type === "antiAffinity") return here === 0;
  if (here > 0) return true;
  return self && !anyCounted(group) && (group.groupDomains?.holdsMost(place) ?? true);
}

/** The domains of the group in which the node can be. Empty: the node does not have the label. */
export function possibleDomains(group: TopologyGroup, place: NodePlace): readonly string[] {
  const node = place.domains(group.key);
  if (node === undefined) return [];
  const { key, counts, filter } = group;
  let values = node.complement ? allowedOf(counts, node) : node.values;
  // The rule has no counts for label values with which it ignores the node, but the node may still get such a value.
  if (node.complement && filter.requirements !== undefined)
    values = united(values, place.openTo?.(key) ?? NO_DOMAINS);
  return values.length > 1 ? (place.launchable?.(key, values) ?? values) : values;
}

/** The values of both lists. Usually `values` has all of `others` already, and is returned itself. */
function united(values: readonly string[], others: readonly string[]): readonly string[] {
  return others.every((one) => values.includes(one))
    ? values
    : [...new Set([...values, ...others])];
}

const NO_DOMAINS: readonly string[] = [];

/** The domain of the node. Undefined: several are possible, or the group does not count over this node. */
export function domainOf(group: TopologyGroup, place: NodePlace): string | undefined {
  if (!eligible(group.filter, place)) return undefined;
  const domains = possibleDomains(group, place);
  return domains.length === 1 ? domains[0] : undefined;
}

/** Domains of the group that the requirement allows. */
function allowedOf(counts: ReadonlyMap<string, number>, node: Requirement): readonly string[] {
  const domains: string[] = [];
  counts.forEach((_, domain) => {
    if (allows(node, domain)) domains.push(domain);
  });
  return domains;
}

const labelTexts = new WeakMap<Labels, string>();

/** The labels as one text, cached for later passes. */
export function textOf(labels: Labels): string {
  return within(labelTexts, labels, () => JSON.stringify(labels));
}
