/**
 * The state of the cluster: nodes, claims, bound pods, nodes marked for deletion, nominations. `controllers/state/`
 * fills it; others read immutable snapshots.
 * upstream: pkg/controllers/state/cluster.go
 */

import type { DaemonSet } from "../../apis/apps/kinds.ts";
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Resources } from "../../apis/resources.ts";
import type { Steps } from "../../base/steps.ts";
import type { Headroom } from "../buffers/headroom.ts";
import type { NodeView } from "./node-view.ts";
import type { Placements } from "./placements.ts";
import type { PodAdmission } from "./pod-admission.ts";

/** The cluster as decisions see it, kept up to date by watches. */
export interface ClusterState {
  /** Claims have hub shape. An object that is not newer than the known one is ignored. */
  updateClaim(claim: NodeClaim): void;
  deleteClaim(name: string, kind: string): void;
  /**
   * Call this before a claim of this name is created. Call the result with the created claim, or with undefined if
   * creation failed. A claim that was deleted before the call is ignored, because its deletion would not be reported
   * again.
   */
  expectClaim(name: string, kind: string): (created: NodeClaim | undefined) => void;
  updateNode(node: Node): void;
  deleteNode(name: string): void;
  updatePod(pod: Pod): void;
  deletePod(key: string): void;
  updateDaemonSet(daemonSet: DaemonSet): void;
  deleteDaemonSet(key: string): void;
  /** Completes pods that are made from a template: those of DaemonSets without a live pod, and of CapacityBuffers. */
  readonly admission: PodAdmission;

  /**
   * A command will remove these nodes, given by name of the Node or claim, or by provider id. They take no more pods.
   * Names without a node are ignored: a later node of that name must not be marked.
   */
  markForDeletion(...names: readonly string[]): void;
  unmarkForDeletion(...names: readonly string[]): void;
  /**
   * These marked nodes are removed once these claims, given by name, are ready. If one of the claims is deleted
   * instead, the nodes will stay. So they count in {@link poolUsage} again, and no other node may take their room.
   */
  replacedBy(names: readonly string[], claimNames: readonly string[]): void;
  /** A pass placed pods on the node: it is protected from disruption until `untilMs`. */
  nominate(name: string, untilMs: number): void;

  /**
   * Every launched claim has a provider id, and all Nodes and claims were read. While false, nothing may be decided.
   */
  readonly synced: boolean;
  /** Claims that were created and are not launched, by name. While there are any, `synced` is false. */
  unlaunched(): readonly NodeClaim[];
  /**
   * A plan placed these pods on the node, given by its name or its claim's. Later plans keep each pod there, see
   * placements.ts. `nowMs`: epoch.
   */
  place(name: string, pods: readonly Pod[], nowMs: number): void;
  /** The planned node of each pod. */
  readonly placements: Pick<
    Placements,
    | "assign"
    | "giveUp"
    | "gone"
    | "takersOf"
    | "awaitedAt"
    | "hostsBufferPods"
    | "fillLast"
    | "isFilledLast"
  >;
  /** Pods that CapacityBuffers stand for. */
  readonly headroom: Headroom;
  /** Reads which pods claims were planned for, once after a start. `nowMs`: epoch. */
  recall(nowMs: number): Steps<void>;
  /**
   * This process knows which pods an unlaunched claim was planned for. `atMs`: time of the monotonic clock. Forgotten
   * when the claim is launched or gone.
   */
  promise(claimName: string, atMs: number): void;
  /** When {@link promise} was called for the claim; undefined: it was not. */
  promisedAtMs(claimName: string): number | undefined;
  /** Whether an unlaunched claim was planned for this pod. Then the pod needs no other place. */
  isPromised(pod: Pod): boolean;
  /**
   * Makes the views of changed nodes in steps, so that {@link nodes} has little left to do. After a start all nodes
   * have changed.
   */
  catchUp(): Steps<void>;
  /** All nodes by ascending name. The same array until something changes. */
  nodes(): readonly NodeView[];
  /** Whether some nodes are of the pool with this id. */
  ownsNodes(poolId: string): boolean;
  /** The node of this name. */
  node(name: string): NodeView | undefined;
  /** The node on the instance with this provider id. */
  nodeOfInstance(providerId: string): NodeView | undefined;
  /** Pods without a node that are not terminal, by key. */
  unboundPods(): readonly Pod[];
  /** One pod for each DaemonSet, as it would run on a new node. */
  daemonPods(): readonly Pod[];
  /**
   * Capacity of the pool's nodes and claims that are not being removed, see also {@link replacedBy}. `nodes` counts
   * them.
   */
  poolUsage(poolId: string): Resources;
  /** Grows with each change that could make a consolidation possible. */
  readonly revision: number;
  /** Notes a change outside of this state that could make a consolidation possible. */
  noteChange(): void;
}
