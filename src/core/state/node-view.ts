/** One node of the cluster as decisions see it: a Node, a claim, or both, with what runs there. */

import type { Node, Taint } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Resources } from "../../apis/resources.ts";

/** Immutable: a view is a moment. upstream: pkg/controllers/state/statenode.go */
export interface NodeView {
  /** The Node's name once there is one, else the claim's. Unique in a snapshot. */
  readonly name: string;
  readonly providerId: string | undefined;
  readonly node: Node | undefined;
  /** In hub (v1) shape; absent for nodes that are not ours. */
  readonly claim: NodeClaim | undefined;
  /** `Pool.id` of the owner; undefined for unmanaged nodes and standalone claims. */
  readonly poolId: string | undefined;
  readonly managed: boolean;
  readonly registered: boolean;
  readonly initialized: boolean;
  /** From the claim until registered, then from the Node. */
  readonly labels: Readonly<Record<string, string>>;
  /** What a pod must tolerate now: without ephemeral and startup taints until initialized. */
  readonly taints: readonly Taint[];
  readonly capacity: Resources;
  readonly allocatable: Resources;
  /** Bound pods that are not terminal, by key. */
  readonly pods: readonly Pod[];
  /** allocatable - requests of bound pods. */
  readonly available: Resources;
  /** Requests of bound DaemonSet pods: subtracted from the daemons still expected. */
  readonly daemonRequests: Resources;
  /** Leaving: marked by a command, deleting, or its instance terminating. Not a target for pods. */
  readonly deleting: boolean;
  /** Epoch ms until which a nomination protects it from disruption; 0 = none. */
  readonly nominatedUntilMs: number;
}
