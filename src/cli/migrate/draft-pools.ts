/** Drafts a NodePool for each node group, as similar as possible, with notes about the differences. */
import type { Pod } from "../../apis/core/pod.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { keyOf } from "../../apis/meta.ts";
import { counted } from "../../base/counted.ts";
import { parseDuration } from "../../base/duration.ts";
import { some } from "./check-objects.ts";
import { isSettable, type NodeGroup } from "./node-groups.ts";
import type { Priorities } from "./priorities.ts";
import { mostCpuOf } from "./scaling-groups.ts";

const SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
const DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt";
const NAME_LENGTH = 63;
/** Tag by which a group sets its own `--scale-down-unneeded-time`. The flag's default is {@link UNNEEDED_DEFAULT}. */
const UNNEEDED_TAG = "autoscaling-options/scaledownunneededtime";
const UNNEEDED_DEFAULT = "10m";
/** Resources whose amount Karpenter knows for each instance type. */
const KNOWN_RESOURCES =
  /^resources\/(cpu|memory|pods|nvidia\.com\/gpu|amd\.com\/gpu|aws\.amazon\.com\/neuron)$/;

/** The data for an EC2NodeClass. */
export interface ClassFacts {
  readonly clusterName: string;
  readonly role: string;
  /** What the priority expander prefers. */
  readonly priorities: Priorities;
}

/** The drafts, and what a person must check. */
export interface Drafted {
  readonly objects: readonly KubeObject[];
  readonly notes: readonly string[];
}

/** One EC2NodeClass for all groups, and one NodePool for each. */
export function draftPools(
  groups: readonly NodeGroup[],
  pods: readonly Pod[],
  facts: ClassFacts,
): Drafted {
  const nodeClass = {
    apiVersion: "karpenter.k8s.aws/v1",
    kind: "EC2NodeClass",
    metadata: { name: "default" },
    spec: {
      role: facts.role,
      amiSelectorTerms: [{ alias: "al2023@latest" }],
      subnetSelectorTerms: [{ tags: { "karpenter.sh/discovery": facts.clusterName } }],
      securityGroupSelectorTerms: [{ tags: { "karpenter.sh/discovery": facts.clusterName } }],
    },
  } as KubeObject;
  const names = poolNames(groups);
  const nameOf = ({ name }: NodeGroup): string => names.get(name) ?? name;
  return {
    objects: [
      nodeClass,
      ...groups.map((group) =>
        draftPool(group, {
          name: nameOf(group),
          weight: facts.priorities.weights.get(group.name),
          pods,
        }),
      ),
    ],
    notes: [
      `EC2NodeClass default: check role ${facts.role}, the image (al2023@latest), and that subnets and security groups are tagged karpenter.sh/discovery=${facts.clusterName}`,
      ...groups.flatMap((group) => groupNotes(group, nameOf(group), pods)),
      ...podNotes(pods),
      ...facts.priorities.notes,
    ],
  };
}

function draftPool(
  group: NodeGroup,
  {
    name,
    weight,
    pods,
  }: { readonly name: string; readonly weight: number | undefined; readonly pods: readonly Pod[] },
): KubeObject {
  const { taints, types, zones, architectures, capacityTypes } = group;
  const selected = selectedKeys(group, pods).filter(isSettable);
  const labels = {
    ...group.labels,
    ...Object.fromEntries(selected.map((key) => [key, group.foreign[key]])),
  };
  const among = (key: string, values: readonly string[]) =>
    values.length === 0 ? [] : [{ key, operator: "In", values }];
  const cpu = mostCpu(group);
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      ...(weight === undefined ? {} : { weight }),
      template: {
        ...(Object.keys(labels).length === 0 ? {} : { metadata: { labels } }),
        spec: {
          nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
          ...(taints.length === 0 ? {} : { taints }),
          requirements: [
            ...among("karpenter.sh/capacity-type", capacityTypes),
            ...among("node.kubernetes.io/instance-type", types),
            ...among("topology.kubernetes.io/zone", zones),
            ...among("kubernetes.io/arch", architectures),
          ],
          expireAfter: "720h",
        },
      },
      disruption: {
        consolidationPolicy: "WhenEmptyOrUnderutilized",
        consolidateAfter: unneededTime(group) ?? UNNEEDED_DEFAULT,
        budgets: [{ nodes: "10%" }],
      },
      ...(cpu === undefined ? {} : { limits: { cpu } }),
    },
  } as KubeObject;
}

/** A NodePool's name for each group. Names that become equal by replaced characters get a number. */
function poolNames(groups: readonly NodeGroup[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const { name } of groups) {
    const plain = plainName(name);
    let free = plain;
    for (let number = 2; taken.has(free); number++) {
      const suffix = `-${number}`;
      free = `${plain.slice(0, NAME_LENGTH - suffix.length)}${suffix}`;
    }
    taken.add(free);
    names.set(name, free);
  }
  return names;
}

/** Replaces characters that an object's name must not have. */
function plainName(group: string): string {
  const plain = group
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .slice(0, NAME_LENGTH)
    .replaceAll(/^-+|-+$/g, "");
  return plain === "" ? "group" : plain;
}

/** The CPUs of the group at its largest size. Undefined if its size or types are not known. */
function mostCpu({ scaling, types }: NodeGroup): string | undefined {
  const known = scaling.flatMap((one) => mostCpuOf(one, types) ?? []);
  return known.length === 0 ? undefined : String(known.reduce((sum, cpu) => sum + cpu, 0));
}

function unneededTime({ otherTags }: NodeGroup): string | undefined {
  const text = otherTags[UNNEEDED_TAG] ?? "";
  return (parseDuration(text) ?? 0) > 0 ? text : undefined;
}

/** Keys of labels that pods select with the group's value, and that Karpenter's nodes will not have. */
function selectedKeys({ foreign }: NodeGroup, pods: readonly Pod[]): readonly string[] {
  return Object.entries(foreign).flatMap(([key, value]) =>
    pods.some((pod) => selects(pod, key, value)) ? [key] : [],
  );
}

function selects({ spec }: Pod, key: string, value: string): boolean {
  const { requiredDuringSchedulingIgnoredDuringExecution: required } =
    spec.affinity?.nodeAffinity ?? {};
  return (
    spec.nodeSelector?.[key] === value ||
    (required?.nodeSelectorTerms ?? []).some(({ matchExpressions = [] }) =>
      matchExpressions.some(
        (one) => one.key === key && (one.operator === "Exists" || one.values?.includes(value)),
      ),
    )
  );
}

function groupNotes(group: NodeGroup, pool: string, pods: readonly Pod[]): readonly string[] {
  const name = `NodePool ${pool}`;
  const kept = group.nodes.filter(
    ({ metadata }) => metadata.annotations?.[SCALE_DOWN_DISABLED] === "true",
  );
  return [
    ...sizeNotes(group),
    ...typeNotes(group),
    ...selectedKeys(group, pods)
      .filter((key) => !isSettable(key) && !isKept(key))
      .map(
        (key) =>
          `pods select ${key}=${group.foreign[key]}, a label that Karpenter's nodes will not have; ${insteadOf(group, key)}`,
      ),
    ...(kept.length === 0
      ? []
      : [
          `${some(kept.map(({ metadata }) => metadata.name))} had ${SCALE_DOWN_DISABLED}; Karpenter's word is ${DO_NOT_DISRUPT}: "true"`,
        ]),
    ...tagNotes(group),
  ].map((note) => `${name}: ${note}`);
}

function insteadOf({ capacityTypes }: NodeGroup, key: string): string {
  return key === "eks.amazonaws.com/capacityType"
    ? `let them select karpenter.sh/capacity-type=${capacityTypes.join(" or ")}`
    : "let them select a label of your own";
}

function sizeNotes({ scaling }: NodeGroup): readonly string[] {
  const notes: string[] = [];
  const min = scaling.reduce((sum, one) => sum + one.min, 0);
  const isWeighted = scaling.some(({ weights }) => weights.size > 0);
  const size = isWeighted
    ? counted(min, "unit of capacity", "units of capacity")
    : counted(min, "node");
  if (min > 0)
    notes.push(
      `the group had at least ${size}; a NodePool has no minimum, and keeps only nodes with pods`,
    );
  if (isWeighted)
    notes.push(
      "the group's sizes count units of capacity, by the weights of its types; a NodePool has no weights for types and goes by price; the limit is for the type with the most CPUs a unit",
    );
  if (scaling.length === 0)
    notes.push("no limits, as the group's largest size is not known; give --groups");
  return notes;
}

function typeNotes({ scaling, types, capacityTypes }: NodeGroup): readonly string[] {
  const notes: string[] = [];
  const attributes = [...new Set(scaling.flatMap((one) => one.attributes))];
  if (types.length === 0)
    notes.push(
      "any instance type and no limits, as no node and no Auto Scaling group tells the group's types; write requirements and limits before you apply it",
    );
  if (attributes.length > 0)
    notes.push(
      `the group chose its types by attributes (${some(attributes)}), which are not translated${types.length === 0 ? "" : "; the NodePool has the types of its present nodes only"}; write requirements such as karpenter.k8s.aws/instance-cpu and instance-memory`,
    );
  else if (types.length === 1)
    notes.push(
      "one instance type, as in the group; more types would be cheaper and more often available",
    );
  if (capacityTypes.length > 1)
    notes.push(
      `both spot and on-demand; Karpenter takes the cheaper one, not a share of each${shares(scaling)}`,
    );
  return notes;
}

function shares(scaling: NodeGroup["scaling"]): string {
  const told = scaling.flatMap(({ onDemandPercent, onDemandBase }) =>
    onDemandPercent === undefined
      ? []
      : [`${counted(onDemandBase, "on-demand node")} and ${onDemandPercent} % of the others`],
  );
  return told.length === 0
    ? ""
    : ` (the group kept ${some(told)}); to keep a share: spread pods over karpenter.sh/capacity-type`;
}

function tagNotes(group: NodeGroup): readonly string[] {
  const lost = Object.entries(group.otherTags).filter(
    ([key]) =>
      !KNOWN_RESOURCES.test(key) && !(key === UNNEEDED_TAG && unneededTime(group) !== undefined),
  );
  return lost.map(([key, value]) => {
    const tag = `the tag ${key}=${value} is lost`;
    if (key === "resources/ephemeral-storage")
      return `${tag}: set blockDeviceMappings in the EC2NodeClass`;
    if (key.startsWith("resources/"))
      return `${tag}: a NodeOverlay can give instance types a resource`;
    return `${tag}: a NodePool has no such setting`;
  });
}

/** Whether a label is well-known, so that Karpenter's nodes have it too. */
function isKept(key: string): boolean {
  return /^(topology\.kubernetes\.io\/(zone|region)|kubernetes\.io\/(arch|os)|node\.kubernetes\.io\/instance-type)$/.test(
    key,
  );
}

function podNotes(pods: readonly Pod[]): readonly string[] {
  const held = pods.filter(({ metadata }) => metadata.annotations?.[SAFE_TO_EVICT] === "false");
  if (held.length === 0) return [];
  return [
    `${counted(held.length, "pod")} with ${SAFE_TO_EVICT}: "false": give them ${DO_NOT_DISRUPT}: "true" (${some(held.map(keyOf))})`,
  ];
}
