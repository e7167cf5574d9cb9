/**
 * The disruption loop: every ten seconds it asks each method in turn what could go, and hands the first
 * answer to the command queue. A command that must wait for validation is kept with its time, and looked
 * at again on fresh facts; nothing sleeps. Also takes back marks that a crash left behind.
 * upstream: pkg/controllers/disruption/controller.go
 */
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import type { Logger } from "../../base/log.ts";
import { allowances, allowedDisruptions } from "../../core/disruption/budgets.ts";
import { type Blocked, findCandidates } from "../../core/disruption/candidates.ts";
import type { Command } from "../../core/disruption/command.ts";
import { METHODS } from "../../core/disruption/methods/all.ts";
import type { Method, MethodInput } from "../../core/disruption/methods/method.ts";
import type { PoolInput } from "../../core/provisioning/scheduling-input.ts";
import { isCordoned } from "../../core/termination/cordon.ts";
import { type Controller, type Outcome, requeueAfter } from "../../kube/controller.ts";
import { disruptionBudgets } from "../mirrors.ts";
import { listPools, poolById } from "../pools.ts";
import { poolFields } from "../words.ts";
import type { World } from "../world.ts";
import { type CommandQueue, reopen } from "./command-queue.ts";
import { blocked, blockedByBudget, graceOf } from "./events.ts";

const POLL_MS = 10_000;
const UNSYNCED_RETRY_MS = 1_000;

/** A command waiting for its second look. */
interface Pending {
  readonly method: Method;
  readonly command: Command;
  readonly validateAtMs: number;
}

export function disruption(world: World, queue: CommandQueue): Controller {
  const log = world.log.with({ controller: "disruption" });
  const pending: Pending[] = [];
  return {
    name: "disruption",
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "", name: "disruption" }],
    reconcile: () => reconcile(world, queue, pending, log),
  };
}

async function reconcile(
  world: World,
  queue: CommandQueue,
  pending: Pending[],
  log: Logger,
): Promise<Outcome> {
  if (!world.cluster.synced) return requeueAfter(UNSYNCED_RETRY_MS);
  const nowMs = world.clock.now();
  if (pending.some(({ validateAtMs }) => validateAtMs <= nowMs)) {
    await validate(world, queue, pending, log);
  } else {
    await takeBackStrays(world, queue);
    await propose(world, queue, pending, log);
  }
  return pending.length > 0 ? untilDue(world, pending) : requeueAfter(POLL_MS);
}

/** The first method with a command. One waiting command at a time; those that need no wait go on. */
async function propose(
  world: World,
  queue: CommandQueue,
  pending: Pending[],
  log: Logger,
): Promise<void> {
  const pools = await poolsInUse(world, log);
  const waiting = pending.length > 0;
  for (const method of METHODS) {
    const startMs = world.clock.now();
    const found = method.commands(look(world, queue, pools, method, "report"));
    const commands = found.filter(({ validateAfterMs }) => !waiting || validateAfterMs === 0);
    world.metrics.observe(
      "voluntary_disruption_decision_evaluation_duration_seconds",
      { reason: method.reason.toLowerCase(), consolidation_type: method.consolidationType },
      (world.clock.now() - startMs) / 1_000,
    );
    if (commands.length === 0) continue;
    for (const command of commands) {
      if (command.validateAfterMs === 0) await start(queue, command, log);
      else pending.push({ method, command, validateAtMs: startMs + command.validateAfterMs });
    }
    return;
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
  pending: Pending[],
  log: Logger,
): Promise<void> {
  const nowMs = world.clock.now();
  const due = pending.filter(({ validateAtMs }) => validateAtMs <= nowMs);
  pending.splice(0, pending.length, ...pending.filter((one) => !due.includes(one)));
  const pools = await poolsInUse(world, log);
  for (const { method, command } of due) {
    const still = method.validate(command, look(world, queue, pools, method, "quiet"));
    if (still === undefined) {
      log.debug(
        "abandoning empty node consolidation attempt due to pod churn, command is no longer valid",
        { nodes: command.candidates.map(({ node }) => node.name) },
      );
      world.metrics.count("voluntary_disruption_failed_validations_total", {
        consolidation_type: command.consolidationType,
      });
    } else await start(queue, still, log);
  }
}

async function start(queue: CommandQueue, command: Command, log: Logger): Promise<void> {
  try {
    await queue.start(command);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
    const text = error instanceof Error ? error.message : String(error);
    log.error("failed starting a disruption command", { error: `${text}: ${cause}` });
  }
}

/** Pools with what they offer; one whose types cannot be read still has its nodes and budgets. */
async function poolsInUse(
  world: World,
  log: Logger,
): Promise<readonly Pick<PoolInput, "pool" | "instanceTypes">[]> {
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
  pools: readonly Pick<PoolInput, "pool" | "instanceTypes">[],
  method: Method,
  mode: "report" | "quiet",
): MethodInput {
  const nowMs = world.clock.now();
  const nodes = world.cluster.nodes();
  const found = findCandidates({
    nowMs,
    nodes,
    pools,
    pdbs: disruptionBudgets(world).list(),
    queued: queue.nodeNames,
    disruptionClass: method.disruptionClass,
  });
  const allowed = allowances(
    pools.map(({ pool }) => pool),
    nodes,
    method.reason,
    nowMs,
  );
  const input = { nowMs, candidates: found.candidates, allowances: allowed };
  if (mode === "report") report(world, method, input, found.blocked);
  return input;
}

function report(
  world: World,
  { reason, isEligible }: Method,
  { nowMs, candidates, allowances: allowed }: MethodInput,
  held: readonly Blocked[],
): void {
  for (const { node, message } of held) {
    if (node.claim === undefined) continue;
    const objects = node.node === undefined ? [node.claim] : [node.node, node.claim];
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
