/**
 * Makes a packing problem of the pods of a batch. Pods with equal requests and equal node requirements are one row. For
 * each set of requirements that some row has, each instance type is one kind of bin. Pods with topology spread are
 * first divided over their domains (domains.ts). Affinity between pods is checked only when pods are placed.
 */
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { Resources } from "../../../apis/resources.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { Variant } from "../../provisioning/batch/pod-class.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import type { Pass } from "../../provisioning/place.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type { TopologyRule } from "../../provisioning/topology/topology-group.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import { uses, type WithoutHeuristics } from "../heuristics.ts";
import { HOST_DIMENSION_SHARE, MOST_HOST_DIMENSIONS, MOST_REQUIREMENT_SETS } from "../settings.ts";
import type { ClassDemand, ClassPods, Domain } from "./class-demands.ts";
import { ClassDemands } from "./class-demands.ts";
import { type DomainNow, dividedByDomain } from "./domains.ts";
import { type NodeBin, nodeBins } from "./node-bins.ts";
import type { Packing, Row } from "./packing.ts";
import { type ResourcePrices, resourcePrices } from "./resource-prices.ts";

/** Pods with equal requests, for nodes with equal requirements. */
export interface PodRow extends Row {
  readonly template: Template;
  /** The requirements of the NodePool and of the pods together. */
  readonly set: SetId;
  /** The domain of these pods, if topology spread divides them over domains. */
  readonly domain?: Domain | undefined;
  /** The classes of these pods (pods that are equal for planning), those with most rules between pods first. */
  readonly classes: readonly ClassPods[];
}

/** The packing problem of a batch. */
export interface PackingDemand extends Packing {
  readonly rows: readonly PodRow[];
  readonly bins: readonly NodeBin[];
  /** A price for one unit of each resource, and a lower bound on the price of every packing (resource-prices.ts). */
  readonly resourcePrices: ResourcePrices;
  /** Pods that are not packed. The greedy rules place them. */
  readonly others: readonly QueuedPod[];
}

export interface DemandOptions extends WithoutHeuristics {
  readonly nodeMicroUsdPerHour: number;
  /** The domain where a pod runs now. Absent: no pod of the batch runs yet. */
  readonly domainNow?: DomainNow | undefined;
}

/** The packing problem of these pods. `queued`: in the order in which the greedy rules would place them. */
export function* packingDemandOf(
  pass: Pass,
  queued: readonly QueuedPod[],
  options: DemandOptions,
): Steps<PackingDemand> {
  const classes = new ClassDemands(pass);
  yield* eachInSteps(queued, (item) => classes.add(item));
  yield;
  const { demands, others } = classes;
  const kept = ofLargestSets(demands, others);
  const divided = dividedByDomain(pass, kept, classes.podClasses(), options.domainNow);
  yield;
  const hosts = hostDimensionsOf(demands, queued.length);
  const resources = resourceNames(demands);
  const dimensions = resources.length + hosts.length;
  const rows = rowsOf({
    demands: divided,
    resources,
    hosts,
    isDivided: divided !== kept,
    isHardestFirst: uses(options, "hardestFirst"),
  });
  const perHost = hosts.map((host) => host.perHost);
  const bins = nodeBins(pass, rows, { resources, perHost, ...options });
  const counts = rows.map(({ count }) => count);
  const prices = resourcePrices({ rows, bins, dimensions }, counts);
  return { rows, bins, dimensions, hostDimensions: hosts.length, resourcePrices: prices, others };
}

/** A host rule (spread or anti-affinity over hosts) that the packing counts in each bin like a resource. */
interface HostDimension {
  readonly group: object;
  /** The most pods of the rule on one host. */
  readonly perHost: number;
}

/** The host rules whose pods need most hosts, at most `MOST_HOST_DIMENSIONS`. */
function hostDimensionsOf(demands: readonly ClassDemand[], batchPods: number): HostDimension[] {
  const found = new Map<object, { perHost: number; hosts: number }>();
  for (const { pods } of demands) {
    const { hostRules } = pods.variant;
    for (let at = 0; at < hostRules.length; at++) {
      const { group, self } = hostRules[at] as TopologyRule;
      if (!self || group.inverse || group.key !== HOSTNAME_LABEL_KEY) continue;
      const perHost = perHostOf(group);
      const known = found.get(group) ?? { perHost, hosts: 0 };
      known.hosts += pods.items.length / perHost;
      found.set(group, known);
    }
  }
  return [...found]
    .filter(([, { hosts }]) => hosts >= Math.max(2, batchPods * HOST_DIMENSION_SHARE))
    .sort(([, a], [, b]) => b.hosts - a.hosts)
    .slice(0, MOST_HOST_DIMENSIONS)
    .map(([group, { perHost }]) => ({ group, perHost }));
}

/** The most pods of a host rule on one host: maxSkew for a spread, because an empty host is always possible, else 1. */
function perHostOf({ type, maxSkew }: TopologyRule["group"]): number {
  return type === "spread" ? maxSkew : 1;
}

/** The names of the resources that pods request: cpu, memory, then the others in alphabetical order. */
function resourceNames(demands: readonly ClassDemand[]): string[] {
  const names = new Set(["cpu", "memory"]);
  for (const { pods } of demands) {
    const { requests } = pods.podClass;
    for (const name in requests) if ((requests[name] as number) > 0) names.add(name);
  }
  const [cpu, memory, ...more] = names;
  return [cpu as string, memory as string, ...more.sort()];
}

/** Larger than any set id. So NodePool index × this number + set id is unique. */
const ABOVE_ALL_SETS = 2 ** 32;

/** The demands of the requirement sets with the most pods. The pods of all other sets are added to `others`. */
function ofLargestSets(
  demands: readonly ClassDemand[],
  others: QueuedPod[],
): readonly ClassDemand[] {
  const podCounts = new Map<number, number>();
  const keyOf = ({ template, set }: ClassDemand) => template.index * ABOVE_ALL_SETS + set;
  for (const demand of demands) {
    const key = keyOf(demand);
    podCounts.set(key, (podCounts.get(key) ?? 0) + demand.pods.items.length);
  }
  if (podCounts.size <= MOST_REQUIREMENT_SETS) return demands;
  const kept = new Set(
    [...podCounts]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MOST_REQUIREMENT_SETS)
      .map(([key]) => key),
  );
  for (const demand of demands) if (!kept.has(keyOf(demand))) others.push(...demand.pods.items);
  return demands.filter((demand) => kept.has(keyOf(demand)));
}

interface RowDraft {
  /** The first of the demands that this row combines. */
  readonly demand: ClassDemand;
  readonly amounts: Float64Array;
  readonly classes: ClassPods[];
  readonly perBin: number | undefined;
}

interface RowInput {
  readonly demands: readonly ClassDemand[];
  readonly resources: readonly string[];
  readonly hosts: readonly HostDimension[];
  /** Whether topology spread divides any of the demands over domains. */
  readonly isDivided: boolean;
  readonly isHardestFirst: boolean;
}

function rowsOf({ demands, resources, hosts, isDivided, isHardestFirst }: RowInput): PodRow[] {
  const drafts = new Map<string, RowDraft>();
  const texts = new Map<Resources, string>();
  const byVariant = new Map<Variant, RowDraft>();
  for (const demand of demands) {
    const { podClass, variant } = demand.pods;
    // Classes that share one variant object have equal requests and rules, so they may share the row.
    const alike = byVariant.get(variant);
    if (alike?.demand.template === demand.template && alike.demand.set === demand.set) {
      alike.classes.push(demand.pods);
      continue;
    }
    const { requests } = podClass;
    // Many classes share one requests object, so the text of each object is cached.
    const text = within(texts, requests, () => resources.map((name) => requests[name] ?? 0).join());
    const perHost = hosts.map(({ group }) =>
      variant.hostRules.some((rule) => rule.self && rule.group === group) ? 1 : 0,
    );
    // Pods divided over zones have few nodes in each zone, so every host rule matters. Otherwise more rows only cost
    // time.
    const otherRules = isDivided ? otherHostRules(hosts, variant) : [];
    const groups = otherRules.map(({ group }) => group.index);
    const key = `${demand.template.index} ${demand.set} ${text} ${perHost.join()} ${groups.join()}`;
    const row = within(drafts, key, () => {
      const amounts = Float64Array.from([
        ...resources.map((name) => requests[name] ?? 0),
        ...perHost,
      ]);
      const limits = otherRules.map(({ group }) => perHostOf(group));
      const perBin = limits.length === 0 ? undefined : Math.min(...limits);
      return { demand, amounts, classes: [], perBin };
    });
    row.classes.push(demand.pods);
    byVariant.set(variant, row);
  }
  return [...drafts.values()].map(({ demand, amounts, classes, perBin }) => ({
    template: demand.template,
    set: demand.set,
    domain: demand.domain,
    amounts,
    perBin,
    count: classes.reduce((sum, { items }) => sum + items.length, 0),
    classes: isHardestFirst ? classes.sort((a, b) => b.hardness - a.hardness) : classes,
  }));
}

/** The rules that limit this class's own pods on one host, and are not a dimension of the packing. */
function otherHostRules(
  hosts: readonly HostDimension[],
  { hostRules }: Variant,
): readonly TopologyRule[] {
  return hostRules.filter(
    ({ group, self }) => self && !group.inverse && !hosts.some((host) => host.group === group),
  );
}
