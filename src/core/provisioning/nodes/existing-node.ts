/**
 * An existing node, or a NodeClaim of an earlier pass, and its room for further pods.
 * upstream: pkg/controllers/provisioning/scheduling/existingnode.go
 */
import { type HostPort, hostPorts, hostPortsConflict } from "../../../apis/core/host-ports.ts";
import type { Taint } from "../../../apis/core/node.ts";
import { isTerminating, type Pod, type Toleration } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { firstUntolerated } from "../../../apis/core/tolerations.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { isRebooting } from "../../../apis/karpenter/nodeclaim.ts";
import {
  addResources,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../../apis/resources.ts";
import { mapInSteps, type Steps, sortInSteps } from "../../../base/steps.ts";
import {
  type Amounts,
  amountOf,
  amountsOf,
  type Demand,
  isWithin,
  without,
} from "../../scheduling/amounts.ts";
import { NodeLabels } from "../../scheduling/node-labels.ts";
import { type DaemonTerm, daemonTerms, isMeantByName } from "../../scheduling/pod-requirements.ts";
import type { Requirement } from "../../scheduling/requirement.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { areTolerated } from "../../scheduling/taints.ts";
import { claimName, type VolumeIndex } from "../../scheduling/volumes.ts";
import type { NodeView } from "../../state/node-view.ts";
import type { PodClass, Variant } from "../batch/pod-class.ts";
import type { Attempt } from "../feasibility/attempt.ts";
import type { FitVerdict, NodeRefusal, ShortResource } from "../feasibility/node-refusal.ts";
import { UNNUMBERED } from "../topology/host-numbers.ts";
import { isPermanent, type NodePlace, type TopologyRule } from "../topology/topology-group.ts";
import type { DeviceAccess } from "./device-access.ts";

interface Refusing {
  readonly stage: NodeRefusal["stage"];
  /** Whether the node refuses every pod of this class (equal pods) with these preferences for the rest of the pass. */
  readonly lasts: boolean;
}

const NO_ROOM: Refusing = { stage: "resources", lasts: true };
const TAINTED: Refusing = { stage: "taints", lasts: true };
const OTHER_LABELS: Refusing = { stage: "requirements", lasts: true };
const VOLUMES_ELSEWHERE: Refusing = { stage: "volumes", lasts: true };
const PORTS_HELD: Refusing = { stage: "hostPorts", lasts: true };
/** The volumes of one pod are too many for the node. Other pods of the class may have other volumes. */
const TOO_MANY_VOLUMES: Refusing = { stage: "attachSlots", lasts: false };
/**
 * The devices are not free now. A shared claim may get devices later, or the next what-if question may free devices.
 */
const NO_DEVICES_NOW: Refusing = { stage: "devices", lasts: false };
const NO_DEVICES: Refusing = { stage: "devices", lasts: true };
const RULED_OUT: Refusing = { stage: "topology", lasts: true };
const RULED_OUT_NOW: Refusing = { stage: "topology", lasts: false };

/** A DaemonSet's pod: the nodes on which it runs, and what it requests there. */
export interface Daemon {
  readonly requests: Resources;
  readonly ports: readonly HostPort[];
  readonly tolerations: readonly Toleration[];
  readonly terms: readonly DaemonTerm[];
}

export function toDaemon(pod: Pod): Daemon {
  return {
    requests: podRequests(pod),
    ports: hostPorts(pod),
    tolerations: pod.spec.tolerations ?? [],
    terms: daemonTerms(pod.spec),
  };
}

/** The state of a node at one moment of a fork (changes that can be undone), for {@link ExistingNode.restore}. */
export interface Saved {
  readonly node: ExistingNode;
  readonly pods: number;
  readonly remaining: Amounts;
  readonly ports: number;
  readonly mounts: number;
  readonly lastFork: number;
}

export class ExistingNode implements NodePlace {
  /** The position of the node in the list of target nodes. */
  index: number;
  readonly view: NodeView;
  readonly hostname: string;
  host = UNNUMBERED;
  readonly taints: readonly Taint[];
  readonly #labels: NodeLabels;
  readonly pods: Pod[] = [];
  /** Whether the current what-if question removes the node. If so, it takes no pods. */
  gone = false;
  /** Number of the fork that last placed a pod on the node. 0: no fork did, or its changes are undone. */
  lastFork = 0;
  /** What is left of each resource, without the changes of an open fork. `#remaining` includes these changes. */
  #settled: Amounts;
  #remaining: Amounts;
  readonly #ports: HostPort[];
  /** Pods that will still run on the node when new pods start there. */
  readonly #staying: readonly Pod[];
  /** Number of volumes that the node's pods claim. Computed on demand. */
  #mounts = UNCOUNTED;

  constructor(view: NodeView, daemons: readonly Daemon[], index = 0) {
    this.index = index;
    this.view = view;
    this.hostname = view.labels[HOSTNAME_LABEL_KEY] ?? view.name;
    this.taints = view.taints;
    this.#labels = new NodeLabels(view.labels, this.hostname);
    const own = daemons.filter((daemon) => this.#runs(daemon));
    const [staying, ending] = stayingPods(view);
    this.#staying = staying;
    const room = ending.reduce((sum, pod) => addResources(sum, podRequests(pod)), view.available);
    this.#settled = amountsOf(subtractResources(room, this.#daemonsToCome(own)));
    this.#remaining = this.#settled;
    this.#ports = own.flatMap(({ ports }) => ports);
    for (const pod of staying) for (const port of hostPorts(pod)) this.#ports.push(port);
  }

  domains(key: string): Requirement | undefined {
    return this.#labels.requirement(key);
  }

  /** The value of the node's label `key`. Undefined: the node does not have the label. */
  domain(key: string): string | undefined {
    return this.#labels.value(key);
  }

  canMeet(requirements: Requirements): boolean {
    return this.#labels.accept(requirements);
  }

  accepts(attempt: Attempt): FitVerdict {
    const refusing = this.#refusing(attempt);
    if (refusing === undefined) return "yes";
    return refusing.lasts ? "never" : "notNow";
  }

  /**
   * The stage that refuses the pod, with the object that causes it. Undefined: {@link accepts} returns `yes`.
   * Taints, labels and places of volumes come before resources: room on the node would not help against them.
   */
  refusal(attempt: Attempt): NodeRefusal | undefined {
    const { podClass, variant, context } = attempt;
    const refusing = this.#unsuitable(podClass, variant, context.space) ?? this.#refusing(attempt);
    return refusing === undefined ? undefined : this.#evidence(refusing.stage, attempt);
  }

  /** All stages of the check, for placement and explanation. The first stage is resources, because it is cheap. */
  #refusing(attempt: Attempt): Refusing | undefined {
    const { pod, podClass, variant } = attempt;
    const { space, volumes } = attempt.context;
    const missing = this.#missing(podClass, variant, space);
    if (missing !== undefined) return missing;
    const { ports } = podClass;
    if (ports.length > 0 && this.#heldOf(ports) !== undefined) return PORTS_HELD;
    if (podClass.hasVolumes && !this.#canAttach(pod, volumes)) return TOO_MANY_VOLUMES;
    const rule = attempt.brokenRule(this);
    if (rule === undefined)
      return podClass.claimsDevices ? this.#refusingByDevices(attempt) : undefined;
    return isPermanent(rule.group) ? RULED_OUT : RULED_OUT_NOW;
  }

  #evidence(stage: NodeRefusal["stage"], attempt: Attempt): NodeRefusal {
    const { pod, podClass, variant, context } = attempt;
    switch (stage) {
      case "resources":
        return { stage, ...this.#shortResource(podClass.requests) };
      case "taints":
        return { stage, taint: firstUntolerated(variant.tolerations, this.taints) as Taint };
      case "requirements": {
        const own = this.#labels;
        const [requirement] = [...variant.requirements.all()].filter(
          (one) => !own.accept(Requirements.of([one])),
        );
        return { stage, requirement: requirement as Requirement };
      }
      case "volumes":
        return { stage, places: podClass.volumeSets.map((one) => context.space.get(one)) };
      case "hostPorts":
        return { stage, port: this.#heldOf(podClass.ports) as HostPort };
      case "attachSlots":
        return { stage, drivers: this.#fullDrivers(pod, context.volumes) };
      case "devices":
        return { stage, why: context.devices?.lackTextOn(this, pod) ?? "" };
      case "topology":
        return { stage, rule: attempt.brokenRule(this) as TopologyRule };
    }
  }

  /**
   * The refusal if the node lacks the pod's devices. It is final unless the pod shares a claim, which may get devices
   * elsewhere, or a later what-if question may free devices.
   */
  #refusingByDevices(attempt: Attempt): Refusing | undefined {
    const { pod, podClass, context } = attempt;
    if (context.devices?.lacksOn(this, pod) !== true) return undefined;
    const lasts = !podClass.sharesClaims && context.devices.isAskedAgain === false;
    return lasts ? NO_DEVICES : NO_DEVICES_NOW;
  }

  #shortResource(requests: Resources): Omit<ShortResource, "stage"> {
    for (const resource of Object.keys(requests).sort()) {
      const requested = requests[resource] as number;
      const left = this.gone ? 0 : amountOf(this.#remaining, resource);
      if (requested > 0 && requested > left) return { resource, requested, left };
    }
    return { resource: "pods", requested: 1, left: 0 };
  }

  /** Whether the first stages accept the pod: resources, taints, labels, places of volumes. */
  meetsFirstStages(podClass: PodClass, variant: Variant, space: RequirementSpace): boolean {
    return this.#missing(podClass, variant, space) === undefined;
  }

  #missing(podClass: PodClass, variant: Variant, space: RequirementSpace): Refusing | undefined {
    return this.hasRoomFor(podClass.demand) ? this.#unsuitable(podClass, variant, space) : NO_ROOM;
  }

  /** The stages that no pod on the node can change: taints, labels, places of volumes. */
  #unsuitable(podClass: PodClass, variant: Variant, space: RequirementSpace): Refusing | undefined {
    if (variant.metNodes.has(this.index)) return undefined;
    if (firstUntolerated(variant.tolerations, this.taints) !== undefined) return TAINTED;
    if (!this.canMeet(variant.requirements)) return OTHER_LABELS;
    if (!this.reachesVolumes(podClass, space)) return VOLUMES_ELSEWHERE;
    variant.metNodes.add(this.index);
    return undefined;
  }

  hasRoomFor(demand: Demand): boolean {
    return !this.gone && isWithin(demand, this.#remaining);
  }

  /** How many times this demand fits into what is left on the node, at most `most`. */
  timesRoomFor(demand: Demand, most: number): number {
    let [times, left] = [0, this.#remaining];
    for (; times < most && isWithin(demand, left); times++) left = without(left, demand);
    return times;
  }

  /** Whether the node is at a place where all volumes of the pod can be reached. */
  reachesVolumes({ volumeSets }: PodClass, space: RequirementSpace): boolean {
    return volumeSets.length === 0 || volumeSets.some((set) => this.canMeet(space.get(set)));
  }

  /** The first of these ports that is in use on the node or kept for an expected DaemonSet pod. */
  #heldOf(ports: readonly HostPort[]): HostPort | undefined {
    return ports.find((port) => this.#ports.some((own) => hostPortsConflict(own, port)));
  }

  /** The current state of the node, for {@link restore}. */
  save(): Saved {
    return {
      node: this,
      pods: this.pods.length,
      remaining: this.#remaining,
      ports: this.#ports.length,
      mounts: this.#mounts,
      lastFork: this.lastFork,
    };
  }

  restore({ pods, remaining, ports, mounts, lastFork }: Saved): void {
    this.lastFork = lastFork;
    this.pods.length = pods;
    this.#remaining = remaining;
    if (this.#ports.length > ports) this.#ports.length = ports;
    this.#mounts = mounts;
  }

  /** Makes the changes of an open fork permanent, so that {@link leftAt} includes them. */
  settle(): void {
    this.#settled = this.#remaining;
  }

  /** The amount that is left of the resource at this position of {@link Amounts}, without an open fork's changes. */
  leftAt(position: number): number {
    return this.#settled[position] ?? 0;
  }

  /** Places the pod on the node. `devices`: the devices of the scheduling state, for pods with claims. */
  add(pod: Pod, podClass: PodClass, devices: DeviceAccess | undefined): void {
    if (podClass.claimsDevices) devices?.commitOn(this, pod);
    this.pods.push(pod);
    this.#remaining = without(this.#remaining, podClass.demand);
    for (const port of podClass.ports) this.#ports.push(port);
    if (podClass.hasVolumes && this.#mounts !== UNCOUNTED) this.#mounts += mountsOf(pod);
  }

  /** Requests of daemons that should run on this node and do not run yet. */
  #daemonsToCome(own: readonly Daemon[]): Resources {
    const expected = own.reduce((sum, { requests }) => addResources(sum, requests), NO_RESOURCES);
    const missing: Record<string, number> = {};
    for (const name in expected) {
      const running = this.view.daemonRequests[name] ?? 0;
      missing[name] = Math.max(0, (expected[name] as number) - running);
    }
    return missing;
  }

  #runs({ tolerations, terms }: Daemon): boolean {
    if (!areTolerated(tolerations, this.taints)) return false;
    return terms.some((one) => isMeantByName(one, this.view.name) && this.canMeet(one.wanted));
  }

  #canAttach(pod: Pod, volumes: VolumeIndex): boolean {
    const limits = volumes.limits(this.view.name);
    if (limits.size === 0) return true;
    if (this.#mounts === UNCOUNTED) {
      this.#mounts = 0;
      for (const own of this.#staying) this.#mounts += mountsOf(own);
      for (const own of this.pods) this.#mounts += mountsOf(own);
    }
    const most = this.#mounts + mountsOf(pod);
    for (const limit of limits.values())
      if (most > limit) return this.#fullDrivers(pod, volumes).length === 0;
    return true;
  }

  /** CSI drivers for which the node would have too many volumes with the pod. A volume of several pods counts once. */
  #fullDrivers(pod: Pod, volumes: VolumeIndex): readonly string[] {
    const limits = volumes.limits(this.view.name);
    const wanted = volumes.usage(pod);
    const attached = new Map<string, Set<string>>();
    for (const own of [...this.#staying, ...this.pods, pod]) {
      for (const [driver, claims] of volumes.usage(own)) {
        if (!wanted.has(driver)) continue;
        attached.set(driver, new Set([...(attached.get(driver) ?? []), ...claims]));
      }
    }
    return [...attached]
      .filter(([driver, { size }]) => size > (limits.get(driver) ?? size))
      .map(([driver]) => driver);
  }
}

const UNCOUNTED = -1;
const NO_PODS: readonly Pod[] = [];

/**
 * The pods that stay on the node, and those that will have ended before it takes new pods: a rebooting node takes none
 * until it is up again.
 */
function stayingPods({ claim, pods }: NodeView): readonly [readonly Pod[], readonly Pod[]] {
  if (claim === undefined || !isRebooting(claim)) return [pods, NO_PODS];
  return [pods.filter((pod) => !isTerminating(pod)), pods.filter(isTerminating)];
}

/** Number of volumes that the pod claims. */
function mountsOf(pod: Pod): number {
  let count = 0;
  for (const volume of pod.spec.volumes ?? []) if (claimName(pod, volume) !== undefined) count++;
  return count;
}

/** Existing nodes that can take pods: initialized nodes first, then by name. */
export function* targetNodes(
  views: readonly NodeView[],
  daemonPods: readonly Pod[],
): Steps<ExistingNode[]> {
  const daemons = daemonPods.map(toDaemon);
  const staying = views.filter((view) => !view.deleting);
  return merged([], yield* mapInSteps(staying, (view) => new ExistingNode(view, daemons)));
}

/** Sorts the nodes in target order (see {@link targetNodes}), and sets the index of each. */
export function* inTargetOrder(nodes: readonly ExistingNode[]): Steps<readonly ExistingNode[]> {
  const sorted = yield* sortInSteps(nodes, byTargetOrder);
  for (const [index, node] of sorted.entries()) node.index = index;
  return sorted;
}

/** Merges two lists of nodes into target order, and sets the index of each. The first list is sorted already. */
export function merged(
  sorted: readonly ExistingNode[],
  others: readonly ExistingNode[],
): ExistingNode[] {
  const rest = others.toSorted(byTargetOrder);
  const all: ExistingNode[] = [];
  let next = 0;
  const take = (node: ExistingNode) => {
    node.index = all.length;
    all.push(node);
  };
  for (const node of sorted) {
    for (let other = rest[next]; other !== undefined && byTargetOrder(other, node) < 0; ) {
      take(other);
      other = rest[++next];
    }
    take(node);
  }
  for (const node of rest.slice(next)) take(node);
  return all;
}

function byTargetOrder({ view: a }: ExistingNode, { view: b }: ExistingNode): number {
  return Number(b.initialized) - Number(a.initialized) || (a.name < b.name ? -1 : 1);
}
