/** The Auto Scaling groups in the output of `aws autoscaling describe-auto-scaling-groups`. */
import { isObject } from "../../base/json.ts";
import { catalogue } from "../../providers/aws/catalogue/catalogue.ts";
import { CliError } from "../program/cli-error.ts";

/** Tags whose key or value names the cluster of an Auto Scaling group. */
const CLUSTER_TAGS = ["eks:cluster-name", "alpha.eksctl.io/cluster-name", "KubernetesCluster"];
const CLUSTER_TAG = /^(?:kubernetes\.io\/cluster|k8s\.io\/cluster-autoscaler)\/([^/]+)$/;

/** An Auto Scaling group, with the fields that are read. */
export interface ScalingGroup {
  readonly name: string;
  /** Minimum size, in nodes, or in units of capacity if types have weights. */
  readonly min: number;
  readonly max: number;
  readonly desired: number;
  readonly zones: readonly string[];
  readonly types: readonly string[];
  /** Units of capacity that a node of this type counts as. */
  readonly weights: ReadonlyMap<string, number>;
  /** Names of the attributes by which the group chooses its types. */
  readonly attributes: readonly string[];
  readonly instanceIds: readonly string[];
  /** Percentage of on-demand instances. Absent: the group has no mixed instances policy. */
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

/**
 * The most CPUs that the group has at its largest size, if its nodes are of one of these types. Undefined: none of
 * the types is known.
 */
export function mostCpuOf(
  { max, weights }: ScalingGroup,
  types: readonly string[],
): number | undefined {
  const sizes = types.flatMap((type) => {
    const cpu = catalogue().types[type]?.cpu;
    return cpu === undefined ? [] : [Math.ceil(max / (weights.get(type) ?? 1)) * cpu];
  });
  return sizes.length === 0 ? undefined : Math.max(...sizes);
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
  const instances = list(one["Instances"]);
  const attributes = overrides
    .map(({ InstanceRequirements }) => InstanceRequirements)
    .filter(isObject)
    .flatMap((wanted) => Object.keys(wanted));
  return {
    name: String(one["AutoScalingGroupName"]),
    min: number(one["MinSize"]),
    max: number(one["MaxSize"]),
    desired: number(one["DesiredCapacity"]),
    zones: texts([one["AvailabilityZones"]].flat()),
    types: texts([
      ...overrides.map(({ InstanceType }) => InstanceType),
      ...instances.map(({ InstanceType }) => InstanceType),
    ]),
    weights: new Map(
      overrides.flatMap(({ InstanceType, WeightedCapacity }) =>
        Number(WeightedCapacity) > 0 ? [[String(InstanceType), Number(WeightedCapacity)]] : [],
      ),
    ),
    attributes: [...new Set(attributes)].sort(),
    instanceIds: texts(instances.map(({ InstanceId }) => InstanceId)),
    ...(isObject(bought)
      ? { onDemandPercent: number(bought["OnDemandPercentageAboveBaseCapacity"] ?? 100) }
      : {}),
    onDemandBase: isObject(bought) ? number(bought["OnDemandBaseCapacity"]) : 0,
    tags: Object.fromEntries(tags) as Record<string, string>,
  };
}
