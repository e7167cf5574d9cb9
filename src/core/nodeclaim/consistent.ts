/**
 * Finds two things that are only reported: an initialized node has fewer resources than its claim says, or a
 * PodDisruptionBudget blocks the drain of a node.
 * upstream: pkg/controllers/nodeclaim/consistency/nodeshape.go; in earlier versions termination.go
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { isWaitingEviction } from "../../apis/core/pod-predicates.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { isTrue, withCondition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { pdbBlock } from "../../apis/policy/pdb.ts";
import { parseResources } from "../../apis/resources.ts";

/** A node is reported if it has less than this share of a resource in its claim's status. */
const LEAST_SHARE = 0.9;

/**
 * One sentence for each resource of which the initialized node has too little. Only resources that the claim requests
 * are checked, because the plan of the node counted on no others.
 */
export function shapeIssues(claim: NodeClaim, node: Node): readonly string[] {
  if (!isTrue(claim, "Initialized")) return [];
  const requested = parseResources(claim.spec.resources?.requests);
  const promised = parseResources(claim.status?.capacity);
  const present = parseResources(node.status?.capacity);
  return Object.keys(requested)
    .sort()
    .flatMap((name) => {
      const wanted = promised[name] ?? 0;
      if (requested[name] === 0 || wanted === 0) return [];
      const share = (present[name] ?? 0) / wanted;
      if (share >= LEAST_SHARE) return [];
      const expected = claim.status?.capacity?.[name];
      const found = node.status?.capacity?.[name] ?? "0";
      const percent = (share * 100).toFixed(1);
      return `expected ${expected} of resource ${name}, but found ${found} (${percent}% of expected)`;
    });
}

/**
 * One sentence for each set of PodDisruptionBudgets that blocks the eviction of one of these pods. `pods`: all pods of
 * a node that is being drained.
 */
export function drainIssues(
  pods: readonly Pod[],
  pdbs: readonly PodDisruptionBudget[],
  nowMs: number,
): readonly string[] {
  const blocking = pods
    // A pod that is being deleted needs no eviction.
    .filter((pod) => pod.metadata.deletionTimestamp === undefined)
    .filter((pod) => isWaitingEviction(pod, nowMs))
    .flatMap((pod) => pdbBlock(pod, pdbs) ?? [])
    .map((block) => block.pdbs.map((name) => `"${name}"`).join(", "));
  return [...new Set(blocking)]
    .sort()
    .map((names) => `can't drain node, PDB ${names} is blocking evictions`);
}

/** The claim with the condition `ConsistentStateFound`. API versions before v1 do not have this condition. */
export function withConsistency(
  claim: NodeClaim,
  issues: readonly string[],
  nowMs: number,
): NodeClaim {
  if (claimGeneration(claim) !== "v1") return claim;
  const type = "ConsistentStateFound";
  if (issues.length === 0)
    return isTrue(claim, type) ? claim : withCondition(claim, { type, status: "True" }, nowMs);
  const reason = "ConsistencyCheckFailed";
  const message = "Consistency Check Failed";
  return withCondition(claim, { type, status: "False", reason, message }, nowMs);
}
