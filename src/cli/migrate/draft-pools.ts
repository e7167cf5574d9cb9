/** Drafts a NodePool for each node group, as similar as possible, with notes about the differences. */
import type { Pod } from "../../apis/core/pod.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { keyOf } from "../../apis/meta.ts";
import { counted } from "../../base/counted.ts";
import { catalogue } from "../../providers/aws/catalogue/catalogue.ts";
import { some } from "./check-objects.ts";
import { GROUP_LABELS, type NodeGroup } from "./node-groups.ts";

const SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
const DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt";
const NAME_LENGTH = 63;

/** The data for an EC2NodeClass. */
export interface ClassFacts {
  readonly clusterName: string;
  readonly role: string;
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
    objects: [nodeClass, ...groups.map((group) => draftPool(group, nameOf(group)))],
    notes: [
      `EC2NodeClass default: check role ${facts.role}, the image (al2023@latest), and that subnets and security groups are tagged karpenter.sh/discovery=${facts.clusterName}`,
      ...groups.flatMap((group) => groupNotes(group, nameOf(group), pods)),
      ...podNotes(pods),
    ],
  };
}

function draftPool(group: NodeGroup, name: string): KubeObject {
  const { labels, taints, types, zones, architectures, capacityTypes } = group;
  const among = (key: string, values: readonly string[]) =>
    values.length === 0 ? [] : [{ key, operator: "In", values }];
  const cpu = mostCpu(group);
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name },
    spec: {
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
        // The default of Cluster Autoscaler's --scale-down-unneeded-time.
        consolidateAfter: "10m",
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
function mostCpu({ sizes, types }: NodeGroup): string | undefined {
  const known = types.flatMap((name) => catalogue().types[name]?.cpu ?? []);
  if (sizes === undefined || known.length === 0) return undefined;
  return String(sizes.max * Math.max(...known));
}

function groupNotes(group: NodeGroup, pool: string, pods: readonly Pod[]): readonly string[] {
  const { sizes, nodes, capacityTypes, types } = group;
  const name = `NodePool ${pool}`;
  const notes: string[] = [];
  if (types.length === 0)
    notes.push(
      `${name}: any instance type and no limits, as no node and no Auto Scaling group tells the group's types; write requirements and limits before you apply it`,
    );
  if (sizes !== undefined && sizes.min > 0)
    notes.push(
      `${name}: the group had at least ${counted(sizes.min, "node")}; a NodePool has no minimum, and keeps only nodes with pods`,
    );
  if (sizes === undefined)
    notes.push(`${name}: no limits, as the group's largest size is not known; give --groups`);
  if (types.length === 1)
    notes.push(
      `${name}: one instance type, as in the group; more types would be cheaper and more often available`,
    );
  if (capacityTypes.length > 1)
    notes.push(
      `${name}: both spot and on-demand; Karpenter takes the cheaper one, not a share of each`,
    );
  const selected = Object.keys(group.foreign).filter((key) =>
    pods.some(({ spec }) => spec.nodeSelector?.[key] === group.foreign[key]),
  );
  for (const key of selected.filter((one) => GROUP_LABELS.includes(one) || !isKept(one)))
    notes.push(
      `${name}: pods select ${key}=${group.foreign[key]}, a label that Karpenter's nodes will not have; let them select a label of your own`,
    );
  const kept = nodes.filter(
    ({ metadata }) => metadata.annotations?.[SCALE_DOWN_DISABLED] === "true",
  );
  if (kept.length > 0)
    notes.push(
      `${name}: ${some(kept.map(({ metadata }) => metadata.name))} had ${SCALE_DOWN_DISABLED}; Karpenter's word is ${DO_NOT_DISRUPT}: "true"`,
    );
  return notes;
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
