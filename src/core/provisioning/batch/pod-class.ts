/**
 * A class is a set of pods that are equal for planning: same requests, rules, host ports and volume zones, counted by
 * the same topology groups. A class has one variant for each step of dropping preferences. A variant remembers the
 * nodes that can never take its pods.
 */
import { type HostPort, hostPorts } from "../../../apis/core/host-ports.ts";
import { maxRunMs } from "../../../apis/core/max-run.ts";
import type { Pod, Toleration } from "../../../apis/core/pod.ts";
import { isResized, podRequests } from "../../../apis/core/pod-resources.ts";
import { type PodTemplate, templateOf } from "../../../apis/core/pod-template.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { Resources } from "../../../apis/resources.ts";
import { BoundedMap, within } from "../../../base/within.ts";
import { type Demand, demandOf } from "../../scheduling/amounts.ts";
import { Marks } from "../../scheduling/bits.ts";
import type { Requirement } from "../../scheduling/requirement.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { VolumeIndex } from "../../scheduling/volumes.ts";
import type { DeviceAccess } from "../nodes/device-access.ts";
import type { SchedulingOptions } from "../scheduling-input.ts";
import type { Topology } from "../topology/topology.ts";
import { closesHosts, type TopologyGroup, type TopologyRule } from "../topology/topology-group.ts";
import { refusal } from "./eligibility.ts";
import { NO_GROUPS, type Owner, ownedGroups } from "./owned-groups.ts";
import { besideTemplate, goesByLabels, hasClaims, specText } from "./pod-text.ts";
import { nodeRequirements, relax, type Wishes, wishesOf } from "./preferences.ts";

/** A class after some preferences were dropped. The rest of the pass skips nodes in `deadNodes` and `deadClaims`. */
export interface Variant {
  readonly requirements: Requirements;
  /** The requirements without any preferred term. They decide which topology domains count. */
  readonly strict: Requirements;
  /** The id of the requirements without the host name, because a planned node has no host name yet. */
  readonly set: SetId;
  readonly hostname: Requirement | undefined;
  readonly tolerations: readonly Toleration[];
  readonly rules: readonly TopologyRule[];
  /** The topology rules over hosts, which never narrow a node's requirements. `narrowingRules`: all others. */
  readonly hostRules: readonly TopologyRule[];
  readonly narrowingRules: readonly TopologyRule[];
  readonly wishes: Wishes;
  /** Existing nodes that refuse the variant in every what-if question. Absent: only one plan is made. */
  readonly ruledOut?: Marks;
  /** Existing nodes whose labels and taints are known to fit, and where the volumes can be reached. */
  readonly metNodes: Marks;
  readonly deadNodes: Marks;
  readonly deadClaims: Marks;
  /** Planned nodes to skip: `deadClaims`, and for each host anti-affinity the nodes with one of its pods. */
  readonly closed: readonly Marks[];
  readonly deadTemplates: Marks;
  /**
   * Sets of node requirements that topology rules refused, each with the sum of the rules' revisions. A revision
   * changes with the counts of its rule. While the sum is the same, the refusal is valid. Undefined: none was refused
   * yet.
   */
  refusedSets: Map<SetId, number> | undefined;
}

export interface PodClass extends Pick<Draft, "requests" | "demand" | "ports" | "volumeSets"> {
  readonly sample: Pod;
  readonly draft: Draft;
  readonly hasVolumes: boolean;
  /** How long a new node for these pods may live. A planned node takes only pods of one value. Absent: no limit. */
  readonly maxRunMs: number | undefined;
  /** Whether these pods have resource claims, for which devices are planned. */
  readonly claimsDevices: boolean;
  /** Whether other pods may use the same resource claims, or the claims already have devices. */
  readonly sharesClaims: boolean;
  /** The topology groups that count a placed pod of this class. */
  readonly countedBy: readonly TopologyGroup[];
  /** The class as written, then with one preference less in each entry. Extended on demand. */
  readonly variants: Variant[];
  /**
   * The value of `progressOf` (place.ts) when the class last failed; while it is the same, no new try. -1: none failed.
   */
  failedAt: number;
  /** Why these pods wait for a reservation until a later pass. Absent: they do not wait. */
  deferred?: string;
}

type Settings = Pick<SchedulingOptions, "preferencePolicy" | "wellKnownLabels">;

/** The facts that are needed to sort pods into classes. */
interface Known {
  readonly space: RequirementSpace;
  readonly topology: Topology;
  readonly volumes: VolumeIndex;
  readonly settings: Settings;
  /** Whether some pool or node has a PreferNoSchedule taint, which a pod tolerates if it has no other place. */
  readonly canTolerate: boolean;
  /** Adds rules that the pod does not have itself, such as a default spread. */
  readonly complete: (pod: Pod) => Pod;
  /** The devices of nodes and pools. Undefined: resource claims are ignored. */
  readonly devices: DeviceAccess | undefined;
}

/** Sorts pods into classes. `announce` must have been called for all pods before the first call of `classOf`. */
export class PodClasses {
  readonly #known: Known;
  readonly #drafts: Draft[] = [];
  /** Drafts (pods with equal specs) by what a pod requires beyond its template, then by the text of its spec. */
  readonly #byWishes = new Map<string, Map<string, Draft>>();
  /** Amounts by the text of the requests. Many pods have equal requests. */
  readonly #amounts = new BoundedMap<string, Amounts>(MOST_AMOUNTS);
  /** Drafts by namespace and requirements of volumes, then by template. */
  readonly #ofTemplates = new Map<string, WeakMap<PodTemplate, Draft>>();
  /** Classes by the groups that count their pods, then by draft. */
  readonly #classes = new Map<readonly TopologyGroup[], Map<Draft, PodClass>>();
  /** By namespace: the topology groups of rules that have the same meaning for every pod of the namespace. */
  readonly #ofNamespace = new Map<string, Map<object, TopologyGroup>>();
  readonly #counting = new Map<readonly TopologyGroup[], Counting>();

  constructor(known: Known) {
    this.#known = known;
  }

  get size(): number {
    return this.#drafts.length;
  }

  /** The classes of all drafts that have a running pod in the cluster that what-if questions use. */
  running(): readonly PodClass[] {
    return this.#drafts
      .filter(({ running }) => running > 0)
      .map((draft) => this.classOf(draft.pod, draft));
  }

  /** Reads a pod of the batch for the first time, and registers its topology groups. */
  announce(written: Pod): Draft {
    const pod = this.#known.complete(written);
    const volumeSets = this.#volumeSets(pod);
    const template = isResized(pod) ? undefined : templateOf(pod.spec);
    // The pod may have requirements that its template lacks: devices, or a maximum run duration.
    const hasOwn = this.#known.devices?.needsOf(pod) !== undefined || maxRunMs(pod) !== undefined;
    const isOwn = template === undefined || hasOwn;
    if (isOwn || goesByLabels(template)) return this.#draft(pod, volumeSets);
    const { namespace = "default" } = pod.metadata;
    const key = hasClaims(pod.spec) ? `${namespace} ${volumeSets.join()}` : namespace;
    const drafts = within(this.#ofTemplates, key, () => new WeakMap<PodTemplate, Draft>());
    return drafts.get(template) ?? within(drafts, template, () => this.#draft(pod, volumeSets));
  }

  #draft(pod: Pod, volumeSets: readonly SetId[]): Draft {
    const rest = besideTemplate(pod, volumeSets) + this.#deviceText(pod);
    const known = within(this.#byWishes, rest, () => new Map<string, Draft>());
    const text = specText(pod.spec);
    let draft = known.get(text);
    if (draft === undefined) {
      const { requests, demand } = this.#amountsOf(pod);
      const { preferencePolicy, wellKnownLabels } = this.#known.settings;
      const wishes = wishesOf(pod.spec, preferencePolicy, wellKnownLabels);
      const owner = ownerOf(pod);
      draft = {
        pod,
        requests,
        demand,
        ports: hostPorts(pod),
        volumeSets,
        wishes,
        owner,
        groups: this.#groupsOf(wishes, owner, goesByLabels(pod.spec)),
        owned: NO_GROUPS,
        running: 0,
        variants: new Map(),
      };
      known.set(text, draft);
      this.#drafts.push(draft);
      draft.owned = ownedGroups(draft, wishes, this.#known.topology);
      for (const term of wishes.antiAffinity) {
        this.#known.topology.affinity(term, "antiAffinity", owner, true);
      }
    }
    return draft;
  }

  /** A text about the pod's devices. Pods with equal texts can have the same devices. */
  #deviceText(pod: Pod): string {
    const needs = this.#known.devices?.needsOf(pod);
    return needs === undefined ? "" : ` devices ${pod.metadata.namespace} ${needs.text}`;
  }

  /**
   * The topology groups of these pods' rules, by rule. Pods of one namespace share the map if their rules mean the
   * same: they require no node labels, have no tolerations, and no rule refers to labels of its own pod.
   */
  #groupsOf(
    { required, tolerations }: Wishes,
    { namespace }: Owner,
    isByLabels: boolean,
  ): Map<object, TopologyGroup> {
    const isOpen = required.length === 1 && required[0] === Requirements.NONE;
    if (!isOpen || tolerations.length > 0 || isByLabels) return new Map();
    return within(this.#ofNamespace, namespace, () => new Map<object, TopologyGroup>());
  }

  #amountsOf(pod: Pod): Amounts {
    const all = podRequests(pod);
    const requests = this.#known.devices?.plainRequests(all) ?? all;
    const text = JSON.stringify(requests);
    return within(this.#amounts, text, () => ({ requests, demand: demandOf(requests) }));
  }

  /** Returns the pod's class. {@link announce} must have been called for all pods before. */
  classOf(pod: Pod, draft: Draft): PodClass {
    const { namespace = "default", labels = NO_LABELS } = pod.metadata;
    const selecting = this.#known.topology.selecting(namespace, labels);
    const classes = within(this.#classes, selecting, () => new Map<Draft, PodClass>());
    return classes.get(draft) ?? within(classes, draft, () => this.#create(draft, selecting));
  }

  /** The class after `step` dropped preferences. Undefined: the class has fewer preferences. */
  variant(podClass: PodClass, step: number): Variant | undefined {
    const known = podClass.variants[step];
    if (known !== undefined) return known;
    const before = podClass.variants[step - 1] as Variant;
    const wishes = relax(before.wishes, this.#known.canTolerate);
    if (wishes === undefined) return undefined;
    const { draft } = podClass;
    const guards = before.rules.filter((rule) => rule.group.inverse);
    const selected = new Set(podClass.countedBy.filter((group) => !group.inverse));
    const variant = this.#variant(draft, step, wishes, guards, selected);
    podClass.variants.push(variant);
    return variant;
  }

  #volumeSets(pod: Pod): readonly SetId[] {
    if (pod.spec.volumes === undefined) return NO_SETS;
    return this.#known.volumes.alternatives(pod).map((one) => this.#known.space.intern(one));
  }

  #create(draft: Draft, selecting: readonly TopologyGroup[]): PodClass {
    const { direct, selected, guards } = this.#countingBy(selecting);
    const held = draft.wishes.antiAffinity.map((term) =>
      this.#known.topology.affinity(term, "antiAffinity", draft.owner, true),
    );
    const needs = this.#known.devices?.needsOf(draft.pod);
    return {
      sample: draft.pod,
      draft,
      requests: draft.requests,
      demand: draft.demand,
      ports: draft.ports,
      volumeSets: draft.volumeSets,
      hasVolumes: hasClaims(draft.pod.spec),
      maxRunMs: maxRunMs(draft.pod),
      claimsDevices: needs !== undefined,
      sharesClaims: needs?.isPrivate === false,
      countedBy: held.length === 0 ? direct : [...new Set([...direct, ...held])],
      // An array literal of one element needs less memory than an array that grows. Nearly all classes have one
      // variant.
      variants: [this.#variant(draft, 0, draft.wishes, guards, selected)],
      failedAt: -1,
    };
  }

  #countingBy(selecting: readonly TopologyGroup[]): Counting {
    return within(this.#counting, selecting, () => {
      const direct = selecting.filter((group) => !group.inverse);
      const inverse = selecting.filter((group) => group.inverse);
      const guards = inverse.map((group) => ({ group, self: true }));
      return { direct, selected: new Set(direct), guards };
    });
  }

  #variant(
    draft: Draft,
    step: number,
    wishes: Wishes,
    guards: readonly TopologyRule[],
    selected: ReadonlySet<TopologyGroup>,
  ): Variant {
    const owned = step === 0 ? draft.owned : ownedGroups(draft, wishes, this.#known.topology);
    const own = owned.map((group) => ({ group, self: selected.has(group) }));
    const rules = guards.length === 0 ? own : [...own, ...guards];
    const text = `${step} ${rules.map(({ group, self }) => (self ? group.index : -1)).join()}`;
    return within(draft.variants, text, () => this.#untriedVariant(wishes, rules));
  }

  #untriedVariant(wishes: Wishes, rules: readonly TopologyRule[]): Variant {
    const { all, strict } = nodeRequirements(wishes);
    const deadClaims = new Marks();
    const closing = rules.filter(({ group }) => closesHosts(group));
    return {
      requirements: all,
      strict,
      set: this.#known.space.intern(all.without(HOSTNAME_ONLY)),
      hostname: all.has(HOSTNAME_LABEL_KEY) ? all.get(HOSTNAME_LABEL_KEY) : undefined,
      tolerations: wishes.tolerations,
      rules,
      hostRules: those(rules, ({ group }) => group.key === HOSTNAME_LABEL_KEY),
      narrowingRules: those(rules, ({ group }) => group.key !== HOSTNAME_LABEL_KEY),
      wishes,
      metNodes: new Marks(),
      deadNodes: new Marks(),
      deadClaims,
      closed: [deadClaims, ...closing.map(({ group }) => group.closed)],
      deadTemplates: new Marks(),
      refusedSets: undefined,
    };
  }
}

/** The rules for which `isOne` is true. If it is true for all of them, returns the same list. */
function those(
  rules: readonly TopologyRule[],
  isOne: (rule: TopologyRule) => boolean,
): readonly TopologyRule[] {
  return rules.every(isOne) ? rules : rules.some(isOne) ? rules.filter(isOne) : NO_RULES;
}

/** The variants of the class, the one with the most preferences first. */
export function* variantsOf(
  classes: Pick<PodClasses, "variant">,
  podClass: PodClass,
): Iterable<Variant> {
  for (let step = 0; ; step++) {
    const variant = classes.variant(podClass, step);
    if (variant === undefined) return;
    yield variant;
  }
}

/** A copy of the variant that remembers no nodes as refusing it. */
export function untried(variant: Variant): Variant & { readonly ruledOut: Marks } {
  const deadClaims = new Marks();
  const [, ...closing] = variant.closed;
  return {
    ...variant,
    ruledOut: new Marks(),
    metNodes: new Marks(),
    deadNodes: new Marks(),
    deadClaims,
    closed: [deadClaims, ...closing],
    deadTemplates: new Marks(),
    refusedSets: undefined,
  };
}

/** Clears all that a pass has found out about the class by trying it. */
export function forgetTries(podClass: PodClass): void {
  podClass.failedAt = -1;
  if (podClass.deferred !== undefined) delete podClass.deferred;
  const { variants } = podClass;
  for (let step = 0; step < variants.length; step++) {
    const { deadNodes, deadClaims, deadTemplates, refusedSets } = variants[step] as Variant;
    deadNodes.clear();
    deadClaims.clear();
    deadTemplates.clear();
    refusedSets?.clear();
  }
}

/** The most amounts that are kept: what-if questions use one cluster for days. */
const MOST_AMOUNTS = 10_000;
const NO_VOLUMES = new VolumeIndex({ claims: [], volumes: [], classes: [], csiNodes: [] });
const NO_LABELS: Readonly<Record<string, string>> = {};
const NO_SETS: readonly SetId[] = [];
const NO_RULES: readonly TopologyRule[] = [];
const HOSTNAME_ONLY: ReadonlySet<string> = new Set([HOSTNAME_LABEL_KEY]);

interface Amounts {
  readonly requests: Resources;
  /** The requests in the form in which nodes compare them. */
  readonly demand: Demand;
}

/** Pods with equal specs, before it is known which topology groups count them. */
export interface Draft extends Amounts {
  readonly pod: Pod;
  readonly ports: readonly HostPort[];
  /** Requirements of the pod's volumes, of which a node must satisfy one. Empty: volumes require nothing. */
  readonly volumeSets: readonly SetId[];
  readonly wishes: Wishes;
  readonly owner: Owner;
  /** Rule → its topology group. Drafts share this map if the rules mean the same for them. */
  readonly groups: Map<object, TopologyGroup>;
  /** The groups of all topology rules of the pod, before any preference is dropped. */
  owned: readonly TopologyGroup[];
  /** How many pods of this draft run in the cluster that what-if questions use. 0: they are pending or gone. */
  running: number;
  /**
   * Classes of one draft share equal variants. Key: the number of dropped preferences, then for each topology rule its
   * group's index, or -1 if the rule does not count the pod itself.
   */
  readonly variants: Map<string, Variant>;
}

/** The topology groups that select a pod. Pods with equal labels share it. */
interface Counting {
  readonly direct: readonly TopologyGroup[];
  readonly selected: ReadonlySet<TopologyGroup>;
  /** Anti-affinity rules of other pods that select this pod. */
  readonly guards: readonly TopologyRule[];
}

function ownerOf(pod: Pod): Owner {
  const { namespace = "default", labels = {} } = pod.metadata;
  return { namespace, labels, tolerations: pod.spec.tolerations ?? [] };
}

/**
 * Fills the caches of one pod template in advance: requests, host ports and rules. Skips pods that are not planned, and
 * pods with volume claims.
 */
export function readPod(pod: Pod, { preferencePolicy, wellKnownLabels }: Settings): void {
  const known = { volumes: NO_VOLUMES, wellKnownLabels, ownerLabels: [], plansClaims: false };
  if (hasClaims(pod.spec) || refusal(pod, known) !== undefined) return;
  podRequests(pod);
  hostPorts(pod);
  goesByLabels(pod.spec);
  wishesOf(pod.spec, preferencePolicy, wellKnownLabels);
}
