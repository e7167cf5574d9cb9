/**
 * The interface to the state of the cluster: nodes, claims, pods, nodes marked for deletion, nominations, and the
 * planned node of each pod. `controllers/state/` updates it; others read immutable snapshots.
 * upstream: pkg/controllers/state/cluster.go
 */

import type { DaemonSet } from "../../apis/apps/kinds.ts";
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Resources } from "../../apis/resources.ts";
import type { Steps } from "../../base/steps.ts";
import type { Headroom } from "../buffers/headroom.ts";
import type { ClaimPlan, ClaimPlans } from "./claim-plans.ts";
import type { NodeView } from "./node-view.ts";
import type { Placements } from "./placements.ts";
import type { PodAdmission } from "./pod-admission.ts";

/** The state of the cluster on which decisions are based. Watches keep it up to date. */
export interface ClusterState {
  /**
   * Stores the claim, which must have the v1 form (apis/hub/claim.ts). An object that is not newer than the known one
   * is ignored.
   */
  updateClaim(claim: NodeClaim): void;
  deleteClaim(name: string, kind: string): void;
  /**
   * Must be called before a claim of this name is created. The returned function must be called with the created claim,
   * or with undefined if the creation failed. If the watch reports meanwhile that the claim was deleted, the function
   * ignores the claim.
   */
  expectClaim(plan: ClaimPlan): (created: NodeClaim | undefined) => void;
  /** The plans of the claims that this process created, until these are registered. */
  readonly plans: Pick<ClaimPlans, "of">;
  updateNode(node: Node): void;
  deleteNode(name: string): void;
  updatePod(pod: Pod): void;
  deletePod(key: string): void;
  updateDaemonSet(daemonSet: DaemonSet): void;
  deleteDaemonSet(key: string): void;
  /**
   * Completes pods that are made from a template: those of DaemonSets without a live pod, and those of CapacityBuffers.
   */
  readonly admission: PodAdmission;

  /**
   * Marks nodes that a command will remove, given by name of the Node or claim, or by provider id. They take no more
   * pods. Names without a node are ignored, because a later node of that name must not be marked.
   */
  markForDeletion(...names: readonly string[]): void;
  unmarkForDeletion(...names: readonly string[]): void;
  /**
   * Records that these marked nodes are removed once these claims, given by name, are ready. If one of the claims is
   * deleted instead, the nodes will be kept. So they count in {@link poolUsage} again, and other nodes cannot use their
   * share of the limits.
   */
  replacedBy(names: readonly string[], claimNames: readonly string[]): void;
  /**
   * Records that a provisioning pass or a command placed pods on the node. Until `untilMs` the node is protected from
   * disruption.
   */
  nominate(name: string, untilMs: number): void;

  /**
   * Whether every known claim is launched (has a provider id) or is being deleted. While this is false, the room on
   * nodes is not fully known, so most controllers wait.
   */
  readonly synced: boolean;
  /** Claims that were created and are not launched yet, by name. While there are any, `synced` is false. */
  unlaunched(): readonly NodeClaim[];
  /**
   * Records that a plan placed these pods on the node, given by its name or the name of its claim. Later plans keep
   * each pod there, see placements.ts. `nowMs`: epoch milliseconds.
   */
  place(name: string, pods: readonly Pod[], nowMs: number): void;
  /** The planned node of each pod. */
  readonly placements: Pick<
    Placements,
    | "assign"
    | "giveUp"
    | "gone"
    | "unplannedPodsOn"
    | "awaitedAt"
    | "hostsBufferPods"
    | "fillLast"
    | "isFilledLast"
    | "refusals"
  >;
  /** The placeholder pods of CapacityBuffers. */
  readonly headroom: Headroom;
  /**
   * Restores, after a start of the process, for which pods each claim was planned. This is stored on the claims. Must
   * be called once. `nowMs`: epoch milliseconds.
   */
  recall(nowMs: number): Steps<void>;
  /**
   * Records that this process knows for which pods an unlaunched claim was planned. So it can plan other pods although
   * the claim is not launched. `atMs`: time of the monotonic clock. The record is removed when the claim is launched or
   * gone.
   */
  promise(claimName: string, atMs: number): void;
  /** When {@link promise} was called for the claim. Undefined: it was not called, or the claim is launched or gone. */
  promisedAtMs(claimName: string): number | undefined;
  /**
   * Whether this pod was planned for an unlaunched claim that {@link promise} names. If so, the pod needs no other
   * place.
   */
  isPromised(pod: Pod): boolean;
  /**
   * Makes the views of changed nodes in steps. So the next call of {@link nodes}, which runs in one step, has little
   * left to do. After a start, all nodes count as changed.
   */
  catchUp(): Steps<void>;
  /** All nodes, sorted by name. Returns the same array until something changes. */
  nodes(): readonly NodeView[];
  /** Whether the pool with this id has nodes. */
  ownsNodes(poolId: string): boolean;
  /** The node of this name. */
  node(name: string): NodeView | undefined;
  /** The node whose instance has this provider id. */
  nodeOfInstance(providerId: string): NodeView | undefined;
  /** Pods that have no node and have not ended, sorted by key (`namespace/name`). */
  unboundPods(): readonly Pod[];
  /** One pod for each DaemonSet, as it would run on a new node. */
  daemonPods(): readonly Pod[];
  /**
   * The capacity of the pool's nodes and claims that are not being removed, see also {@link replacedBy}. The resource
   * `nodes` is their number.
   */
  poolUsage(poolId: string): Resources;
  /** Increases with each change that could make a consolidation possible. */
  readonly revision: number;
  /** Records a change outside of this state that could make a consolidation possible. */
  noteChange(): void;
}
