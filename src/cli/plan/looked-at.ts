/**
 * The kinds that a plan looks at, and what to say where one of them is written as nobody serves it: under another group
 * or version, in other letters, in the plural, or with a slip. Without a word its pods would not be planned.
 */
import type { KubeObject } from "../../apis/meta.ts";
import { meantName } from "../../base/slips.ts";
import type { ResourceDefinition } from "../../sandbox/apiserver/resource-definition.ts";
import { CliError } from "../program/cli-error.ts";

type Served = Pick<ResourceDefinition, "group" | "version" | "kind" | "plural">;

/** Objects with a pod template that becomes pods. */
export const WORKLOAD_KINDS = [
  "Deployment",
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
  "Job",
] as const;

/** Kinds that a plan is made from; a slip in their names is no other kind that may be passed over. */
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

/** All before the last slash: of `a/b/v1` a group that nobody has. */
export function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.lastIndexOf("/")));
}

/** Throws for a known kind that is not served as it is written; of another group it is somebody else's. */
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
 * Definitions of the kind that a plan looks at, in whatever letters, in the singular or the plural; or of the nearest
 * one, if it is but a slip or two away.
 */
function likeKind(served: readonly Served[], kind: string): readonly Served[] {
  const lookedAt = served.filter((one) => (LOOKED_AT as readonly string[]).includes(one.kind));
  const meant = meantName(
    kind,
    lookedAt.flatMap((one) => [one.kind, one.plural]),
  );
  return lookedAt.filter((one) => one.kind === meant || one.plural === meant);
}
/** Custom kinds of others have a group with a dot in it, for the API server wants one; `.k8s.io` is Kubernetes' own. */
function isOurGroup(group: string): boolean {
  return !group.includes(".") || group.endsWith(".k8s.io") || group.startsWith("karpenter.");
}
