/**
 * Which pods their ReplicaSets should end first when they are scaled down: those on nodes that will be disrupted
 * soonest. So a scale-down empties nodes that consolidation or drift would empty anyway. Behind the gate
 * PodDeletionCostManagement. upstream: pkg/controllers/pod/deletioncost
 */
import type { Pod } from "../../apis/core/pod.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { DISRUPTED_NO_SCHEDULE_TAINT } from "../../apis/karpenter/labels.ts";
import { controllerOf } from "../../apis/meta.ts";
import type { NodeView } from "../state/node-view.ts";
import type { PoolAllowance } from "./budgets.ts";
import { bySavings, type Candidate } from "./candidates.ts";
import { hasUsersDeletionCost, managedDeletionCost } from "./eviction-cost.ts";

/** Cost of pods on leaving nodes. upstream: the smallest int32 */
const LEAVING = "-2147483648";
/** Most nodes whose pods get new costs in one pass, in addition to leaving nodes. */
const MOST_NODES = 50;
const SYSTEM = "kube-system";
/** Owners that create their pods again, so that other pods can be ended first. */
const RELIABLE: ReadonlySet<string> = new Set(["ReplicaSet", "Job", "DaemonSet"]);

export interface DeletionCostInput {
  /** Managed nodes, sorted by name. */
  readonly nodes: readonly NodeView[];
  /** Candidates for graceful disruption. */
  readonly candidates: readonly Candidate[];
  /** Keyed by pool id. */
  readonly drifted: ReadonlyMap<string, Pick<PoolAllowance, "allowed">>;
  readonly underutilized: ReadonlyMap<string, Pick<PoolAllowance, "allowed">>;
}

/** Undefined: the pod shall have no deletion cost. */
export interface CostChange {
  readonly pod: Pod;
  readonly cost: string | undefined;
}

export interface CostChanges {
  /** In the order in which nodes will be disrupted; leaving nodes are first. */
  readonly nodes: readonly { readonly node: NodeView; readonly changes: readonly CostChange[] }[];
  /** More nodes need other costs than one pass changes. */
  readonly isCut: boolean;
}

/** What differs from the deletion costs that the pods have. Users' own deletion costs stay. */
export function deletionCosts(input: DeletionCostInput): CostChanges {
  const leaving = input.nodes.filter(leaves);
  const ranked = rankedOf(input);
  const names = new Set([...leaving, ...ranked].map(({ name }) => name));
  const rest = input.nodes.filter(({ name }) => !names.has(name));
  const changesOf = (nodes: readonly NodeView[], cost: (index: number) => string | undefined) =>
    nodes
      .map((node, index) => ({ node, changes: changesOn(node, cost(index)) }))
      .filter(({ changes }) => changes.length > 0);
  const first = changesOf(leaving, () => LEAVING);
  const others = [
    ...changesOf(ranked, (index) => String(index - ranked.length)),
    ...changesOf(rest, () => undefined),
  ];
  return {
    nodes: [...first, ...others.slice(0, MOST_NODES)],
    isCut: others.length > MOST_NODES,
  };
}

function leaves({ deleting, node }: NodeView): boolean {
  const taints = node?.spec?.taints ?? [];
  return deleting || taints.some(({ key }) => key === DISRUPTED_NO_SCHEDULE_TAINT.key);
}

/** Nodes in the order of their disruption: drifted ones, then the others, each as far as budgets allow. */
function rankedOf({ candidates, drifted, underutilized }: DeletionCostInput): readonly NodeView[] {
  const possible = candidates.filter(
    ({ node, pool, instanceType, pods }) =>
      // Static pools keep their number of nodes, whatever their pods are.
      pool.replicas === undefined &&
      instanceType !== undefined &&
      !leaves(node) &&
      pods.every(isReplaceable),
  );
  const isDrifted = ({ claim }: Candidate): boolean => isTrue(claim, "Drifted");
  const within = (
    list: readonly Candidate[],
    allowances: DeletionCostInput["drifted"],
  ): readonly NodeView[] => {
    const left = new Map([...allowances].map(([id, { allowed }]) => [id, allowed]));
    return list.toSorted(bySavings).flatMap(({ node, pool }) => {
      const room = left.get(pool.id) ?? 0;
      left.set(pool.id, room - 1);
      return room > 0 ? [node] : [];
    });
  };
  const quiet = possible.filter(
    (one) => !isDrifted(one) && one.pool.disruption.consolidateAfter !== "Never",
  );
  return [...within(possible.filter(isDrifted), drifted), ...within(quiet, underutilized)];
}

function isReplaceable(pod: Pod): boolean {
  return pod.metadata.namespace === SYSTEM || RELIABLE.has(controllerOf(pod)?.kind ?? "");
}

function changesOn({ pods }: NodeView, cost: string | undefined): readonly CostChange[] {
  return pods
    .filter(
      (pod) =>
        controllerOf(pod)?.kind === "ReplicaSet" &&
        !hasUsersDeletionCost(pod) &&
        managedDeletionCost(pod) !== cost,
    )
    .map((pod) => ({ pod, cost }));
}
