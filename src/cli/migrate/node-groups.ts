/**
 * Finds the node groups of Cluster Autoscaler by node labels, and completes them from the output of `aws
 * autoscaling describe-auto-scaling-groups`. upstream: kubernetes/autoscaler,
 * cluster-autoscaler/cloudprovider/aws/README.md (tags k8s.io/cluster-autoscaler/node-template/…)
 */
import type { Node, Taint } from "../../apis/core/node.ts";
import { isObject } from "../../base/json.ts";
import { CliError } from "../program/cli-error.ts";

/** Labels with the name of a node's group, in the order of search. */
export const GROUP_LABELS: readonly string[] = [
  "eks.amazonaws.com/nodegroup",
  "alpha.eksctl.io/nodegroup-name",
  "kops.k8s.io/instancegroup",
];
const TYPE_LABEL = "node.kubernetes.io/instance-type";
const ZONE_LABEL = "topology.kubernetes.io/zone";
const ARCH_LABEL = "kubernetes.io/arch";
const TEMPLATE = "k8s.io/cluster-autoscaler/node-template/";
/** Cluster Autoscaler ignores any other form. upstream: cloudprovider/aws/aws_manager.go (extractTaintsFromAsg) */
const TAINT_TAG = /^(.*):(NoSchedule|NoExecute|PreferNoSchedule)$/;
/** Tags whose key or value names the cluster of an Auto Scaling group. */
const CLUSTER_TAGS = ["eks:cluster-name", "alpha.eksctl.io/cluster-name", "KubernetesCluster"];
const CLUSTER_TAG = /^(?:kubernetes\.io\/cluster|k8s\.io\/cluster-autoscaler)\/([^/]+)$/;
/** Domains of labels that belong to the group, the cloud or Kubernetes. A NodePool must not set them. */
const FOREIGN =
  /(^|\.)(kubernetes\.io|k8s\.io|eks\.amazonaws\.com|k8s\.aws|eksctl\.io|karpenter\.sh)$/;

type Effect = Taint["effect"];

/** One node group. Lists are sorted. */
export interface NodeGroup {
  readonly name: string;
  readonly nodes: readonly Node[];
  readonly types: readonly string[];
  readonly zones: readonly string[];
  readonly architectures: readonly string[];
  readonly capacityTypes: readonly ("on-demand" | "spot")[];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Labels that all its nodes have and that a NodePool cannot set. */
  readonly foreign: Readonly<Record<string, string>>;
  readonly sizes?: { readonly min: number; readonly max: number; readonly desired: number };
}

/** An Auto Scaling group, with the fields that are read. */
export interface ScalingGroup {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly desired: number;
  readonly zones: readonly string[];
  readonly types: readonly string[];
  /** Percent; absent: no mixed instances policy. */
  readonly onDemandPercent?: number;
  readonly onDemandBase: number;
  readonly tags: Readonly<Record<string, string>>;
}

/** Whether a tag of the Auto Scaling group names a cluster, and none names this one. */
export function isOfOtherCluster({ tags }: ScalingGroup, clusterName: string): boolean {
  const named = [
    ...CLUSTER_TAGS.flatMap((key) => tags[key] ?? []),
    ...Object.keys(tags).flatMap((key) => CLUSTER_TAG.exec(key)?.[1] ?? []),
  ].filter((name) => name !== "enabled");
  return named.length > 0 && !named.includes(clusterName);
}

/** The groups by name. Nodes without a group and nodes of Karpenter are left out. */
export function nodeGroups(
  nodes: readonly Node[],
  scaling: readonly ScalingGroup[],
): readonly NodeGroup[] {
  const byName = new Map<string, Node[]>();
  for (const node of nodes) {
    const labels = node.metadata.labels ?? {};
    if (Object.keys(labels).some((key) => key.startsWith("karpenter.sh/"))) continue;
    const name = GROUP_LABELS.map((key) => labels[key]).find((one) => one !== undefined);
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
  const labels = { ...tagged, ...common };
  const isOwn = ([key]: readonly [string, string]) => !isForeign(key);
  const sum = (of: (one: ScalingGroup) => number) =>
    scaling.reduce((total, one) => total + of(one), 0);
  return {
    name,
    nodes,
    types: sorted([...valuesOf(TYPE_LABEL), ...scaling.flatMap(({ types }) => types)]),
    zones: sorted([...valuesOf(ZONE_LABEL), ...scaling.flatMap(({ zones }) => zones)]),
    architectures: sorted(valuesOf(ARCH_LABEL)),
    capacityTypes: sorted([
      ...nodes.map(capacityTypeOf),
      ...scaling.flatMap(boughtAs),
    ]) as NodeGroup["capacityTypes"],
    labels: Object.fromEntries(Object.entries(labels).filter(isOwn).sort()),
    foreign: Object.fromEntries(
      Object.entries(common)
        .filter((one) => !isOwn(one))
        .sort(),
    ),
    taints: taintsOf(nodes, scaling),
    ...(scaling.length === 0
      ? {}
      : {
          sizes: {
            min: sum((one) => one.min),
            max: sum((one) => one.max),
            desired: sum((one) => one.desired),
          },
        }),
  };
}

/** On-demand or spot, by the label of an EKS node group or of eksctl. */
export function capacityTypeOf({ metadata }: Node): "on-demand" | "spot" {
  const { labels = {} } = metadata;
  const told = labels["eks.amazonaws.com/capacityType"] ?? labels["node-lifecycle"] ?? "";
  return told.toLowerCase() === "spot" ? "spot" : "on-demand";
}

function boughtAs({ onDemandPercent, onDemandBase }: ScalingGroup): readonly string[] {
  if (onDemandPercent === undefined) return [];
  return [
    ...(onDemandPercent > 0 || onDemandBase > 0 ? ["on-demand"] : []),
    ...(onDemandPercent < 100 ? ["spot"] : []),
  ];
}

function commonLabels(nodes: readonly Node[]): Record<string, string> {
  const [first, ...others] = nodes.map(({ metadata }) => metadata.labels ?? {});
  return Object.fromEntries(
    Object.entries(first ?? {}).filter(([key, value]) => others.every((one) => one[key] === value)),
  );
}

function isForeign(key: string): boolean {
  const slash = key.indexOf("/");
  return slash !== -1 && FOREIGN.test(key.slice(0, slash));
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

function sorted(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}

/** Parses the output of `aws autoscaling describe-auto-scaling-groups`. Throws CliError that names the file. */
export function readScalingGroups(file: string, value: unknown): readonly ScalingGroup[] {
  const groups = isObject(value) ? value["AutoScalingGroups"] : undefined;
  if (!Array.isArray(groups))
    throw new CliError(
      `--groups ${file}: no AutoScalingGroups in it; give what aws autoscaling describe-auto-scaling-groups prints`,
    );
  return groups.map((one, index) => {
    if (!isObject(one) || typeof one["AutoScalingGroupName"] !== "string")
      throw new CliError(
        `--groups ${file}: AutoScalingGroups[${index}] has no AutoScalingGroupName`,
      );
    return scalingGroup(one);
  });
}

function scalingGroup(one: Readonly<Record<string, unknown>>): ScalingGroup {
  const list = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : []);
  const texts = (values: readonly unknown[]) => values.filter((text) => typeof text === "string");
  const number = (value: unknown) => (typeof value === "number" ? value : 0);
  const policy = one["MixedInstancesPolicy"];
  const template = isObject(policy) ? policy["LaunchTemplate"] : undefined;
  const overrides = isObject(template) ? list(template["Overrides"]) : [];
  const bought = isObject(policy) ? policy["InstancesDistribution"] : undefined;
  const tags = list(one["Tags"]).map(({ Key, Value }) => [String(Key), String(Value ?? "")]);
  return {
    name: String(one["AutoScalingGroupName"]),
    min: number(one["MinSize"]),
    max: number(one["MaxSize"]),
    desired: number(one["DesiredCapacity"]),
    zones: texts([one["AvailabilityZones"]].flat()),
    types: texts([
      ...overrides.map(({ InstanceType }) => InstanceType),
      ...list(one["Instances"]).map(({ InstanceType }) => InstanceType),
    ]),
    ...(isObject(bought)
      ? { onDemandPercent: number(bought["OnDemandPercentageAboveBaseCapacity"] ?? 100) }
      : {}),
    onDemandBase: isObject(bought) ? number(bought["OnDemandBaseCapacity"]) : 0,
    tags: Object.fromEntries(tags) as Record<string, string>,
  };
}
