/**
 * The fleet: all nodes at one moment with their requests, prices and states, all NodePools, and all pending pods.
 * `karpenter top` and the console show it.
 */
import { isScheduled, type Pod } from "../../apis/core/pod.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import { isRebooting, type NodeClaim, REBOOTING } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import { addToSum, type Resources } from "../../apis/resources.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { haveSameItems } from "../../base/same-items.ts";
import { eachInSteps, mapInSteps, type Steps } from "../../base/steps.ts";
import { compareText } from "../../base/text-order.ts";
import { within } from "../../base/within.ts";
import { isBufferPod } from "../buffers/pods.ts";
import { type Block, blocksOf, priceOf } from "../disruption/candidates.ts";
import type { Picture } from "../disruption/make-round.ts";
import { recordOf } from "../disruption/record.ts";
import type { RejectionReason, SchedulingResult } from "../provisioning/result.ts";
import { type NodeView, requestsOf, reschedulablePods } from "../state/node-view.ts";
import { ViewNotes } from "../state/view-notes.ts";
import { type BufferRoom, bufferRoom } from "./kept-room.ts";
import type { Model } from "./model.ts";
import { sharedReason } from "./shared-reason.ts";

/**
 * The state of a node, from its NodeClaim:
 * - `launching`, `joining`, `initializing`: the claim is not launched, registered or initialized yet;
 * - `running`: it is initialized;
 * - `chosen`: a disruption command will remove it;
 * - `draining`, `detaching`, `ending`: it is being deleted, and its pods, volumes or instance still exist;
 * - `unmanaged`: the node has no claim.
 */
export type NodeState =
  | "launching"
  | "joining"
  | "initializing"
  | "running"
  | "chosen"
  | "draining"
  | "detaching"
  | "ending"
  | "unmanaged";

/** One node, for the dashboard and `karpenter top`. */
export interface FleetNode {
  readonly name: string;
  readonly state: NodeState;
  /** When the state began, as RFC 3339. Absent: not known. */
  readonly since?: string;
  /** When the node was created, as RFC 3339. */
  readonly createdAt?: string;
  readonly nodePool?: string;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: string;
  readonly allocatable: Resources;
  /** The sum of the requests of the node's pods. */
  readonly requested: Resources;
  /** Pods that would have to move if the node were removed. Daemon pods and mirror pods are not included. */
  readonly pods: number;
  /** The price of the node. Absent: the NodePool does not offer this instance type, so its price is not known. */
  readonly priceMicroUsdPerHour?: number;
  /** The first reason why the node may not be disrupted. Absent: there is none, or Karpenter does not own the node. */
  readonly held?: string;
  readonly drifted?: true;
}

/** Sums over all nodes of one pool. */
export interface FleetPool {
  readonly name: string;
  readonly nodes: number;
  readonly allocatable: Resources;
  readonly requested: Resources;
  readonly priceMicroUsdPerHour: number;
  /** Number of nodes that are not in the state `running`. */
  readonly moving: number;
  /** Number of nodes that something protects from disruption. */
  readonly held: number;
}

/**
 * What pods wait for. `nodeExists`: an existing or in-flight node has room for them. `nodeWanted`: a new node will be
 * launched for them.
 */
export type WaitingFor = "nodeExists" | "nodeWanted" | "nothing";

/** Pods that are pending for the same reason. */
export interface Waiting {
  readonly waitingFor: WaitingFor;
  /**
   * For pods that fit nowhere: the number of instance types by the reason of their refusal, over all NodePools. Empty:
   * no instance type was asked, and `reason` says why.
   */
  readonly rejected?: Readonly<Partial<Record<RejectionReason, number>>>;
  /**
   * Why the pods fit nowhere, if `rejected` is empty: for example a missing PersistentVolumeClaim, or no NodePool that
   * can launch nodes.
   */
  readonly reason?: string;
  readonly pods: number;
  /** The name of one of these pods. */
  readonly example: string;
  /** When the oldest of these pods was created, as RFC 3339. Absent: not known. */
  readonly since?: string;
}

/** All nodes and pools at one moment. */
export interface Fleet {
  /** The time of this state, as RFC 3339. */
  readonly at: string;
  /** All nodes, sorted by name. */
  readonly nodes: readonly FleetNode[];
  /** All pools, sorted by name. */
  readonly pools: readonly FleetPool[];
  /** Groups with the most pods first. */
  readonly waiting: readonly Waiting[];
  /** The room that CapacityBuffers have. Absent: there are no buffers, or their room is not counted. */
  readonly headroom?: readonly BufferRoom[];
  readonly totals: {
    readonly nodes: number;
    readonly pods: number;
    readonly waiting: number;
    readonly allocatable: Resources;
    readonly requested: Resources;
    /** The sum over all nodes whose price is known. */
    readonly priceMicroUsdPerHour: number;
    /** The number of Karpenter's nodes whose price is not known. */
    readonly unpriced: number;
  };
}

/** Number of nodes in one step, which takes about a millisecond. */
const NODES_PER_STEP = 256;

/**
 * The fleet of a model (model.ts). `plan`: the plan for the pending pods at the same moment. An unchanged node is the
 * same object as in the previous fleet, so callers can compare by identity. `before`: the previous fleet. If all nodes
 * are unchanged, their list and all sums are those of `before`.
 */
export function* fleetOf(
  { picture, pools }: Model,
  plan: SchedulingResult,
  before?: Fleet,
): Steps<Fleet> {
  const types = new Map(pools.map(({ pool, instanceTypes }) => [pool.id, instanceTypes]));
  const poolOf = new Map(picture.pools.map(({ pool }) => [pool.id, pool]));
  const ofPool = new Map<string, Of>();
  const holds = new Holds(picture);
  const fresh = yield* mapInSteps(picture.nodes, NODES_PER_STEP, (view) => {
    const id = view.poolId ?? "";
    const of = within(ofPool, id, () => {
      const pool = poolOf.get(id);
      const pause = pool === undefined ? undefined : picture.paused(pool)?.message;
      return { pool, offered: types.get(id) ?? NONE_OFFERED, pause };
    });
    return fleetNode(holds, view, of);
  });
  yield;
  const waiting = waitingOf(plan);
  const headroom = bufferRoom(picture);
  const isSame = before !== undefined && haveSameItems(fresh, before.nodes);
  const nodes = isSame ? before.nodes : fresh;
  const summed = isSame ? before : yield* summedInSteps(nodes);
  const pods = waiting.reduce((sum, { pods }) => sum + pods, 0);
  const { totals } = summed;
  return {
    at: toRfc3339(picture.nowMs),
    nodes,
    pools: summed.pools,
    waiting,
    ...(headroom.length === 0 ? {} : { headroom }),
    totals: totals.waiting === pods ? totals : { ...totals, waiting: pods },
  };
}

/** The pools and the totals of these nodes, without waiting pods. */
function* summedInSteps(nodes: readonly FleetNode[]): Steps<Pick<Fleet, "pools" | "totals">> {
  const { all, pools } = yield* sumsInSteps(nodes);
  return {
    pools: poolsOf(pools),
    totals: {
      nodes: nodes.length,
      pods: all.pods,
      waiting: 0,
      allocatable: all.allocatable,
      requested: all.requested,
      priceMicroUsdPerHour: all.priceMicroUsdPerHour,
      unpriced: all.unpriced,
    },
  };
}

type Owner = Picture["pools"][number];

/** One shared empty list, because lists are compared by identity. */
const NONE_OFFERED: Owner["instanceTypes"] = [];

/** The pool of a node, and the instance types that it offers. */
interface Of {
  readonly pool: Owner["pool"] | undefined;
  readonly offered: Owner["instanceTypes"];
  /** Why the pool is paused. Undefined: it is not paused. */
  readonly pause: string | undefined;
}

/** The reason why a node is not disrupted, and the facts on which it depends besides the view of the node. */
interface HeldBy {
  readonly block: Block | undefined;
  readonly pdbs: Picture["pdbs"];
  /**
   * {@link Picture.movesFirst}, if it was called for a pod of the node. Undefined: it was not called, so the reason
   * does not depend on it.
   */
  readonly movesFirst: Picture["movesFirst"] | undefined;
  readonly pause: string | undefined;
}

/** The last FleetNode that was made for each node view. */
const lastNodes = new ViewNotes<Of & { readonly node: FleetNode; readonly hold: HeldBy }>();

/**
 * The FleetNode of a view. All fields but `held` depend only on the view, its pool and the pool's types, so they are
 * cached.
 */
function fleetNode(holds: Holds, view: NodeView, of: Of): FleetNode {
  const known = lastNodes.get(view);
  const isKnown = known?.pool?.name === of.pool?.name && known?.offered === of.offered;
  if (isKnown && known !== undefined && stillHolds(known.hold, holds.picture, of))
    return known.node;
  const hold = holds.on(view, of);
  const held = hold.block?.message;
  const isSame = isKnown && known !== undefined && known.node.held === held;
  const node = isSame ? known.node : freshNode(view, of, held);
  lastNodes.set(view, { ...of, node, hold });
  return node;
}

/** Whether the last `held` is still valid. As time passes, a hold can end, but none can begin. */
function stillHolds({ block, pdbs, movesFirst, pause }: HeldBy, picture: Picture, of: Of): boolean {
  return (
    pdbs === picture.pdbs &&
    (movesFirst === undefined || movesFirst === picture.movesFirst) &&
    pause === of.pause &&
    (block?.untilMs === undefined || picture.nowMs < block.untilMs)
  );
}

/** Sets fields one by one: with many nodes, spreading a small object for each field takes several times as long. */
function freshNode(view: NodeView, { pool, offered }: Of, held: string | undefined): FleetNode {
  const { claim, labels } = view;
  const price = priceOf(labels, offered);
  const node: Record<string, unknown> = { name: view.name };
  const set = (field: keyof FleetNode, value: unknown): void => {
    if (value !== undefined) node[field] = value;
  };
  const { state, since } = claim === undefined ? UNMANAGED : stateOf(view, claim);
  set("state", state);
  set("since", since);
  set("createdAt", (view.node ?? claim)?.metadata.creationTimestamp);
  set("nodePool", pool?.name ?? view.poolId?.split("/").at(-1));
  set("instanceType", labels[INSTANCE_TYPE_LABEL_KEY]);
  set("zone", labels[TOPOLOGY_ZONE_LABEL_KEY]);
  set("capacityType", labels[CAPACITY_TYPE_LABEL_KEY]);
  set("allocatable", view.allocatable);
  set("requested", requestsOf(view));
  set("pods", reschedulablePods(view).length);
  set("priceMicroUsdPerHour", price === 0 ? undefined : price);
  set("drifted", claim !== undefined && isTrue(claim, "Drifted") ? true : undefined);
  set("held", held);
  return node as unknown as FleetNode;
}

const UNMANAGED: Pick<FleetNode, "state" | "since"> = { state: "unmanaged" };

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [k in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [k in K]?: V };
}

/**
 * The stage of the claim. For a claim that is being deleted: the last stage that it has reached. For a claim that is
 * starting: the first stage that is not reached.
 */
function stateOf(view: NodeView, claim: NodeClaim): Pick<FleetNode, "state" | "since"> {
  const since = (type: string) => optional("since", condition(claim, type)?.lastTransitionTime);
  const { deletionTimestamp, creationTimestamp } = claim.metadata;
  if (deletionTimestamp !== undefined) {
    if (isTrue(claim, "InstanceTerminating"))
      return { state: "ending", ...since("InstanceTerminating") };
    if (isTrue(claim, "Drained")) return { state: "detaching", ...since("Drained") };
    return { state: "draining", since: deletionTimestamp };
  }
  const record = recordOf(claim);
  if (record !== undefined) return { state: "chosen", since: record.startedAt };
  // A rebooting node is starting again. It is not leaving.
  if (isRebooting(claim)) return { state: "initializing", ...since(REBOOTING) };
  if (view.deleting || isTrue(claim, "DisruptionReason"))
    return { state: "chosen", ...since("DisruptionReason") };
  if (!isTrue(claim, "Launched"))
    return { state: "launching", ...optional("since", creationTimestamp) };
  if (!view.registered) return { state: "joining", ...since("Launched") };
  if (!view.initialized) return { state: "initializing", ...since("Registered") };
  return { state: "running", ...since("Initialized") };
}

/** Finds why running nodes are not disrupted. Does not check whether their pods would fit elsewhere. */
class Holds {
  readonly picture: Picture;
  /**
   * The input of the checks, shared by all nodes. Copying the many fields of a picture for each node would take longer
   * than the checks.
   */
  readonly #input: Parameters<typeof blocksOf>[1];
  /** Whether `movesFirst` was called for the current node. */
  #isAsked = false;

  constructor(picture: Picture) {
    this.picture = picture;
    const movesFirst = (pod: Pod): boolean => {
      this.#isAsked = true;
      return picture.movesFirst(pod);
    };
    this.#input = { ...picture, movesFirst, disruptionClass: "graceful" };
  }

  on(view: NodeView, { pool, pause }: Of): HeldBy {
    const { pdbs, movesFirst } = this.picture;
    this.#isAsked = false;
    let block: Block | undefined;
    if (view.claim !== undefined && view.initialized && !view.deleting)
      [block] = blocksOf({ node: view, claim: view.claim, pool }, this.#input, 1);
    return { block, pdbs, movesFirst: this.#isAsked ? movesFirst : undefined, pause };
  }
}

/** Sums over some of the nodes. */
interface Sums {
  readonly allocatable: Record<string, number>;
  readonly requested: Record<string, number>;
  nodes: number;
  pods: number;
  priceMicroUsdPerHour: number;
  /** Number of nodes that have a claim but no known price. */
  unpriced: number;
  moving: number;
  held: number;
}

/** Sums over all nodes, and over the nodes of each NodePool. */
function* sumsInSteps(
  nodes: readonly FleetNode[],
): Steps<{ readonly all: Sums; readonly pools: ReadonlyMap<string, Sums> }> {
  const all = noSums();
  const pools = new Map<string, Sums>();
  yield* eachInSteps(nodes, NODES_PER_STEP, (node) => {
    addNode(all, node);
    if (node.state === "unmanaged") return;
    const name = node.nodePool ?? "";
    const own = within(pools, name, () => noSums());
    addNode(own, node);
  });
  return { all, pools };
}

function noSums(): Sums {
  const counts = { nodes: 0, pods: 0, priceMicroUsdPerHour: 0, unpriced: 0, moving: 0, held: 0 };
  return { allocatable: {}, requested: {}, ...counts };
}

function addNode(sums: Sums, node: FleetNode): void {
  const { state, priceMicroUsdPerHour } = node;
  addToSum(sums.allocatable, node.allocatable);
  addToSum(sums.requested, node.requested);
  sums.nodes += 1;
  sums.pods += node.pods;
  sums.priceMicroUsdPerHour += priceMicroUsdPerHour ?? 0;
  if (priceMicroUsdPerHour === undefined && state !== "unmanaged") sums.unpriced += 1;
  if (state !== "running") sums.moving += 1;
  if (node.held !== undefined) sums.held += 1;
}

function poolsOf(pools: ReadonlyMap<string, Sums>): readonly FleetPool[] {
  return [...pools]
    .map(([name, sums]) => ({
      name,
      nodes: sums.nodes,
      allocatable: sums.allocatable,
      requested: sums.requested,
      priceMicroUsdPerHour: sums.priceMicroUsdPerHour,
      moving: sums.moving,
      held: sums.held,
    }))
    .sort((a, b) => compareText(a.name, b.name));
}

/** When the pod began to wait for a node, as RFC 3339. Undefined: not known, because it still has one. */
export function waitsSince(pod: Pod): string | undefined {
  return isScheduled(pod) ? undefined : pod.metadata.creationTimestamp;
}

type Cause = Pick<Waiting, "waitingFor" | "rejected" | "reason">;
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Plans also place the pods that still run on leaving nodes. These pods do not wait, unless there is no other node for
 * them. They did not begin to wait when they were created, so their age is not that of a wait.
 */
function waitingOf({ existing, newClaims, unschedulable }: SchedulingResult): readonly Waiting[] {
  const pods = [
    ...existing.flatMap((node) => node.pods.map((pod) => ({ pod, cause: NODE_EXISTS }))),
    ...newClaims.flatMap((claim) => claim.pods.map((pod) => ({ pod, cause: NODE_WANTED }))),
  ]
    .filter(({ pod }) => !isScheduled(pod))
    .concat(unschedulable.map((one) => ({ pod: one.pod, cause: refusedBy(one) })));
  const groups = new Map<string, Writable<Waiting>>();
  for (const { pod, cause } of pods) {
    if (isBufferPod(pod)) continue;
    const waiting: Writable<Waiting> = within(groups, JSON.stringify(cause), () => ({
      ...cause,
      pods: 0,
      example: keyOf(pod),
    }));
    waiting.pods += 1;
    const since = earlier(waiting.since, waitsSince(pod));
    if (since !== undefined) waiting.since = since;
  }
  return [...groups.values()].sort((a, b) => b.pods - a.pods || compareText(a.example, b.example));
}

const NODE_EXISTS: Cause = { waitingFor: "nodeExists" };
const NODE_WANTED: Cause = { waitingFor: "nodeWanted" };

function refusedBy({ pools, message }: SchedulingResult["unschedulable"][number]): Cause {
  const rejected: Partial<Record<RejectionReason, number>> = {};
  for (const pool of pools)
    for (const [reason, count] of Object.entries(pool.rejected) as [RejectionReason, number][])
      rejected[reason] = (rejected[reason] ?? 0) + count;
  if (Object.keys(rejected).length > 0) return { waitingFor: "nothing", rejected };
  return { waitingFor: "nothing", rejected, reason: sharedReason(message) };
}

/** The earlier of two times, given as RFC 3339 in UTC, which can be compared as text. */
function earlier(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}
