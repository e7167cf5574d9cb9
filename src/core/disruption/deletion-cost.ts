/**
 * Decides the deletion costs of pods, for the feature gate PodDeletionCostManagement. A ReplicaSet that is scaled down
 * deletes pods with a low cost first. So it deletes pods on nodes that will be disrupted soon, and these nodes become
 * empty without a drain.
 * upstream: pkg/controllers/pod/deletioncost
 */
import type { Pod } from "../../apis/core/pod.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { DISRUPTED_NO_SCHEDULE_TAINT } from "../../apis/karpenter/labels.ts";
import { controllerOf } from "../../apis/meta.ts";
import type { NodeView } from "../state/node-view.ts";
import type { PoolAllowance } from "./budgets.ts";
import { bySavings, type Candidate } from "./candidates.ts";
import { hasUsersDeletionCost, managedDeletionCost } from "./eviction-cost.ts";

/** The deletion cost of pods on leaving nodes: the smallest int32, as in upstream. */
const LEAVING = "-2147483648";
/** The most nodes whose pods get new costs in one pass, besides leaving nodes. */
const MOST_NODES = 50;
const SYSTEM = "kube-system";
/**
 * Owners that create deleted pods again. Only nodes whose pods all have such an owner (or are in kube-system) are
 * ranked.
 */
const RECREATING_KINDS: ReadonlySet<string> = new Set(["ReplicaSet", "Job", "DaemonSet"]);

export interface DeletionCostInput {
  /** Managed nodes, sorted by name. */
  readonly nodes: readonly NodeView[];
  /** Candidates for graceful disruption. */
  readonly candidates: readonly Candidate[];
  /** How many nodes the budgets allow to disrupt for drift, by pool id. */
  readonly drifted: ReadonlyMap<string, Pick<PoolAllowance, "allowed">>;
  /** How many nodes the budgets allow to disrupt for consolidation, by pool id. */
  readonly underutilized: ReadonlyMap<string, Pick<PoolAllowance, "allowed">>;
}

/** A pod and its new deletion cost. Undefined: the pod should have no deletion cost. */
export interface CostChange {
  readonly pod: Pod;
  readonly cost: string | undefined;
}

export interface CostChanges {
  /** The changes by node: leaving nodes, then nodes in the order in which they will be disrupted, then the others. */
  readonly nodes: readonly { readonly node: NodeView; readonly changes: readonly CostChange[] }[];
  /** Whether more nodes need new costs than one pass may change. */
  readonly isCut: boolean;
}

/** The pods whose deletion cost must change. Deletion costs that users set are never changed. */
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

/** The nodes that get an order of costs: drifted nodes, then other nodes, only as many as budgets allow. */
function rankedOf({ candidates, drifted, underutilized }: DeletionCostInput): readonly NodeView[] {
  const possible = candidates.filter(
    ({ node, pool, instanceType, pods }) =>
      // A static pool keeps its number of nodes, even if they have no pods.
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
  return pod.metadata.namespace === SYSTEM || RECREATING_KINDS.has(controllerOf(pod)?.kind ?? "");
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
