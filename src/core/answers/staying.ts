/** Why the nodes of a cluster stay where the disruption loop has no command: the first hold of each, grouped. */

import type { Steps } from "../../base/steps.ts";
import { compareText } from "../../base/text-order.ts";
import { within } from "../../base/within.ts";
import type { Picture } from "../disruption/make-round.ts";
import { holdText } from "./hold.ts";
import { holdsOf } from "./holds.ts";
import { ownedNode } from "./owned-node.ts";

/** Nodes that stay for the same reason. */
export interface Staying {
  readonly says: string;
  /** Names of the nodes. */
  readonly nodes: readonly string[];
}

/** The reason of a node without holds. */
const NO_SAVING = "nothing protects it, but no disruption method found a command that saves enough";
const NOT_OWNED = "it has no NodeClaim, so Karpenter never removes it";
/** Maximum number of nodes that are asked. Each may take as long as planning the cluster without the node. */
const MOST_ASKED = 200;
const NOT_ASKED = `not looked at, only the first ${MOST_ASKED} nodes are; karpenter explain node NAME says why one stays`;

/** The nodes by the first reason that `karpenter explain node` gives. The reason of the most nodes comes first. */
export function* stayingNodes(picture: Picture): Steps<readonly Staying[]> {
  const groups = new Map<string, string[]>();
  for (const [at, node] of picture.nodes.entries()) {
    if (at >= MOST_ASKED) {
      within(groups, NOT_ASKED, () => []).push(node.name);
      continue;
    }
    // The first hold by price plans the cluster without the node.
    yield;
    const owned = ownedNode(picture, node);
    const [first] = owned === undefined ? [] : holdsOf(picture, owned);
    const kept = first === undefined ? NO_SAVING : holdText(first);
    within(groups, owned === undefined ? NOT_OWNED : kept, () => []).push(node.name);
  }
  return [...groups]
    .map(([says, nodes]) => ({ says, nodes: nodes.sort(compareText) }))
    .sort((a, b) => b.nodes.length - a.nodes.length || compareText(a.says, b.says));
}
