/**
 * The cluster in a simulation, and how it changes: nodes are removed or launched, pods are placed, time passes.
 * Launches never fail, nodes get their cheapest instance type, and each evicted pod is created again. This file makes
 * no decisions.
 */
import { isActive, type Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { condition, withCondition, withoutCondition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { eachInSteps, filterInSteps, mapInSteps, type Steps } from "../../base/steps.ts";
import { isBufferPod } from "../buffers/pods.ts";
import type { Picture } from "../disruption/make-round.ts";
import { createSimulator } from "../disruption/simulate.ts";
import { consolidatable, empty } from "../nodeclaim/empty.ts";
import { expiry } from "../nodeclaim/expired.ts";
import type { PlannedClaim, PodsOnNode } from "../provisioning/result.ts";
import type { PoolInput } from "../provisioning/scheduling-input.ts";
import { withReboot } from "../repair/reboots.ts";
import { brokenConditionsIn } from "../repair/survey.ts";
import { type NodeView, nodeView } from "../state/node-view.ts";
import { usageOf } from "../state/pool-usage.ts";
import { keptRoomIn, keptRoomOf, withKeptRoom } from "./kept-room.ts";
import { launched } from "./launched.ts";
import { withSharedCapacity } from "./shared-capacity.ts";

/** The simulated cluster at one moment. */
export interface Model {
  readonly picture: Picture;
  /** All NodePools, also those without nodes. */
  readonly pools: readonly PoolInput[];
  /** Number of nodes created so far. It is part of the names of new nodes. */
  readonly made: number;
}

/** One change of a model. The pods of `launched` and `placed` are bound to those nodes, wherever they were before. */
export interface Change {
  /** Names of removed nodes. Their pods become pending, unless this change places them. */
  readonly gone?: readonly string[];
  readonly launched?: readonly PlannedClaim[];
  /** Pods that are placed on existing nodes, by node. */
  readonly placed?: readonly PodsOnNode[];
  /** Pods that a plan gave no place. For a pod of a CapacityBuffer, the room that a node kept for it becomes free. */
  readonly unplaced?: readonly Pod[];
  /** Names of nodes that a reboot has repaired. */
  readonly mended?: readonly string[];
  /** The id of the disruption command for which the new nodes are created. */
  readonly command?: string;
  readonly nowMs: number;
}

/** The move of one pod to another node. */
export interface Move {
  readonly pod: string;
  /** The node that the pod leaves. Absent: the pod was pending. */
  readonly from?: string;
  /** The node to which the pod moves. Absent: the pod has no place. */
  readonly to?: string;
}

/** The changed model, the names of new nodes in order, and the moves of pods. */
export interface Changed {
  readonly model: Model;
  readonly names: readonly string[];
  readonly moves: readonly Move[];
}

/** The pods without a node. Those of CapacityBuffers are not among them. */
export function pendingPods({ picture }: Pick<Model, "picture">): Steps<Pod[]> {
  return filterInSteps(picture.scheduling.pods, (pod) => !pod.spec.nodeName && !isBufferPod(pod));
}

/** Applies a change. */
export function* change(model: Model, wanted: Change): Steps<Changed> {
  const { picture } = model;
  const { gone = [], launched: plans = [], placed = [], mended = [], command, nowMs } = wanted;
  const leaving = new Set(gone);
  const names = plans.map(({ pool }, index) => `${pool.name}-new-${model.made + index + 1}`);
  const homes = new Map<string, string>();
  for (const { nodeName, pods } of placed) for (const pod of pods) homes.set(keyOf(pod), nodeName);
  plans.forEach(({ pods }, index) => {
    for (const pod of pods) homes.set(keyOf(pod), names[index] as string);
  });
  const moving = new Map<string, Pod>();
  const moves: Move[] = [];
  yield* eachInSteps(picture.nodes, (node) => {
    for (const pod of node.pods) {
      const key = keyOf(pod);
      const to = homes.get(key);
      if (!leaving.has(node.name) && to === undefined) continue;
      if (!isReschedulable(pod)) continue;
      moving.set(key, waiting(pod, nowMs));
      moves.push({ pod: key, from: node.name, ...(to === undefined ? {} : { to }) });
    }
  });
  yield* eachInSteps(picture.scheduling.pods, (pod) => {
    const key = keyOf(pod);
    if (isBufferPod(pod) || pod.spec.nodeName || moving.has(key)) return;
    moving.set(key, pod);
    const to = homes.get(key);
    if (to !== undefined) moves.push({ pod: key, to });
  });
  const arrived = new Map<string, Pod[]>();
  yield* eachInSteps([...moving], ([key, pod]) => {
    const to = homes.get(key);
    if (to === undefined) return;
    const there = arrived.get(to) ?? [];
    there.push(running(pod, to, nowMs));
    arrived.set(to, there);
  });
  const staying = picture.nodes.filter(({ name }) => !leaving.has(name));
  const stayed = yield* mapInSteps(staying, (before) => {
    const node = withPods(before, arrived.get(before.name) ?? [], moving, nowMs);
    return mended.includes(node.name) ? rebooted(node, picture, nowMs) : node;
  });
  const fresh = yield* mapInSteps(plans, (plan, index) => {
    const name = names[index] as string;
    return launched({ plan, name, pods: arrived.get(name) ?? [], command, nowMs });
  });
  const waits = [...moving].filter(([key]) => !homes.has(key)).map(([, pod]) => pod);
  // Pods of nodes that are already leaving and that this change does not place.
  const leave = yield* filterInSteps(
    picture.scheduling.pods,
    (pod) => Boolean(pod.spec.nodeName) && !moving.has(keyOf(pod)),
  );
  const nodes = [...stayed, ...fresh].sort((a, b) => (a.name < b.name ? -1 : 1));
  const went = picture.nodes.filter(({ name }) => leaving.has(name));
  const shared = { ...picture.scheduling, pools: model.pools };
  const { pools, ...room } = withSharedCapacity(shared, plans, went);
  const scheduling = { ...picture.scheduling, ...room };
  const made = model.made + plans.length;
  const after = { picture: { ...picture, scheduling }, pools, made };
  const buffered = picture.scheduling.pods.filter(isBufferPod);
  const changed = yield* updated(after, nodes, [...waits, ...leave, ...buffered], nowMs);
  const rooms = buffered.length === 0 ? new Map() : keptRoomAfter(changed.picture, names, wanted);
  return { model: { ...changed, picture: withKeptRoom(changed.picture, rooms) }, names, moves };
}

/** The room that nodes keep for CapacityBuffers after the change. `names`: the new nodes. */
function keptRoomAfter(
  picture: Picture,
  names: readonly string[],
  { launched: plans = [], placed = [], unplaced = [] }: Change,
): ReadonlyMap<string, string> {
  const onNew = plans.map(({ pods }, index) => ({ nodeName: names[index] as string, pods }));
  const rooms = new Map([...keptRoomOf(picture), ...keptRoomIn(placed), ...keptRoomIn(onNew)]);
  for (const pod of unplaced) rooms.delete(keyOf(pod));
  return rooms;
}

/** The same model at a later time. Conditions of claims are updated. */
export function later(model: Model, nowMs: number): Steps<Model> {
  return updated(model, model.picture.nodes, model.picture.scheduling.pods, nowMs);
}

/** The model with these nodes, pods and time. Everything that depends on them is computed again. */
function* updated(
  model: Model,
  nodes: readonly NodeView[],
  pods: readonly Pod[],
  nowMs: number,
): Steps<Model> {
  const { picture, pools } = model;
  const owners = new Map(pools.map((one) => [one.pool.id, one]));
  const marked = yield* mapInSteps(nodes, (node) => withMarks(node, owners, model, nowMs));
  const usable = new Set(picture.scheduling.pools.map(({ pool }) => pool.id));
  const used = yield* mapInSteps(pools, 1, (one) => ({
    ...one,
    usage: usageOf(marked, one.pool.id),
  }));
  const scheduling = {
    ...picture.scheduling,
    nowMs,
    nodes: marked,
    pods,
    pools: used.filter(({ pool }) => usable.has(pool.id)),
  };
  const present = new Set(marked.map(({ poolId }) => poolId));
  const fixed = new Set(picture.staticPools.map(({ pool }) => pool.id));
  return {
    ...model,
    pools: used,
    picture: {
      ...picture,
      nowMs,
      nodes: marked,
      pools: used.filter(({ pool }) => present.has(pool.id)),
      staticPools: used.filter(({ pool }) => fixed.has(pool.id)),
      backingOff: new Map([...picture.backingOff].filter(([, untilMs]) => nowMs < untilMs)),
      scheduling,
      simulator: createSimulator(scheduling),
    },
  };
}

/**
 * The node, whose claim has the conditions that controllers would have set by now: Consolidatable or Empty, and
 * Expired.
 */
function withMarks(
  node: NodeView,
  owners: ReadonlyMap<string, PoolInput>,
  { picture }: Model,
  nowMs: number,
): NodeView {
  const { claim } = node;
  const pool = owners.get(node.poolId ?? "")?.pool;
  if (claim === undefined || pool === undefined) return node;
  const type = claimGeneration(claim) === "v1" ? "Consolidatable" : "Empty";
  const verdict = type === "Empty" ? empty(claim, pool, node) : consolidatable(claim, pool, nowMs);
  let marked = marking(claim, type, verdict.state === "set", nowMs);
  const end = expiry(claim, pool, picture.expiry);
  if (end?.mode === "voluntary") marked = marking(marked, "Expired", end.atMs <= nowMs, nowMs);
  return marked === claim ? node : { ...node, claim: marked };
}

function marking(claim: NodeClaim, type: string, is: boolean, nowMs: number): NodeClaim {
  const was = condition(claim, type)?.status === "True";
  if (was === is) return claim;
  return is ? withCondition(claim, { type, status: "True" }, nowMs) : withoutCondition(claim, type);
}

function withPods(
  node: NodeView,
  arrived: readonly Pod[],
  moving: ReadonlyMap<string, Pod>,
  nowMs: number,
): NodeView {
  const left = node.pods.filter((pod) => !moving.has(keyOf(pod)));
  if (arrived.length === 0 && left.length === node.pods.length) return node;
  const claim =
    node.claim === undefined
      ? undefined
      : { ...node.claim, status: { ...node.claim.status, lastPodEventTime: toRfc3339(nowMs) } };
  return nodeView({
    node: node.node,
    claim,
    pods: [...left, ...arrived],
    marked: node.deleting,
    nominatedUntilMs: node.nominatedUntilMs,
  });
}

/** The node after a reboot: without the conditions that node repair acts on, and with a record of the reboot. */
function rebooted(view: NodeView, { settings: { repair } }: Picture, nowMs: number): NodeView {
  const { node, claim } = view;
  if (node === undefined || claim === undefined) return view;
  const broken = brokenConditionsIn(view, repair?.policies ?? []).map(
    ({ conditionType }) => conditionType,
  );
  const conditions = (node.status?.conditions ?? []).filter(({ type }) => !broken.includes(type));
  return {
    ...view,
    node: { ...node, status: { ...node.status, conditions } },
    claim: withReboot(claim, nowMs),
  };
}

/** The pod as it is after its owner has created it again. */
function waiting(pod: Pod, nowMs: number): Pod {
  const { nodeName: _, ...spec } = pod.spec;
  return {
    ...pod,
    metadata: { ...pod.metadata, creationTimestamp: toRfc3339(nowMs) },
    spec,
    status: {
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
    },
  };
}

/** The pod as it runs on this node. If it has ended or is terminating, a new pod in its place. */
function running(pod: Pod, nodeName: string, nowMs: number): Pod {
  const active = isActive(pod) ? pod : waiting(pod, nowMs);
  return {
    ...active,
    spec: { ...active.spec, nodeName },
    status: {
      phase: "Running",
      startTime: toRfc3339(nowMs),
      conditions: [
        { type: "PodScheduled", status: "True" },
        { type: "Ready", status: "True" },
      ],
    },
  };
}
