/** Whether somebody has asked, on a Node or on its claim, that it be left where it is. Pods say so for themselves. */
import type { Node } from "../../apis/core/node.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { DO_NOT_DISRUPT_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";

/** v1 heeds `true` only; older generations any value. */
export function isAnnotated(claim: NodeClaim, node: Node | undefined): boolean {
  const key = DO_NOT_DISRUPT_ANNOTATION_KEY;
  const value = node?.metadata.annotations?.[key] ?? claim.metadata.annotations?.[key];
  return claimGeneration(claim) === "v1" ? value === "true" : value !== undefined;
}
