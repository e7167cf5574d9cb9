/**
 * Metrics of the state of each pod, and of the time until pods are bound and until they are ready (started). The time
 * counts from the pod's creation and from the first plan that placed it. Gauges are computed at each scrape. Durations
 * are recorded when a pod that was seen waiting is bound or ready.
 * upstream: pkg/controllers/metrics/pod/controller.go
 */
import { isTerminal, POD, type Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import {
  ARCH_LABEL_KEY,
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  NODEPOOL_LABEL_KEY,
  PROVISIONER_NAME_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import { createdAtMs, keyOf } from "../../apis/meta.ts";
import { hasResourceClaims } from "../../apis/resource/pod-claims.ts";
import { DURATION_BUCKETS, type MetricSpec, type Series } from "../../base/metrics.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import { type Controller, source } from "../../kube/manager/controller.ts";
import type { MirrorEvent } from "../../kube/mirror/mirror.ts";
import { pods } from "../mirrors.ts";
import type { PodTimes } from "../provisioning/pod-times.ts";
import type { World } from "../world.ts";
import { LOOKED_AT_PER_STEP, observer } from "./observer.ts";

const POD_NAME = ["name", "namespace"];
/** The label that says whether a pod requests devices by ResourceClaims. */
const DEVICES = "dynamic_resources";

function gauge(name: string, help: string, labels: readonly string[] = POD_NAME): MetricSpec {
  return { name, type: "gauge", help, labels };
}

function duration(name: string, help: string, labels: readonly string[] = []): MetricSpec {
  return { name, type: "histogram", help, labels, buckets: DURATION_BUCKETS };
}

/** Metrics of the state of pods, and of how long they wait. */
export const POD_METRICS: readonly MetricSpec[] = [
  gauge(
    "pods_state",
    "1 for each pod; the labels say where it runs, its phase and whether it is ready.",
    [
      ...POD_NAME,
      "owner",
      "node",
      "scheduled",
      "nodepool",
      "zone",
      "arch",
      "capacity_type",
      "instance_type",
      "phase",
      "ready",
      "managed",
    ],
  ),
  {
    name: "pods_startup_duration_seconds",
    type: "summary",
    help: "Time from the creation of a pod until it is ready.",
    labels: [],
  },
  duration(
    "pods_bound_duration_seconds",
    "Time from the creation of a pod until it is bound to a node.",
    [DEVICES],
  ),
  duration(
    "pods_provisioning_bound_duration_seconds",
    "Time from the first plan that placed a pod until the pod is bound.",
    [DEVICES],
  ),
  duration(
    "pods_provisioning_startup_duration_seconds",
    "Time from the first plan that placed a pod until the pod is ready.",
  ),
  gauge("pods_unbound_time_seconds", "Age of a pod that is not bound to a node.", [
    ...POD_NAME,
    DEVICES,
  ]),
  gauge("pods_unstarted_time_seconds", "Age of a pod that is not ready."),
  gauge(
    "pods_provisioning_unbound_time_seconds",
    "Time since the first plan that placed a pod, while the pod is not bound.",
    [...POD_NAME, DEVICES],
  ),
  gauge(
    "pods_provisioning_unstarted_time_seconds",
    "Time since the first plan that placed a pod, while the pod is not ready.",
  ),
  gauge(
    "pods_provisioning_scheduling_undecided_time_seconds",
    "How long a pending pod has waited for the first plan that decides about it.",
  ),
];

/** A pod that was seen before it was ready, and whether it is bound. */
interface Waiting {
  readonly pod: Pod;
  readonly bound: boolean;
}

/** Computes the gauges and records the durations of pods. */
export function podMetrics(world: World, times: PodTimes): Controller {
  const waiting = new Map<string, Waiting>();
  const { clock, metrics } = world;

  const since = (ms: number): number => (clock.now() - ms) / 1_000;

  function observe(pod: Pod, what: "bound" | "startup"): void {
    const labels = what === "bound" ? devicesOf(pod) : {};
    metrics.observe(`pods_${what}_duration_seconds`, labels, since(createdAtMs(pod)));
    const placedMs = times.placedAtMs(pod);
    if (placedMs !== undefined)
      metrics.observe(`pods_provisioning_${what}_duration_seconds`, labels, since(placedMs));
  }

  function take(pod: Pod, event: MirrorEvent): void {
    const key = keyOf(pod);
    const before = waiting.get(key);
    const started = isReady(pod);
    if (event === "removed" || started || isTerminal(pod)) {
      if (before !== undefined && event !== "removed") {
        if (!before.bound) observe(pod, "bound");
        if (started) observe(pod, "startup");
      }
      waiting.delete(key);
      times.forget(pod);
      return;
    }
    const bound = isBound(pod);
    // A pod that already ran when this process started: how long it waited is not known.
    if (before === undefined && pod.status?.phase === "Running") return;
    if (before !== undefined && !before.bound && bound) observe(pod, "bound");
    waiting.set(key, { pod, bound });
  }

  function* waits(until: "bound" | "started", sinceMs: (pod: Pod) => number | undefined): Series {
    // The list is copied first: a pod recreated under the same name during the loop would be counted twice.
    for (const [at, one] of [...waiting.values()].entries()) {
      if (at % LOOKED_AT_PER_STEP === 0) yield undefined;
      const ms = until === "bound" && one.bound ? undefined : sinceMs(one.pod);
      if (ms !== undefined) yield { labels: waitLabels(one.pod, until), value: since(ms) };
    }
  }

  function* undecided(): Series {
    // The gauge for pods that no plan has considered yet. `waits` handles the other pods.
    for (const { sinceMs, ...pod } of [...times.undecided()])
      yield { labels: nameOf(pod), value: since(sinceMs) };
  }

  return observer(
    metrics,
    "metrics.pod",
    [
      ["pods_state", () => states(world)],
      ["pods_unbound_time_seconds", () => waits("bound", createdAtMs)],
      ["pods_unstarted_time_seconds", () => waits("started", createdAtMs)],
      ["pods_provisioning_unbound_time_seconds", () => waits("bound", times.placedAtMs)],
      ["pods_provisioning_unstarted_time_seconds", () => waits("started", times.placedAtMs)],
      ["pods_provisioning_scheduling_undecided_time_seconds", undecided],
    ],
    [
      source(POD, (pod, event) => {
        take(pod, event);
        return [];
      }),
    ],
  );
}

function nameOf(pod: { readonly name: string; readonly namespace?: string | undefined }) {
  return { name: pod.name, namespace: pod.namespace ?? "" };
}

function waitLabels(pod: Pod, until: "bound" | "started"): Labels {
  const name = nameOf(pod.metadata);
  return until === "bound" ? { ...name, ...devicesOf(pod) } : name;
}

function devicesOf(pod: Pod): Labels {
  return { [DEVICES]: String(hasResourceClaims(pod)) };
}

function isBound({ spec }: Pod): boolean {
  return spec.nodeName !== undefined && spec.nodeName !== "";
}

type Labels = Readonly<Record<string, string>>;

/** The labels that all pods of a node share, by node view. They are kept because views are immutable. */
const hosts = new WeakMap<NodeView, Labels>();

function hostOf(view: NodeView): Labels {
  let labels = hosts.get(view);
  if (labels === undefined) {
    labels = hostLabels(view.name, view.labels, view.managed);
    hosts.set(view, labels);
  }
  return labels;
}

function hostLabels(node: string, labels: Labels, managed: boolean): Labels {
  return {
    node,
    nodepool: labels[NODEPOOL_LABEL_KEY] ?? labels[PROVISIONER_NAME_LABEL_KEY] ?? "",
    zone: labels[TOPOLOGY_ZONE_LABEL_KEY] ?? "",
    arch: labels[ARCH_LABEL_KEY] ?? "",
    capacity_type: labels[CAPACITY_TYPE_LABEL_KEY] ?? "",
    instance_type: labels[INSTANCE_TYPE_LABEL_KEY] ?? "",
    managed: String(managed),
  };
}

function* states(world: World): Series {
  // There may be a million pods, so they are not sorted at each scrape.
  for (const pod of pods(world).each()) {
    const { nodeName = "" } = pod.spec;
    const view = nodeName === "" ? undefined : world.cluster.node(nodeName);
    const shared = view === undefined ? hostLabels(nodeName, {}, false) : hostOf(view);
    const labels = {
      ...nameOf(pod.metadata),
      owner: ownerOf(pod),
      scheduled: String(isBound(pod)),
      phase: pod.status?.phase ?? "",
      ready: String(isReady(pod)),
    };
    yield { shared, labels, value: 1 };
  }
}

/** The API path of the pod's first owner, in upstream's form. */
function ownerOf({ metadata }: Pod): string {
  const [owner] = metadata.ownerReferences ?? [];
  if (owner === undefined) return "";
  const plural = `${owner.kind.toLowerCase()}s`;
  return `/apis/${owner.apiVersion}/namespaces/${metadata.namespace}/${plural}/${owner.name}`;
}
