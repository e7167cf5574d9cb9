/** A node of the cluster as decisions see it: a Node, a claim, or both, with the pods that run there. */

import type { Node, Taint } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { isSameTaint } from "../../apis/core/tolerations.ts";
import { poolIdOfClaim } from "../../apis/hub/claim.ts";
import {
  NODE_INITIALIZED_LABEL_KEY,
  NODE_REGISTERED_LABEL_KEY,
  REBOOTING_NO_SCHEDULE_TAINT,
} from "../../apis/karpenter/labels.ts";
import { isRebooting, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { parseResources, type Resources, subtractResources } from "../../apis/resources.ts";
import { assert } from "../../base/assert.ts";
import { within } from "../../base/within.ts";
import { isEphemeralTaint } from "../scheduling/taints.ts";
import { isOthersFirst } from "./cordon.ts";
import { type KeptSums, podSums, type SortedPods, sortPods } from "./node-pods.ts";
import { ViewNotes } from "./view-notes.ts";

/**
 * A view of one node. It never changes.
 * upstream: pkg/controllers/state/statenode.go
 */
export interface NodeView {
  /** The name of the Node, or of the claim if there is no Node. In rare cases two views have the same name. */
  readonly name: string;
  readonly providerId: string | undefined;
  readonly node: Node | undefined;
  /** The claim in the v1 form (apis/hub/claim.ts). Undefined: Karpenter does not own the node. */
  readonly claim: NodeClaim | undefined;
  /** The id of the node's pool. Undefined: Karpenter does not own the node, or its claim is standalone. */
  readonly poolId: string | undefined;
  readonly managed: boolean;
  readonly registered: boolean;
  readonly initialized: boolean;
  /** The claim's labels until the node is registered, then the Node's. */
  readonly labels: Readonly<Record<string, string>>;
  /** The taints that a pod must tolerate. Until the node is initialized, ephemeral and startup taints are left out. */
  readonly taints: readonly Taint[];
  readonly capacity: Resources;
  readonly allocatable: Resources;
  /** Pods that are bound to the node and have not ended, sorted by key. */
  readonly pods: readonly Pod[];
  /** `allocatable` minus the requests of bound pods. */
  readonly available: Resources;
  /**
   * The requests of bound DaemonSet pods. Planning subtracts them from the requests of all daemons that the node should
   * run.
   */
  readonly daemonRequests: Resources;
  /**
   * Whether the node is being removed: a command marked it, it is being deleted, or its instance is being terminated.
   * Such a node takes no pods.
   */
  readonly deleting: boolean;
  /** Until when a nomination protects the node from disruption, in epoch milliseconds. 0: no nomination. */
  readonly nominatedUntilMs: number;
}

/** The facts from which a view is made. At least one of `node` and `claim` is needed. */
export interface NodeFacts {
  readonly node: Node | undefined;
  readonly claim: NodeClaim | undefined;
  /** Pods that are bound to the node and have not ended, in any order. */
  readonly pods: readonly Pod[];
  /** Whether a command will remove the node. */
  readonly marked: boolean;
  readonly nominatedUntilMs: number;
  /** The sums for `pods`, which must be sorted by key. Absent: pods are sorted and summed here. */
  readonly sums?: KeptSums | undefined;
  /** The last view of the node. If only pods have changed, capacity and allocatable are copied from it. */
  readonly before?: NodeView | undefined;
}

/** The sorted pods of each view, cached because disruption reads them in every round. */
const sorted = new ViewNotes<SortedPods>();

/** The lists of pods that matter if the node is removed. Returns the same lists each time. */
export function sortedPods(view: NodeView): SortedPods {
  return within(sorted, view, () => sortPods(view.pods));
}

/** Pods that would need another node if this one were removed. Returns the same list each time. */
export function reschedulablePods(view: NodeView): readonly Pod[] {
  return sortedPods(view).reschedulable;
}

const requested = new ViewNotes<Resources>();

/** The sum of what the pods of the node request. */
export function requestsOf(view: NodeView): Resources {
  return requested.get(view) ?? podSums(view.pods).requests;
}

/**
 * Makes the view from a Node and its claim.
 * upstream: pkg/controllers/state/statenode.go
 */
export function nodeView(facts: NodeFacts): NodeView {
  const { node, claim, before } = facts;
  assert(node !== undefined || claim !== undefined, "a node view needs a node or a claim");
  const managed = claim !== undefined;
  const initialized = isInitialized(node, claim);
  const registered = initialized || isRegistered(node, claim);
  const pods = facts.sums === undefined ? byKey(facts.pods) : facts.pods;
  const isAsBefore = before?.node === node && before?.claim === claim;
  const { capacity, allocatable } = isAsBefore
    ? (before as NodeView)
    : amountsOf(node, claim, initialized);
  const { requests, daemonRequests } = facts.sums ?? podSums(pods);
  const view: NodeView = {
    name: node?.metadata.name ?? (claim as NodeClaim).metadata.name,
    providerId: (claim?.status?.providerID ?? node?.spec?.providerID) || undefined,
    node,
    claim,
    poolId: claim === undefined ? undefined : poolIdOfClaim(claim),
    managed,
    registered,
    initialized,
    labels: (registered ? node : (claim ?? node))?.metadata.labels ?? {},
    taints: currentTaints(node, claim, registered, initialized),
    capacity,
    allocatable,
    pods,
    available: subtractResources(allocatable, requests),
    daemonRequests,
    deleting: facts.marked || isLeaving(node, claim),
    nominatedUntilMs: facts.nominatedUntilMs,
  };
  requested.set(view, requests);
  if (facts.sums !== undefined) sorted.set(view, facts.sums);
  return view;
}

/**
 * Whether planning may count on the node: Karpenter does not own it, or it is initialized. A node that is not
 * initialized may never become ready.
 */
export function isThere({ managed, initialized }: NodeView): boolean {
  return !managed || initialized;
}

/** The pods sorted by key. Keys are computed once for each pod, not for each comparison. */
function byKey(pods: readonly Pod[]): readonly Pod[] {
  return pods
    .map((pod) => [keyOf(pod), pod] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, pod]) => pod);
}

function isRegistered(node: Node | undefined, claim: NodeClaim | undefined): boolean {
  if (claim === undefined) return true;
  return node?.metadata.labels?.[NODE_REGISTERED_LABEL_KEY] === "true";
}

function isInitialized(node: Node | undefined, claim: NodeClaim | undefined): boolean {
  if (claim === undefined) return true;
  return node?.metadata.labels?.[NODE_INITIALIZED_LABEL_KEY] === "true";
}

function amountsOf(
  node: Node | undefined,
  claim: NodeClaim | undefined,
  initialized: boolean,
): Pick<NodeView, "capacity" | "allocatable"> {
  return {
    capacity: { ...amounts("capacity", node, claim, initialized), nodes: 1 },
    allocatable: amounts("allocatable", node, claim, initialized),
  };
}

/** The amounts of the node. Until it is initialized, amounts that the Node does not report come from the claim. */
function amounts(
  field: "capacity" | "allocatable",
  node: Node | undefined,
  claim: NodeClaim | undefined,
  initialized: boolean,
): Resources {
  const reported = parseResources(node?.status?.[field]);
  if (initialized) return reported;
  const expected = parseResources(claim?.status?.[field]);
  const result: Record<string, number> = { ...expected };
  for (const name in reported) if (reported[name] !== 0) result[name] = reported[name] as number;
  return result;
}

/**
 * The taints that a pod must tolerate. Before registration they are the taints in the claim, after that those of the
 * Node. A cordoned Node also has the unschedulable taint, even if the taint is not in its spec yet. Left out are:
 * - ephemeral and startup taints, until the node is initialized;
 * - the taint of a reboot, while the node reboots;
 * - Karpenter's own taint `other-nodes-first`.
 */
function currentTaints(
  node: Node | undefined,
  claim: NodeClaim | undefined,
  registered: boolean,
  initialized: boolean,
): readonly Taint[] {
  const all = (registered ? node?.spec?.taints : claim?.spec.taints) ?? [];
  // Pods may be planned for a rebooting node and wait for it, so the taint of the reboot is ignored.
  const isAway = claim !== undefined && isRebooting(claim);
  const taints = all.filter(
    (taint) =>
      !isOthersFirst(taint) && !(isAway && isSameTaint(taint, REBOOTING_NO_SCHEDULE_TAINT)),
  );
  if (node?.spec?.unschedulable === true) {
    const cordoned: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
    if (!taints.some((taint) => isSameTaint(taint, cordoned))) taints.push(cordoned);
  }
  if (initialized) return taints;
  const passing = claim?.spec.startupTaints ?? [];
  return taints.filter(
    (taint) => !isEphemeralTaint(taint) && !passing.some((other) => isSameTaint(other, taint)),
  );
}

/** Whether the node will surely be removed: it is being deleted, or its instance is being terminated. */
export function isLeaving(node: Node | undefined, claim: NodeClaim | undefined): boolean {
  const deleted = (object: KubeObject | undefined) =>
    object?.metadata.deletionTimestamp !== undefined;
  const terminating = claim?.status?.conditions?.some(
    (condition) => condition.type === "InstanceTerminating" && condition.status === "True",
  );
  return deleted(node) || deleted(claim) || terminating === true;
}
