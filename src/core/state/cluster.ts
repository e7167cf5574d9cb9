/**
 * Our picture of the cluster: nodes, claims, the pods bound to them, marks and nominations. Fed by
 * `controllers/state/`, read as immutable snapshots. upstream: pkg/controllers/state/cluster.go
 */

import type { DaemonSet } from "../../apis/apps/kinds.ts";
import type { LimitRange } from "../../apis/core/limit-range.ts";
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Resources } from "../../apis/resources.ts";
import type { Steps } from "../../base/steps.ts";
import type { Headroom } from "../buffers/headroom.ts";
import type { NodeView } from "./node-view.ts";
import type { Placements } from "./placements.ts";

export interface ClusterState {
  /** Claims come in hub shape. Equal or older objects are ignored. */
  updateClaim(claim: NodeClaim): void;
  deleteClaim(name: string, kind: string): void;
  updateNode(node: Node): void;
  deleteNode(name: string): void;
  updatePod(pod: Pod): void;
  deletePod(key: string): void;
  updateDaemonSet(daemonSet: DaemonSet): void;
  deleteDaemonSet(key: string): void;
  /** Defaults for daemons that no live pod shows yet. */
  updateLimitRange(limitRange: LimitRange): void;
  deleteLimitRange(key: string): void;

  /**
   * A command will remove these nodes (by name of the Node or of the claim, or by provider id): no targets any more. The
   * mark goes with what bears the name: what has gone already is not to be marked, the next of its name would bear it.
   */
  markForDeletion(...names: readonly string[]): void;
  unmarkForDeletion(...names: readonly string[]): void;
  /**
   * These marked nodes go when these claims (by name) have come. As soon as one of the claims goes instead,
   * the nodes count in {@link poolUsage} again: they will stay, and nobody else may take their room.
   */
  replacedBy(names: readonly string[], claimNames: readonly string[]): void;
  /** A pass placed pods there: protected from disruption until `untilMs`. */
  nominate(name: string, untilMs: number): void;

  /**
   * Every claim launched has a provider id and every Node and claim we were told of is in. While
   * false, nothing is decided.
   */
  readonly synced: boolean;
  /** Claims that were asked for and are not launched: why `synced` is false. By name. */
  unlaunched(): readonly NodeClaim[];
  /**
   * A plan has these pods on this node (its own name, or its claim's). Each keeps that place in later plans, see
   * placements.ts. `nowMs`: epoch.
   */
  place(name: string, pods: readonly Pod[], nowMs: number): void;
  /** Which node is planned for each pod, and what came of it. */
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
  /** Once a process: places that claims say are planned. `nowMs`: epoch. */
  recall(nowMs: number): Steps<void>;
  /**
   * It is known here what a claim that is not launched was planned for. `atMs`: now, by the clock that never goes
   * back. Forgotten when the claim is launched or gone.
   */
  promise(claimName: string, atMs: number): void;
  /** Since when it is known what this claim was planned for; undefined where it is not. */
  promisedAtMs(claimName: string): number | undefined;
  /** A claim that is not launched yet was planned for this pod: it needs no other place. */
  isPromised(pod: Pod): boolean;
  /**
   * Looks at the nodes that have changed, in steps, so that {@link nodes} has little left to do: when a
   * process starts, all have.
   */
  catchUp(): Steps<void>;
  /** All nodes by ascending name. The same array until something changes. */
  nodes(): readonly NodeView[];
  /** Whether some of them are of the pool (by id). */
  ownsNodes(poolId: string): boolean;
  /** The one of this name. */
  node(name: string): NodeView | undefined;
  /** The one that runs on this instance (by provider id). */
  nodeOfInstance(providerId: string): NodeView | undefined;
  /** Pods bound nowhere that are not terminal, by key. */
  unboundPods(): readonly Pod[];
  /** One pod per DaemonSet as it would run on a new node. */
  daemonPods(): readonly Pod[];
  /** Capacity of a pool's nodes and claims that are not leaving, {@link replacedBy} aside; `nodes` counts them. */
  poolUsage(poolId: string): Resources;
  /** Bumped by each change that could make a consolidation possible. */
  readonly revision: number;
  /** Something beside this picture changed that could make a consolidation possible. */
  noteChange(): void;
}
