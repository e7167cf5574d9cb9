/**
 * A class is a set of pods that are equal for planning: same requests, rules, host ports and volume zones, counted by
 * the same topology groups. It is computed once, with one variant for each step of dropping preferences. A variant
 * remembers the nodes that can never take it.
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
import { closesHosts, type Rule, type TopologyGroup } from "../topology/topology-group.ts";
import { refusal } from "./eligibility.ts";
import { NO_GROUPS, type Owner, ownedGroups } from "./owned-groups.ts";
import { besideTemplate, goesByLabels, hasClaims, specText } from "./pod-text.ts";
import { nodeRequirements, relax, type Wishes, wishesOf } from "./preferences.ts";

/** The class after a number of dropped preferences. Nodes marked as dead stay so for the rest of the pass. */
export interface Variant {
  readonly requirements: Requirements;
  /** The requirements without the preferred term. They decide which topology domains count. */
  readonly strict: Requirements;
  /** The requirements without the host name: a planned node has none. */
  readonly set: SetId;
  readonly hostname: Requirement | undefined;
  readonly tolerations: readonly Toleration[];
  readonly rules: readonly Rule[];
  /** The rules about hosts. They narrow no requirements, and are asked first. */
  readonly hostRules: readonly Rule[];
  readonly narrowingRules: readonly Rule[];
  readonly wishes: Wishes;
  /** Existing nodes that refuse the variant in every what-if question. Absent: there is only one plan. */
  readonly ruledOut?: Marks;
  /** Nodes whose labels and taints are known to fit. These do not change within a pass. */
  readonly metNodes: Marks;
  readonly deadNodes: Marks;
  readonly deadClaims: Marks;
  /** Sets of planned nodes to skip: those marked as dead, and those that an anti-affinity closes. */
  readonly closed: readonly Marks[];
  readonly deadTemplates: Marks;
  /**
   * Requirements of a node that topology refused → the revision of the narrowing rules then. Absent: none was
   * refused.
   */
  refusedSets: Map<SetId, number> | undefined;
}

export interface PodClass extends Pick<Draft, "requests" | "demand" | "ports" | "volumeSets"> {
  readonly sample: Pod;
  readonly draft: Draft;
  readonly hasVolumes: boolean;
  /** How long a new node for its pods may live. Planned nodes take pods of one such time only. Absent: for ever. */
  readonly maxRunMs: number | undefined;
  /** The class has resource claims, which the scheduling state plans. */
  readonly claimsDevices: boolean;
  /** Other pods may use the same claims, or the claims are already allocated. */
  readonly sharesClaims: boolean;
  /** Groups that count a placed pod of this class. */
  readonly countedBy: readonly TopologyGroup[];
  /** The class as written, then with one preference less each. Extended on demand. */
  readonly variants: Variant[];
  /**
   * The value of `progressOf` in place.ts when the class last failed. While it is unchanged, the class is not tried
   * again.
   */
  failedAt: number;
  /** Why the class waits for a later pass. It is not tried again in this pass. */
  deferred?: string;
}

type Settings = Pick<SchedulingOptions, "preferencePolicy" | "wellKnownLabels">;

/** What pods are read with. */
interface Known {
  readonly space: RequirementSpace;
  readonly topology: Topology;
  readonly volumes: VolumeIndex;
  readonly settings: Settings;
  /** Some pool or node has a PreferNoSchedule taint. */
  readonly canTolerate: boolean;
  /** Adds rules that the pod does not state, such as a default spread. */
  readonly complete: (pod: Pod) => Pod;
  /** Undefined: resource claims are ignored. */
  readonly devices: DeviceAccess | undefined;
}

/**
 * Sorts pods into classes. All groups of all pods must exist before the first class is asked for.
 */
export class PodClasses {
  readonly #known: Known;
  readonly #drafts: Draft[] = [];
  /**
   * Keyed by the preferences that the template does not contain, then by the template. Two short keys are cheaper than
   * one long key.
   */
  readonly #byWishes = new Map<string, Map<string, Draft>>();
  /** Keyed by requests: many drafts have few different ones. */
  readonly #amounts = new BoundedMap<string, Amounts>(MOST_AMOUNTS);
  /** Keyed by namespace, and by requirements of volumes. */
  readonly #ofTemplates = new Map<string, WeakMap<PodTemplate, Draft>>();
  /** Keyed by the groups that count its pods. */
  readonly #classes = new Map<readonly TopologyGroup[], Map<Draft, PodClass>>();
  /** Groups of rules that mean the same for every pod of the namespace. */
  readonly #ofNamespace = new Map<string, Map<object, TopologyGroup>>();
  readonly #counting = new Map<readonly TopologyGroup[], Counting>();

  constructor(known: Known) {
    this.#known = known;
  }

  /** Number of drafts so far. */
  get size(): number {
    return this.#drafts.length;
  }

  /** The class of each draft of which some pod is running (see {@link Draft.running}). */
  running(): readonly PodClass[] {
    return this.#drafts
      .filter(({ running }) => running > 0)
      .map((draft) => this.classOf(draft.pod, draft));
  }

  /** First pass over the batch: registers the pod's topology groups. */
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
      const { requests, demand } = this.#amountsOf(this.#requestsOf(pod));
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

  /** Equal for pods that can have the same devices. */
  #deviceText(pod: Pod): string {
    const needs = this.#known.devices?.needsOf(pod);
    return needs === undefined ? "" : ` devices ${pod.metadata.namespace} ${needs.text}`;
  }

  /**
   * Topology groups by rule. Pods of a namespace share the map, unless their rules depend on more than the namespace.
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

  #requestsOf(pod: Pod): Resources {
    const requests = podRequests(pod);
    return this.#known.devices?.plainRequests(requests) ?? requests;
  }

  #amountsOf(requests: Resources): Amounts {
    const text = JSON.stringify(requests);
    return within(this.#amounts, text, () => ({
      requests,
      demand: demandOf(requests),
    }));
  }

  /** Second pass: the class, once every group is known. */
  classOf(pod: Pod, draft: Draft): PodClass {
    const { namespace = "default", labels = NO_LABELS } = pod.metadata;
    const selecting = this.#known.topology.selecting(namespace, labels);
    const classes = within(this.#classes, selecting, () => new Map<Draft, PodClass>());
    return classes.get(draft) ?? within(classes, draft, () => this.#create(draft, selecting));
  }

  /** The variant after `step` dropped preferences. Undefined: the class has fewer preferences. */
  variant(podClass: PodClass, step: number): Variant | undefined {
    const known = podClass.variants[step];
    if (known !== undefined) return known;
    const before = podClass.variants[step - 1] as Variant;
    const wishes = relax(before.wishes, this.#known.canTolerate);
    if (wishes === undefined) return undefined;
    const { draft } = podClass;
    const guards = before.rules.filter((rule) => rule.group.inverse);
    const variant = this.#variant(draft, step, wishes, guards, selectedSet(podClass));
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
      // An array literal of one element is smaller than an array that grows, and nearly all classes have one variant.
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
    guards: readonly Rule[],
    selected: ReadonlySet<TopologyGroup>,
  ): Variant {
    const owned = step === 0 ? draft.owned : ownedGroups(draft, wishes, this.#known.topology);
    const own = owned.map((group) => ({ group, self: selected.has(group) }));
    const rules = guards.length === 0 ? own : [...own, ...guards];
    const text = `${step} ${rules.map(({ group, self }) => (self ? group.index : -1)).join()}`;
    return within(draft.variants, text, () => this.#untriedVariant(wishes, rules));
  }

  #untriedVariant(wishes: Wishes, rules: readonly Rule[]): Variant {
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

/** The filtered list. In most cases nothing is filtered out, and the same list is returned. */
function those(rules: readonly Rule[], isOne: (rule: Rule) => boolean): readonly Rule[] {
  return rules.every(isOne) ? rules : rules.some(isOne) ? rules.filter(isOne) : NO_RULES;
}

/** The variants of the class, those with more preferences first. */
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

/** The variant without anything that was learned by trying it. */
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

/** Forgets what was learned by trying a variant. */
function forgetTrials(variant: Variant): void {
  variant.deadNodes.clear();
  variant.deadClaims.clear();
  variant.deadTemplates.clear();
  variant.refusedSets?.clear();
}

/** Forgets what a pass learned about the class. */
export function forgetTries(podClass: PodClass): void {
  podClass.failedAt = -1;
  if (podClass.deferred !== undefined) delete podClass.deferred;
  const { variants } = podClass;
  for (let step = 0; step < variants.length; step++) forgetTrials(variants[step] as Variant);
}

/** The most different amounts that are kept, because a prepared cluster is used for days. */
const MOST_AMOUNTS = 10_000;
const NO_VOLUMES = new VolumeIndex({ claims: [], volumes: [], classes: [], csiNodes: [] });
const NO_LABELS: Readonly<Record<string, string>> = {};
const NO_SETS: readonly SetId[] = [];
const NO_RULES: readonly Rule[] = [];
const HOSTNAME_ONLY: ReadonlySet<string> = new Set([HOSTNAME_LABEL_KEY]);

interface Amounts {
  readonly requests: Resources;
  /** The requests in the form in which nodes compare them. */
  readonly demand: Demand;
}

/** A class before it is known which groups count its pods. */
export interface Draft extends Amounts {
  readonly pod: Pod;
  readonly ports: readonly HostPort[];
  /** Requirements of volumes; one of them must be satisfied. Empty: volumes have none. */
  readonly volumeSets: readonly SetId[];
  readonly wishes: Wishes;
  readonly owner: Owner;
  /** Rule → its group. Drafts for which the rules mean the same share this map. */
  readonly groups: Map<object, TopologyGroup>;
  /** All its topology rules, before any preference is dropped. */
  owned: readonly TopologyGroup[];
  /** How many of its pods the prepared cluster counts as running. The others are pending or gone. */
  running: number;
  /**
   * Keyed by dropped preferences, and by the topology groups that count or guard its pods. Equal keys mean equal
   * variants.
   */
  readonly variants: Map<string, Variant>;
}

/** The topology groups that select a pod. Pods with equal labels share it. */
interface Counting {
  readonly direct: readonly TopologyGroup[];
  readonly selected: ReadonlySet<TopologyGroup>;
  /** Anti-affinity terms of other pods that select this pod. */
  readonly guards: readonly Rule[];
}

function ownerOf(pod: Pod): Owner {
  const { namespace = "default", labels = {} } = pod.metadata;
  return { namespace, labels, tolerations: pod.spec.tolerations ?? [] };
}

function selectedSet(podClass: PodClass): ReadonlySet<TopologyGroup> {
  return new Set(podClass.countedBy.filter((group) => !group.inverse));
}

/**
 * Computes ahead, once for each template, what a pass will need. Skips pods that are not planned, and pods with volume
 * claims: only the pass knows the volumes.
 */
export function readPod(pod: Pod, { preferencePolicy, wellKnownLabels }: Settings): void {
  const known = { volumes: NO_VOLUMES, wellKnownLabels, ownerLabels: [], plansClaims: false };
  if (hasClaims(pod.spec) || refusal(pod, known) !== undefined) return;
  podRequests(pod);
  hostPorts(pod);
  goesByLabels(pod.spec);
  wishesOf(pod.spec, preferencePolicy, wellKnownLabels);
}
