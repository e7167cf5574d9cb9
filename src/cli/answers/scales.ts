/**
 * Deployments with changed replicas, for `karpenter simulate --scale`. Surplus pods are removed in the order of the
 * ReplicaSet controller. `expandWorkloads` adds missing pods.
 */
import { DEPLOYMENT, type Deployment } from "../../apis/apps/kinds.ts";
import { deploymentNameOf, isActive, type Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { compareText } from "../../base/text-order.ts";
import type { Found } from "../plan/documents.ts";
import { CliError } from "../program/cli-error.ts";
import { unknown } from "./unknown.ts";

/** A Deployment (`namespace/name`) and its new number of replicas. */
export interface ReplicaCount {
  readonly workload: string;
  readonly replicas: number;
}

const MOST_REPLICAS = 1_000_000;

/** Parses `shop/web=12`. Without a namespace, `default` is used. Throws CliError. */
export function parseScales(given: readonly string[]): readonly ReplicaCount[] {
  return given.map((text) => {
    const match = /^(?:([a-z0-9-]+)\/)?([a-z0-9.-]+)=(\d+)$/.exec(text);
    const replicas = Number(match?.[3]);
    if (match === null || replicas > MOST_REPLICAS)
      throw new CliError(
        `--scale ${text}: wanted NAMESPACE/NAME=REPLICAS with at most ${MOST_REPLICAS} replicas, as shop/web=12`,
      );
    return { workload: `${match[1] ?? "default"}/${match[2]}`, replicas };
  });
}

/** The objects with these numbers of replicas. Throws CliError for a Deployment that does not exist. */
export function withScales(
  found: readonly Found[],
  scales: readonly ReplicaCount[],
): readonly Found[] {
  return scales.reduce(scaled, found);
}

function scaled(found: readonly Found[], { workload, replicas }: ReplicaCount): readonly Found[] {
  const deployments = found.filter(({ object }) => object.kind === DEPLOYMENT.kind);
  const own = deployments.find(({ object }) => keyOf(object) === workload);
  if (own === undefined) {
    const names = deployments.map(({ object }) => keyOf(object));
    throw new CliError(`--scale: ${unknown("Deployment", workload, names)}`);
  }
  const { spec, ...rest } = own.object as Deployment;
  const { live: _, ...place } = own;
  const surplus = new Set(surplusPods(podsOf(found, workload), replicas));
  // The changed object is not marked as read from the cluster, because missing pods are created only for workloads from
  // manifests.
  const changed: Found = {
    ...place,
    object: { ...rest, spec: { ...spec, replicas } } as Deployment,
  };
  return found.flatMap((one) =>
    one === own ? [changed] : surplus.has(one.object as Pod) ? [] : [one],
  );
}

function podsOf(found: readonly Found[], workload: string): readonly Pod[] {
  return found
    .map(({ object }) => object as Pod)
    .filter((pod) => pod.kind === "Pod" && isActive(pod) && deploymentOf(pod) === workload);
}

/** The Deployment of a pod as `namespace/name`. Undefined if the pod has none. */
function deploymentOf(pod: Pod): string | undefined {
  const name = deploymentNameOf(pod);
  return name && `${pod.metadata.namespace ?? "default"}/${name}`;
}

/**
 * The pods that are removed first. upstream: k8s.io/kubernetes pkg/controller/controller_utils.go
 * ActivePodsWithRanks.
 */
function surplusPods(pods: readonly Pod[], replicas: number): readonly Pod[] {
  const onNode = new Map<string, number>();
  for (const { spec } of pods)
    onNode.set(spec.nodeName ?? "", (onNode.get(spec.nodeName ?? "") ?? 0) + 1);
  const ranks = (pod: Pod): readonly number[] => [
    pod.spec.nodeName === undefined ? 0 : 1,
    pod.status?.phase === "Running" ? 1 : 0,
    Number(pod.metadata.annotations?.["controller.kubernetes.io/pod-deletion-cost"] ?? 0),
    -(onNode.get(pod.spec.nodeName ?? "") ?? 0),
    -Date.parse(pod.metadata.creationTimestamp ?? ""),
  ];
  const ranked = pods.map((pod) => ({ pod, ranks: ranks(pod) }));
  ranked.sort((a, b) => {
    for (const [at, rank] of a.ranks.entries()) {
      const differs = rank - (b.ranks[at] ?? 0);
      if (differs !== 0 && !Number.isNaN(differs)) return differs;
    }
    return compareText(keyOf(a.pod), keyOf(b.pod));
  });
  return ranked.slice(0, Math.max(0, pods.length - replicas)).map(({ pod }) => pod);
}
