/**
 * The disruption loop: every ten seconds it asks each method in turn what could go, and hands the first
 * answer to the command queue. A command that must wait for validation is kept with its time, and looked
 * at again on fresh facts; nothing sleeps. Also takes back marks that a crash left behind.
 * upstream: pkg/controllers/disruption/controller.go
 */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { type Logger, SILENT } from "../../base/log.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import { allowances, allowedDisruptions } from "../../core/disruption/budgets.ts";
import { type Blocked, type Candidate, findCandidates } from "../../core/disruption/candidates.ts";
import type { Command } from "../../core/disruption/command.ts";
import { METHODS } from "../../core/disruption/methods/all.ts";
import type {
  Method,
  MethodInput,
  Rejection,
  Remark,
} from "../../core/disruption/methods/method.ts";
import { createSimulator } from "../../core/disruption/simulate.ts";
import type { PoolInput, SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import { isCordoned } from "../../core/termination/cordon.ts";
import { type Controller, type Outcome, requeueAfter } from "../../kube/controller.ts";
import { disruptionBudgets } from "../mirrors.ts";
import { listPools, poolById } from "../pools.ts";
import { podsToPlace, schedulingInput, usablePools } from "../provisioning/gather.ts";
import { poolFields } from "../words.ts";
import type { World } from "../world.ts";
import { type CommandQueue, reopen } from "./command-queue.ts";
import {
  blocked,
  blockedByBudget,
  graceOf,
  proposed,
  rejected,
  unconsolidatable,
} from "./events.ts";

const POLL_MS = 10_000;
/** After a command was started: soon enough to be at once, with time for other work in between. */
const AGAIN_MS = 1;
/** A method that found nothing looks again after this if prices or offerings are others, */
const FORCED_LOOK_MS = 5 * 60_000;
/** and after this in any case: volumes and the like change without a sign. */
const LATEST_LOOK_MS = 30 * 60_000;
const UNSYNCED_RETRY_MS = 1_000;

/** A command waiting for its second look. */
interface Pending {
  readonly method: Method;
  readonly command: Command;
  readonly validateAtMs: number;
}

/** What the loop remembers from one run to the next. */
interface Memory {
  pending: readonly Pending[];
  /** By method: the state of things in which it last found nothing. */
  readonly settled: Map<string, Settled>;
}

interface Settled {
  readonly facts: string;
  /** The very lists: a cloud gives the same ones while nothing has changed. */
  readonly types: readonly (readonly InstanceType[])[];
  readonly atMs: number;
}

type PoolTypes = Pick<PoolInput, "pool" | "instanceTypes">;

export function disruption(world: World, queue: CommandQueue): Controller {
  const log = world.log.with({ controller: "disruption" });
  const memory: Memory = { pending: [], settled: new Map() };
  return {
    name: "disruption",
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "", name: "disruption" }],
    reconcile: () => reconcile(world, queue, memory, log),
  };
}

async function reconcile(
  world: World,
  queue: CommandQueue,
  memory: Memory,
  log: Logger,
): Promise<Outcome> {
  if (!world.cluster.synced) return requeueAfter(UNSYNCED_RETRY_MS);
  const nowMs = world.clock.now();
  let started = false;
  if (memory.pending.some(({ validateAtMs }) => validateAtMs <= nowMs)) {
    started = await validate(world, queue, memory, log);
  } else {
    await takeBackStrays(world, queue);
    started = await propose(world, queue, memory, log);
  }
  if (started) return requeueAfter(AGAIN_MS);
  return memory.pending.length > 0 ? untilDue(world, memory.pending) : requeueAfter(POLL_MS);
}

/**
 * The first method with a command. One waiting command at a time; those that need no wait go on. Says
 * whether something was started.
 */
async function propose(
  world: World,
  queue: CommandQueue,
  memory: Memory,
  log: Logger,
): Promise<boolean> {
  const pools = await poolsInUse(world, log);
  const scheduling = await schedulingNow(world);
  const waiting = memory.pending.length > 0;
  for (const method of METHODS) {
    if (waiting && method.costly) continue;
    const startMs = world.clock.now();
    const input = look(world, queue, { pools, scheduling }, method, "report");
    const now = settledNow(world, method, input, pools, scheduling);
    if (method.costly && isSettled(memory.settled.get(method.name), now)) continue;
    const { commands: found, remarks } = method.propose(input);
    tell(world, remarks);
    const commands = found.filter(({ validateAfterMs }) => !waiting || validateAfterMs === 0);
    world.metrics.observe(
      "voluntary_disruption_decision_evaluation_duration_seconds",
      { reason: method.reason.toLowerCase(), consolidation_type: method.consolidationType },
      (world.clock.now() - startMs) / 1_000,
    );
    if (commands.length === 0) {
      memory.settled.set(method.name, now);
      continue;
    }
    let started = false;
    for (const command of commands) {
      if (command.validateAfterMs === 0) {
        started = (await start(queue, command, log)) || started;
        continue;
      }
      world.events.publish(...proposed(command));
      const validateAtMs = startMs + command.validateAfterMs;
      memory.pending = [...memory.pending, { method, command, validateAtMs }];
    }
    return started;
  }
  return false;
}

/** All that could change a method's mind. */
function settledNow(
  world: World,
  method: Method,
  { nowMs, candidates, allowances: allowed, alphaBusy }: MethodInput,
  pools: readonly PoolTypes[],
  scheduling: SchedulingInput,
): Settled {
  const facts = JSON.stringify([
    world.cluster.revision,
    alphaBusy,
    scheduling.pods.map(keyOf),
    candidates.filter((one) => method.isEligible(one, nowMs)).map(({ node }) => node.name),
    pools.map(({ pool }) => [pool.id, pool.observedGeneration, allowed.get(pool.id)?.allowed]),
    scheduling.pools.map(({ pool }) => [pool.id, pool.observedGeneration]),
  ]);
  const types = scheduling.pools.map(({ instanceTypes }) => instanceTypes);
  return { facts, types, atMs: nowMs };
}

function isSettled(known: Settled | undefined, now: Settled): boolean {
  if (known === undefined || known.facts !== now.facts) return false;
  const same = known.types.every((list, index) => list === now.types[index]);
  return now.atMs - known.atMs < (same ? LATEST_LOOK_MS : FORCED_LOOK_MS);
}

function tell(world: World, remarks: readonly Remark[]): void {
  for (const { candidate, about, message } of remarks) {
    const objects = objectsOf(candidate);
    const told = about === "blocked" ? blocked : unconsolidatable;
    world.events.publish(...told(objects, candidate.generation, message));
  }
}

function untilDue(world: World, pending: readonly Pending[]): Outcome {
  const due = Math.min(...pending.map(({ validateAtMs }) => validateAtMs));
  return requeueAfter(Math.max(1, Math.min(POLL_MS, due - world.clock.now())));
}

/** Commands whose wait is over are decided anew on what is true now. */
async function validate(
  world: World,
  queue: CommandQueue,
  memory: Memory,
  log: Logger,
): Promise<boolean> {
  const nowMs = world.clock.now();
  const due = memory.pending.filter(({ validateAtMs }) => validateAtMs <= nowMs);
  memory.pending = memory.pending.filter((one) => !due.includes(one));
  const pools = await poolsInUse(world, log);
  const scheduling = await schedulingNow(world);
  let started = false;
  for (const { method, command } of due) {
    const input = look(world, queue, { pools, scheduling }, method, "quiet");
    const still = method.validate(command, input);
    if (typeof still === "string") reject(world, log, command, still);
    else started = (await start(queue, still, log)) || started;
  }
  return started;
}

function reject(world: World, log: Logger, command: Command, why: Rejection): void {
  if (command.consolidationType === "empty") {
    log.debug(
      "abandoning empty node consolidation attempt due to pod churn, command is no longer valid",
      { nodes: command.candidates.map(({ node }) => node.name) },
    );
  } else {
    const nodes = command.candidates.map(({ node }) => node.name);
    log.debug("abandoning consolidation attempt, command is no longer valid", {
      nodes,
      reason: why,
    });
    world.events.publish(...rejected(command, why));
  }
  world.metrics.count("voluntary_disruption_failed_validations_total", {
    consolidation_type: command.consolidationType,
  });
}

async function start(queue: CommandQueue, command: Command, log: Logger): Promise<boolean> {
  try {
    await queue.start(command);
    return true;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
    const text = error instanceof Error ? error.message : String(error);
    log.error("failed starting a disruption command", { error: `${text}: ${cause}` });
    return false;
  }
}

/** What provisioning would plan with at this moment; its own pass says what is wrong with a pool. */
async function schedulingNow(world: World): Promise<SchedulingInput> {
  const pools = await usablePools(world, SILENT);
  const { pending, leaving } = podsToPlace(world);
  return schedulingInput(world, [...pending, ...leaving], pools);
}

/** Pools with what they offer; one whose types cannot be read still has its nodes and budgets. */
async function poolsInUse(world: World, log: Logger): Promise<readonly PoolTypes[]> {
  const owners = new Set(world.cluster.nodes().map(({ poolId }) => poolId));
  const pools = listPools(world).filter(({ id }) => owners.has(id));
  return Promise.all(
    pools.map(async (pool) => {
      try {
        return { pool, instanceTypes: await world.cloud.getInstanceTypes(pool) };
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        log.error("failed listing instance types", { ...poolFields(pool), error: text });
        return { pool, instanceTypes: [] };
      }
    }),
  );
}

/** What a method may know now. `report`: also says what blocks nodes and pools. */
function look(
  world: World,
  queue: CommandQueue,
  { pools, scheduling }: { pools: readonly PoolTypes[]; scheduling: SchedulingInput },
  method: Method,
  mode: "report" | "quiet",
): MethodInput {
  const nowMs = world.clock.now();
  const nodes = world.cluster.nodes();
  const pdbs = disruptionBudgets(world).list();
  const found = findCandidates({
    nowMs,
    nodes,
    pools,
    pdbs,
    queued: queue.nodeNames,
    disruptionClass: method.disruptionClass,
  });
  const allowed = allowances(
    pools.map(({ pool }) => pool),
    nodes,
    method.reason,
    nowMs,
  );
  const input: MethodInput = {
    nowMs,
    candidates: found.candidates,
    allowances: allowed,
    pdbs,
    simulator: createSimulator({ ...scheduling, nowMs, nodes }),
    spotToSpot: world.settings.gates.spotToSpot,
    alphaBusy: nodes.some((node) => isAlphaReplacement(node, queue)),
  };
  if (mode === "report") report(world, method, input, found.blocked);
  return input;
}

/** A used alpha node that a command of ours takes away and that is not gone yet. */
function isAlphaReplacement(node: NodeView, queue: CommandQueue): boolean {
  if (node.claim === undefined || claimGeneration(node.claim) !== "alpha") return false;
  if (!node.pods.some(isReschedulable)) return false;
  if (queue.nodeNames.has(node.name)) return true;
  return node.deleting && isTrue(node.claim, "DisruptionReason");
}

function objectsOf({ node, claim }: Pick<Candidate, "node" | "claim">): readonly KubeObject[] {
  return node.node === undefined ? [claim] : [node.node, claim];
}

function report(
  world: World,
  { reason, isEligible }: Method,
  { nowMs, candidates, allowances: allowed }: MethodInput,
  held: readonly Blocked[],
): void {
  for (const { node, message } of held) {
    if (node.claim === undefined) continue;
    const objects = objectsOf({ node, claim: node.claim });
    world.events.publish(...blocked(objects, claimGeneration(node.claim), message));
  }
  for (const node of world.cluster.nodes()) {
    if (node.managed) world.events.publish(...node.pods.flatMap((pod) => graceOf(pod, nowMs)));
  }
  const eligible = candidates.filter((candidate) => isEligible(candidate, nowMs)).length;
  world.metrics.set(
    "voluntary_disruption_eligible_nodes",
    { reason: reason.toLowerCase() },
    eligible,
  );
  for (const { pool, nodes, disrupting, allowed: left } of allowed.values()) {
    if (reason === "Expired" && pool.disruption.expireMode !== "voluntary") continue;
    const labels = { nodepool: pool.name, reason };
    world.metrics.set("nodepools_allowed_disruptions", labels, left);
    world.metrics.set("nodepools_nodes_consuming_budgets", labels, disrupting);
    const native = poolById(world, pool.id)?.native;
    if (native === undefined) continue;
    if (nodes > 0 && left === 0)
      world.events.publish(blockedByBudget(native, pool.generation, reason));
    if (allowedDisruptions(pool, reason, nodes, nowMs) === undefined)
      world.log.error("detected disruption budget errors", {
        controller: "disruption",
        ...poolFields(pool),
        error: `spec.disruption.budgets: a schedule, duration or amount cannot be read; no node of this pool is disrupted until it is corrected`,
      });
  }
}

/**
 * Marks of commands that no process is carrying out any more. Alpha's cordon is left alone: a person may
 * have set it.
 */
async function takeBackStrays(world: World, queue: CommandQueue): Promise<void> {
  for (const view of world.cluster.nodes()) {
    const { claim, node } = view;
    if (claim === undefined || node === undefined || view.deleting) continue;
    if (queue.nodeNames.has(view.name)) continue;
    const generation = claimGeneration(claim);
    const marked = condition(claim, "DisruptionReason") !== undefined;
    const closed = generation !== "alpha" && isCordoned(node, vocabulary(generation));
    if (marked || closed) await reopen(world, { node: view, claim, generation });
  }
}
