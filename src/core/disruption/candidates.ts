/**
 * Finds the nodes that may be disrupted, and why other nodes may not. A candidate has the numbers that methods compare.
 * upstream: pkg/controllers/disruption/types.go
 */
import type { Pod } from "../../apis/core/pod.ts";
import { doNotDisrupt } from "../../apis/core/pod-predicates.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { type Generation, vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  DO_NOT_CONSOLIDATE_ANNOTATION_KEY,
  DO_NOT_DISRUPT_ANNOTATION_KEY,
  DO_NOT_EVICT_ANNOTATION_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import { isRebooting, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { pdbBlock } from "../../apis/policy/pdb.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import type { PoolInput } from "../provisioning/scheduling-input.ts";
import { isAnnotated } from "../state/do-not-disrupt.ts";
import { type NodeView, reschedulablePods, sortedPods } from "../state/node-view.ts";
import type { Placements } from "../state/placements.ts";
import { ViewNotes } from "../state/view-notes.ts";
import {
  type BrokenNode,
  dueConditions,
  isRepairForbidden,
  type RepairRules,
} from "./broken-nodes.ts";
import { evictionCost } from "./eviction-cost.ts";

/**
 * How much a method respects do-not-disrupt annotations of pods and PodDisruptionBudgets:
 * - `graceful`: it respects both.
 * - `eventual`: it ignores both on nodes with a terminationGracePeriod, because their drain ends in any case.
 * - `repair`: it ignores both, and disrupts only broken nodes, initialized or not.
 */
export type DisruptionClass = "graceful" | "eventual" | "repair";

/** Why a node without pods is kept: it waits for pods that will move to it. */
export interface Awaited {
  /** The node from which a command drains these pods. Absent: no node is being drained for them any more. */
  readonly nodeName?: string;
  /** When the wait ends. */
  readonly untilMs: number;
}

/** A node that may be disrupted, with the numbers that methods compare. */
export interface Candidate {
  readonly node: NodeView;
  readonly claim: NodeClaim;
  readonly generation: Generation;
  readonly pool: Pool;
  /** The node's instance type. Undefined: the pool no longer offers it. */
  readonly instanceType: InstanceType | undefined;
  readonly zone: string;
  readonly capacityType: string;
  readonly pods: readonly Pod[];
  readonly reschedulablePods: readonly Pod[];
  readonly priceMicroUsd: number;
  /** 1 plus the eviction costs of the pods that would need another node. */
  readonly rescheduleCost: number;
  /** Whether the Node has the annotation do-not-consolidate (v1alpha5, v1beta1). */
  readonly doNotConsolidate: boolean;
  /** Whether the node keeps room for pods of a CapacityBuffer. */
  readonly keepsRoom: boolean;
  /** The node's broken conditions. Only for candidates of node repair. */
  readonly broken?: BrokenNode;
}

/** Whether the node is empty: it has no pods to move, and no room that is kept for a CapacityBuffer. */
export function isEmpty({
  reschedulablePods,
  keepsRoom,
}: Pick<Candidate, "reschedulablePods" | "keepsRoom">): boolean {
  return reschedulablePods.length === 0 && !keepsRoom;
}

/** Kinds of reasons why a node may not be disrupted. */
export type BlockKind =
  | "noNode"
  | "notInitialized"
  | "rebooting"
  | "leaving"
  | "nominated"
  | "annotation"
  | "noPool"
  | "paused"
  | "otherProvider"
  | "pod"
  | "pdb";

/** The name of an object that causes a block, so that a person can look it up. */
export interface ObjectName {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Why a node may not be disrupted now. `message`: upstream's sentence, in lower case. */
export interface Block {
  readonly kind: BlockKind;
  readonly message: string;
  /** The object that causes the block. Absent: the node or its claim. */
  readonly by?: ObjectName;
  /** When the block ends by itself. Absent: that is not known. */
  readonly untilMs?: number;
}

/** A managed node that may not be disrupted now, with the first reason for that. */
export interface Blocked extends Block {
  readonly node: NodeView;
}

export interface CandidatesInput {
  readonly nowMs: number;
  readonly nodes: readonly NodeView[];
  readonly pools: readonly Pick<PoolInput, "pool" | "instanceTypes">[];
  readonly pdbs: readonly PodDisruptionBudget[];
  /** Names of nodes that running commands will remove or reboot. */
  readonly queued: ReadonlySet<string>;
  readonly disruptionClass: DisruptionClass;
  /** Why the pool is paused. Absent: no pool is paused. */
  readonly paused?: (pool: Pool) => Block | undefined;
  /** Whether the pod's new pod runs before the pod is evicted. Then its PodDisruptionBudget does not block the node. */
  readonly movesFirst?: (pod: Pod) => boolean;
  /** Finds out what a node without pods waits for. Absent: no node waits for pods. */
  readonly awaiting?: Awaiting;
  /** Tells which nodes keep room for CapacityBuffers. Absent: none does. */
  readonly seats?: RoomSeats | undefined;
  /** The rules of node repair. Absent: node repair is off and has no candidates. */
  readonly repair?: RepairRules | undefined;
}

/** Tells whether a node keeps room for a pod of a CapacityBuffer. */
export type RoomSeats = Pick<Placements, "hostsBufferPods">;

/** Finds out what the node of the claim waits for. Undefined: nothing. */
export type Awaiting = (claim: NodeClaim, nowMs: number) => Awaited | undefined;

export interface FoundCandidates {
  readonly candidates: readonly Candidate[];
  readonly blocked: readonly Blocked[];
}

/** The candidates and the blocked nodes, each sorted by node name. Nodes without a claim are in neither list. */
export function* findCandidates(input: CandidatesInput): Steps<FoundCandidates> {
  const candidates: Candidate[] = [];
  const blocked: Blocked[] = [];
  const pools = new Map(input.pools.map((one) => [one.pool.id, { ...one, seats: input.seats }]));
  yield* eachInSteps(input.nodes, (node) => {
    if (!node.managed || node.claim === undefined || input.queued.has(node.name)) return;
    const conditions = input.disruptionClass === "repair" ? dueConditions(node, input) : undefined;
    if (conditions?.length === 0) return;
    const owner = node.poolId === undefined ? undefined : pools.get(node.poolId);
    const owned = { node, claim: node.claim, pool: owner?.pool };
    const [block] = blocksOf(owned, input, 1);
    if (block !== undefined) blocked.push({ node, ...block });
    else if (owner !== undefined) {
      const candidate = candidateOf(node, node.claim, owner);
      candidates.push(
        conditions === undefined
          ? candidate
          : { ...candidate, broken: brokenNodeOf(owned, conditions, input) },
      );
    }
  });
  return { candidates, blocked };
}

function brokenNodeOf(
  { node, claim }: Pick<OwnedNode, "node" | "claim">,
  conditions: BrokenNode["conditions"],
  input: CandidatesInput,
): BrokenNode {
  const [blocking] = podBlocks(node, input);
  const isForbidden = isRepairForbidden(claim, node.node);
  return { conditions, isForbidden, blocking: blocking?.message };
}

/** A node that Karpenter owns. */
export interface OwnedNode {
  readonly node: NodeView;
  readonly claim: NodeClaim;
  /** The pool of the node. Undefined: the pool no longer exists. */
  readonly pool: Pool | undefined;
}

type BlockInput = Omit<CandidatesInput, "nodes" | "pools" | "queued" | "seats" | "repair">;

/** Why the node may not be disrupted now: at most `most` reasons, in the order of the checks. Empty: it may be. */
export function blocksOf(owned: OwnedNode, input: BlockInput, most: number): readonly Block[] {
  const { node, claim, pool } = owned;
  const found: Block[] = [];
  const isRepair = input.disruptionClass === "repair";
  for (const check of isRepair ? REPAIR_CHECKS : CHECKS) {
    const block = check(owned, input);
    if (block !== undefined && found.push(block) >= most) return found;
  }
  if (pool === undefined) {
    const { poolKind } = vocabulary(claimGeneration(claim));
    const message =
      isRepair && node.poolId === undefined
        ? "repair requires a NodePool to construct and budget a safe replacement"
        : `${poolKind} not found (${poolKind}=${poolName(node)})`;
    found.push({ kind: "noPool", message });
  }
  // A pause stops only voluntary disruption, and node repair is not voluntary.
  const pause = pool === undefined || isRepair ? undefined : input.paused?.(pool);
  if (pause !== undefined) found.push(pause);
  const passes =
    isRepair ||
    (input.disruptionClass === "eventual" && claim.spec.terminationGracePeriod !== undefined);
  if (found.length >= most || passes) return found;
  for (const block of podBlocks(node, input)) if (found.push(block) >= most) return found;
  return found;
}

type Check = (owned: OwnedNode, input: BlockInput) => Block | undefined;

const hasNode: Check = ({ node: { node } }) =>
  node === undefined
    ? { kind: "noNode", message: "nodeclaim does not have an associated node" }
    : undefined;

const isUp: Check = ({ claim }) =>
  isRebooting(claim) ? { kind: "rebooting", message: "node is rebooting" } : undefined;

const stays: Check = ({ node: { deleting } }) =>
  deleting ? { kind: "leaving", message: "node is deleting or marked for deletion" } : undefined;

/** The checks for node repair. A nomination does not protect a broken node: the nominated pods need another node. */
const REPAIR_CHECKS: readonly Check[] = [
  hasNode,
  isUp,
  stays,
  ({ node: { registered } }) =>
    registered
      ? undefined
      : { kind: "notInitialized", message: "node isn't initialized nor registered" },
];

const CHECKS: readonly Check[] = [
  hasNode,
  isUp,
  ({ node: { initialized } }) =>
    initialized ? undefined : { kind: "notInitialized", message: "node isn't initialized" },
  stays,
  ({ node: { nominatedUntilMs } }, { nowMs }) =>
    nominatedUntilMs > nowMs
      ? {
          kind: "nominated",
          message: "node is nominated for a pending pod",
          untilMs: nominatedUntilMs,
        }
      : undefined,
  ({ claim }, { nowMs, awaiting }) => {
    const awaited = awaiting?.(claim, nowMs);
    if (awaited === undefined) return undefined;
    const { nodeName, untilMs } = awaited;
    if (nodeName === undefined)
      return { kind: "nominated", message: "node is awaiting pods that were moved", untilMs };
    const message = `node is awaiting the pods of a node that still drains (Node=${nodeName})`;
    return { kind: "nominated", message, by: { kind: "Node", name: nodeName }, untilMs };
  },
  ({ node, claim }) =>
    isAnnotated(claim, node.node)
      ? {
          kind: "annotation",
          message: `disruption is blocked through the "${DO_NOT_DISRUPT_ANNOTATION_KEY}" annotation`,
        }
      : undefined,
];

/** Why pods of the node may not be evicted. A generator, because most callers need only the first reason. */
function* podBlocks(
  node: NodeView,
  { pdbs, nowMs, movesFirst }: Pick<CandidatesInput, "pdbs" | "nowMs" | "movesFirst">,
): Generator<Block> {
  const { annotated, movable } = sortedPods(node);
  for (const pod of annotated) {
    const verdict = doNotDisrupt(pod, nowMs);
    if (verdict.kind !== "always" && verdict.kind !== "until") continue;
    const annotation =
      pod.metadata.annotations?.[DO_NOT_EVICT_ANNOTATION_KEY] === "true"
        ? DO_NOT_EVICT_ANNOTATION_KEY
        : DO_NOT_DISRUPT_ANNOTATION_KEY;
    yield {
      kind: "pod",
      message: `pod has "${annotation}" annotation (Pod=${keyOf(pod)})`,
      by: objectName("Pod", keyOf(pod)),
      ...(verdict.kind === "until" ? { untilMs: verdict.untilMs } : {}),
    };
  }
  // Pods of one workload have the same PodDisruptionBudget, which is reported once.
  const named = new Set<string>();
  for (const pod of pdbs.length === 0 ? [] : movable) {
    const block = pdbBlock(pod, pdbs);
    if (block === undefined || movesFirst?.(pod) === true) continue;
    const names = block.pdbs.join(", ");
    const message =
      block.reason === "multiple"
        ? `eviction does not support multiple PDBs (PodDisruptionBudget=[${names}])`
        : `pdb prevents pod evictions (PodDisruptionBudget=[${names}])`;
    if (named.has(message)) continue;
    named.add(message);
    yield { kind: "pdb", message, by: objectName("PodDisruptionBudget", block.pdbs[0] ?? "") };
  }
}

/** The object with this key, which has the form `namespace/name`. */
export function objectName(kind: string, key: string): ObjectName {
  const at = key.indexOf("/");
  return { kind, namespace: key.slice(0, at), name: key.slice(at + 1) };
}

/** Cached separately from candidates, because the cost is also needed for nodes that are no candidates. */
const costByView = new ViewNotes<number>();

/** The cost of moving the node's pods: 1 plus the eviction costs of the pods that would need another node. */
export function rescheduleCostOf(node: NodeView): number {
  return within(costByView, node, () =>
    reschedulablePods(node).reduce((sum, pod) => sum + Math.max(0, evictionCost(pod)), 1),
  );
}

function poolName(node: NodeView): string {
  const id = node.poolId ?? "";
  return id.slice(id.indexOf("/") + 1);
}

/** The last candidate that was made for each node view. */
const candidatesByView = new ViewNotes<{
  readonly candidate: Candidate;
  readonly instanceTypes: readonly InstanceType[];
}>();

interface Owner extends Pick<PoolInput, "pool" | "instanceTypes"> {
  readonly seats?: RoomSeats | undefined;
}

/** The node as a candidate. The last one that was made for the view is used again if nothing has changed. */
export function candidateOf(node: NodeView, claim: NodeClaim, owner: Owner): Candidate {
  // A seat names a claim, or a node that has no claim.
  const names = [claim.metadata.name, node.name];
  const keepsRoom = names.some((name) => owner.seats?.hostsBufferPods(name) === true);
  const known = candidatesByView.get(node);
  if (
    known?.candidate.pool === owner.pool &&
    known.instanceTypes === owner.instanceTypes &&
    known.candidate.claim === claim &&
    known.candidate.keepsRoom === keepsRoom
  )
    return known.candidate;
  const candidate = { ...makeCandidate(node, claim, owner), keepsRoom };
  candidatesByView.set(node, { candidate, instanceTypes: owner.instanceTypes });
  return candidate;
}

function makeCandidate(
  node: NodeView,
  claim: NodeClaim,
  { pool, instanceTypes }: Pick<PoolInput, "pool" | "instanceTypes">,
): Omit<Candidate, "keepsRoom"> {
  const { labels } = node;
  const reschedulable = reschedulablePods(node);
  const key = DO_NOT_CONSOLIDATE_ANNOTATION_KEY;
  const generation = claimGeneration(claim);
  return {
    node,
    claim,
    generation,
    pool,
    instanceType: typeNamed(instanceTypes, labels[INSTANCE_TYPE_LABEL_KEY]),
    zone: labels[TOPOLOGY_ZONE_LABEL_KEY] ?? "",
    capacityType: labels[CAPACITY_TYPE_LABEL_KEY] ?? "",
    pods: node.pods,
    reschedulablePods: reschedulable,
    priceMicroUsd: priceOf(labels, instanceTypes),
    rescheduleCost: rescheduleCostOf(node),
    doNotConsolidate: generation !== "v1" && node.node?.metadata.annotations?.[key] === "true",
  };
}

/** Price per hour of all these nodes. */
export function priceOfAll(candidates: readonly Candidate[]): number {
  return candidates.reduce((sum, { priceMicroUsd }) => sum + priceMicroUsd, 0);
}

/** Price per hour of a node with these labels. 0: its pool no longer offers such a node. */
export function priceOf(
  labels: Readonly<Record<string, string>>,
  instanceTypes: readonly InstanceType[],
): number {
  const zone = labels[TOPOLOGY_ZONE_LABEL_KEY] ?? "";
  const capacityType = labels[CAPACITY_TYPE_LABEL_KEY] ?? "";
  const offering = typeNamed(instanceTypes, labels[INSTANCE_TYPE_LABEL_KEY])?.offerings.find(
    (one) => one.zone === zone && one.capacityType === capacityType,
  );
  return offering?.priceMicroUsd ?? 0;
}

/** Instance types by name, cached for each list. Lists never change, and thousands of nodes use the same list. */
const typesByName = new WeakMap<readonly InstanceType[], ReadonlyMap<string, InstanceType>>();

function typeNamed(
  instanceTypes: readonly InstanceType[],
  name: string | undefined,
): InstanceType | undefined {
  const byName = within(
    typesByName,
    instanceTypes,
    () => new Map(instanceTypes.toReversed().map((type) => [type.name, type])),
  );
  return byName.get(name ?? "");
}

/** Sorts candidates by price divided by reschedule cost, the highest first; equal ones by name. */
export function bySavings(a: Candidate, b: Candidate): number {
  const left = a.priceMicroUsd / a.rescheduleCost;
  const right = b.priceMicroUsd / b.rescheduleCost;
  if (left !== right) return right - left;
  return a.node.name < b.node.name ? -1 : 1;
}
