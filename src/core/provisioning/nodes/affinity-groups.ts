/**
 * Affinity groups: pods that require pods like themselves on the same host or in the same zone. All pods of a group
 * must follow the first one. So the first pod may go only where all of them fit, or else where most of them fit. This
 * file finds these domains.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { addResources, NO_RESOURCES, type Resources } from "../../../apis/resources.ts";
import { within } from "../../../base/within.ts";
import { demandOf } from "../../scheduling/amounts.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import { areTolerated } from "../../scheduling/taints.ts";
import type { PodClass, Variant } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import type { Template } from "../pools/pool-template.ts";
import {
  anyCounted,
  type GroupDomains,
  isAllowedIn,
  type NodePlace,
  type TopologyGroup,
  type TopologyRule,
} from "../topology/topology-group.ts";
import { ExistingNode } from "./existing-node.ts";
import { NewNodeClaim } from "./new-nodeclaim.ts";
import type { PlanningContext } from "./trial.ts";

interface Places {
  readonly context: PlanningContext;
  readonly templates: readonly Template[];
  readonly nodes: readonly ExistingNode[];
}

/** The number of pods of each class (equal pods) in an affinity group. */
type Members = ReadonlyMap<PodClass, number>;

const NO_RULES: readonly TopologyRule[] = [];
const HOSTNAME_ONLY: ReadonlySet<string> = new Set([HOSTNAME_LABEL_KEY]);

/** For each affinity group: the domains where its first pod may go. They are computed when they are first needed. */
export function groupDomainsOf(
  places: Places,
  queued: readonly QueuedPod[],
): ReadonlyMap<TopologyGroup, GroupDomains> {
  const groupDomains = new Map<TopologyGroup, GroupDomains>();
  const owners = ownersOf(queued);
  const countedBy = new Map<TopologyGroup, ReadonlySet<TopologyGroup>>();
  for (const [group, own] of owners) countedBy.set(group, othersOf(group, own, owners));
  for (const [group, own] of owners) {
    const members = new Map(own);
    // The same affinity may be written in two ways, as two groups. Then the pods of both groups need each other.
    for (const other of countedBy.get(group) ?? [])
      if (countedBy.get(other)?.has(group))
        for (const [podClass, pods] of owners.get(other) ?? []) members.set(podClass, pods);
    groupDomains.set(group, new AffinityGroupDomains(places, group, members));
  }
  return groupDomains;
}

/** For each affinity group: the classes that have this affinity and are counted by it, with their numbers of pods. */
function ownersOf(queued: readonly QueuedPod[]): ReadonlyMap<TopologyGroup, Map<PodClass, number>> {
  const counts = new Map<PodClass, number>();
  for (const { podClass } of queued)
    if (podClass.draft.wishes.affinity.length > 0)
      counts.set(podClass, (counts.get(podClass) ?? 0) + 1);
  const owners = new Map<TopologyGroup, Map<PodClass, number>>();
  for (const [podClass, pods] of counts)
    for (const { group } of neededRules(podClass))
      within(owners, group, () => new Map<PodClass, number>()).set(podClass, pods);
  return owners;
}

/** The class's required affinities that select its own pods. */
function neededRules({ draft, variants: [asWritten] }: PodClass): readonly TopologyRule[] {
  const { affinity } = draft.wishes;
  if (affinity.length === 0 || asWritten === undefined) return NO_RULES;
  const required = new Set(affinity.map((term) => draft.groups.get(term)));
  return asWritten.rules.filter(
    ({ group, self }) => self && group.type === "affinity" && required.has(group),
  );
}

/** Other affinity groups with the same topology key that count some of these pods. */
function othersOf(
  { index, key }: TopologyGroup,
  own: Members,
  owners: ReadonlyMap<TopologyGroup, Members>,
): ReadonlySet<TopologyGroup> {
  const others = new Set<TopologyGroup>();
  for (const { countedBy } of own.keys())
    for (const one of countedBy)
      if (one.index !== index && one.key === key && owners.has(one)) others.add(one);
  return others;
}

/** Whether the pod would be the first of its affinity group, but does not fit where the whole group fits. */
export function waitsForGroup({ draft, sample, variants: [asWritten] }: PodClass): boolean {
  // Exits early: this runs for every pod that is placed, and most pods have no affinity.
  if (draft.wishes.affinity.length === 0) return false;
  return (asWritten?.rules ?? NO_RULES).some(
    ({ group, self }) =>
      self &&
      group.groupDomains !== undefined &&
      !anyCounted(group) &&
      !group.groupDomains.isFor(sample),
  );
}

/**
 * Lets the first pod of its affinity groups choose any domain in which it fits, if the pod has no place otherwise.
 * Returns whether a group was changed.
 */
export function freeFirstPod({ sample, variants: [asWritten] }: PodClass): boolean {
  let isGivenUp = false;
  for (const { group, self } of asWritten?.rules ?? NO_RULES) {
    const { groupDomains } = group;
    if (!self || groupDomains === undefined || anyCounted(group) || !groupDomains.isFor(sample))
      continue;
    group.groupDomains = undefined;
    group.revision++;
    isGivenUp = true;
  }
  return isGivenUp;
}

/** Pods that fit together on one host. */
interface HostFit {
  readonly pods: number;
  readonly classes: ReadonlySet<PodClass>;
}

class AffinityGroupDomains implements GroupDomains {
  readonly #places: Places;
  readonly #group: TopologyGroup;
  readonly #members: Members;
  #domains: { readonly best: ReadonlySet<string> | undefined } | undefined;
  #hostFit: HostFit | undefined;
  /** For each class: the requirements of its nodes, one set for each required term. */
  readonly #wanted = new Map<PodClass, readonly SetId[]>();

  constructor(places: Places, group: TopologyGroup, members: Members) {
    this.#places = places;
    this.#group = group;
    this.#members = members;
  }

  get domains(): ReadonlySet<string> | undefined {
    this.#domains ??= { best: this.#bestDomains() };
    return this.#domains.best;
  }

  isFor(sample: Pod): boolean {
    const own = [...this.#members.keys()].find((one) => one.sample === sample);
    if (own === undefined) return true;
    if (this.#group.key === HOSTNAME_LABEL_KEY) return this.#onOneHost().classes.has(own);
    const { domains } = this;
    return domains === undefined || [...domains].some((domain) => this.#podsIn(own, 1, domain) > 0);
  }

  holdsMost(place: NodePlace): boolean {
    const { pods } = this.#onOneHost();
    return pods < 2 || this.#onHost(place, pods, this.#onOneHost().classes).pods >= pods;
  }

  /**
   * The most pods of the group that fit on one host, existing or new. Pods of a large class may take all the room of a
   * new node, so each class is tried as the first one there.
   */
  #onOneHost(): HostFit {
    if (this.#hostFit !== undefined) return this.#hostFit;
    const { templates, nodes, context } = this.#places;
    const classes = [...this.#members.keys()];
    const all = this.#podsInAll();
    let best: HostFit = { pods: 0, classes: new Set() };
    const consider = (host: NodePlace, order: readonly PodClass[]) => {
      if (best.pods >= all) return;
      const fit = this.#onHost(host, all, order);
      if (fit.pods > best.pods) best = fit;
    };
    for (const template of templates) {
      const host = new NewNodeClaim(0, template, template.usable, context);
      consider(host, classes);
      for (const first of classes) consider(host, [first, ...classes]);
    }
    for (const node of nodes) consider(node, classes);
    this.#hostFit = best;
    return best;
  }

  /** The pods that fit together on the host, if classes are placed in this order. Stops after `most` pods. */
  #onHost(host: NodePlace, most: number, order: Iterable<PodClass>): HostFit {
    if (!(host instanceof NewNodeClaim || host instanceof ExistingNode))
      return { pods: most, classes: new Set(order) };
    const { space } = this.#places.context;
    const classes = new Set<PodClass>();
    const wanted: (readonly SetId[])[] = [];
    let [count, taken] = [0, NO_RESOURCES];
    const fits = (requests: Resources) =>
      host instanceof ExistingNode
        ? host.hasRoomFor(demandOf(requests))
        : host.hasRoomFor(requests, wanted);
    for (const podClass of new Set(order)) {
      if (!isTolerated(podClass, host)) continue;
      if (host instanceof NewNodeClaim) wanted.push(this.#wantedWithVolumes(podClass));
      else if (!meetsLabelsAndTaints(podClass, this.#wantedBy(podClass), host, space)) continue;
      const upTo = Math.min(this.#members.get(podClass) ?? 0, mostOnAnyHost(podClass));
      for (let at = 0; at < upTo && count < most; at++) {
        const more = addResources(taken, podClass.requests);
        if (!fits(more)) break;
        classes.add(podClass);
        count++;
        taken = more;
      }
      // No pod of the class fits on the host, so the host need not satisfy the requirements of the class.
      if (!classes.has(podClass)) wanted.pop();
    }
    return { pods: count, classes };
  }

  #podsInAll(): number {
    return [...this.#members.values()].reduce((sum, pods) => sum + pods, 0);
  }

  /** The domains where the most pods of the group fit. Undefined: all domains are equally good. */
  #bestDomains(): ReadonlySet<string> | undefined {
    const { key, counts } = this.#group;
    if (key === HOSTNAME_LABEL_KEY || counts.size < 2 || this.#podsInAll() < 2) return undefined;
    const domains = [...counts.keys()];
    const members = [...this.#members];
    const launched = ([podClass]: readonly [PodClass, number]) =>
      domains.every((domain) => this.#canLaunch(podClass, domain));
    if (members.every(launched)) return undefined;
    const pods = domains.map((domain) =>
      members.reduce((sum, [podClass, count]) => sum + this.#podsIn(podClass, count, domain), 0),
    );
    const most = Math.max(...pods);
    const best = domains.filter((_, at) => pods[at] === most);
    return most === 0 || best.length === domains.length ? undefined : new Set(best);
  }

  /** How many of `count` pods of the class fit in the domain if no other class uses its room. */
  #podsIn(podClass: PodClass, count: number, domain: string): number {
    if (this.#canLaunch(podClass, domain)) return count;
    if (!this.#areRulesKept(podClass, domain)) return 0;
    const { space } = this.#places.context;
    let pods = 0;
    for (const node of this.#places.nodes) {
      if (pods >= count) break;
      if (node.gone || node.domain(this.#group.key) !== domain) continue;
      if (meetsLabelsAndTaints(podClass, this.#wantedBy(podClass), node, space))
        pods += node.timesRoomFor(podClass.demand, count - pods);
    }
    return pods;
  }

  /**
   * Whether a new node in the domain could take a pod of the class. Limits are ignored: they change during planning.
   */
  #canLaunch(podClass: PodClass, domain: string): boolean {
    const { templates, context } = this.#places;
    if (!this.#areRulesKept(podClass, domain)) return false;
    return templates.some((template) => {
      if (!isTolerated(podClass, template)) return false;
      return this.#wantedWithVolumes(podClass).some((wanted) => {
        const set = context.space.join(template.set, wanted);
        const there =
          set === undefined ? undefined : context.space.narrow(set, this.#group.key, [domain]);
        return (
          there !== undefined &&
          template.table.hasFitting(template.usable, there, podClass.requests)
        );
      });
    });
  }

  /**
   * Whether the class's other rules with the same topology key allow the domain now. A rule that allows no domain at
   * all is ignored, because pods that are placed later may satisfy it.
   */
  #areRulesKept({ variants: [asWritten] }: PodClass, domain: string): boolean {
    const { key, counts } = this.#group;
    const { rules, strict } = asWritten as Variant;
    return rules.every(({ group, self }) => {
      if (group.key !== key || group.groupDomains !== undefined || group.type === "affinity")
        return true;
      const isAllowed = (one: string) => isAllowedIn(group, one, self, strict.get(key));
      return isAllowed(domain) || ![...counts.keys()].some(isAllowed);
    });
  }

  #wantedBy(podClass: PodClass): readonly SetId[] {
    const { space } = this.#places.context;
    return within(this.#wanted, podClass, () =>
      podClass.draft.wishes.required.map((one) => space.intern(one)),
    );
  }

  /**
   * The requirements of new nodes for the class: one set for each required node affinity term and each place of
   * volumes. A new node cannot have a host name that a term requires.
   */
  #wantedWithVolumes(podClass: PodClass): readonly SetId[] {
    const { space } = this.#places.context;
    return podClass.draft.wishes.required.flatMap((one) => {
      if (one.has(HOSTNAME_LABEL_KEY) && !one.get(HOSTNAME_LABEL_KEY).complement) return [];
      const own = space.intern(one.without(HOSTNAME_ONLY));
      const { volumeSets } = podClass;
      if (volumeSets.length === 0) return [own];
      return volumeSets.map((set) => space.intern(space.get(own).and(space.get(set))));
    });
  }
}

/**
 * The most pods of the class on one host, by host ports and topology rules. A zone spread also limits a host, because a
 * host is in one zone. Preferences do not count.
 */
function mostOnAnyHost({ ports, draft, variants: [asWritten] }: PodClass): number {
  let most = ports.length > 0 ? 1 : Number.POSITIVE_INFINITY;
  const { antiAffinity, spreads } = draft.wishes;
  const hard = [
    ...antiAffinity,
    ...spreads.filter(({ whenUnsatisfiable }) => whenUnsatisfiable !== "ScheduleAnyway"),
  ];
  const required = new Set(hard.map((term) => draft.groups.get(term)));
  for (const { group, self } of asWritten?.rules ?? NO_RULES) {
    const { type, key, maxSkew, counts } = group;
    if (!self || type === "affinity" || !required.has(group)) continue;
    if (type === "antiAffinity") most = 1;
    else if (key === HOSTNAME_LABEL_KEY) most = Math.min(most, maxSkew);
    else if (counts.size > 1) most = Math.min(most, maxSkew + Math.min(...counts.values()));
  }
  return most;
}

function isTolerated({ draft }: PodClass, { taints }: Pick<Template, "taints">): boolean {
  return areTolerated(draft.wishes.tolerations, taints);
}

/** Whether the node's labels and taints allow a pod of the class, and its volumes can be reached there. */
function meetsLabelsAndTaints(
  podClass: PodClass,
  wanted: readonly SetId[],
  node: ExistingNode,
  space: RequirementSpace,
): boolean {
  return (
    isTolerated(podClass, node) &&
    wanted.some((set) => node.canMeet(space.get(set))) &&
    node.reachesVolumes(podClass, space)
  );
}
