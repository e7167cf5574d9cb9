/**
 * Collects the facts that the disruption methods need, all from the same moment: pools, instance types, candidates,
 * budgets and the input of provisioning. A round over all nodes also publishes why nodes and pools are blocked.
 */
import type { Deployment } from "../../apis/apps/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { errorText } from "../../base/error-text.ts";
import { deepEqual } from "../../base/json.ts";
import { SILENT } from "../../base/log.ts";
import { haveSameItems } from "../../base/same-items.ts";
import { StandingProblems } from "../../base/standing-problems.ts";
import { eachInSteps, type StepRunner, type Steps } from "../../base/steps.ts";
import { nextAllowed, whoseBudgets } from "../../core/answers/calendar.ts";
import type { RepairRules } from "../../core/disruption/broken-nodes.ts";
import { brokenBudgets, type PoolAllowance } from "../../core/disruption/budgets.ts";
import type {
  Blocked,
  Candidate,
  DisruptionClass,
  FoundCandidates,
} from "../../core/disruption/candidates.ts";
import type { CommandReason } from "../../core/disruption/command.ts";
import { makeRound, type Picture } from "../../core/disruption/make-round.ts";
import type { Method } from "../../core/disruption/methods/method.ts";
import { pauseOf } from "../../core/disruption/pause.ts";
import { type Round, roundSettings } from "../../core/disruption/round.ts";
import { createSimulator, type Simulator } from "../../core/disruption/simulate.ts";
import { isReplacedFirst } from "../../core/nodeclaim/expired.ts";
import type { PoolInput, SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import { brakeMessage } from "../../core/safety/judge.ts";
import { surgeProblem } from "../../core/termination/surge.ts";
import { fleetSize } from "../ending/ended.ts";
import { disruptionBudgets } from "../mirrors.ts";
import { listPools, poolById } from "../pools.ts";
import { podsToPlace, poolsToUse, schedulingInput } from "../provisioning/gather.ts";
import { catchUp } from "../state/catch-up.ts";
import { surge, surging } from "../surges.ts";
import { poolFields } from "../words.ts";
import type { World } from "../world.ts";
import type { CommandQueue } from "./command-queue.ts";
import { type BudgetBlock, blocked, blockedByBudget, graceOf, heldByBudget } from "./events.ts";
import { objectsOf } from "./labels.ts";

type PoolTypes = Pick<PoolInput, "pool" | "instanceTypes">;

/** The cluster as one run of the loop read it. All methods of the run share it. */
export interface ClusterReading {
  /** Pools that own nodes, even if they may launch no nodes now. */
  readonly pools: readonly PoolTypes[];
  readonly scheduling: SchedulingInput;
  /** Revision of the cluster state at the time of reading. */
  readonly revision: number;
  /** Ready pools with `replicas`. Empty while the feature gate StaticCapacity is off. */
  readonly staticPools: readonly PoolInput[];
  readonly simulator: Simulator;
  /** Deployments whose pods are moved without downtime, as an annotation requests. */
  readonly surging: readonly Deployment[];
  /** Candidates that methods of this run have already looked up. */
  readonly found: Map<DisruptionClass, FoundCandidates>;
}

/** What is needed to read the cluster. */
export interface Reading {
  readonly world: World;
  /** Problems of pools. Each problem is reported once. */
  readonly problems: StandingProblems;
  readonly run: StepRunner;
}

/**
 * Reads the cluster. `last`: the reading of the previous run. If nothing has changed, its simulator is used again,
 * otherwise the prepared parts of it.
 */
export async function readCluster(
  { world, problems, run }: Reading,
  last?: ClusterReading,
): Promise<ClusterReading> {
  await catchUp(world, run);
  const pools = await poolsInUse(world, problems);
  // Provisioning already reports problems of pools, so they are not reported here.
  const { usable } = await poolsToUse(world, SILENT, new StandingProblems(SILENT, world.clock));
  const { pending, leaving, buffered } = podsToPlace(world);
  const scheduling = schedulingInput(world, [...pending, ...leaving, ...buffered], usable);
  const { revision } = world.cluster;
  const staticPools = pools
    .filter(({ pool }) => pool.replicas !== undefined && pool.ready && !pool.deleting)
    .filter(() => world.settings.gates.staticCapacity)
    .map((one) => ({ ...one, usage: world.cluster.poolUsage(one.pool.id) }));
  const isSame = last !== undefined && samePicture(last.scheduling, scheduling);
  const simulator = isSame ? last.simulator : createSimulator(scheduling, last?.simulator);
  return {
    pools,
    scheduling,
    revision,
    staticPools,
    simulator,
    surging: surging(world),
    found: new Map(),
  };
}

/** Whether both inputs describe the same cluster. Objects are immutable, so equal parts are the same objects. */
function samePicture(a: SchedulingInput, b: SchedulingInput): boolean {
  return (
    a.nodes === b.nodes &&
    haveSameItems(a.pods, b.pods) &&
    haveSameItems([...(a.sticky ?? [])].flat(), [...(b.sticky ?? [])].flat()) &&
    haveSameItems(a.daemonPods, b.daemonPods) &&
    haveSameItems(a.namespaces, b.namespaces) &&
    haveSameItems(a.volumes.claims, b.volumes.claims) &&
    haveSameItems(a.volumes.volumes, b.volumes.volumes) &&
    haveSameItems(a.volumes.classes, b.volumes.classes) &&
    haveSameItems(a.volumes.csiNodes, b.volumes.csiNodes) &&
    haveSameItems(a.defaultSpread?.services ?? [], b.defaultSpread?.services ?? []) &&
    haveSameItems(a.defaultSpread?.workloads ?? [], b.defaultSpread?.workloads ?? []) &&
    sameDevices(a.devices, b.devices) &&
    a.pools.length === b.pools.length &&
    a.pools.every(({ pool, instanceTypes, usage }, index) => {
      const other = b.pools[index];
      const same = pool === other?.pool && instanceTypes === other.instanceTypes;
      return same && deepEqual(usage, other.usage);
    })
  );
}

function sameDevices(a: SchedulingInput["devices"], b: SchedulingInput["devices"]): boolean {
  return (
    haveSameItems(a?.slices ?? [], b?.slices ?? []) &&
    haveSameItems(a?.claims ?? [], b?.claims ?? []) &&
    haveSameItems(a?.templates ?? [], b?.templates ?? []) &&
    haveSameItems(a?.classes ?? [], b?.classes ?? [])
  );
}

/** Pools that own nodes, with their instance types. The types are empty if they cannot be read. */
export async function poolsInUse(
  world: World,
  problems: StandingProblems,
): Promise<readonly PoolTypes[]> {
  const pools = listPools(world).filter(({ id }) => world.cluster.ownsNodes(id));
  return Promise.all(
    pools.map(async (pool) => {
      const key = aboutTypes(pool);
      try {
        const instanceTypes = await world.cloud.getInstanceTypes(pool);
        problems.over(key);
        return { pool, instanceTypes };
      } catch (error) {
        const text = errorText(error);
        const fields = { ...poolFields(pool), error: text };
        problems.tell(key, "failed listing instance types", fields);
        return { pool, instanceTypes: [] };
      }
    }),
  );
}

/** Reports, once a round, facts that concern all methods: do-not-disrupt annotations of pods, and invalid budgets. */
export function* reportRound(
  world: World,
  { pools, scheduling }: ClusterReading,
  problems: StandingProblems,
): Steps<void> {
  const nowMs = world.clock.now();
  yield* eachInSteps(scheduling.nodes, (node) => {
    if (!node.managed) return;
    for (const pod of node.pods)
      if (pod.metadata.annotations !== undefined) world.events.publish(...graceOf(pod, nowMs));
  });
  for (const { pool } of pools) {
    const key = aboutBudgets(pool);
    const broken = brokenBudgets(pool.disruption.budgets);
    if (broken === undefined) {
      problems.over(key);
      continue;
    }
    const error = `${broken}; no node of this pool is disrupted until it is corrected`;
    problems.tell(key, "detected disruption budget errors", { ...poolFields(pool), error });
  }
  const there = new Set(pools.flatMap(({ pool }) => [aboutTypes(pool), aboutBudgets(pool)]));
  problems.keep((key) => there.has(key));
}

const aboutTypes = ({ id }: Pool) => `instance types of ${id}`;
const aboutBudgets = ({ id }: Pool) => `budgets of ${id}`;

/** A reading of the cluster, with the world and the queue of running commands. */
export interface ReadCluster {
  readonly world: World;
  readonly queue: CommandQueue;
  readonly around: ClusterReading;
}

/** A round for one method, and the candidates that the method considers in it. */
export interface GatheredRound {
  readonly round: Round;
  readonly eligible: readonly Candidate[];
}

/** Collects the facts that a method needs about all nodes. Publishes why nodes and pools are blocked. */
export function* gatherRound(sight: ReadCluster, method: Method): Steps<GatheredRound> {
  const { world, around } = sight;
  const isToldAlready = around.found.has(method.disruptionClass);
  const picture = { ...pictureOf(sight), found: around.found };
  const { round, blocked: held } = yield* makeRound(picture, method);
  const eligible = yield* report(world, method, { round, held: isToldAlready ? [] : held });
  return { round, eligible };
}

/**
 * The state of the cluster for a check of one command. Pools are read again, because their budgets may have changed
 * since the run began.
 */
export function pictureForCommand(sight: ReadCluster): Picture {
  const { world, around } = sight;
  const current = new Map(listPools(world).map((pool) => [pool.id, pool]));
  const pools = around.pools.flatMap((one) => {
    const pool = current.get(one.pool.id);
    return pool === undefined ? [] : [{ ...one, pool }];
  });
  return pictureOf({ ...sight, around: { ...around, pools } });
}

function pictureOf({ world, queue, around }: ReadCluster): Picture {
  const { pools, scheduling, simulator, staticPools } = around;
  return {
    nowMs: world.clock.now(),
    // Nodes as they were when the simulator was made, even if some have changed since.
    nodes: scheduling.nodes,
    pools,
    scheduling,
    simulator,
    staticPools,
    pdbs: disruptionBudgets(world).list(),
    seats: world.cluster.placements,
    queued: queue.nodeNames,
    backingOff: queue.backoff.pools(world.clock.now()),
    paused: (pool: Pool) =>
      pauseOf(poolById(world, pool.id)?.native, world.settings.pauseDisruption),
    movesFirst: (pod: Pod) => surge(world, pod).kind === "able",
    surgeProblem: (pod: Pod) => surgeProblem(surge(world, pod)),
    clusterBudgets: world.settings.clusterBudgets,
    expiry: world.settings.expiry,
    initializationTimeoutMs: world.settings.initializationTimeoutMs,
    ledger: queue.ledger,
    settings: roundSettings(world.settings, repairRules(world)),
  };
}

/** Whether broken nodes are replaced by disruption commands, within budgets. */
export function isRepairMethod({ settings }: Pick<World, "settings">): boolean {
  return settings.gates.nodeRepair && !settings.gates.legacyNodeRepair;
}

function repairRules(world: World): RepairRules | undefined {
  if (!isRepairMethod(world)) return undefined;
  const { brake, cloud } = world;
  const fleet = fleetSize(world);
  const braked = brake.isOn(world.clock.elapsedMs())
    ? brakeMessage(brake.most(fleet), fleet)
    : undefined;
  return { policies: cloud.repairPolicies, braked };
}

/**
 * Publishes the blocks of nodes and pools, and sets the metrics of budgets and eligible nodes. Returns the candidates
 * that the method considers.
 */
function* report(
  world: World,
  { reason, isEligible }: Method,
  { round, held }: { readonly round: Round; readonly held: readonly Blocked[] },
): Steps<readonly Candidate[]> {
  const { nowMs, facts, budgets } = round;
  yield* eachInSteps(held, ({ node, kind, message, untilMs }) => {
    if (node.claim === undefined) return;
    const objects = objectsOf({ node, claim: node.claim });
    // The message has no end time of a nomination, because each renewed nomination would then make a new event.
    const until = kind === "pod" && untilMs !== undefined ? `, until ${toRfc3339(untilMs)}` : "";
    world.events.publish(...blocked(objects, claimGeneration(node.claim), `${message}${until}`));
  });
  const eligible: Candidate[] = [];
  yield* eachInSteps(facts.candidates, (candidate) => {
    if (isEligible(candidate, nowMs)) eligible.push(candidate);
  });
  world.metrics.set(
    "voluntary_disruption_eligible_nodes",
    { reason: reason.toLowerCase() },
    eligible.length,
  );
  const closed = new Map<string, BudgetBlock>();
  const waiting = new Set(eligible.map(({ pool }) => pool.id));
  for (const allowance of budgets.allowances.values()) {
    const { pool, nodes } = allowance;
    if (reason === "Expired" && !isReplacedFirst(pool, world.settings.expiry)) continue;
    const labels = { nodepool: pool.name, reason: reason.toLowerCase() };
    world.metrics.set("nodepools_allowed_disruptions", labels, allowance.atOnce);
    world.metrics.set("nodepools_nodes_consuming_budgets", labels, allowance.disrupting);
    const native = poolById(world, pool.id)?.native;
    if (native === undefined || nodes === 0 || allowance.allowed > 0) continue;
    const block = blockOf(world, reason, { allowance, nowMs });
    // A budget that is used up is reported only if another node of the pool waits for it.
    if (block.next.when === "busy" && !waiting.has(pool.id)) continue;
    world.events.publish(blockedByBudget(native, pool.generation, block));
    closed.set(pool.id, block);
  }
  if (closed.size === 0) return eligible;
  yield* eachInSteps(eligible, (candidate) => {
    const block = closed.get(candidate.pool.id);
    if (block === undefined) return;
    const objects = objectsOf(candidate);
    world.events.publish(...heldByBudget(objects, candidate.generation, block));
  });
  return eligible;
}

function blockOf(
  world: World,
  reason: CommandReason,
  { allowance, nowMs }: { readonly allowance: PoolAllowance; readonly nowMs: number },
): BudgetBlock {
  const { pool, nodes, disrupting, everywhere } = allowance;
  const own = { budgets: pool.disruption.budgets, nodes, disrupting };
  const ofCluster = { budgets: world.settings.clusterBudgets, ...everywhere };
  return {
    reason,
    next: nextAllowed([own, ofCluster], reason, nowMs),
    whose: whoseBudgets({ own, ofCluster }, reason, nowMs),
  };
}
