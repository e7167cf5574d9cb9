/**
 * From a picture of the cluster to what one disruption method may know of it. The live loop and those who
 * only ask (`karpenter explain`, `karpenter simulate`) come this way, so that they cannot disagree.
 */

import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import type { PoolInput, SchedulingInput } from "../provisioning/scheduling-input.ts";
import { planStaticNodes } from "../provisioning/static-nodes.ts";
import type { NodeView } from "../state/node-view.ts";
import { awaitingOn, type Seats } from "./awaited.ts";
import { balancedTotals } from "./balanced.ts";
import { allowancesInSteps } from "./budgets.ts";
import {
  type Block,
  type Blocked,
  type DisruptionClass,
  type FoundCandidates,
  findCandidatesInSteps,
} from "./candidates.ts";
import type { ForSpot } from "./cheaper.ts";
import type { Ledger } from "./ledger.ts";
import type { Method } from "./methods/method.ts";
import { wantedShare } from "./outcome.ts";
import { keptPods, leavingUnder, rivalry } from "./rivals.ts";
import type { Repack, Round } from "./round.ts";
import { isSettling } from "./settling.ts";
import type { Simulator } from "./simulate.ts";
import { tallyOf } from "./tally.ts";

export interface Picture {
  readonly nowMs: number;
  /** The whole cluster, by name. */
  readonly nodes: readonly NodeView[];
  /** The same a while ago, where these are looked at in one go: what has not changed is not counted anew. */
  readonly nodesBefore?: readonly NodeView[];
  /** Pools that own nodes, usable or not. */
  readonly pools: readonly Pick<PoolInput, "pool" | "instanceTypes">[];
  /** What provisioning would plan with: pools that may be used, pods to place. */
  readonly scheduling: SchedulingInput;
  /** Of that scheduling input. */
  readonly simulator: Simulator;
  /** Ready pools with `replicas`; none while the gate is off. */
  readonly staticPools: readonly PoolInput[];
  readonly pdbs: readonly PodDisruptionBudget[];
  /** Seats of pods that are on their way; absent: none is known. */
  readonly seats?: Seats;
  /** Names of nodes that commands are about. */
  readonly queued: ReadonlySet<string>;
  /** Pools (by id) whose replacements failed of late, and until when no other is asked for. */
  readonly backingOff: ReadonlyMap<string, number>;
  readonly paused: (pool: Pool) => Block | undefined;
  /** Whether the pod ends only once a new one of its workload runs elsewhere. */
  readonly movesFirst: (pod: Pod) => boolean;
  /** Why a pod that asks to be moved without downtime would be evicted; undefined: it would not, or does not ask. */
  readonly surgeProblem: (pod: Pod) => string | undefined;
  /** Over the nodes of all pools together, beside each pool's own. */
  readonly clusterBudgets: readonly Budget[];
  /** By which rules nodes expire, as in core/nodeclaim/expired.ts: for those who tell people. */
  readonly expiry: { readonly spreadPercent: number; readonly respectsBudgets: boolean };
  /** How long a registered node without pods may take to be usable; 0: for ever. For those who tell people, too. */
  readonly initializationTimeoutMs: number;
  readonly ledger: Ledger;
  readonly forSpot: ForSpot;
  readonly repack: Repack | undefined;
  /** Names of the nodes that are asked about; absent: all. */
  readonly among?: ReadonlySet<string>;
  /** What one method's survey of all found, the next one's need not look for. Absent: it is asked once. */
  readonly found?: Map<DisruptionClass, FoundCandidates>;
}

/** What one method may know, and our nodes that it may not touch. */
export interface Survey {
  readonly input: Round;
  readonly blocked: readonly Blocked[];
}

export function survey(
  picture: Picture,
  method: Pick<Method, "reason" | "disruptionClass">,
): Survey {
  return atOnce(surveyInSteps(picture, method));
}

/** As {@link survey}. */
export function* surveyInSteps(
  picture: Picture,
  method: Pick<Method, "reason" | "disruptionClass">,
): Steps<Survey> {
  const { nowMs, nodes, pools, pdbs, ledger, simulator } = picture;
  const { disruptionClass, reason } = method;
  const found = yield* candidatesOn(picture, disruptionClass);
  yield;
  // Of the whole cluster, and of several moves: looked at in steps before it is asked.
  const isWhole = picture.among === undefined;
  if (isWhole) yield* ledger.ready(nodes, nowMs);
  const asksTotals = isWhole && reason === "Underutilized";
  const totals = asksTotals ? yield* balancedTotals(nodes, pools) : undefined;
  const { usedAlpha } = yield* tallyOf(nodes, picture.nodesBefore);
  const leaving = once(() => leavingUnder(nodes, pdbs));
  const input: Round = {
    nowMs,
    candidates: found.candidates,
    nodes,
    planStatic: (id, count, instead) => {
      const own = picture.staticPools.find(({ pool }) => pool.id === id);
      return own === undefined
        ? undefined
        : planStaticNodes(picture.scheduling, own, count, instead);
    },
    allowances: yield* allowancesInSteps({
      pools: pools.map(({ pool }) => pool),
      nodes,
      nodesBefore: picture.nodesBefore,
      reason,
      nowMs,
      clusterBudgets: picture.clusterBudgets,
    }),
    pdbs,
    simulator,
    hostsBufferPods: ({ node, claim }) =>
      [node.name, claim.metadata.name].some(
        (name) => picture.seats?.hostsBufferPods(name) === true,
      ),
    keptPods: (candidates) =>
      keptPods(candidates, { leaving, pdbs, movesFirst: picture.movesFirst }),
    objection: (command) =>
      ledger.objection(command, () => nodes, nowMs) ??
      rivalry(command, {
        stranded: simulator.stranded,
        leaving,
        pdbs,
        movesFirst: picture.movesFirst,
        wellKnownLabels: picture.scheduling.options.wellKnownLabels,
      }),
    balancedTotals: once(() => totals ?? atOnce(balancedTotals(nodes, pools))),
    forSpot: picture.forSpot,
    repack: picture.repack,
    isSettling: (poolIds) => isSettling(picture, poolIds),
    patienceMs: (poolIds) => ledger.turns.patienceMs(poolIds, nowMs),
    lastTurnMs: (poolIds) => ledger.turns.lastMs(poolIds),
    rests: ({ claim }) => (ledger.restEndsMs(claim) ?? nowMs) > nowMs,
    poolRests: ({ pool }) => ledger.repackRestEndsMs(pool.id, nowMs) !== undefined,
    wantedShare: (candidates) =>
      wantedShare(
        candidates,
        picture.repack?.minSavingsPercent ?? 0,
        (poolId) => ledger.outcome(poolId, nowMs)?.overrun ?? 0,
      ),
    alphaBusy: [...usedAlpha].some((node) => isAlphaReplacement(node, picture.queued)),
    backingOff: picture.backingOff,
  };
  return { input, blocked: found.blocked };
}

function* candidatesOn(picture: Picture, disruptionClass: DisruptionClass): Steps<FoundCandidates> {
  const { among, found } = picture;
  const awaiting = awaitingOn(picture.nodes, picture.seats);
  if (among !== undefined) {
    const nodes = [...among].sort().flatMap((name) => namedOf(picture.nodes, name));
    return yield* findCandidatesInSteps({ ...picture, nodes, awaiting, disruptionClass });
  }
  const known = found?.get(disruptionClass);
  if (known !== undefined) return known;
  const fresh = yield* findCandidatesInSteps({ ...picture, awaiting, disruptionClass });
  found?.set(disruptionClass, fresh);
  return fresh;
}

/** Those of that name among nodes by name, by halving. */
function namedOf(nodes: readonly NodeView[], name: string): readonly NodeView[] {
  let [low, high] = [0, nodes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((nodes[middle] as NodeView).name < name) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (nodes[end]?.name === name) end++;
  return nodes.slice(low, end);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Of a used alpha node: that a command of ours takes away and that is not gone yet. */
function isAlphaReplacement(node: NodeView, queued: ReadonlySet<string>): boolean {
  if (queued.has(node.name)) return true;
  return node.deleting && node.claim !== undefined && isTrue(node.claim, "DisruptionReason");
}
