/**
 * One topology constraint of one shape with a count per domain, and what it allows: which domains keep
 * a spread, which nodes count for it, when a pod may be the first of its kind. upstream:
 * pkg/controllers/provisioning/scheduling/topologygroup.go
 */
import type { Namespace } from "../../../apis/core/kinds.ts";
import type { Taint } from "../../../apis/core/node.ts";
import type { Pod, PodAffinityTerm, Toleration } from "../../../apis/core/pod.ts";
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import { firstUntolerated } from "../../../apis/core/tolerations.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { LabelSelector, LabelSelectorRequirement } from "../../../apis/meta.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { Marks } from "../../scheduling/bits.ts";
import { allows, type Requirement } from "../../scheduling/requirement.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import type { HostCounts } from "./host-counts.ts";
import type { Numbered } from "./host-numbers.ts";

export type Labels = Readonly<Record<string, string>>;

/** Which nodes a spread looks at. */
export interface NodeFilter {
  /** Any of these (nodeAffinityPolicy Honor); undefined = every node. */
  readonly requirements: readonly Requirements[] | undefined;
  /** What the pod tolerates (nodeTaintsPolicy Honor); undefined = taints do not matter. */
  readonly tolerations: readonly Toleration[] | undefined;
}

export interface TopologyGroup {
  readonly index: number;
  readonly type: "spread" | "affinity" | "antiAffinity";
  /** Counts the pods that hold an anti-affinity term, not those it selects. */
  readonly inverse: boolean;
  readonly key: string;
  /** Undefined = every namespace. */
  readonly namespaces: ReadonlySet<string> | undefined;
  readonly selector: LabelSelector | undefined;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly filter: NodeFilter;
  /** Pods by domain; a domain without pods is there with 0. Empty in a rule about hosts. */
  readonly counts: Map<string, number>;
  /** Of a rule about hosts: pods by number of the host. */
  readonly perHost: HostCounts;
  /** Planned nodes that an anti-affinity between hosts closes to whoever it concerns: their ids. */
  readonly closed: Marks;
  /**
   * Domain → hosts that stand there, for a spread that looks at nodes its pods may not use: the
   * scheduler counts such a domain once it has a node. Undefined: there are none.
   */
  readonly hosts: Map<string, Set<string>> | undefined;
  /** Grows with each change of the counts. */
  revision: number;
  /**
   * Planned nodes on which pods waited to be counted when they came, of a spread or an affinity: whoever comes to
   * such a node is near them.
   */
  readonly waitedOn: Place[];
  /** Of pods that need each other, while a pass plans for several: where all of them can be. */
  meeting: MeetingPlace | undefined;
}

/** Where the first of an affinity's own pods may go, so that all others can follow. */
export interface MeetingPlace {
  /** Undefined: of domains each is as good, or the rule is about hosts. */
  readonly domains: ReadonlySet<string> | undefined;
  /** Whether pods like this one can be there. */
  isFor(sample: Pod): boolean;
  /** Of a rule about hosts: whether no other host has room for more of the pods. */
  holdsMost(host: Place): boolean;
}

export type Shape = Omit<
  TopologyGroup,
  "index" | "counts" | "perHost" | "closed" | "hosts" | "revision" | "waitedOn" | "meeting"
>;

export interface Pricing {
  /** What a planned node costs at the least where the label has this value; absent: it does not matter. */
  leastPrice?(key: string, value: string): number;
}

/** Where a pod would go: an existing node or a planned one. */
export interface Place extends Pricing, Numbered {
  readonly taints: readonly Taint[];
  /** What the label can still be there; undefined = the node does not have it and never will. */
  domains(key: string): Requirement | undefined;
  /** Of a planned node: those of the values that one of its types can be launched with. */
  launchable?(key: string, values: readonly string[]): readonly string[];
  /** Of a planned node: the values that its types have. */
  openTo?(key: string): readonly string[];
  /** Of a planned node: its pods that the group will count once it is settled in which domain they are. */
  waiting?(group: TopologyGroup): number;
  /** Of a planned node: the pod is to join those who wait there to be counted, and to be the first nowhere. */
  readonly joins?: boolean;
  /** Whether the node is, or can become, one that meets the requirements. */
  canMeet(requirements: Requirements): boolean;
  /** Of a planned node that can: whether it does only if pods to come narrow one of its own labels. */
  meetsIfNarrowed?(requirements: Requirements): boolean;
}

/** Values to narrow a planned node to; undefined = as it is. */
export type Narrowing = readonly string[] | undefined;

export const ANY_NODE: NodeFilter = { requirements: undefined, tolerations: undefined };

/** One rule of a pod, or of its class; `self`: it is among those that the group counts. */
export interface Rule {
  readonly group: TopologyGroup;
  readonly self: boolean;
}

/** Grows with what is counted for the rules: equal questions about them have equal answers until it does. */
export function revisionOf(rules: readonly Rule[]): number {
  let sum = 0;
  for (let at = 0; at < rules.length; at++) sum += (rules[at] as Rule).group.revision;
  return sum;
}

/** Rejections by such a group stay true for the rest of the pass: a host only gets fuller. */
export function isPermanent(group: TopologyGroup): boolean {
  return group.key === HOSTNAME_LABEL_KEY && group.type !== "affinity";
}

/** One pod that counts shuts the host to all whom the group concerns. */
export function closesHosts(group: TopologyGroup): boolean {
  return group.key === HOSTNAME_LABEL_KEY && group.type === "antiAffinity";
}

/** Whether the group's selector picks a pod with these labels. */
export function selects(group: TopologyGroup, namespace: string, labels: Labels): boolean {
  if (group.namespaces !== undefined && !group.namespaces.has(namespace)) return false;
  return matchesLabelSelector(group.selector, labels);
}

/** Domains both sides allow, by name: those with pods and those without. */
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
 * Domains that keep the skew, the emptiest first, of those the cheapest. A new node may always be made, so the smallest
 * count is over all domains the pod may use, not only those this node can be in; and over those with a
 * node that the rule looks at, though the pod may not use it. `waiting`: pods on the node that will count in
 * the domain it gets. They are there before this one: the scheduler may have bound them by then.
 */
export function spreadOptions(
  group: TopologyGroup,
  self: boolean,
  podDomains: Requirement,
  node: Requirement,
  pricing: Pricing,
  waiting: number,
): readonly Narrowing[] {
  const bounds = spreadBounds(group, self, podDomains, waiting);
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

/** Up to how many pods a domain may have and still take one; fewer bind where the fewest are. */
interface SpreadBounds {
  readonly least: number;
  readonly most: number;
  readonly mostOfLeast: number;
}

function spreadBounds(
  { counts, hosts, maxSkew, minDomains }: TopologyGroup,
  self: boolean,
  podDomains: Requirement,
  waiting: number,
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
  const more = maxSkew - waiting - (self ? 1 : 0);
  // Where the fewest are, those that wait lift the smallest count, too.
  return { least, most: least + more, mostOfLeast: Math.min(next, least + waiting) + more };
}

function keepsSkew(count: number, { least, most, mostOfLeast }: SpreadBounds): boolean {
  return count <= (count === least ? mostOfLeast : most);
}

/** Whether the group lets a pod onto a node that is there, in this domain. As above, of one domain only. */
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
  return count > 0 || (self && !anyCounted(group) && meetIn(group, [domain]).length > 0);
}

/** Those of the domains that the first of the group's own pods may settle in. */
export function meetIn({ meeting }: TopologyGroup, domains: readonly string[]): readonly string[] {
  const best = meeting?.domains;
  return best === undefined ? domains : domains.filter((domain) => best.has(domain));
}

/** Domains that are as good as each other, those in which the planned node costs least first. */
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
 * As the scheduler looks at it: one pod of the kind anywhere, and no other is the first. Upstream asks
 * only where the pod may go, and launches nodes on which such a pod stays pending.
 */
export function anyCounted(group: TopologyGroup): boolean {
  if (group.perHost.size > 0) return true;
  for (const count of group.counts.values()) if (count > 0) return true;
  return false;
}

/** Of an affinity: pods wait on planned nodes to be counted, and who comes there is near them. */
export function isNearSome({ type, waitedOn }: TopologyGroup): boolean {
  return type === "affinity" && waitedOn.length > 0;
}

/** Whether the spread counts over nodes that not every one of its pods may use. */
export function looksBeyond({ type, key, filter: { requirements } }: Shape): boolean {
  return (
    type === "spread" &&
    key !== HOSTNAME_LABEL_KEY &&
    (requirements === undefined || requirements.length > 1)
  );
}

/** nodeTaintsPolicy looks at taints that forbid, not at those that only discourage. */
export function keepsAway(taints: readonly Taint[], tolerations: readonly Toleration[]): boolean {
  const forbidding = taints.filter(({ effect }) => effect !== "PreferNoSchedule");
  return firstUntolerated(tolerations, forbidding) !== undefined;
}

export function eligible(filter: NodeFilter, place: Place): boolean {
  const { requirements, tolerations } = filter;
  if (tolerations !== undefined && keepsAway(place.taints, tolerations)) return false;
  return (
    requirements === undefined || requirements.some((one) => one.size === 0 || place.canMeet(one))
  );
}

/** Of a planned node that is eligible: whether only pods to come decide if the rule looks at it. */
export function isUndecided({ requirements }: NodeFilter, place: Place): boolean {
  if (requirements === undefined || place.meetsIfNarrowed === undefined) return false;
  // Asked of each planned node for each rule that counts a pod there: mostly every node will do.
  for (let at = 0; at < requirements.length; at++) {
    const one = requirements[at] as Requirements;
    if (one.size === 0) return false;
    if (place.meetsIfNarrowed(one)) continue;
    // One of them can be met, as is known when this is asked.
    if (requirements.length === 1 || place.canMeet(one)) return false;
  }
  return true;
}

/** Which namespaces a term looks into, of a pod in its `own`; undefined: all. */
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

/** matchLabelKeys: the pod's own values of these labels become part of the selector. */
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

/** Whether a rule about hosts lets a pod onto this one, which has that number. */
export function allowsOnHost(
  group: TopologyGroup,
  host: number,
  self: boolean,
  place: Place,
): boolean {
  const here = group.perHost.get(host);
  if (group.type === "spread") return here + (self ? 1 : 0) <= group.maxSkew;
  if (group.type === "antiAffinity") return here === 0;
  if (here > 0) return true;
  return self && !anyCounted(group) && (group.meeting?.holdsMost(place) ?? true);
}

/** Domains of the group that the place can be in, where the group looks at it. */
export function possibleDomains(group: TopologyGroup, place: Place): readonly string[] {
  const node = place.domains(group.key);
  if (node === undefined) return [];
  const { key, counts, filter } = group;
  let values = node.complement ? allowedOf(counts, node) : node.values;
  // It may as well come up where the rule does not look.
  if (node.complement && filter.requirements !== undefined)
    values = united(values, place.openTo?.(key) ?? NO_DOMAINS);
  return values.length > 1 ? (place.launchable?.(key, values) ?? values) : values;
}

/** Mostly the others are among them. */
function united(values: readonly string[], others: readonly string[]): readonly string[] {
  return others.every((one) => values.includes(one))
    ? values
    : [...new Set([...values, ...others])];
}

const NO_DOMAINS: readonly string[] = [];

/** The one domain that the place is in; undefined: it may be in several, or the group does not look at it. */
export function standsIn(group: TopologyGroup, place: Place): string | undefined {
  if (!eligible(group.filter, place)) return undefined;
  const domains = possibleDomains(group, place);
  return domains.length === 1 ? domains[0] : undefined;
}

/** Domains that the group knows and the requirement allows. */
function allowedOf(counts: ReadonlyMap<string, number>, node: Requirement): readonly string[] {
  const domains: string[] = [];
  counts.forEach((_, domain) => {
    if (allows(node, domain)) domains.push(domain);
  });
  return domains;
}

/** Labels never change: what was written out for one pass serves in the next. */
const labelTexts = new WeakMap<Labels, string>();

/** The labels as one text. */
export function textOf(labels: Labels): string {
  let text = labelTexts.get(labels);
  if (text === undefined) {
    text = JSON.stringify(labels);
    labelTexts.set(labels, text);
  }
  return text;
}
