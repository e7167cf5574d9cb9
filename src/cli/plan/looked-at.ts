/**
 * The kinds that a plan uses, and the error if such a kind is written wrongly: another group or version, other
 * letter case, the plural, or a typo. Without the error its pods would silently be missing.
 */
import type { KubeObject } from "../../apis/meta.ts";
import { meantName } from "../../base/slips.ts";
import type { ResourceDefinition } from "../../sandbox/apiserver/resource-definition.ts";
import { CliError } from "../program/cli-error.ts";

type Served = Pick<ResourceDefinition, "group" | "version" | "kind" | "plural">;

/** Kinds with a pod template whose pods are planned. */
export const WORKLOAD_KINDS = [
  "Deployment",
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
  "Job",
] as const;

/** Kinds that a plan uses. A typo in one of these names must not count as an unknown kind to skip. */
const LOOKED_AT = [
  ...WORKLOAD_KINDS,
  "Pod",
  "CronJob",
  "HorizontalPodAutoscaler",
  "VerticalPodAutoscaler",
  "DaemonSet",
  "NodePool",
  "Provisioner",
  "EC2NodeClass",
  "AWSNodeTemplate",
  "Node",
  "NodeClaim",
  "Machine",
  "PersistentVolumeClaim",
  "PersistentVolume",
  "StorageClass",
  "CSINode",
  "PodDisruptionBudget",
  "PriorityClass",
  "Namespace",
  "Service",
  "LimitRange",
  "ResourceQuota",
  "RuntimeClass",
  "NodeOverlay",
  "CapacityBuffer",
  "PodTemplate",
  "ResourceSlice",
  "ResourceClaim",
  "ResourceClaimTemplate",
  "DeviceClass",
] as const;
export type LookedAt = (typeof LOOKED_AT)[number];

/** The part before the last slash. In `a/b/v1` that is a group that does not exist. */
export function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.lastIndexOf("/")));
}

/**
 * Throws if the object's kind is one that a plan uses, but is written in a way that is not served. A kind of
 * another group is skipped.
 */
export function refuseSlip(
  served: readonly Served[],
  where: string,
  { apiVersion = "", kind = "" }: KubeObject,
): void {
  const group = groupOf(apiVersion);
  if (apiVersion === "v1" && kind !== "List" && kind.toLowerCase() === "list")
    throw new CliError(`${where}: kind: "${kind}" is not served; use List`);
  const same = served.filter((one) => one.group === group && one.kind === kind);
  const meant = same.length > 0 || !isOurGroup(group) ? same : likeKind(served, kind);
  const name = meant[0]?.kind;
  if (name === undefined) return;
  const versions = meant.map((one) =>
    one.group === "" ? one.version : `${one.group}/${one.version}`,
  );
  const remedy = versions.join(" or ");
  if (name === kind)
    throw new CliError(
      `${where}: apiVersion: "${apiVersion}" of ${kind} is not served; use ${remedy}`,
    );
  throw new CliError(
    versions.includes(apiVersion)
      ? `${where}: kind: "${kind}" is not served; use ${name}`
      : `${where}: kind: "${kind}" of ${apiVersion} is not served; use ${name} of ${remedy}`,
  );
}

/**
 * Kinds with this name in any letter case, singular or plural, or else the nearest name within one or two typos.
 */
function likeKind(served: readonly Served[], kind: string): readonly Served[] {
  const lookedAt = served.filter((one) => (LOOKED_AT as readonly string[]).includes(one.kind));
  const meant = meantName(
    kind,
    lookedAt.flatMap((one) => [one.kind, one.plural]),
  );
  return lookedAt.filter((one) => one.kind === meant || one.plural === meant);
}
/** Whether a group belongs to Kubernetes: custom groups must contain a dot, and `.k8s.io` is Kubernetes' own. */
function isOurGroup(group: string): boolean {
  return !group.includes(".") || group.endsWith(".k8s.io") || group.startsWith("karpenter.");
}
