/**
 * Metrics of the conditions of pools, claims, Nodes and node classes, and of how long their deletions take. Names
 * contain the kind (`operator_nodeclaim_status_condition_count`). Claims and pools also have deprecated names without
 * it. upstream: operatorpkg/status/controller.go, metrics.go
 */

import { NODE } from "../../apis/core/node.ts";
import type { Conditioned } from "../../apis/karpenter/conditions.ts";
import {
  NODE_INITIALIZED_LABEL_KEY,
  NODEPOOL_LABEL_KEY,
  nodeClassLabelKey,
} from "../../apis/karpenter/labels.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { Condition, Kind, KubeObject } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { doubling, type MetricSpec, type Series } from "../../base/metrics.ts";
import type { CloudProvider } from "../../core/cloudprovider/cloud-provider.ts";
import type { World } from "../world.ts";
import { LOOKED_AT_PER_STEP, type Reader } from "./observer.ts";

/** A set of metrics with one name prefix, for the conditions of one kind, and its labels. */
interface Family {
  readonly kind: Kind;
  /** The prefix of the metric names, such as `operator_nodeclaim` or `operator`. */
  readonly prefix: string;
  readonly deprecated: boolean;
  /** The object's label key for each metric label. */
  readonly objectLabels: Readonly<Record<string, string>>;
  readonly fixed: Readonly<Record<string, string>>;
  /** Label values that all samples of one object share, by object. */
  readonly shared: WeakMap<KubeObject, Readonly<Record<string, string>>>;
}

type ProviderFacts = Pick<CloudProvider, "nodeClassKinds">;

/**
 * The families of metrics of all kinds. Of the provider's class kinds only the first and current one is used, because
 * older ones had no conditions.
 */
function families({ nodeClassKinds }: ProviderFacts): readonly Family[] {
  const [nodeClass] = nodeClassKinds;
  const classKeys = nodeClass === undefined ? [] : [nodeClassLabelKey(nodeClass)];
  const named = (kind: Kind, keys: readonly string[]): Family => ({
    kind,
    prefix: `operator_${kind.kind.toLowerCase()}`,
    deprecated: false,
    objectLabels: Object.fromEntries(keys.map((key) => [key.replaceAll(/[./-]/g, "_"), key])),
    fixed: {},
    shared: new WeakMap(),
  });
  const unnamed = (kind: Kind): Family => ({
    kind,
    prefix: "operator",
    deprecated: true,
    objectLabels: {},
    fixed: { group: kind.group, kind: kind.kind },
    shared: new WeakMap(),
  });
  return [
    named(NODE_CLAIM as Kind, [...classKeys, NODEPOOL_LABEL_KEY]),
    named(NODE_POOL as Kind, []),
    named(NODE as Kind, [...classKeys, NODE_INITIALIZED_LABEL_KEY, NODEPOOL_LABEL_KEY]),
    ...(nodeClass === undefined ? [] : [named(nodeClass, [])]),
    unnamed(NODE_CLAIM as Kind),
    unnamed(NODE_POOL as Kind),
  ];
}

const OBJECT = ["namespace", "name"];
const STATE = ["type", "status", "reason"];
const BUCKETS = doubling(0.5, 15);

/** Declarations of the metrics, by name without the family's prefix. */
const SHAPES: Readonly<Record<string, Omit<MetricSpec, "name">>> = {
  status_condition_count: {
    type: "gauge",
    help: "1 for each condition of each object; the label status is its current status.",
    labels: [...OBJECT, ...STATE],
  },
  status_condition_current_status_seconds: {
    type: "gauge",
    help: "How long a condition has had its current status.",
    labels: [...OBJECT, ...STATE],
  },
  status_condition_transition_seconds: {
    type: "histogram",
    help: "How long a condition kept a status before the status changed.",
    labels: ["type", "status"],
    buckets: BUCKETS,
  },
  status_condition_transitions_total: {
    type: "counter",
    help: "Number of times that a condition changed to a status.",
    labels: STATE,
  },
  termination_current_time_seconds: {
    type: "gauge",
    help: "How long an object has been terminating.",
    labels: OBJECT,
  },
  termination_duration_seconds: {
    type: "histogram",
    help: "Time from the deletion of an object until it was gone.",
    labels: [],
    buckets: BUCKETS,
  },
};

/** The declarations of the status metrics. Each deprecated family has one metric for all kinds. */
export function statusMetrics(provider: ProviderFacts): readonly MetricSpec[] {
  const specs = families(provider).flatMap(({ prefix, objectLabels, fixed, deprecated }) =>
    Object.entries(SHAPES).map(([name, shape]) => ({
      ...shape,
      name: `${prefix}_${name}`,
      unprefixed: true as const,
      help: deprecated ? `DEPRECATED: use the name with the kind. ${shape.help}` : shape.help,
      labels: [...shape.labels, ...Object.keys(objectLabels), ...Object.keys(fixed)],
    })),
  );
  return specs.filter((one, at) => specs.findIndex(({ name }) => name === one.name) === at);
}

/** The status metrics of one kind. */
export interface StatusMetrics {
  /** The gauges. Empty for kinds whose conditions are not exported. */
  readonly readers: readonly Reader[];
  /** Counts the changes of one object. `after`: the object now; undefined if it is gone. */
  count(before: Conditioned, after: Conditioned | undefined): void;
}

/** The status metrics of one kind. upstream: operatorpkg/status. */
export function statusMetricsOf(world: World, kind: Kind): StatusMetrics {
  const own = families(world.cloud).filter(
    (one) => one.kind.group === kind.group && one.kind.kind === kind.kind,
  );
  return {
    readers: own.flatMap((family) => readersOf(world, family)),
    count: (before, after) => {
      if (own.length === 0) return;
      if (after === undefined) countEnd(world, own, before);
      else for (const change of changes(before, after)) countChange(world, own, after, change);
    },
  };
}

function readersOf(world: World, family: Family): readonly Reader[] {
  const { prefix } = family;
  const inState = (one: Condition) => secondsSince(world, one.lastTransitionTime);
  return [
    [`${prefix}_status_condition_count`, () => conditions(world, family, () => 1)],
    [`${prefix}_status_condition_current_status_seconds`, () => conditions(world, family, inState)],
    [`${prefix}_termination_current_time_seconds`, () => terminations(world, family)],
  ];
}

function countEnd(world: World, own: readonly Family[], object: KubeObject): void {
  const { deletionTimestamp } = object.metadata;
  if (deletionTimestamp === undefined) return;
  for (const family of own)
    world.metrics.observe(
      `${family.prefix}_termination_duration_seconds`,
      labelsOf(family, object),
      secondsSince(world, deletionTimestamp),
    );
}

interface Change {
  readonly was: Condition;
  readonly now: Condition;
}

function countChange(
  world: World,
  own: readonly Family[],
  object: KubeObject,
  { was, now }: Change,
): void {
  const { type, status, reason = "" } = now;
  const seconds = secondsSince(world, was.lastTransitionTime, fromRfc3339(now.lastTransitionTime));
  for (const family of own) {
    const labels = { ...labelsOf(family, object), type };
    const { prefix } = family;
    world.metrics.count(`${prefix}_status_condition_transitions_total`, {
      ...labels,
      status,
      reason,
    });
    world.metrics.observe(
      `${prefix}_status_condition_transition_seconds`,
      { ...labels, status: was.status },
      seconds,
    );
  }
}

/** Conditions that existed before with another status. */
export function changes(before: Conditioned, after: Conditioned): readonly Change[] {
  if (before.status?.conditions === after.status?.conditions) return [];
  const known = new Map((before.status?.conditions ?? []).map((one) => [one.type, one]));
  return (after.status?.conditions ?? []).flatMap((now) => {
    const was = known.get(now.type);
    return was === undefined || was.status === now.status ? [] : [{ was, now }];
  });
}

function* conditions(
  world: World,
  family: Family,
  amount: (condition: Condition) => number,
): Series {
  const objects = world.mirrors.of(family.kind).list() as readonly Conditioned[];
  for (const [at, object] of objects.entries()) {
    if (at % LOOKED_AT_PER_STEP === 0) yield undefined;
    const shared = sharedOf(family, object);
    for (const one of object.status?.conditions ?? []) {
      const { type, status, reason = "" } = one;
      yield { shared, labels: { type, status, reason }, value: amount(one) };
    }
  }
}

function* terminations(world: World, family: Family): Series {
  for (const [at, object] of world.mirrors.of(family.kind).list().entries()) {
    if (at % LOOKED_AT_PER_STEP === 0) yield undefined;
    const { deletionTimestamp } = object.metadata;
    if (deletionTimestamp === undefined) continue;
    const value = secondsSince(world, deletionTimestamp);
    yield { shared: sharedOf(family, object), labels: {}, value };
  }
}

/** The label values that all samples of one object share. They are kept by object, because objects are immutable. */
function sharedOf(family: Family, object: KubeObject): Readonly<Record<string, string>> {
  let labels = family.shared.get(object);
  if (labels === undefined) {
    labels = { ...labelsOf(family, object), ...nameOf(object) };
    family.shared.set(object, labels);
  }
  return labels;
}

function nameOf({ metadata }: KubeObject): Record<string, string> {
  return { namespace: metadata.namespace ?? "", name: metadata.name };
}

function labelsOf(
  { objectLabels, fixed }: Family,
  { metadata }: KubeObject,
): Record<string, string> {
  const labels: Record<string, string> = { ...fixed };
  for (const label in objectLabels)
    labels[label] = metadata.labels?.[objectLabels[label] as string] ?? "";
  return labels;
}

function secondsSince(
  { clock }: Pick<World, "clock">,
  time: string | undefined,
  untilMs = clock.now(),
): number {
  const ms = fromRfc3339(time);
  return ms === undefined ? 0 : Math.max(0, untilMs - ms) / 1_000;
}
