/**
 * A planned node. It starts with everything that its pool allows. Each pod narrows its requirements and instance types.
 * upstream: pkg/controllers/provisioning/scheduling/nodeclaim.go
 */
import { type HostPort, hostPortsConflict } from "../../../apis/core/host-ports.ts";
import type { Taint } from "../../../apis/core/node.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { addResources, NO_RESOURCES, type Resources } from "../../../apis/resources.ts";
import { assert } from "../../../base/assert.ts";
import type { DeviceNeeds } from "../../devices/needs.ts";
import {
  type Bits,
  commonBits,
  firstOutside,
  haveCommonBits,
  intersectionOf,
  isEmptyBits,
} from "../../scheduling/bits.ts";
import { allows, exists, type Requirement } from "../../scheduling/requirement.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import type { VolumeUsage } from "../../scheduling/volumes.ts";
import type { PodClass, Variant } from "../batch/pod-class.ts";
import { admittedSet, volumePlaces } from "../feasibility/admission.ts";
import { tooFewValues, withFreePorts, withSlots } from "../feasibility/type-stages.ts";
import { attachedTogether } from "../pools/attach-slots.ts";
import type { Template } from "../pools/pool-template.ts";
import { UNNUMBERED } from "../topology/host-numbers.ts";
import { affinityStartedBy } from "../topology/late-counts.ts";
import {
  cheapestFirst,
  eligible,
  hasUncounted,
  isPermanent,
  type Narrowing,
  type NodePlace,
  possibleDomains,
  revisionOf,
  type TopologyGroup,
  type TopologyRule,
} from "../topology/topology-group.ts";
import { LaunchableValues } from "./launchable-values.ts";
import { LimitCharge } from "./limit-charge.ts";
import { countsAllOf, mayRiseElsewhere, requiredPodsOn } from "./required-pods.ts";
import { ALL_PROMISED, WOULD_LOSE } from "./reservations.ts";
import type { Fit, PlanningContext, Trial } from "./trial.ts";

const NOTHING_ATTACHED: VolumeUsage = new Map();
const NO_NAMES: readonly string[] = [];
const NEVER: Trial = { verdict: "never" };
const NOT_NOW: Trial = { verdict: "notNow" };
const NONE_LIKE_IT: Trial = { verdict: "notNow", noneLikeIt: true };
const NONE_UNCOUNTED = new Map<TopologyGroup, number>();
const NONE_KEPT: ReadonlySet<TopologyGroup> = new Set();

export class NewNodeClaim implements NodePlace {
  readonly id: number;
  readonly template: Template;
  host = UNNUMBERED;
  readonly pods: Pod[] = [];
  set: SetId;
  /** How long the node may live: its pods set a maximum run duration. Undefined: no limit. */
  maxRunMs: number | undefined;
  /** The instance types that are still possible. */
  types: Bits;
  requests: Resources = NO_RESOURCES;
  minValuesRelaxed = false;
  /** Reservations into which the node can be launched. Empty: it uses no reservation. */
  reserved: readonly string[] = NO_NAMES;
  readonly #context: PlanningContext;
  readonly #ports: HostPort[] = [];
  #attached: VolumeUsage = NOTHING_ATTACHED;
  /**
   * How many pods here each topology group does not count yet (*uncounted* pods). It counts them once this node has
   * only one domain left, such as one zone.
   */
  #uncounted = NONE_UNCOUNTED;
  /** The requirements that topology rules read while a pod is tried. Undefined: the node's own requirements. */
  #considered: SetId | undefined;
  #consideredTypes: Bits | undefined;
  #launchable: LaunchableValues | undefined;
  /** The last result of {@link price}, and what it was computed from. */
  #priced: (Pick<Fit, "types" | "set"> & { readonly price: number }) | undefined;
  /**
   * Spread rules of the uncounted pods. kube-scheduler checks these rules when it binds the pods, so they must hold
   * then.
   */
  #kept = NONE_KEPT;
  /** Pods here of which one must be bound before the tried pod. Set only during {@link acceptsAhead}. */
  #requiredPods: readonly Pod[] | undefined;
  joins = false;
  readonly #limitCharge: LimitCharge;
  /**
   * Whether topology rules refuse the tried pod because of this node's instance types or uncounted pods. False: because
   * of its requirements, so that nodes with the same requirements refuse the pod, too.
   */
  #ownFault = false;
  #needs: DeviceNeeds | undefined;
  /** Upstream's message if the tried pod is refused because no reservation is free. Undefined: it is not. */
  #deferred: string | undefined;

  /** `types`: the NodePool's types that the limits still allow. */
  constructor(id: number, template: Template, types: Bits, context: PlanningContext) {
    this.id = id;
    this.template = template;
    this.set = template.set;
    this.types = types;
    this.#context = context;
    this.#limitCharge = new LimitCharge(template);
  }

  get hostname(): string {
    return `hostname-placeholder-${String(this.id + 1).padStart(4, "0")}`;
  }

  get taints(): readonly Taint[] {
    return this.template.taints;
  }

  domains(key: string): Requirement {
    return this.#context.space.get(this.#considered ?? this.set).get(key);
  }

  launchable(key: string, values: readonly string[]): readonly string[] {
    const set = this.#considered ?? this.set;
    const types = this.#consideredTypes ?? this.types;
    this.#launchable ??= new LaunchableValues(this.#context.space, this.template.table);
    return this.#launchable.among(values, key, { set, types });
  }

  openTo(key: string): readonly string[] {
    const types = this.#consideredTypes ?? this.types;
    return this.template.table.valuesOf(types, this.domains(key));
  }

  canMeet(requirements: Requirements): boolean {
    const { space } = this.#context;
    const met = space.join(this.#considered ?? this.set, space.intern(requirements));
    if (met === undefined) return false;
    const types = this.#consideredTypes ?? this.types;
    return haveCommonBits(types, this.template.table.compatible(met));
  }

  meetsIfNarrowed(requirements: Requirements): boolean {
    const { space } = this.#context;
    const own = space.get(this.set);
    for (const wanted of requirements.all()) {
      if (space.isOfTypes(wanted.key)) continue;
      const { complement, values } = own.get(wanted.key);
      if (!complement && values.length > 1 && !allows(wanted, values[0] as string)) return true;
    }
    return false;
  }

  /** Whether the node has this much room left, and can satisfy one of the sets that each class of pods wants. */
  hasRoomFor(requests: Resources, wanted: readonly (readonly SetId[])[]): boolean {
    const { space } = this.#context;
    let sets: readonly SetId[] = [this.#considered ?? this.set];
    for (const ways of wanted)
      sets = sets.flatMap((set) => ways.flatMap((way) => space.join(set, way) ?? []));
    const types = this.#consideredTypes ?? this.types;
    const { table } = this.template;
    return [...new Set(sets)].some(
      (set) => table.fitting(types, set, this.requests, requests) !== undefined,
    );
  }

  uncounted(group: TopologyGroup): number {
    const uncounted = this.#uncounted.get(group) ?? 0;
    if (this.#requiredPods === undefined || uncounted === 0) return uncounted;
    // One of the required pods is bound before the tried pod, so one pod counts. None counts if uncounted pods on other
    // nodes may raise the group's smallest count.
    return countsAllOf(group, this.#requiredPods) && !mayRiseElsewhere(group, this) ? 1 : 0;
  }

  /** The lowest price at which the node can have this value of the label, together with the tried pod. */
  leastPrice(key: string, value: string): number {
    const { table } = this.template;
    const set = this.#context.space.narrow(this.#considered ?? this.set, key, [value]);
    if (set === undefined) return Number.POSITIVE_INFINITY;
    return table.leastPrice(this.#consideredTypes ?? this.types, set);
  }

  /** Price of the cheapest offering that is still possible, in micro-dollars per hour. */
  get price(): number {
    const { types, set } = this;
    if (this.#priced?.types !== types || this.#priced.set !== set)
      this.#priced = { types, set, price: this.priceWith({ types, set }) };
    return this.#priced.price;
  }

  /** The price of the node with the pod of this fit, in micro-dollars per hour. */
  priceWith({ types, set }: Pick<Fit, "types" | "set">): number {
    return this.template.table.leastPrice(types, set);
  }

  /** Whether the node accepts the pod with these rules, and the node's requirements with the pod. Changes nothing. */
  accepts(pod: Pod, podClass: PodClass, variant: Variant): Trial {
    if (this.pods.length > 0 && podClass.maxRunMs !== this.maxRunMs) return NEVER;
    const set = admittedSet(this, variant, this.#context.space);
    if (set === undefined) return NEVER;
    if (podClass.ports.length > 0 && this.#holdsOneOf(podClass.ports)) return NEVER;
    if (variant.refusedSets?.get(set) === revisionOf(variant.narrowingRules)) return NONE_LIKE_IT;
    const fitting = this.template.table.fitting(this.types, set, this.requests, podClass.requests);
    if (fitting === undefined) return NEVER;
    const within = this.#limitCharge.within(fitting);
    let types = withFreePorts(this.template, podClass.ports, within);
    if (isEmptyBits(types)) return NEVER;
    if (podClass.hasVolumes) {
      const usage = this.#context.volumes.usage(pod);
      types = withSlots(this.template, attachedTogether(this.#attached, usage), types);
      if (isEmptyBits(types)) return NOT_NOW;
    }
    this.#deferred = undefined;
    this.#needs = podClass.claimsDevices ? this.#context.devices?.needsOf(pod) : undefined;
    const trial = this.#withVolumes(podClass, variant, set, types);
    return trial.fit === undefined && this.#deferred !== undefined
      ? { ...trial, deferred: this.#deferred }
      : trial;
  }

  /** Like {@link accepts}, but refuses the pod unless it joins uncounted pods of its affinity on this node. */
  acceptsBeside(pod: Pod, podClass: PodClass, variant: Variant): Trial {
    this.joins = true;
    const trial = this.accepts(pod, podClass, variant);
    this.joins = false;
    return trial;
  }

  /**
   * Like {@link accepts}, but assumes that kube-scheduler binds the pod before the uncounted pods of this node. So its
   * spread does not count them, except one that its host affinity requires. The pod must not break their spreads.
   */
  acceptsAhead(pod: Pod, podClass: PodClass, variant: Variant): Trial {
    if (!variant.narrowingRules.some(({ group }) => this.#uncounted.has(group))) return NOT_NOW;
    this.#requiredPods = requiredPodsOn(this.pods, variant);
    const trial = this.#staysAllowed(podClass) ? this.accepts(pod, podClass, variant) : NOT_NOW;
    this.#requiredPods = undefined;
    return trial;
  }

  /** Drops the types for which the pool's limits have no room. Called when all nodes of the plan are known. */
  settleLimits(): void {
    this.types = this.#limitCharge.settled(this.types);
  }

  /** Places the pod on the node. `fit`: as {@link accepts} returned it. */
  add(pod: Pod, podClass: PodClass, fit: Fit): void {
    assert(!isEmptyBits(fit.types), "a planned node keeps at least one instance type");
    assert(firstOutside(fit.types, this.types) < 0, "no pod widens a planned node");
    this.#takeDevices(fit);
    const settles = this.pods.length === 0 || this.set !== fit.set || this.types !== fit.types;
    if (this.pods.length === 0) this.maxRunMs = podClass.maxRunMs;
    this.pods.push(pod);
    this.set = fit.set;
    this.types = fit.types;
    this.minValuesRelaxed ||= fit.minValuesRelaxed;
    if (fit.reserved !== this.reserved) {
      this.#context.reservations.exchange(this.reserved, fit.reserved);
      this.reserved = fit.reserved;
    }
    if (settles && this.#limitCharge.isCounted) this.#chargeLimits();
    this.requests = addResources(this.requests, podClass.requests);
    if (podClass.ports.length > 0) this.#ports.push(...podClass.ports);
    if (podClass.hasVolumes) {
      const usage = this.#context.volumes.usage(pod);
      this.#attached = attachedTogether(this.#attached, usage);
    }
    const { topology } = this.#context;
    if (settles) {
      topology.addNode(this);
      if (this.#uncounted.size > 0)
        for (const [group, pods] of this.#uncounted)
          if (topology.count(group, this, pods)) this.#uncounted.delete(group);
    }
    const { countedBy, variants } = podClass;
    const started = affinityStartedBy((variants.at(-1) as Variant).hostRules);
    // A loop by index is faster: this runs for each pod, mostly before V8 compiles it.
    for (let at = 0; at < countedBy.length; at++) {
      const group = countedBy[at] as TopologyGroup;
      if (topology.count(group, this)) continue;
      if (started !== undefined) topology.noteFirstPod({ affinity: started, group }, this);
      if (this.#uncounted === NONE_UNCOUNTED) this.#uncounted = new Map();
      const others = this.uncounted(group);
      this.#uncounted.set(group, others + 1);
      if (others === 0) topology.noteUncounted(group, this);
      for (const { group: own } of variants[0]?.rules ?? [])
        if (own.type === "spread" && !this.#kept.has(own))
          this.#kept = new Set(this.#kept).add(own);
    }
  }

  #takeDevices({ devices: taken, types }: Fit): void {
    const devices = this.#context.devices?.ofNewNodes;
    if (taken !== undefined) devices?.commit(this, taken);
    if (types !== this.types) devices?.keepOnly(this, types, this.template.table);
  }

  /** The DRA drivers whose devices the node will publish and its pods claim. Sorted. */
  get deviceDrivers(): readonly string[] {
    return this.#context.devices?.ofNewNodes.driversOf(this) ?? NO_NAMES;
  }

  /** Charges the cheapest type against limits, or the largest one if all types must stay (minValues, reservations). */
  #chargeLimits(): void {
    const { space, chargesMost } = this.#context;
    const { set, reserved } = this;
    const isFixed = reserved.length > 0 || space.get(set).withMinValues().length > 0;
    this.#limitCharge.charge(this, isFixed || chargesMost);
  }

  /** Whether the uncounted pods still satisfy their spreads if kube-scheduler binds a pod of the class before them. */
  #staysAllowed({ countedBy }: PodClass): boolean {
    const { topology } = this.#context;
    return countedBy.every(
      (group) =>
        !this.#kept.has(group) || topology.options(group, this, true, exists(group.key)).length > 0,
    );
  }

  #holdsOneOf(ports: readonly HostPort[]): boolean {
    return ports.some((port) => this.#ports.some((own) => hostPortsConflict(own, port)));
  }

  #withVolumes(podClass: PodClass, variant: Variant, set: SetId, types: Bits): Trial {
    if (podClass.volumeSets.length === 0) return this.#withTopology(variant, set, types);
    let last = NEVER;
    for (const joined of volumePlaces(set, podClass, this.#context.space)) {
      const left = intersectionOf(types, this.template.table.compatible(joined));
      if (isEmptyBits(left)) continue;
      const trial = this.#withTopology(variant, joined, left);
      if (trial.verdict === "yes") return trial;
      if (trial.verdict === "notNow") last = trial;
    }
    return last;
  }

  /** Checks topology rules. Rules over hosts come first: they only accept or refuse. Later checks narrow the node. */
  #withTopology(variant: Variant, set: SetId, types: Bits): Trial {
    const { hostRules } = variant;
    for (let at = 0; at < hostRules.length; at++) {
      const rule = hostRules[at] as TopologyRule;
      if (this.#options(rule, variant, set, types).length > 0) continue;
      return isPermanent(rule.group) ? NEVER : NOT_NOW;
    }
    const spreads = this.#context.topology.firstPods.spreadsOf(hostRules);
    if (spreads.length === 0) return this.#withNarrowing(variant, set, types);
    const settled = spreads.reduce((one, group) => this.#settledIn(group, one), { set, types });
    const trial = this.#withNarrowing(variant, settled.set, settled.types);
    return trial.fit === undefined ? this.#withNarrowing(variant, set, types) : trial;
  }

  /** The node in its cheapest domain of the spread. Unchanged if the spread does not count pods on this node. */
  #settledIn(group: TopologyGroup, one: Pick<Fit, "set" | "types">): Pick<Fit, "set" | "types"> {
    const { space } = this.#context;
    this.#considered = one.set;
    this.#consideredTypes = one.types;
    const [first] = eligible(group.filter, this)
      ? cheapestFirst(group.key, possibleDomains(group, this).toSorted(), this)
      : [];
    this.#considered = undefined;
    this.#consideredTypes = undefined;
    const set = first === undefined ? undefined : space.narrow(one.set, group.key, [first]);
    if (set === undefined) return one;
    const types = commonBits(one.types, this.template.table.compatible(set));
    return isEmptyBits(types) ? one : { set, types };
  }

  #withNarrowing(variant: Variant, set: SetId, types: Bits): Trial {
    const narrowing = variant.narrowingRules;
    if (narrowing.length === 0) {
      const fit = this.#finish(set, types);
      if (fit !== undefined) return { verdict: "yes", fit };
      // A shared claim may get devices later, when another pod is placed, and this node may then reach them.
      return this.#needs?.isPrivate === false ? NOT_NOW : NEVER;
    }
    this.#ownFault = false;
    const fit = this.#narrow(narrowing, 0, variant, set, types);
    if (fit !== undefined) return { verdict: "yes", fit };
    // The node's requirements alone cause the refusal, so nodes like it are skipped until a topology count changes.
    if (!this.#ownFault) {
      variant.refusedSets ??= new Map();
      variant.refusedSets.set(set, revisionOf(narrowing));
    }
    return NOT_NOW;
  }

  #narrow(
    rules: readonly TopologyRule[],
    at: number,
    variant: Variant,
    set: SetId,
    types: Bits,
  ): Fit | undefined {
    const rule = rules[at];
    if (rule === undefined) {
      // The first pod of a host affinity must leave room for the other pods of its group, also on the narrowed node.
      const isFull = (one: TopologyRule) =>
        one.group.groupDomains && this.#options(one, variant, set, types).length === 0;
      const fit = variant.hostRules.some(isFull) ? undefined : this.#finish(set, types);
      if (fit === undefined) this.#ownFault = true;
      return fit;
    }
    for (const values of this.#options(rule, variant, set, types)) {
      const { space } = this.#context;
      const narrowed = values === undefined ? set : space.narrow(set, rule.group.key, values);
      if (narrowed === undefined) continue;
      const left = commonBits(types, this.template.table.compatible(narrowed));
      if (isEmptyBits(left)) {
        this.#ownFault = true;
        continue;
      }
      const fit = this.#narrow(rules, at + 1, variant, narrowed, left);
      if (fit !== undefined) return fit;
    }
    return undefined;
  }

  #options(rule: TopologyRule, variant: Variant, set: SetId, types: Bits): readonly Narrowing[] {
    this.#considered = set;
    this.#consideredTypes = types;
    const podDomains = variant.strict.get(rule.group.key);
    const options = this.#context.topology.options(rule.group, this, rule.self, podDomains);
    this.#considered = undefined;
    this.#consideredTypes = undefined;
    const { group } = rule;
    if (hasUncounted(group) || (group.type === "spread" && this.#uncounted.has(group)))
      this.#ownFault = true;
    return options;
  }

  /** The last stages: devices, reservations, minValues. Devices may narrow the node once more. */
  #finish(set: SetId, left: Bits): Fit | undefined {
    const { devices } = this.#context;
    if (this.#needs === undefined || devices === undefined) return this.#launch(set, left);
    const { table } = this.template;
    const asked = { holder: this, set, types: left, table };
    for (const taken of devices.ofNewNodes.fits(this.#needs, asked)) {
      const fit = this.#launch(taken.set, taken.types);
      if (fit !== undefined) return { ...fit, devices: taken };
    }
    return undefined;
  }

  /** Checks reservations and minValues. Refuses a pod that would make the node lose its reservation. */
  #launch(set: SetId, left: Bits): Fit | undefined {
    return this.template.table.offerings.hasReserved
      ? this.#reservedOrOpen(set, left)
      : this.#withMinValues(set, left, NO_NAMES, left);
  }

  #reservedOrOpen(set: SetId, left: Bits): Fit | undefined {
    const { table } = this.template;
    const { reservations, strictReservations } = this.#context;
    const holds = this.reserved.length > 0;
    const isNew = this.pods.length === 0;
    const wanted = holds || isNew ? table.reservations(left, set) : NO_NAMES;
    const reserved = reservations.holdable(wanted, this.reserved);
    const into = (ids: readonly string[]) =>
      this.#withMinValues(set, left, ids, table.reservable(left, set, ids));
    if (reserved.length > 0) {
      const fit = into(reserved);
      if (fit !== undefined || holds) return fit;
    } else if (holds) {
      this.#deferred = WOULD_LOSE;
      return undefined;
    }
    // A reservation with too few values for minValues can never be used, so the pod does not wait for it.
    const isWorthWaiting = reserved.length === 0 && wanted.length > 0 && into(wanted) !== undefined;
    const types = intersectionOf(left, table.open(set));
    if (isWorthWaiting && (strictReservations || isEmptyBits(types))) {
      this.#deferred = ALL_PROMISED;
      return undefined;
    }
    return isEmptyBits(types) ? undefined : this.#withMinValues(set, types, NO_NAMES, types);
  }

  /**
   * The result for these types if they satisfy minValues. With policy BestEffort, the minValues of a node without pods
   * are lowered instead. `launched`: those of `types` that count for minValues.
   */
  #withMinValues(
    set: SetId,
    types: Bits,
    reserved: readonly string[],
    launched: Bits,
  ): Fit | undefined {
    const { space, minValuesPolicy } = this.#context;
    const fit: Fit = { set, types, minValuesRelaxed: false, reserved };
    const isReserved = reserved.length > 0;
    const short = tooFewValues(this.template, space, { set, types: launched, isReserved });
    if (short.length === 0) return fit;
    if (minValuesPolicy === "Strict" || this.pods.length > 0) return undefined;
    const lowered = short.map(([one, minValues]) => ({ ...one, minValues }));
    const relaxed = space.intern(space.get(set).replacing(Requirements.of(lowered)));
    return { ...fit, set: relaxed, minValuesRelaxed: true };
  }
}
