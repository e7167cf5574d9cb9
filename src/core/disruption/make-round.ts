/**
 * Makes a `Round`, the input of one disruption method, from a `Picture`, the state of the cluster at one moment. The
 * live loop, `karpenter explain` and `karpenter simulate` all use this function, so their results agree.
 */

import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { firstNotBelow } from "../../base/sorted.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import type { RoomKept } from "../buffers/room.ts";
import type { PoolInput, SchedulingInput } from "../provisioning/scheduling-input.ts";
import { planStaticNodes } from "../provisioning/static-nodes.ts";
import type { NodeView } from "../state/node-view.ts";
import { type AwaitedSeats, awaitedPodsOn } from "./awaited.ts";
import { balancedTotals } from "./balanced.ts";
import { allowancesFor } from "./budgets.ts";
import {
  type Block,
  type Blocked,
  type DisruptionClass,
  type FoundCandidates,
  findCandidates,
} from "./candidates.ts";
import {
  competitionHoldOff,
  type Evictions,
  pendingEvictions,
  protectedPods,
} from "./competing-pods.ts";
import type { Ledger } from "./ledger.ts";
import type { Method } from "./methods/method.ts";
import { countNodes } from "./node-counts.ts";
import { minRepackShare } from "./outcome.ts";
import type { Round, RoundFacts, RoundHoldOffs, RoundSettings } from "./round.ts";
import { isSettling } from "./settling.ts";
import type { Simulator } from "./simulate.ts";

/** The state of the cluster at one moment, for all methods of one round. */
export interface Picture {
  readonly nowMs: number;
  /** All nodes of the cluster, sorted by name. */
  readonly nodes: readonly NodeView[];
  /** The list of nodes of an earlier round. Only nodes that have changed since are counted again. */
  readonly nodesBefore?: readonly NodeView[];
  /** The pools that own nodes. Not all of them may be able to launch nodes. */
  readonly pools: readonly Pick<PoolInput, "pool" | "instanceTypes">[];
  /** The input of provisioning at this moment: pools that can launch nodes, and pods that need a place. */
  readonly scheduling: SchedulingInput;
  readonly simulator: Simulator;
  /** Static pools (with `replicas`) that are ready. Empty while the feature gate StaticCapacity is off. */
  readonly staticPools: readonly PoolInput[];
  readonly pdbs: readonly PodDisruptionBudget[];
  /** Seats of pods that do not run on their planned node yet. Absent: no seats are known. */
  readonly seats?: AwaitedSeats;
  /** By node name: the room that is kept there for CapacityBuffers. Only for answers to users. */
  readonly room?: ReadonlyMap<string, readonly RoomKept[]>;
  /** Names of the nodes that running commands remove or reboot. */
  readonly queued: ReadonlySet<string>;
  /** Pools (by id) whose last replacement failed, and until when no other replacement is launched. */
  readonly backingOff: ReadonlyMap<string, number>;
  /** Why voluntary disruption of the pool is paused. Undefined: it is not. */
  readonly paused: (pool: Pool) => Block | undefined;
  /** Whether the pod is moved without downtime: its workload first gets a new pod elsewhere. */
  readonly movesFirst: (pod: Pod) => boolean;
  /** Why a pod cannot be moved without downtime although its annotation requests it. Undefined: there is no problem. */
  readonly surgeProblem: (pod: Pod) => string | undefined;
  /** Budgets that count the nodes of all pools together. They apply in addition to those of each pool. */
  readonly clusterBudgets: readonly Budget[];
  /** The settings of expiration (core/nodeclaim/expired.ts). Only answers such as `karpenter explain` read them. */
  readonly expiry: { readonly spreadPercent: number; readonly respectsBudgets: boolean };
  /** How long a registered node may take to initialize. 0: no limit. Only for answers to users. */
  readonly initializationTimeoutMs: number;
  readonly ledger: Ledger;
  readonly settings: RoundSettings;
  /** Whether node repair is the only method that runs. Only in simulations. Absent: all methods run. */
  readonly onlyRepairs?: boolean;
  /** Names of the only nodes that may be candidates. Absent: all nodes may. */
  readonly among?: ReadonlySet<string>;
  /** Candidates by disruption class, shared by the methods of one round. Absent: only one method runs. */
  readonly found?: Map<DisruptionClass, FoundCandidates>;
}

/** A round for one method, and the nodes that it may not disrupt. */
export interface RoundWithBlocked {
  readonly round: Round;
  readonly blocked: readonly Blocked[];
}

/** Makes the round for one method from the picture. */
export function* makeRound(
  picture: Picture,
  method: Pick<Method, "reason" | "disruptionClass">,
): Steps<RoundWithBlocked> {
  const { nowMs, nodes, pools, pdbs, ledger, simulator } = picture;
  const { disruptionClass, reason } = method;
  const found = yield* candidatesOn(picture, disruptionClass);
  yield;
  // A round over all nodes checks many commands against the ledger, so its counts are computed here, in steps.
  const isOverAllNodes = picture.among === undefined;
  if (isOverAllNodes) yield* ledger.ready(nodes, nowMs);
  const asksTotals = isOverAllNodes && reason === "Underutilized";
  const totals = asksTotals ? yield* balancedTotals(nodes, pools) : undefined;
  const { usedAlpha } = yield* countNodes(nodes, picture.nodesBefore);
  const allowances = yield* allowancesFor({
    pools: pools.map(({ pool }) => pool),
    nodes,
    nodesBefore: picture.nodesBefore,
    reason,
    nowMs,
    clusterBudgets: picture.clusterBudgets,
  });
  const evictions: Evictions = {
    pending: once(() => pendingEvictions(nodes, pdbs)),
    pdbs,
    movesFirst: picture.movesFirst,
  };
  const facts: RoundFacts = {
    candidates: found.candidates,
    nodes,
    simulator,
    protectedPods: (candidates) => protectedPods(candidates, evictions),
    balancedTotals: once(() => totals ?? atOnce(balancedTotals(nodes, pools))),
    planStatic: ({ poolId, count, instead }) => {
      const own = picture.staticPools.find(({ pool }) => pool.id === poolId);
      return own && atOnce(planStaticNodes(picture.scheduling, own, count, instead));
    },
    typesOf: (poolId) => pools.find(({ pool }) => pool.id === poolId)?.instanceTypes ?? [],
    alphaBusy: [...usedAlpha].some((node) => isAlphaReplacement(node, picture.queued)),
  };
  const holdOffs: RoundHoldOffs = {
    of: (command) =>
      ledger.holdOff(command, nodes, nowMs) ??
      competitionHoldOff(command, {
        ...evictions,
        podsOverLimits: simulator.podsOverLimits,
        wellKnownLabels: picture.scheduling.options.wellKnownLabels,
      }),
    fromRepack: ({ claim, pool }) =>
      (ledger.replacementHoldOffEndsMs(claim) ?? nowMs) > nowMs ||
      ledger.repackHoldOffEndsMs(pool.id, nowMs) !== undefined,
    isSettling: (poolIds) => isSettling(picture, poolIds),
    turns: ledger.turns,
    minRepackShare: (candidates) =>
      minRepackShare(
        candidates,
        picture.settings.repack?.minSavingsPercent ?? 0,
        (poolId) => ledger.outcome(poolId, nowMs)?.overrun ?? 0,
      ),
    backingOff: picture.backingOff,
  };
  const { settings } = picture;
  const round = { nowMs, facts, budgets: { allowances, pdbs }, settings, holdOffs };
  return { round, blocked: found.blocked };
}

function* candidatesOn(picture: Picture, disruptionClass: DisruptionClass): Steps<FoundCandidates> {
  const { among, found, settings } = picture;
  const { repair } = settings;
  const known = among === undefined ? found?.get(disruptionClass) : undefined;
  if (known !== undefined) return known;
  const awaiting = awaitedPodsOn(picture.nodes, picture.seats);
  if (among !== undefined) {
    const nodes = [...among].sort().flatMap((name) => namedOf(picture.nodes, name));
    return yield* findCandidates({ ...picture, nodes, awaiting, disruptionClass, repair });
  }
  const fresh = yield* findCandidates({ ...picture, awaiting, disruptionClass, repair });
  found?.set(disruptionClass, fresh);
  return fresh;
}

/** The nodes of this name, found by binary search in a list that is sorted by name. */
function namedOf(nodes: readonly NodeView[], name: string): readonly NodeView[] {
  const first = firstNotBelow(nodes.length, (at) => (nodes[at] as NodeView).name < name);
  let end = first;
  while (nodes[end]?.name === name) end++;
  return nodes.slice(first, end);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Whether this v1alpha5 node is being replaced by a command and still exists. */
function isAlphaReplacement(node: NodeView, queued: ReadonlySet<string>): boolean {
  if (queued.has(node.name)) return true;
  return node.deleting && node.claim !== undefined && isTrue(node.claim, "DisruptionReason");
}
