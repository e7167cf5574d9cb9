/**
 * The kinds that a plan looks at, and what to say where one of them is written as nobody serves it: under another group
 * or version, in other letters, in the plural, or with a slip. Without a word its pods would not be planned.
 */
import type { KubeObject } from "../../apis/meta.ts";
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
  "NodeOverlay",
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
  const written = kind.toLowerCase();
  const lookedAt = served.filter((one) => (LOOKED_AT as readonly string[]).includes(one.kind));
  const away = lookedAt.map((one) =>
    Math.min(slips(written, one.kind.toLowerCase()), slips(written, one.plural)),
  );
  const least = Math.min(...away);
  // Of a short name little is left after two.
  if (least > (written.length < SHORT ? 1 : 2)) return [];
  const name = lookedAt[away.indexOf(least)]?.kind;
  return lookedAt.filter((one) => one.kind === name);
}

const SHORT = 6;

/** How many letters were missed, doubled, mistaken or struck in the wrong order between two words. */
function slips(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [
    [],
    Array.from({ length: b.length + 1 }, (_, j) => j),
  ];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (last[j - 1] as number) + (isSame ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] as number) + 1);
      row.push(least);
    }
    [before, last] = [last, row];
  }
  return last[b.length] as number;
}

/** Custom kinds of others have a group with a dot in it, for the API server wants one; `.k8s.io` is Kubernetes' own. */
function isOurGroup(group: string): boolean {
  return !group.includes(".") || group.endsWith(".k8s.io") || group.startsWith("karpenter.");
}
