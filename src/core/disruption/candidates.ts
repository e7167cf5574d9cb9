/**
 * Nodes that may be disrupted, and why the others may not. A candidate carries what methods compare:
 * what it costs, and what moving its pods costs. upstream: pkg/controllers/disruption/types.go
 */
import { isActive, type Pod } from "../../apis/core/pod.ts";
import { hasDoNotDisrupt, isReschedulable } from "../../apis/core/pod-predicates.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import type { Generation } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  DO_NOT_CONSOLIDATE_ANNOTATION_KEY,
  DO_NOT_DISRUPT_ANNOTATION_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { pdbBlock } from "../../apis/policy/pdb.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import type { PoolInput } from "../provisioning/scheduling-input.ts";
import type { NodeView } from "../state/node-view.ts";

/** `graceful` methods respect what guards pods; `eventual` ones may pass it by a grace period. */
export type DisruptionClass = "graceful" | "eventual";

export interface Candidate {
  readonly node: NodeView;
  readonly claim: NodeClaim;
  readonly generation: Generation;
  readonly pool: Pool;
  /** Unknown when its pool no longer offers it. */
  readonly instanceType: InstanceType | undefined;
  readonly zone: string;
  readonly capacityType: string;
  readonly pods: readonly Pod[];
  readonly reschedulablePods: readonly Pod[];
  readonly priceMicroUsd: number;
  /** 1 + what moving its pods costs. */
  readonly rescheduleCost: number;
  /** Alpha's and beta's node annotation: no consolidation. */
  readonly doNotConsolidate: boolean;
}

/** One of our nodes that may not be disrupted now; `message` is upstream's, first letter small. */
export interface Blocked {
  readonly node: NodeView;
  readonly message: string;
}

export interface CandidatesInput {
  readonly nowMs: number;
  readonly nodes: readonly NodeView[];
  readonly pools: readonly Pick<PoolInput, "pool" | "instanceTypes">[];
  readonly pdbs: readonly PodDisruptionBudget[];
  /** Names of nodes that a command is already about. */
  readonly queued: ReadonlySet<string>;
  readonly disruptionClass: DisruptionClass;
  /** Why a pool's nodes are left alone for now; absent: none is. */
  readonly paused?: (pool: Pool) => string | undefined;
}

/** Both by ascending node name. Nodes that are not ours are in neither. */
export function findCandidates(input: CandidatesInput): {
  readonly candidates: readonly Candidate[];
  readonly blocked: readonly Blocked[];
} {
  const candidates: Candidate[] = [];
  const blocked: Blocked[] = [];
  const pools = new Map(input.pools.map((one) => [one.pool.id, one]));
  for (const node of input.nodes) {
    if (!node.managed || node.claim === undefined || input.queued.has(node.name)) continue;
    const owner = node.poolId === undefined ? undefined : pools.get(node.poolId);
    const message = blockage(input, node, node.claim, owner?.pool);
    if (message !== undefined) blocked.push({ node, message });
    else if (owner !== undefined) candidates.push(candidateOf(node, node.claim, owner));
  }
  return { candidates, blocked };
}

function blockage(
  { nowMs, pdbs, disruptionClass, paused }: CandidatesInput,
  node: NodeView,
  claim: NodeClaim,
  pool: Pool | undefined,
): string | undefined {
  if (node.node === undefined) return "nodeclaim does not have an associated node";
  if (!node.initialized) return "node isn't initialized";
  if (node.deleting) return "node is deleting or marked for deletion";
  if (node.nominatedUntilMs > nowMs) return "node is nominated for a pending pod";
  if (isAnnotated(node, claim))
    return `disruption is blocked through the "${DO_NOT_DISRUPT_ANNOTATION_KEY}" annotation`;
  if (pool === undefined) return `NodePool not found (NodePool=${poolName(node)})`;
  const pause = paused?.(pool);
  if (pause !== undefined) return pause;
  const passes = disruptionClass === "eventual" && claim.spec.terminationGracePeriod !== undefined;
  return passes ? undefined : podBlockage(node, pdbs, nowMs);
}

/** v1 heeds `true` only; older generations any value. */
function isAnnotated(node: NodeView, claim: NodeClaim): boolean {
  const key = DO_NOT_DISRUPT_ANNOTATION_KEY;
  const value = node.node?.metadata.annotations?.[key] ?? claim.metadata.annotations?.[key];
  return claimGeneration(claim) === "v1" ? value === "true" : value !== undefined;
}

function podBlockage(
  node: NodeView,
  pdbs: readonly PodDisruptionBudget[],
  nowMs: number,
): string | undefined {
  const { annotated, movable } = podFacts(node);
  for (const pod of annotated) {
    if (hasDoNotDisrupt(pod, nowMs))
      return `pod has "${DO_NOT_DISRUPT_ANNOTATION_KEY}" annotation (Pod=${keyOf(pod)})`;
  }
  for (const pod of pdbs.length === 0 ? [] : movable) {
    const block = pdbBlock(pod, pdbs);
    if (block === undefined) continue;
    const names = block.pdbs.join(", ");
    return block.reason === "multiple"
      ? `eviction does not support multiple PDBs (PodDisruptionBudget=[${names}])`
      : `pdb prevents pod evictions (PodDisruptionBudget=[${names}])`;
  }
  return undefined;
}

/** What does not change while the node's view does not: sweeps look at each node many times a second. */
interface PodFacts {
  readonly reschedulable: readonly Pod[];
  /** 1 + what moving those costs. */
  readonly cost: number;
  /** Reschedulable and active. */
  readonly movable: readonly Pod[];
  /** Active, with annotations that may hold the node. */
  readonly annotated: readonly Pod[];
}

const factsByView = new WeakMap<NodeView, PodFacts>();

function podFacts(node: NodeView): PodFacts {
  const known = factsByView.get(node);
  if (known !== undefined) return known;
  const reschedulable = node.pods.filter(isReschedulable);
  const facts: PodFacts = {
    reschedulable,
    cost: reschedulable.reduce((sum, pod) => sum + Math.max(0, evictionCost(pod)), 1),
    movable: reschedulable.filter(isActive),
    annotated: node.pods.filter((pod) => pod.metadata.annotations !== undefined && isActive(pod)),
  };
  factsByView.set(node, facts);
  return facts;
}

function poolName(node: NodeView): string {
  const id = node.poolId ?? "";
  return id.slice(id.indexOf("/") + 1);
}

/** What methods compare of one node. */
export function candidateOf(
  node: NodeView,
  claim: NodeClaim,
  { pool, instanceTypes }: Pick<PoolInput, "pool" | "instanceTypes">,
): Candidate {
  const { labels } = node;
  const instanceType = instanceTypes.find(({ name }) => name === labels[INSTANCE_TYPE_LABEL_KEY]);
  const zone = labels[TOPOLOGY_ZONE_LABEL_KEY] ?? "";
  const capacityType = labels[CAPACITY_TYPE_LABEL_KEY] ?? "";
  const { reschedulable, cost } = podFacts(node);
  const key = DO_NOT_CONSOLIDATE_ANNOTATION_KEY;
  const generation = claimGeneration(claim);
  return {
    node,
    claim,
    generation,
    pool,
    instanceType,
    zone,
    capacityType,
    pods: node.pods,
    reschedulablePods: reschedulable,
    priceMicroUsd: priceOf(labels, instanceTypes),
    rescheduleCost: cost,
    doNotConsolidate: generation !== "v1" && node.node?.metadata.annotations?.[key] === "true",
  };
}

/** What a node with these labels costs an hour; 0 when its pool no longer offers the like. */
export function priceOf(
  labels: Readonly<Record<string, string>>,
  instanceTypes: readonly InstanceType[],
): number {
  const zone = labels[TOPOLOGY_ZONE_LABEL_KEY] ?? "";
  const capacityType = labels[CAPACITY_TYPE_LABEL_KEY] ?? "";
  const offering = instanceTypes
    .find(({ name }) => name === labels[INSTANCE_TYPE_LABEL_KEY])
    ?.offerings.find((one) => one.zone === zone && one.capacityType === capacityType);
  return offering?.priceMicroUsd ?? 0;
}

const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";

/** 1 for an ordinary pod; deletion cost and priority move it between -10 and 10. */
export function evictionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[DELETION_COST];
  const deletionCost = text !== undefined && /^-?\d+$/.test(text) ? Number(text) : 0;
  const cost = 1 + deletionCost / 2 ** 27 + (pod.spec.priority ?? 0) / 2 ** 25;
  return Math.min(10, Math.max(-10, cost));
}

/** Most saved per disturbance first; ties by name. */
export function bySavings(a: Candidate, b: Candidate): number {
  const [left, right] = [a, b].map((one) => one.priceMicroUsd / one.rescheduleCost) as [
    number,
    number,
  ];
  if (left !== right) return right - left;
  return a.node.name < b.node.name ? -1 : 1;
}
