/**
 * Finds the node groups of Cluster Autoscaler by node labels and by the instances of Auto Scaling groups, and completes
 * them from these groups' tags. upstream: kubernetes/autoscaler,
 * cluster-autoscaler/cloudprovider/aws/README.md (tags k8s.io/cluster-autoscaler/node-template/…)
 */

import { AWS_WELL_KNOWN_LABELS } from "../../apis/aws/labels.ts";
import type { Node, Taint } from "../../apis/core/node.ts";
import { isRestrictedNodeLabel, normalizedLabel } from "../../apis/karpenter/labels.ts";
import { catalogue } from "../../providers/aws/catalogue/catalogue.ts";
import type { ScalingGroup } from "./scaling-groups.ts";

/** Labels with the name of a node's group, in the order of search. */
const GROUP_LABELS: readonly string[] = [
  "eks.amazonaws.com/nodegroup",
  "alpha.eksctl.io/nodegroup-name",
  "kops.k8s.io/instancegroup",
];
const TYPE_LABEL = "node.kubernetes.io/instance-type";
const ZONE_LABEL = "topology.kubernetes.io/zone";
const ARCH_LABEL = "kubernetes.io/arch";
const TEMPLATE = "k8s.io/cluster-autoscaler/node-template/";
/**
 * The form of a taint in a tag. Cluster Autoscaler ignores any other form. upstream: cloudprovider/aws/aws_manager.go
 * (extractTaintsFromAsg)
 */
const TAINT_TAG = /^(.*):(NoSchedule|NoExecute|PreferNoSchedule)$/;
/** Domains of labels that the cloud, Kubernetes or its agents set, and not the node group. */
const FOREIGN =
  /(^|\.)(kubernetes\.io|k8s\.io|eks\.amazonaws\.com|k8s\.aws|eksctl\.io|karpenter\.sh)$/;
/** The domains in {@link FOREIGN} whose labels name a node group. */
const OF_GROUPS = /(^|\.)(eks\.amazonaws\.com|eksctl\.io|kops\.k8s\.io)$/;

type Effect = Taint["effect"];
type CapacityType = "on-demand" | "spot";

/** One node group. Lists are sorted. */
export interface NodeGroup {
  readonly name: string;
  readonly nodes: readonly Node[];
  readonly types: readonly string[];
  readonly zones: readonly string[];
  readonly architectures: readonly string[];
  readonly capacityTypes: readonly CapacityType[];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Labels that all its nodes have from the cloud, Kubernetes or an agent. */
  readonly foreign: Readonly<Record<string, string>>;
  /** The Auto Scaling groups of this node group. Empty: its sizes are not known. */
  readonly scaling: readonly ScalingGroup[];
  /** Tags of Cluster Autoscaler that are no label and no taint, such as `resources/example.com/fuse`. */
  readonly otherTags: Readonly<Record<string, string>>;
}

/** The groups by name. Nodes without a group and nodes of Karpenter are left out. */
export function nodeGroups(
  nodes: readonly Node[],
  scaling: readonly ScalingGroup[],
): readonly NodeGroup[] {
  const byInstance = new Map(
    scaling.flatMap((one) => one.instanceIds.map((id) => [id, groupName(one)] as const)),
  );
  const byName = new Map<string, Node[]>();
  for (const node of nodes) {
    const { labels = {} } = node.metadata;
    if (Object.keys(labels).some((key) => key.startsWith("karpenter.sh/"))) continue;
    const [, instance = ""] = /\/([^/]+)$/.exec(node.spec?.providerID ?? "") ?? [];
    const name =
      byInstance.get(instance) ??
      GROUP_LABELS.map((key) => labels[key]).find((one) => one !== undefined);
    if (name !== undefined) byName.set(name, [...(byName.get(name) ?? []), node]);
  }
  const names = new Set([...byName.keys(), ...scaling.map(groupName)]);
  return [...names].sort().map((name) => {
    const own = scaling.filter((one) => groupName(one) === name);
    return groupOf(name, byName.get(name) ?? [], own);
  });
}

function groupName({ name, tags }: ScalingGroup): string {
  return tags["eks:nodegroup-name"] ?? tags["alpha.eksctl.io/nodegroup-name"] ?? name;
}

function groupOf(
  name: string,
  nodes: readonly Node[],
  scaling: readonly ScalingGroup[],
): NodeGroup {
  const valuesOf = (key: string) => nodes.flatMap(({ metadata }) => metadata.labels?.[key] ?? []);
  const common = commonLabels(nodes);
  const tagged = Object.assign({}, ...scaling.map(({ tags }) => below(tags, "label/"))) as Record<
    string,
    string
  >;
  const isOwn = ([key]: readonly [string, string]) => !isForeign(key);
  const labels = [
    ...Object.entries(tagged).filter(([key]) => isSettable(key)),
    ...Object.entries(common).filter(isOwn),
  ];
  const types = sorted([
    ...valuesOf(TYPE_LABEL),
    ...scaling.flatMap((one) => one.types),
    ...(tagged[TYPE_LABEL] ?? "").split(",").filter((one) => one !== ""),
  ]);
  const architectureOf = (type: string) => catalogue().types[type]?.arch ?? [];
  return {
    name,
    nodes,
    types,
    zones: sorted([...valuesOf(ZONE_LABEL), ...scaling.flatMap(({ zones }) => zones)]),
    architectures: sorted([
      ...valuesOf(ARCH_LABEL),
      ...types.flatMap(architectureOf),
      ...(tagged[ARCH_LABEL] === undefined ? [] : [tagged[ARCH_LABEL]]),
    ]),
    capacityTypes: capacityTypesOf(nodes, scaling),
    labels: Object.fromEntries(labels.sort()),
    foreign: Object.fromEntries(
      Object.entries(common)
        .filter((one) => !isOwn(one))
        .sort(),
    ),
    taints: taintsOf(nodes, scaling),
    scaling,
    otherTags: otherTags(scaling),
  };
}

/** On-demand or spot, by the label of an EKS node group or of eksctl. Undefined: there is none. */
function toldCapacityType({ metadata: { labels = {} } }: Node): CapacityType | undefined {
  const told = labels["eks.amazonaws.com/capacityType"] ?? labels["node-lifecycle"];
  if (told === undefined) return undefined;
  return told.toLowerCase() === "spot" ? "spot" : "on-demand";
}

/**
 * Capacity type of the node: from its label, or else from the group if the group has only one type. Otherwise
 * on-demand.
 */
export function capacityTypeOf(node: Node, { capacityTypes }: NodeGroup): CapacityType {
  const [only, ...more] = capacityTypes;
  return toldCapacityType(node) ?? (only !== undefined && more.length === 0 ? only : "on-demand");
}

function capacityTypesOf(
  nodes: readonly Node[],
  scaling: readonly ScalingGroup[],
): readonly CapacityType[] {
  const told = nodes.flatMap((node) => toldCapacityType(node) ?? []);
  const all = [...told, ...scaling.flatMap(boughtAs)];
  // Without a label and without a mixed instances policy an instance is on-demand.
  return all.length === 0 ? ["on-demand"] : (sorted(all) as readonly CapacityType[]);
}

function boughtAs({ onDemandPercent, onDemandBase }: ScalingGroup): readonly CapacityType[] {
  if (onDemandPercent === undefined) return [];
  return [
    ...(onDemandPercent > 0 || onDemandBase > 0 ? (["on-demand"] as const) : []),
    ...(onDemandPercent < 100 ? (["spot"] as const) : []),
  ];
}

function commonLabels(nodes: readonly Node[]): Record<string, string> {
  const [first, ...others] = nodes.map(({ metadata }) => metadata.labels ?? {});
  return Object.fromEntries(
    Object.entries(first ?? {}).filter(([key, value]) => others.every((one) => one[key] === value)),
  );
}

function isForeign(key: string): boolean {
  return FOREIGN.test(domainOf(key));
}

/** Whether a NodePool may set this label, and it means the same on its nodes. */
export function isSettable(key: string): boolean {
  const isKnown = isRestrictedNodeLabel(normalizedLabel(key), AWS_WELL_KNOWN_LABELS);
  return !isKnown && !OF_GROUPS.test(domainOf(key));
}

function domainOf(key: string): string {
  return key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
}

/** Taints that all nodes have, and those in the group's tags: `key` = `value:Effect`. */
function taintsOf(nodes: readonly Node[], scaling: readonly ScalingGroup[]): readonly Taint[] {
  const lists = nodes.map(({ spec }) => spec?.taints ?? []);
  const common = (lists[0] ?? []).filter(
    (taint) =>
      !taint.key.startsWith("node.kubernetes.io/") &&
      !taint.key.startsWith("node.cloudprovider.kubernetes.io/") &&
      lists.every((all) => all.some((one) => sameTaint(one, taint))),
  );
  const tagged = scaling.flatMap(({ tags }) =>
    Object.entries(below(tags, "taint/")).flatMap(([key, text]): readonly Taint[] => {
      const [, value, effect] = TAINT_TAG.exec(text) ?? [];
      return effect === undefined ? [] : [{ key, value: value ?? "", effect: effect as Effect }];
    }),
  );
  const all = [...common];
  for (const one of tagged) if (!all.some((other) => sameTaint(one, other))) all.push(one);
  return all.map(({ key, value, effect }) => ({ key, ...(value ? { value } : {}), effect }));
}

function sameTaint(a: Taint, b: Taint): boolean {
  return a.key === b.key && (a.value ?? "") === (b.value ?? "") && a.effect === b.effect;
}

function below(tags: Readonly<Record<string, string>>, part: string): Record<string, string> {
  const prefix = `${TEMPLATE}${part}`;
  return Object.fromEntries(
    Object.entries(tags).flatMap(([key, value]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
    ),
  );
}

function otherTags(scaling: readonly ScalingGroup[]): Readonly<Record<string, string>> {
  const all = scaling.flatMap(({ tags }) => Object.entries(below(tags, "")));
  return Object.fromEntries(all.filter(([key]) => !/^(label|taint)\//.test(key)).sort());
}

function sorted(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}
