/**
 * The samples of a metrics server: every 15 s one of each ready node, and one of each pod whose containers
 * ran for the whole interval before. Samples are computed when a client asks for them.
 */
import { REPLICA_SET } from "../../apis/apps/kinds.ts";
import type { Node } from "../../apis/core/node.ts";
import { isTerminal, type Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import { controllerOf, type KubeObject, type ResourceAmounts } from "../../apis/meta.ts";
import type { NodeMetrics, PodMetrics } from "../../apis/metrics/kinds.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { formatBytes, formatMilli } from "../../base/quantity.ts";
import type { Computing, StoreReader } from "../apiserver/resource-definition.ts";
import { isNodeReady } from "../kubelet/join.ts";
import {
  type ContainerUsage,
  containerUsages,
  loadOn,
  type MeasuredResource,
  type OddAnnotation,
  type SharedLoad,
  type Usage,
  type UsageSteering,
} from "./usage.ts";

/** Time between two samples: the default of the metrics server. */
const RESOLUTION_MS = 15_000;
const WINDOW = "15s";

/** Called for each annotation that is invalid. */
export type OnOdd = (object: KubeObject, odd: OddAnnotation) => void;

/** The PodMetrics of a namespace, or of all namespaces. */
export function podMetrics(
  { store, clock }: Computing,
  namespace: string | undefined,
  onOdd: OnOdd,
): readonly PodMetrics[] {
  const atMs = lastScrape(clock.now());
  return usagesOf(store, namespace, atMs, onOdd).map(({ pod, containers }) => ({
    kind: "PodMetrics",
    apiVersion: "metrics.k8s.io/v1beta1",
    metadata: metadataOf(pod, clock.now()),
    timestamp: toRfc3339(atMs),
    window: WINDOW,
    containers: containers.map(({ name, usage }) => ({ name, usage: amountsOf(usage) })),
  }));
}

/** The NodeMetrics. The usage of a node is the sum of its pods. */
export function nodeMetrics({ store, clock }: Computing, onOdd: OnOdd): readonly NodeMetrics[] {
  const atMs = lastScrape(clock.now());
  const sums = new Map<string, Usage>();
  for (const { pod, containers } of usagesOf(store, undefined, atMs, onOdd)) {
    const name = pod.spec.nodeName ?? "";
    sums.set(
      name,
      containers.reduce((sum, { usage }) => plus(sum, usage), sums.get(name) ?? NOTHING),
    );
  }
  const nodes = store.list("nodes").objects as readonly Node[];
  return nodes.filter(isNodeReady).map((node) => ({
    kind: "NodeMetrics",
    apiVersion: "metrics.k8s.io/v1beta1",
    metadata: metadataOf(node, clock.now()),
    timestamp: toRfc3339(atMs),
    window: WINDOW,
    usage: amountsOf(sums.get(node.metadata.name) ?? NOTHING),
  }));
}

const NOTHING: Usage = { cpu: 0, memory: 0 };

function plus(a: Usage, b: Usage): Usage {
  return { cpu: a.cpu + b.cpu, memory: a.memory + b.memory };
}

function lastScrape(nowMs: number): number {
  return nowMs - (nowMs % RESOLUTION_MS);
}

/** Metrics have the labels of their node or pod. Their creation time is the time of the request. */
function metadataOf({ metadata }: KubeObject, nowMs: number): KubeObject["metadata"] {
  const { name, namespace, labels } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    creationTimestamp: toRfc3339(nowMs),
    ...(labels === undefined ? {} : { labels }),
  };
}

function amountsOf({ cpu, memory }: Usage): ResourceAmounts {
  return { cpu: formatMilli(cpu), memory: formatBytes(Math.round(memory / 1_000)) };
}

interface PodUsage {
  readonly pod: Pod;
  readonly containers: readonly ContainerUsage[];
}

function usagesOf(
  store: StoreReader,
  namespace: string | undefined,
  atMs: number,
  onOdd: OnOdd,
): readonly PodUsage[] {
  const pods = store.list("pods", namespace).objects as readonly Pod[];
  const steered = pods.map((pod) => ({ pod, steering: steeringOf(store, pod) }));
  const loads = sharedLoads(steered, onOdd);
  return steered
    .filter(({ pod }) => ranThrough(pod, atMs - RESOLUTION_MS))
    .map(({ pod, steering }) => {
      const load = (resource: MeasuredResource): SharedLoad | undefined =>
        loads.get(loadKey(steering, resource));
      return { pod, containers: containerUsages(pod, steering, load, (odd) => onOdd(pod, odd)) };
    });
}

/** Whether all containers of the pod run, and already ran at `sinceMs`. */
function ranThrough({ status }: Pod, sinceMs: number): boolean {
  const containers = status?.containerStatuses ?? [];
  return (
    containers.length > 0 &&
    containers.every(({ state }) => {
      const { running } = (state ?? {}) as { readonly running?: { readonly startedAt?: string } };
      const startedMs = fromRfc3339(running?.startedAt);
      return startedMs !== undefined && startedMs <= sinceMs;
    })
  );
}

/** Storage keys of the kinds that own pods, or own the owners of pods. */
const OWNERS: Readonly<Record<string, string>> = {
  ReplicaSet: "apps/replicasets",
  Deployment: "apps/deployments",
  StatefulSet: "apps/statefulsets",
  DaemonSet: "apps/daemonsets",
  Job: "batch/jobs",
  CronJob: "batch/cronjobs",
  ReplicationController: "replicationcontrollers",
};

function steeringOf(store: StoreReader, pod: Pod): UsageSteering {
  const owner = ownerOf(store, pod);
  const upper = owner === undefined ? undefined : ownerOf(store, owner);
  // The Deployment copies its annotations to its ReplicaSets, and the copy may be old. So the
  // annotations of the Deployment itself are used.
  const isCopy = upper !== undefined && owner?.kind === REPLICA_SET.kind;
  return [pod, ...(isCopy ? [] : [owner]), upper].filter((one) => one !== undefined);
}

function ownerOf(store: StoreReader, { metadata }: KubeObject): KubeObject | undefined {
  const reference = controllerOf({ metadata });
  const key = reference === undefined ? undefined : OWNERS[reference.kind];
  if (reference === undefined || key === undefined) return undefined;
  const owner = store.get(key, metadata.namespace, reference.name);
  return owner?.metadata.uid === reference.uid ? owner : undefined;
}

function loadKey(steering: UsageSteering, resource: MeasuredResource): string {
  return `${resource}/${steering.at(-1)?.metadata.uid ?? ""}`;
}

/** The loads that annotations of workloads set, each with the number of ready pods that share it. */
function sharedLoads(
  steered: readonly { readonly pod: Pod; readonly steering: UsageSteering }[],
  onOdd: OnOdd,
): ReadonlyMap<string, SharedLoad> {
  const loads = new Map<string, SharedLoad>();
  for (const { pod, steering } of steered) {
    const workload = steering.at(-1) as KubeObject | undefined;
    if (workload === undefined || workload === pod || isTerminal(pod)) continue;
    for (const resource of ["cpu", "memory"] as const) {
      const milli = loadOn(workload, resource, (odd) => onOdd(workload, odd));
      if (milli === undefined) continue;
      const key = loadKey(steering, resource);
      loads.set(key, { milli, pods: (loads.get(key)?.pods ?? 0) + (isReady(pod) ? 1 : 0) });
    }
  }
  return loads;
}
