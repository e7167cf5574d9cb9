/**
 * Gauges of nodes: resources, labels, age, and utilization of the cluster. They are read from the cluster state at each
 * scrape. upstream: pkg/controllers/metrics/node/controller.go
 */
import { isOwnedByDaemonSet } from "../../apis/core/pod.ts";
import { podLimits } from "../../apis/core/pod-resources.ts";
import { WELL_KNOWN_LABELS } from "../../apis/karpenter/labels.ts";
import { createdAtMs } from "../../apis/meta.ts";
import {
  addResources,
  addToSum,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../apis/resources.ts";
import type { MetricSpec, Series } from "../../base/metrics.ts";
import type { Steps } from "../../base/steps.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { LOOKED_AT_PER_STEP, observer, type Reader } from "./observer.ts";

const OWN_LABELS = ["node_name", "phase", "managed"];

type Amounts = (view: NodeView) => Resources;

const GAUGES: Readonly<Record<string, { readonly help: string; readonly of: Amounts }>> = {
  nodes_allocatable: {
    help: "Allocatable resources of a node.",
    of: ({ allocatable }) => allocatable,
  },
  nodes_total_pod_requests: {
    help: "Requests of all pods of a node, DaemonSet pods included.",
    of: ({ allocatable, available }) => subtractResources(allocatable, available),
  },
  nodes_total_pod_limits: {
    help: "Limits of all pods of a node, DaemonSet pods included.",
    of: (view) => limitsOf(view).all,
  },
  nodes_total_daemon_requests: {
    help: "Requests of the DaemonSet pods of a node.",
    of: ({ daemonRequests }) => daemonRequests,
  },
  nodes_total_daemon_limits: {
    help: "Limits of the DaemonSet pods of a node.",
    of: (view) => limitsOf(view).daemons,
  },
  nodes_system_overhead: {
    help: "Capacity minus allocatable of a node: reserved for the system.",
    of: ({ capacity, allocatable }) => subtractResources(capacity, allocatable),
  },
};

/**
 * The metric label for a label key: `topology.kubernetes.io/zone` → `zone`, `node.kubernetes.io/instance-type` →
 * `instance_type`.
 */
function labelName(key: string): string {
  return key.slice(key.indexOf("/") + 1).replaceAll(/[-.]/g, "_");
}

/** The label key for each metric label: the first key that gives this name. */
function labelKeys(wellKnown: readonly string[]): ReadonlyMap<string, string> {
  const keys = new Map<string, string>();
  for (const key of [...WELL_KNOWN_LABELS, ...wellKnown])
    if (!keys.has(labelName(key))) keys.set(labelName(key), key);
  return keys;
}

/** Declares the gauges of nodes. `wellKnown`: the provider's label keys, which upstream adds to those of core. */
export function nodeGaugeMetrics(wellKnown: readonly string[]): readonly MetricSpec[] {
  const labels = [...OWN_LABELS, ...labelKeys(wellKnown).keys()];
  return [
    ...Object.entries(GAUGES).map(([name, { help }]) => ({
      name,
      type: "gauge" as const,
      help,
      labels: [...labels, "resource_type"],
    })),
    {
      name: "nodes_current_lifetime_seconds",
      type: "gauge",
      help: "Age of each node.",
      labels,
    },
    {
      name: "cluster_utilization_percent",
      type: "gauge",
      help: "Requests of all pods as a percentage of the allocatable resources of all nodes.",
      labels: ["resource_type"],
    },
  ];
}

/** Gauges of nodes, read from the cluster state at each scrape. */
export function nodeMetrics(world: World): Controller {
  const keys = [...labelKeys(world.cloud.wellKnownLabels)];
  /** The labels of each node view. They are kept because views are immutable. */
  const labelsByView = new WeakMap<NodeView, Readonly<Record<string, string>>>();

  function labelsOf(view: NodeView): Readonly<Record<string, string>> {
    let labels = labelsByView.get(view);
    if (labels === undefined) {
      const values = keys.map(([label, key]) => [label, view.labels[key] ?? ""] as const);
      labels = {
        node_name: view.name,
        phase: view.deleting ? "Terminating" : "Running",
        managed: String(view.managed),
        ...Object.fromEntries(values),
      };
      labelsByView.set(view, labels);
    }
    return labels;
  }

  function* amounts(of: Amounts): Series {
    for (const [at, view] of (yield* viewsOf(world)).entries()) {
      if (at % LOOKED_AT_PER_STEP === 0) yield undefined;
      if (view.node === undefined) continue;
      const shared = labelsOf(view);
      const resources = of(view);
      for (const name in resources)
        if (name !== "nodes")
          yield {
            shared,
            labels: { resource_type: resourceType(name) },
            value: inUnits(resources, name),
          };
    }
  }

  function* ages(): Series {
    const views = yield* viewsOf(world);
    const nowMs = world.clock.now();
    for (const [at, view] of views.entries()) {
      if (at % LOOKED_AT_PER_STEP === 0) yield undefined;
      if (view.node === undefined) continue;
      const value = (nowMs - createdAtMs(view.node)) / 1_000;
      yield { shared: labelsOf(view), labels: {}, value };
    }
  }

  return observer(world.metrics, "metrics.node", [
    ...Object.entries(GAUGES).map(([name, { of }]): Reader => [name, () => amounts(of)]),
    ["nodes_current_lifetime_seconds", ages],
    ["cluster_utilization_percent", () => utilization(world)],
  ]);
}

/** The current nodes. Many may have changed since the last scrape, so their views are made in steps. */
export function* viewsOf({ cluster }: Pick<World, "cluster">): Steps<readonly NodeView[]> {
  yield* cluster.catchUp();
  return cluster.nodes();
}

interface Limits {
  readonly all: Resources;
  readonly daemons: Resources;
}

/** For each node view: the sums of its pods' limits. They are kept because views are immutable. */
const limits = new WeakMap<NodeView, Limits>();

function limitsOf(view: NodeView): Limits {
  let known = limits.get(view);
  if (known === undefined) {
    let all = NO_RESOURCES;
    let daemons = NO_RESOURCES;
    for (const pod of view.pods) {
      const own = podLimits(pod);
      all = addResources(all, own);
      if (isOwnedByDaemonSet(pod)) daemons = addResources(daemons, own);
    }
    known = { all, daemons };
    limits.set(view, known);
  }
  return known;
}

function* utilization(world: World): Series {
  const allocatable: Record<string, number> = {};
  const available: Record<string, number> = {};
  for (const [at, view] of (yield* viewsOf(world)).entries()) {
    if (at % LOOKED_AT_PER_STEP === 0) yield undefined;
    if (view.node === undefined) continue;
    addToSum(allocatable, view.allocatable);
    addToSum(available, view.available);
  }
  for (const name in allocatable) {
    const all = allocatable[name] ?? 0;
    if (all <= 0 || name === "nodes") continue;
    const percent = (100 * (all - (available[name] ?? 0))) / all;
    yield { labels: { resource_type: resourceType(name) }, value: percent };
  }
}

/** The amount of a resource as metrics show it: cpu in cores, other resources in their own unit. */
export function inUnits(resources: Resources, name: string): number {
  return (resources[name] ?? 0) / (name === "cpu" ? 1_000 : 1);
}

/** The resource name as upstream's label spells it, such as `ephemeral_storage`. */
export function resourceType(name: string): string {
  return name.replaceAll("-", "_");
}
