/**
 * The scheduler's view of the cluster. Events of the mirrors update its snapshot and its queue. It keeps the
 * changes that could help pods that fit nowhere, and the pods that are placed and not yet bound in the mirrors.
 */
import { REPLICA_SET, REPLICATION_CONTROLLER, STATEFUL_SET } from "../../apis/apps/kinds.ts";
import {
  NAMESPACE,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  SERVICE,
  type Service,
} from "../../apis/core/kinds.ts";
import { NODE, type Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { controllerOf, type KubeObject, keyOf, type LabelSelector } from "../../apis/meta.ts";
import { POD_DISRUPTION_BUDGET } from "../../apis/policy/kinds.ts";
import { DEVICE_CLASS, RESOURCE_CLAIM, RESOURCE_SLICE } from "../../apis/resource/kinds.ts";
import { CSI_NODE, STORAGE_CLASS } from "../../apis/storage/kinds.ts";
import { deepEqual } from "../../base/json.ts";
import type { Mirrors } from "../../kube/mirror/mirror.ts";
import { type PartDeps, podMirror } from "../parts.ts";
import type { AssumedClaims } from "./devices/assumed-claims.ts";
import { claimStatuses, type DeviceObjects, podClaims } from "./devices/pod-claims.ts";
import { mayFit } from "./feasible.ts";
import type { FilterName } from "./filters/filter.ts";
import { type Labels, NO_LABELS, type PodInfo, podInfo } from "./pod-info.ts";
import { profileOf, type SchedulerProfile } from "./profiles.ts";
import { SchedulingQueue, type Waiting } from "./queue.ts";
import { Snapshot, type Surroundings } from "./snapshot.ts";

/** Filters whose result may change when a pod is placed on a node; ON_POD_GONE: when a pod is removed from one. */
const ON_POD_PLACED: readonly FilterName[] = ["InterPodAffinity", "PodTopologySpread"];
const ON_POD_GONE: readonly FilterName[] = [
  "InterPodAffinity",
  "PodTopologySpread",
  "NodePorts",
  "VolumeRestrictions",
  "NodeVolumeLimits",
];
const ON_VOLUMES: readonly FilterName[] = [
  "VolumeBinding",
  "VolumeZone",
  "VolumeRestrictions",
  "NodeVolumeLimits",
];

/** The scheduler's view of the cluster: nodes, placed pods, and the queue. */
export class ClusterView {
  readonly snapshot: Snapshot;
  readonly queue = new SchedulingQueue();
  readonly #clockNow: () => number;
  readonly #pending = new Set<string>();
  readonly #assumed = new Set<string>();
  /** Pods with a missing or deleted ResourceClaim. They are not scheduled, as if they had a scheduling gate. */
  readonly #withoutClaims = new Map<string, Pod>();
  /** Pods that wait for their nominated node, on which preemption makes room. */
  readonly #nominated = new Map<string, { readonly pod: PodInfo; readonly node: string }>();
  readonly #listeners = new Set<() => void>();
  /** Nodes that changed since the last retry of pods, so that a pod may fit now. */
  readonly #changedNodes = new Set<string>();
  readonly #changedFor = new Set<FilterName>();

  constructor(surroundings: Surroundings, now: () => number) {
    this.snapshot = new Snapshot(surroundings);
    this.#clockNow = now;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  isAssumed(key: string): boolean {
    return this.#assumed.has(key);
  }

  /** Whether the pod still exists and needs a node. */
  isWaiting(key: string): boolean {
    return this.#pending.has(key);
  }

  /** Sets the pod's nominated node. Undefined: it has none any more. */
  nominate(pod: PodInfo, node: string | undefined): void {
    if (node !== undefined) this.#nominated.set(pod.key, { pod, node });
    else this.#nominated.delete(pod.key);
  }

  nominationOf(key: string): string | undefined {
    return this.#nominated.get(key)?.node;
  }

  /** The nominations of other pods with equal or higher priority, which `pod` must respect. */
  nominatedBefore(pod: PodInfo): readonly { readonly pod: PodInfo; readonly node: string }[] {
    if (this.#nominated.size === 0) return [];
    return [...this.#nominated.values()].filter(
      (one) => one.pod.key !== pod.key && one.pod.priority >= pod.priority,
    );
  }

  /** Pods of lower priority whose nominated node this is. */
  nominatedBelow(pod: PodInfo, node: string): readonly PodInfo[] {
    return [...this.#nominated.values()]
      .filter((one) => one.node === node && one.pod.priority < pod.priority)
      .map((one) => one.pod);
  }

  /** Counts the pod on the node before its binding is in the mirrors. */
  assume(pod: PodInfo, nodeName: string): void {
    this.#assumed.add(pod.key);
    this.#nominated.delete(pod.key);
    this.snapshot.setPod(pod, nodeName);
    this.#note(ON_POD_PLACED);
  }

  /** Undoes {@link assume}, because the binding failed. */
  forget(key: string): void {
    if (!this.#assumed.delete(key)) return;
    this.#released(key);
  }

  /** Retries the pods that may fit after the changes since the last call. */
  applyChanges(nowMs: number): void {
    if (this.#changedNodes.size === 0 && this.#changedFor.size === 0) return;
    const nodes = [...this.#changedNodes].sort();
    const reasons = [...this.#changedFor];
    this.#changedNodes.clear();
    this.#changedFor.clear();
    // Equal pods, such as those of one Deployment, share an answer.
    const roomFor = new Map<string, boolean>();
    const hasRoom = (pod: PodInfo): boolean => {
      let known = roomFor.get(pod.shape);
      if (known === undefined) {
        known = nodes.some((name) => {
          const node = this.snapshot.node(name);
          return node?.node !== undefined && mayFit(pod, node, this.snapshot);
        });
        roomFor.set(pod.shape, known);
      }
      return known;
    };
    const helps = ({ pod, rejectedBy }: Waiting): boolean =>
      reasons.some((name) => rejectedBy.has(name)) || hasRoom(pod);
    this.queue.wake(helps, nowMs);
  }

  takePod(pod: Pod, before: Pod | undefined): void {
    const key = keyOf(pod);
    const { phase } = pod.status ?? {};
    if (phase === "Succeeded" || phase === "Failed") {
      this.dropPod(pod);
      return;
    }
    const nodeName = pod.spec.nodeName ?? "";
    if (nodeName !== "") {
      this.#pending.delete(key);
      this.#nominated.delete(key);
      this.queue.remove(key);
      const assumed = this.#assumed.delete(key);
      if (this.snapshot.nodeOf(key) === nodeName && sameForPlacing(pod, before)) {
        if (!assumed) return;
      }
      this.snapshot.setPod(podInfo(pod), nodeName);
      if (leavesRoom(pod, before)) this.#changedNodes.add(nodeName);
      this.#note(ON_POD_PLACED);
      return;
    }
    if (this.snapshot.surroundings.profile(pod.spec.schedulerName) === undefined) return;
    const lacksClaims = "message" in podClaims(pod, this.snapshot.surroundings.devices);
    if (lacksClaims) this.#withoutClaims.set(key, pod);
    else this.#withoutClaims.delete(key);
    const gated = lacksClaims || (pod.spec.schedulingGates ?? []).length > 0;
    if (gated || pod.metadata.deletionTimestamp !== undefined) {
      this.#pending.delete(key);
      this.#nominated.delete(key);
      this.queue.remove(key);
      return;
    }
    this.#pending.add(key);
    // The nomination may be from before a restart, or from another scheduler.
    const nominated = pod.status?.nominatedNodeName ?? "";
    if (nominated !== "" && !this.#assumed.has(key)) this.nominate(podInfo(pod), nominated);
    if (this.#assumed.has(key)) return;
    if (this.queue.has(key) && sameForPlacing(pod, before)) {
      this.queue.refresh(podInfo(pod));
      return;
    }
    this.queue.add(podInfo(pod), this.#clockNow());
    this.#changed();
  }

  dropPod(pod: Pod): void {
    const key = keyOf(pod);
    this.#withoutClaims.delete(key);
    this.#pending.delete(key);
    this.#nominated.delete(key);
    this.queue.remove(key);
    this.#assumed.delete(key);
    this.#released(key);
  }

  takeNode(node: Node, before: Node | undefined): void {
    this.snapshot.setNode(node);
    if (before !== undefined && offersTheSame(node, before)) return;
    this.#changedNodes.add(node.metadata.name);
    // A new node may be a new topology domain, or be in the domain that a pod's affinity needs.
    this.#note(ON_POD_PLACED);
  }

  dropNode(node: Node): void {
    this.snapshot.removeNode(node.metadata.name);
    this.#note(["PodTopologySpread"]);
  }

  /**
   * Call when a ResourceClaim, ResourceSlice or DeviceClass changed. Pods may have their claims, or more devices,
   * now.
   */
  devicesChanged(): void {
    for (const pod of [...this.#withoutClaims.values()]) this.takePod(pod, undefined);
    this.#note(["DynamicResources"]);
  }

  volumesChanged(): void {
    this.#note(ON_VOLUMES);
  }

  namespacesChanged(): void {
    this.snapshot.namespacesChanged();
    this.#note(["InterPodAffinity"]);
  }

  #released(key: string): void {
    const nodeName = this.snapshot.nodeOf(key);
    if (this.snapshot.removePod(key) === undefined || nodeName === undefined) return;
    this.#changedNodes.add(nodeName);
    this.#note(ON_POD_GONE);
  }

  #note(filters: readonly FilterName[]): void {
    for (const name of filters) this.#changedFor.add(name);
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Creates a view that follows the mirrors. `assumed`: allocations of claims that are decided and not written yet. */
export function watchCluster(
  deps: PartDeps,
  assumed: AssumedClaims,
  profiles: readonly SchedulerProfile[],
): ClusterView {
  const { mirrors, clock } = deps;
  const surroundings = { ...surroundingsOf(mirrors, assumed), profile: profileOf(profiles) };
  const view = new ClusterView(surroundings, () => clock.now());
  podMirror(mirrors).on((event, pod, before) =>
    event === "removed" ? view.dropPod(pod) : view.takePod(pod, before),
  );
  mirrors
    .of(NODE)
    .on((event, node, before) =>
      event === "removed" ? view.dropNode(node) : view.takeNode(node, before),
    );
  mirrors.of(PERSISTENT_VOLUME_CLAIM).on(() => view.volumesChanged());
  mirrors.of(PERSISTENT_VOLUME).on(() => view.volumesChanged());
  mirrors.of(STORAGE_CLASS).on(() => view.volumesChanged());
  mirrors.of(CSI_NODE).on(() => view.volumesChanged());
  mirrors.of(RESOURCE_CLAIM).on(() => view.devicesChanged());
  mirrors.of(RESOURCE_SLICE).on(() => view.devicesChanged());
  mirrors.of(DEVICE_CLASS).on(() => view.devicesChanged());
  mirrors.of(NAMESPACE).on((event, namespace, before) => {
    if (event === "updated" && deepEqual(namespace.metadata.labels, before?.metadata.labels))
      return;
    view.namespacesChanged();
  });
  return view;
}

function devicesOf(mirrors: Mirrors): DeviceObjects {
  const claims = mirrors.of(RESOURCE_CLAIM);
  const slices = mirrors.of(RESOURCE_SLICE);
  const classes = mirrors.of(DEVICE_CLASS);
  return {
    claim: (namespace, name) => claims.get(`${namespace}/${name}`),
    claims: () => claims.list(),
    slices: () => slices.list(),
    deviceClass: (name) => classes.get(name),
  };
}

function surroundingsOf(mirrors: Mirrors, assumed: AssumedClaims): Omit<Surroundings, "profile"> {
  const claims = mirrors.of(PERSISTENT_VOLUME_CLAIM);
  const volumes = mirrors.of(PERSISTENT_VOLUME);
  const classes = mirrors.of(STORAGE_CLASS);
  const csiNodes = mirrors.of(CSI_NODE);
  const namespaces = mirrors.of(NAMESPACE);
  const budgets = mirrors.of(POD_DISRUPTION_BUDGET);
  const replicaSets = mirrors.of(REPLICA_SET);
  const statefulSets = mirrors.of(STATEFUL_SET);
  const replicationControllers = mirrors.of(REPLICATION_CONTROLLER);
  const servicesByNamespace = new Map<string, Map<string, Service>>();
  mirrors.of(SERVICE).on((event, service) => {
    const namespace = service.metadata.namespace ?? "";
    const services = servicesByNamespace.get(namespace) ?? new Map<string, Service>();
    if (event === "removed") services.delete(service.metadata.name);
    else services.set(service.metadata.name, service);
    servicesByNamespace.set(namespace, services);
  });
  return {
    volumes: {
      claim: (namespace, name) => claims.get(`${namespace}/${name}`),
      volume: (name) => volumes.get(name),
      volumes: () => volumes.list(),
      storageClass: (name) => classes.get(name),
      csiNode: (name) => csiNodes.get(name),
    },
    devices: assumed.over(devicesOf(mirrors)),
    namespaceLabels: (namespace) => namespaces.get(namespace)?.metadata.labels ?? NO_LABELS,
    services: (namespace) =>
      [...(servicesByNamespace.get(namespace)?.values() ?? [])].sort((a, b) =>
        a.metadata.name < b.metadata.name ? -1 : 1,
      ),
    budgets: (namespace) =>
      budgets.list().filter(({ metadata }) => metadata.namespace === namespace),
    ownerSelector(pod) {
      const owner = controllerOf(pod);
      const key = `${pod.metadata.namespace ?? ""}/${owner?.name ?? ""}`;
      if (owner?.kind === "ReplicaSet") return replicaSets.get(key)?.spec.selector;
      if (owner?.kind === "StatefulSet") return statefulSets.get(key)?.spec.selector;
      if (owner?.kind !== "ReplicationController") return undefined;
      return labelsChosenBy(replicationControllers.get(key));
    },
  };
}

/**
 * The label selector for the pods of a controller. A ReplicationController has plain labels in place of a
 * selector. Exported for tests.
 */
export function labelsChosenBy(controller: KubeObject | undefined): LabelSelector | undefined {
  const { selector } = (controller as { spec?: { selector?: Labels } } | undefined)?.spec ?? {};
  return selector === undefined ? undefined : { matchLabels: selector };
}

/** Whether no field changed that scheduling reads. Most updates of pods change their status only. */
function sameForPlacing(pod: Pod, before: Pod | undefined): boolean {
  return (
    before !== undefined &&
    before.metadata.uid === pod.metadata.uid &&
    (before.metadata.deletionTimestamp === undefined) ===
      (pod.metadata.deletionTimestamp === undefined) &&
    deepEqual(before.metadata.labels, pod.metadata.labels) &&
    deepEqual(before.spec, pod.spec) &&
    deepEqual(claimStatuses(before), claimStatuses(pod)) &&
    // During a resize the amounts that the kubelet allocated are in the status.
    deepEqual(podRequests(before), podRequests(pod))
  );
}

/** Whether the pod requests less of a resource than before, for example after a resize. */
function leavesRoom(pod: Pod, before: Pod | undefined): boolean {
  if (before === undefined) return false;
  const now = podRequests(pod);
  return Object.entries(podRequests(before)).some(([name, amount]) => (now[name] ?? 0) < amount);
}

function offersTheSame(node: Node, before: Node): boolean {
  return (
    deepEqual(node.metadata.labels, before.metadata.labels) &&
    deepEqual(node.spec?.taints, before.spec?.taints) &&
    node.spec?.unschedulable === before.spec?.unschedulable &&
    deepEqual(node.status?.allocatable, before.status?.allocatable)
  );
}
