/** The nodes of a cluster as a map: as they run, or after a simulation. */
import { podRequests } from "../../apis/core/pod-resources.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import { addResources, NO_RESOURCES } from "../../apis/resources.ts";
import { compareText } from "../../base/text-order.ts";
import type { Model } from "../../core/answers/model.ts";
import { priceOf } from "../../core/disruption/candidates.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import { byPoolName, type ReportNode, type ReportPool, reportPods, shareOf } from "./report.ts";

/** The heading for nodes without a NodePool. */
const NO_POOL = "no NodePool";
const UNKNOWN = "–";

/** The nodes for which `isShown` is true, by NodePool. */
export function clusterPools(
  { picture, pools }: Model,
  isShown: (node: NodeView) => boolean = () => true,
): readonly ReportPool[] {
  const owners = new Map(pools.map((one) => [one.pool.id, one]));
  const nodes = picture.nodes
    .filter(isShown)
    .sort((a, b) => compareText(a.name, b.name))
    .map((view) => {
      const owner = owners.get(view.poolId ?? "");
      const pool = owner?.pool.name ?? view.poolId?.split("/").at(-1) ?? NO_POOL;
      return [pool, nodeOf(view, owner?.instanceTypes ?? [])] as const;
    });
  return byPoolName(nodes);
}

function nodeOf(view: NodeView, offered: Parameters<typeof priceOf>[1]): ReportNode {
  const { name, labels, allocatable, pods } = view;
  const requests = pods.map(podRequests).reduce(addResources, NO_RESOURCES);
  return {
    name,
    instanceType: labels[INSTANCE_TYPE_LABEL_KEY] ?? UNKNOWN,
    zone: labels[TOPOLOGY_ZONE_LABEL_KEY] ?? UNKNOWN,
    capacityType: labels[CAPACITY_TYPE_LABEL_KEY] ?? UNKNOWN,
    priceMicroUsdPerHour: priceOf(labels, offered),
    cpu: shareOf(requests, allocatable, "cpu"),
    memory: shareOf(requests, allocatable, "memory"),
    pods: reportPods(pods, allocatable),
  };
}
