/**
 * Finds the nodes that a pod fits on, and why it does not fit on the others. The filters run in kube-scheduler's order.
 * The first one that refuses a node gives the reasons.
 */
import { dynamicResources } from "./filters/devices.ts";
import type { Filter, FilterName, Prepared, Rejection } from "./filters/filter.ts";
import { interPodAffinity } from "./filters/inter-pod-affinity.ts";
import {
  nodeAffinity,
  nodeName,
  nodePorts,
  nodeResourcesFit,
  nodeUnschedulable,
  taintToleration,
} from "./filters/node.ts";
import { podTopologySpread } from "./filters/topology-spread.ts";
import {
  nodeVolumeLimits,
  volumeBinding,
  volumeRestrictions,
  volumeZone,
} from "./filters/volumes.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Snapshot } from "./snapshot.ts";

/** All filters, in the order of the real scheduler. */
const FILTERS: readonly Filter[] = [
  nodeUnschedulable,
  nodeName,
  taintToleration,
  nodeAffinity,
  nodePorts,
  nodeResourcesFit,
  volumeRestrictions,
  nodeVolumeLimits,
  volumeBinding,
  volumeZone,
  podTopologySpread,
  interPodAffinity,
  dynamicResources,
];

/** Filters that read the node and the pod only. They decide whether a pod is retried on a changed node. */
const NODE_FILTERS: readonly Filter[] = [
  nodeUnschedulable,
  nodeName,
  taintToleration,
  nodeAffinity,
  nodePorts,
  nodeResourcesFit,
];

/** A pod for which preemption makes room on a node. */
interface Nominated {
  readonly pod: PodInfo;
  readonly node: string;
}

/** The result of the filters for one pod. */
export interface Feasible {
  /** The nodes that passed all filters, by name. */
  readonly nodes: readonly NodeInfo[];
  /** Why each other node was refused, by node name. */
  readonly rejections: ReadonlyMap<string, Rejection>;
  /** Set if the pod fits on no node, for a reason that does not depend on the nodes. */
  readonly message?: string;
  /** The filters that refused nodes. */
  readonly rejectedBy: ReadonlySet<FilterName>;
  /**
   * Pods that preemption nominated for a node. The pod was checked with and without them. Absent: there are
   * none.
   */
  readonly nominated?: readonly Nominated[];
}

/** Runs the filters for every node. Tests also compare plans with it. */
export function feasibleNodes(pod: PodInfo, snapshot: Snapshot): Feasible {
  const checks: { readonly name: FilterName; readonly prepared: Check }[] = [];
  const rejectedBy = new Set<FilterName>();
  for (const filter of FILTERS) {
    const prepared = filter.prepare(pod, snapshot);
    if (prepared.kind === "skip") continue;
    if (prepared.kind === "reject") {
      rejectedBy.add(filter.name);
      return { nodes: [], rejections: new Map(), message: prepared.message, rejectedBy };
    }
    checks.push({ name: filter.name, prepared });
  }
  const nodes: NodeInfo[] = [];
  const rejections = new Map<string, Rejection>();
  const narrowing = checks.filter(({ prepared }) => prepared.onlyNodes !== undefined);
  for (const node of snapshot.nodes) {
    const elsewhere = narrowing.find(({ prepared }) => !prepared.onlyNodes?.has(node.name));
    if (elsewhere !== undefined) {
      rejectedBy.add(elsewhere.name);
      rejections.set(node.name, {
        reasons: [`node(s) didn't satisfy plugin(s) [${elsewhere.name}]`],
        unresolvable: true,
      });
      continue;
    }
    let rejection: Rejection | undefined;
    for (const { name, prepared } of checks) {
      rejection = prepared.check(node);
      if (rejection === undefined) continue;
      rejectedBy.add(name);
      rejections.set(node.name, rejection);
      break;
    }
    if (rejection === undefined) nodes.push(node);
  }
  return { nodes, rejections, rejectedBy };
}

type Check = Extract<Prepared, { kind: "check" }>;

/**
 * Like {@link feasibleNodes}, but with pods that have a nominated node (`nominated`). The pod must fit both
 * with and without them.
 */
export function feasibleBeside(
  pod: PodInfo,
  snapshot: Snapshot,
  nominated: readonly Nominated[],
): Feasible {
  const without = feasibleNodes(pod, snapshot);
  if (nominated.length === 0) return without;
  if (without.nodes.length === 0) return { ...without, nominated };
  for (const one of nominated) snapshot.setPod(one.pod, one.node);
  const beside = feasibleNodes(pod, snapshot);
  for (const one of nominated) snapshot.removePod(one.pod.key);
  const fits = new Set(without.nodes);
  return {
    ...beside,
    nominated,
    nodes: beside.nodes.filter((node) => fits.has(node)),
    rejections: new Map([...beside.rejections, ...without.rejections]),
    rejectedBy: new Set([...beside.rejectedBy, ...without.rejectedBy]),
  };
}

/** Like {@link rejectionOn}. The pod must fit both with and without the pods nominated for this node. */
export function rejectionBeside(
  pod: PodInfo,
  node: NodeInfo,
  {
    snapshot,
    nominated,
  }: { readonly snapshot: Snapshot; readonly nominated: readonly Nominated[] },
): Rejection | undefined {
  const there = nominated.filter((one) => one.node === node.name);
  for (const one of there) snapshot.setPod(one.pod, one.node);
  const beside = there.length === 0 ? undefined : rejectionOn(pod, node, snapshot);
  for (const one of there) snapshot.removePod(one.pod.key);
  return beside ?? rejectionOn(pod, node, snapshot);
}

/** Why the pod does not fit on the node. Undefined: it fits. */
function rejectionOn(pod: PodInfo, node: NodeInfo, snapshot: Snapshot): Rejection | undefined {
  for (const filter of FILTERS) {
    const prepared = filter.prepare(pod, snapshot);
    if (prepared.kind === "skip") continue;
    if (prepared.kind === "reject") return { reasons: [prepared.message], unresolvable: true };
    if (prepared.onlyNodes?.has(node.name) === false)
      return { reasons: [`node(s) didn't satisfy plugin(s) [${filter.name}]`], unresolvable: true };
    const rejection = prepared.check(node);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

/** Whether the pod could fit on `node`: decides which pods are retried when the node changes. */
export function mayFit(pod: PodInfo, node: NodeInfo, snapshot: Snapshot): boolean {
  return NODE_FILTERS.every((filter) => {
    const prepared = filter.prepare(pod, snapshot);
    if (prepared.kind !== "check") return prepared.kind === "skip";
    if (prepared.onlyNodes !== undefined && !prepared.onlyNodes.has(node.name)) return false;
    return prepared.check(node) === undefined;
  });
}
