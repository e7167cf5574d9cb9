/**
 * Nodes that may be disrupted, and why the others may not. A candidate carries what methods compare:
 * what it costs, and what moving its pods costs. upstream: pkg/controllers/disruption/types.go
 */
import { isActive, type Pod } from "../../apis/core/pod.ts";
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
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { pdbBlock } from "../../apis/policy/pdb.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import type { PoolInput } from "../provisioning/scheduling-input.ts";
import { isAnnotated } from "../state/do-not-disrupt.ts";
import { type NodeView, reschedulablePods } from "../state/node-view.ts";
import { ViewNotes } from "../state/view-notes.ts";

/** `graceful` methods respect what guards pods; `eventual` ones may pass it by a grace period. */
export type DisruptionClass = "graceful" | "eventual";

/** Whose pods are to come, and when that is no longer waited for. */
export interface Awaited {
  /** A node that still drains; absent: the pods have left their nodes or leave one that no command is about. */
  readonly nodeName?: string;
  readonly untilMs: number;
}

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

/** What it is that keeps a node from being disrupted. */
export type BlockKind =
  | "noNode"
  | "notInitialized"
  | "leaving"
  | "nominated"
  | "annotation"
  | "noPool"
  | "paused"
  | "pod"
  | "pdb";

/** An object that a person can look up. */
export interface ObjectName {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Why a node may not be disrupted now; `message` is upstream's, first letter small. */
export interface Block {
  readonly kind: BlockKind;
  readonly message: string;
  /** The object that causes it; absent: the node or its claim itself. */
  readonly by?: ObjectName;
  /** When it ends by itself, if that is known. */
  readonly untilMs?: number;
}

/** One of our nodes that may not be disrupted now: the first thing that keeps it. */
export interface Blocked extends Block {
  readonly node: NodeView;
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
  readonly paused?: (pool: Pool) => Block | undefined;
  /** Whether the pod ends only once a new one of its workload runs elsewhere: no budget speaks against that. */
  readonly movesFirst?: (pod: Pod) => boolean;
  /** Whose pods this claim's node awaits, and until when; absent: none does. */
  readonly awaiting?: Awaiting;
}

type Awaiting = (claim: NodeClaim, nowMs: number) => Awaited | undefined;

/** Nodes of ours. */
export interface FoundCandidates {
  readonly candidates: readonly Candidate[];
  readonly blocked: readonly Blocked[];
}

/** Nodes looked at for the first time before others get a turn: a few milliseconds' worth. */
const NODES_PER_STEP = 64;

/** Candidates and blocked nodes, each sorted by node name. Nodes without a claim are in neither. */
export function* findCandidates(input: CandidatesInput): Steps<FoundCandidates> {
  const candidates: Candidate[] = [];
  const blocked: Blocked[] = [];
  const pools = new Map(input.pools.map((one) => [one.pool.id, one]));
  yield* eachInSteps(input.nodes, NODES_PER_STEP, (node) => {
    if (!node.managed || node.claim === undefined || input.queued.has(node.name)) return;
    const owner = node.poolId === undefined ? undefined : pools.get(node.poolId);
    const [block] = blocksOf(input, node, node.claim, owner?.pool, 1);
    if (block !== undefined) blocked.push({ node, ...block });
    else if (owner !== undefined) candidates.push(candidateOf(node, node.claim, owner));
  });
  return { candidates, blocked };
}

/** Everything that keeps one node of ours, in the order it is looked at; at most `most`. */
export function blocksOf(
  input: Omit<CandidatesInput, "nodes" | "pools" | "queued">,
  node: NodeView,
  claim: NodeClaim,
  pool: Pool | undefined,
  most: number,
): readonly Block[] {
  const found: Block[] = [];
  for (const check of CHECKS) {
    const block = check(node, claim, input.nowMs, input.awaiting);
    if (block !== undefined && found.push(block) >= most) return found;
  }
  if (pool === undefined) {
    const { poolKind } = vocabulary(claimGeneration(claim));
    const message = `${poolKind} not found (${poolKind}=${poolName(node)})`;
    found.push({ kind: "noPool", message });
  }
  const pause = pool === undefined ? undefined : input.paused?.(pool);
  if (pause !== undefined) found.push(pause);
  const passes =
    input.disruptionClass === "eventual" && claim.spec.terminationGracePeriod !== undefined;
  if (found.length >= most || passes) return found;
  return addPodBlocks(found, node, input, most);
}

type Check = (
  node: NodeView,
  claim: NodeClaim,
  nowMs: number,
  awaiting: Awaiting | undefined,
) => Block | undefined;

const CHECKS: readonly Check[] = [
  ({ node }) =>
    node === undefined
      ? { kind: "noNode", message: "nodeclaim does not have an associated node" }
      : undefined,
  ({ initialized }) =>
    initialized ? undefined : { kind: "notInitialized", message: "node isn't initialized" },
  ({ deleting }) =>
    deleting ? { kind: "leaving", message: "node is deleting or marked for deletion" } : undefined,
  ({ nominatedUntilMs }, _, nowMs) =>
    nominatedUntilMs > nowMs
      ? {
          kind: "nominated",
          message: "node is nominated for a pending pod",
          untilMs: nominatedUntilMs,
        }
      : undefined,
  (_, claim, nowMs, awaiting) => {
    const awaited = awaiting?.(claim, nowMs);
    if (awaited === undefined) return undefined;
    const { nodeName, untilMs } = awaited;
    if (nodeName === undefined)
      return { kind: "nominated", message: "node is awaiting pods that were moved", untilMs };
    const message = `node is awaiting the pods of a node that still drains (Node=${nodeName})`;
    return { kind: "nominated", message, by: { kind: "Node", name: nodeName }, untilMs };
  },
  (node, claim) =>
    isAnnotated(claim, node.node)
      ? {
          kind: "annotation",
          message: `disruption is blocked through the "${DO_NOT_DISRUPT_ANNOTATION_KEY}" annotation`,
        }
      : undefined,
];

function addPodBlocks(
  found: Block[],
  node: NodeView,
  { pdbs, nowMs, movesFirst }: Pick<CandidatesInput, "pdbs" | "nowMs" | "movesFirst">,
  most: number,
): readonly Block[] {
  const { annotated, movable } = podFacts(node);
  for (const pod of annotated) {
    const verdict = doNotDisrupt(pod, nowMs);
    if (verdict.kind !== "always" && verdict.kind !== "until") continue;
    const annotation =
      pod.metadata.annotations?.[DO_NOT_EVICT_ANNOTATION_KEY] === "true"
        ? DO_NOT_EVICT_ANNOTATION_KEY
        : DO_NOT_DISRUPT_ANNOTATION_KEY;
    found.push({
      kind: "pod",
      message: `pod has "${annotation}" annotation (Pod=${keyOf(pod)})`,
      by: objectName("Pod", keyOf(pod)),
      ...(verdict.kind === "until" ? { untilMs: verdict.untilMs } : {}),
    });
    if (found.length >= most) return found;
  }
  for (const pod of pdbs.length === 0 ? [] : movable) {
    const block = pdbBlock(pod, pdbs);
    if (block === undefined || movesFirst?.(pod) === true) continue;
    const names = block.pdbs.join(", ");
    const message =
      block.reason === "multiple"
        ? `eviction does not support multiple PDBs (PodDisruptionBudget=[${names}])`
        : `pdb prevents pod evictions (PodDisruptionBudget=[${names}])`;
    // Pods of one workload have one guard.
    if (found.some((one) => one.message === message)) continue;
    const by = objectName("PodDisruptionBudget", block.pdbs[0] ?? "");
    if (found.push({ kind: "pdb", message, by }) >= most) return found;
  }
  return found;
}

/** Of `namespace/name`. */
function objectName(kind: string, key: string): ObjectName {
  const at = key.indexOf("/");
  return { kind, namespace: key.slice(0, at), name: key.slice(at + 1) };
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

const factsByView = new ViewNotes<PodFacts>();

function podFacts(node: NodeView): PodFacts {
  const known = factsByView.get(node);
  if (known !== undefined) return known;
  const reschedulable = reschedulablePods(node);
  const facts: PodFacts = {
    reschedulable,
    cost: reschedulable.reduce((sum, pod) => sum + Math.max(0, evictionCost(pod)), 1),
    movable: reschedulable.filter(isActive),
    annotated: node.pods.filter((pod) => pod.metadata.annotations !== undefined && isActive(pod)),
  };
  factsByView.set(node, facts);
  return facts;
}

/** 1 + what moving its pods costs, as a candidate has it. */
export function rescheduleCostOf(node: NodeView): number {
  return podFacts(node).cost;
}

function poolName(node: NodeView): string {
  const id = node.poolId ?? "";
  return id.slice(id.indexOf("/") + 1);
}

/** Views never change: what was made of one serves as long as its pool and the types are the same. */
const candidatesByView = new ViewNotes<Made>();

interface Made {
  readonly candidate: Candidate;
  readonly instanceTypes: readonly InstanceType[];
}

/** What methods compare of one node. */
export function candidateOf(
  node: NodeView,
  claim: NodeClaim,
  owner: Pick<PoolInput, "pool" | "instanceTypes">,
): Candidate {
  const known = candidatesByView.get(node);
  if (
    known?.candidate.pool === owner.pool &&
    known.instanceTypes === owner.instanceTypes &&
    known.candidate.claim === claim
  )
    return known.candidate;
  const candidate = makeCandidate(node, claim, owner);
  candidatesByView.set(node, { candidate, instanceTypes: owner.instanceTypes });
  return candidate;
}

function makeCandidate(
  node: NodeView,
  claim: NodeClaim,
  { pool, instanceTypes }: Pick<PoolInput, "pool" | "instanceTypes">,
): Candidate {
  const { labels } = node;
  const { reschedulable, cost } = podFacts(node);
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
    rescheduleCost: cost,
    doNotConsolidate: generation !== "v1" && node.node?.metadata.annotations?.[key] === "true",
  };
}

/** What these nodes cost an hour together. */
export function priceOfAll(candidates: readonly Candidate[]): number {
  return candidates.reduce((sum, { priceMicroUsd }) => sum + priceMicroUsd, 0);
}

/** What a node with these labels costs an hour; 0 when its pool no longer offers the like. */
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

/** Lists never change: thousands of nodes look their type up in the same one. */
const typesByName = new WeakMap<readonly InstanceType[], ReadonlyMap<string, InstanceType>>();

/** The first of that name. */
function typeNamed(
  instanceTypes: readonly InstanceType[],
  name: string | undefined,
): InstanceType | undefined {
  let byName = typesByName.get(instanceTypes);
  if (byName === undefined) {
    byName = new Map(instanceTypes.toReversed().map((type) => [type.name, type]));
    typesByName.set(instanceTypes, byName);
  }
  return byName.get(name ?? "");
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
  const left = a.priceMicroUsd / a.rescheduleCost;
  const right = b.priceMicroUsd / b.rescheduleCost;
  if (left !== right) return right - left;
  return a.node.name < b.node.name ? -1 : 1;
}
