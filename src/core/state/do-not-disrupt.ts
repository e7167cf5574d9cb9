/** The do-not-disrupt annotation of Nodes and claims. That of pods is read in apis/core/pod-predicates.ts. */
import type { Node } from "../../apis/core/node.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { DO_NOT_DISRUPT_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";

/**
 * Whether the Node or its claim has the annotation: with the value `true` in v1, with any value in older API versions.
 */
export function isAnnotated(claim: NodeClaim, node: Node | undefined): boolean {
  const key = DO_NOT_DISRUPT_ANNOTATION_KEY;
  const value = node?.metadata.annotations?.[key] ?? claim.metadata.annotations?.[key];
  return claimGeneration(claim) === "v1" ? value === "true" : value !== undefined;
}
