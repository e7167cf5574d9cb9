/**
 * The disruption loop. It runs every ten seconds, and when an empty node may be removed. It asks the disruption methods
 * in order and starts the commands of the first one that has any. A command that needs validation waits, and is then
 * checked again on the current cluster. Work runs in steps, so that other controllers can run in between. After a
 * restart the loop also resumes or rolls back the commands of the previous process.
 * upstream: pkg/controllers/disruption/controller.go
 */
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { StandingProblems } from "../../base/standing-problems.ts";
import {
  atOnce,
  eachInSteps,
  type StepRunner,
  type Steps,
  stepRunner,
  TURN_MS,
} from "../../base/steps.ts";
import { candidateOf } from "../../core/disruption/candidates.ts";
import { type Command, decisionOf, describeCommand } from "../../core/disruption/command.ts";
import { lastCheck } from "../../core/disruption/last-check.ts";
import type { Method, Remark, ValidationFailure } from "../../core/disruption/methods/method.ts";
import {
  type FoundCommands,
  type ProposedCommand,
  type RoundHooks,
  roundForCommand,
  runMethods,
  validateCommand,
} from "../../core/disruption/run-round.ts";
import { findUnfinished, type RolledBack, rollBackOf } from "../../core/disruption/unfinished.ts";
import { clockDoubt } from "../../core/safety/judge.ts";
import {
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { mayDecide } from "../may-decide.ts";
import { repairBlocked } from "../node/events.ts";
import { poolById } from "../pools.ts";
import { catchUp } from "../state/catch-up.ts";
import type { World } from "../world.ts";
import { rewriteLostMoves } from "./account.ts";
import { approvals, countMoves } from "./balanced-verdicts.ts";
import type { CommandQueue } from "./command-queue.ts";
import { wakeForEmptyNodes } from "./early-round.ts";
import {
  blocked,
  holdsNode,
  proposed,
  rejected,
  unconsolidatable,
  wouldBeDisrupted,
} from "./events.ts";
import {
  type ClusterReading,
  type GatheredRound,
  gatherRound,
  isRepairMethod,
  pictureForCommand,
  poolsInUse,
  type ReadCluster,
  readCluster,
  reportRound,
} from "./gather.ts";
import { objectsOf } from "./labels.ts";
import { judgeMoves, learnOutcomes } from "./outcomes.ts";
import { isHeldByPods } from "./receiving-nodes.ts";
import { takeBack } from "./roll-back.ts";
import { factsOf, type SweepFacts, Sweeps, sharedFacts } from "./sweeps.ts";

const POLL_MS = 10_000;
/** After a command has begun, the loop runs again at once. Other controllers run in between. */
const AGAIN_MS = 1;
const UNSYNCED_RETRY_MS = 1_000;

const SELF: Request = { kind: "", name: "disruption" };

/** When the loop runs again. `now`: a command has begun, and the cluster has changed. */
type Again = "now" | "later";

interface Pending extends ProposedCommand {
  /** When the validation is due, by the monotonic clock. */
  readonly validateAtMs: number;
}

/** What the functions of the loop share. `run` runs steps and lets other work run in between. */
interface Loop {
  readonly world: World;
  readonly queue: CommandQueue;
  readonly memory: Memory;
  readonly log: Logger;
  readonly run: StepRunner;
}

/** What the loop remembers from one run to the next. */
interface Memory {
  pending: readonly Pending[];
  readonly sweeps: Sweeps;
  /** Problems of pools. Each problem is reported once. */
  readonly problems: StandingProblems;
  /** The cluster as the previous run read it. */
  around?: ClusterReading;
  /** Whether the records of the previous process have been read from the claims. */
  hasLearned: boolean;
  /** Revision of the cluster state at which each recent move was found on a claim. */
  recordedAt?: number;
  /** Whether the next round starts before `roundAtMs`, because an empty node may be removable. */
  isWoken: boolean;
  /** When the next regular round is due, measured by the monotonic clock. */
  roundAtMs: number;
  /** Whether a wrong clock has already been logged. */
  isClockTold: boolean;
}

/** Creates the disruption controller. `queue`: carries out its commands. */
export function disruption(world: World, queue: CommandQueue): Controller {
  const log = world.log.with({ controller: "disruption" });
  const memory: Memory = {
    pending: [],
    sweeps: new Sweeps(),
    problems: new StandingProblems(log, world.clock),
    hasLearned: false,
    isWoken: false,
    roundAtMs: 0,
    isClockTold: false,
  };
  // Upstream sets both counters to zero at the start, because alerts compare each value with an earlier one.
  for (const type of ["multi", "single"])
    world.metrics.count(
      "voluntary_disruption_consolidation_timeouts_total",
      { consolidation_type: type },
      0,
    );
  return {
    name: "disruption",
    watches: [],
    concurrency: 1,
    initialRequests: [SELF],
    listen: (ask) =>
      wakeForEmptyNodes(world, () => {
        memory.isWoken = true;
        ask(SELF);
      }),
    reconcile: () => reconcile({ world, queue, memory, log }),
  };
}

async function reconcile(parts: Omit<Loop, "run">): Promise<Outcome> {
  const { world, queue, memory, log } = parts;
  // No claim may be deleted while the API server answers with older versions than before: it lags behind, or etcd was
  // restored. A command would then only launch its replacements.
  if (!mayDecide(world) || isClockWrong(parts) || world.mirrors.setBack().length > 0)
    return requeueAfter(UNSYNCED_RETRY_MS);
  const run = stepRunner(world.clock, TURN_MS);
  const loop: Loop = { ...parts, run };
  // The calls below read all nodes in one step, which takes long if their views must be made. So the views are made
  // here, in steps.
  await catchUp(world, run);
  const nowMs = world.clock.now();
  if (!memory.hasLearned) {
    const learning = eachInSteps(world.cluster.nodes(), ({ claim }) => {
      if (claim !== undefined) queue.ledger.learn([claim], nowMs);
    });
    await run(learning);
    learnOutcomes(world, queue.ledger);
    queue.backoff.learn(world);
    memory.hasLearned = true;
  }
  const isEarly = memory.isWoken && world.clock.elapsedMs() < memory.roundAtMs;
  memory.isWoken = false;
  let again: Again;
  if (dueOf(world, memory).length > 0) {
    again = await validate(loop);
  } else {
    if (!world.settings.observeOnly) {
      await pickUp(loop);
      const { revision } = world.cluster;
      if (memory.recordedAt !== revision) await rewriteLostMoves({ world, log, run }, queue);
      memory.recordedAt = revision;
    }
    again = await propose(loop, isEarly);
  }
  if (again === "now") return requeueAfter(AGAIN_MS);
  if (!isEarly) memory.roundAtMs = world.clock.elapsedMs() + POLL_MS;
  return whenNext(world, memory);
}

/**
 * Whether this process's clock differs from the API server's. If so, no command begins, because budgets, ages and
 * hold-offs depend on the time.
 */
function isClockWrong({ world, memory, log }: Pick<Loop, "world" | "memory" | "log">): boolean {
  const doubt = clockDoubt(world.clockSkewMs());
  if (doubt !== undefined && !memory.isClockTold) log.warn("not disrupting", { reason: doubt });
  memory.isClockTold = doubt !== undefined;
  return memory.isClockTold;
}

/** Runs the methods in order. `isEarly`: an empty node started this round before the regular one is due. */
async function propose(loop: Loop, isEarly: boolean): Promise<Again> {
  const { world, queue, memory, log, run } = loop;
  const around = await readAround(loop);
  if (!world.settings.observeOnly) {
    await judgeMoves({ world, log }, queue, around.pools);
    await queue.backoff.write(world, log);
  }
  const pending = memory.pending.map(({ command }) => command);
  await run(reportRound(world, around, memory.problems));
  const quotaRoom = () => world.cloud.quotaRoom();
  const asking = { pending, isEarly, repairs: isRepairMethod(world), quotaRoom };
  const found = await run(runMethods(asking, roundHooks(loop, around)));
  return found === undefined ? "later" : take(loop, around, found);
}

async function readAround({ world, memory, run }: Loop): Promise<ClusterReading> {
  const around = await readCluster({ world, problems: memory.problems, run }, memory.around);
  memory.around = around;
  return around;
}

/** The functions through which a round reads the cluster, skips methods, and publishes metrics and events. */
function roundHooks({ world, queue, memory }: Loop, around: ClusterReading): RoundHooks {
  const { sweeps } = memory;
  const shared = sharedFacts(around);
  let eligible: GatheredRound["eligible"];
  let facts: SweepFacts;
  let startMs: number;
  return {
    *makeRound(method) {
      const gathered = yield* gatherRound({ world, queue, around }, method);
      eligible = gathered.eligible;
      return gathered.round;
    },
    *isAnswered(method, round) {
      const counting = queue.ledger.recent(world.clock.now()).map(({ command }) => command);
      const atMs = world.clock.elapsedMs();
      facts = yield* factsOf(eligible, round, { ...around, shared, counting, atMs });
      startMs = world.clock.elapsedMs();
      return sweeps.isSettled(method, facts);
    },
    *takeAnswer({ method, proposal, ruling }) {
      world.metrics.observe(
        "voluntary_disruption_decision_evaluation_duration_seconds",
        { reason: method.reason.toLowerCase(), consolidation_type: method.consolidationType },
        (world.clock.elapsedMs() - startMs) / 1_000,
      );
      yield* publishRemarks(world, method, ruling.remarks);
      countMoves(world, proposal.refused ?? []);
      sweeps.note(method, ruling, facts);
      queue.ledger.turns.note(ruling, world.clock.now());
    },
  };
}

/** Starts each command, or keeps it until its validation is due. */
async function take(
  { world, queue, memory, log }: Loop,
  around: ClusterReading,
  { method, commands }: FoundCommands,
): Promise<Again> {
  const nowMs = world.clock.elapsedMs();
  let again: Again = "later";
  for (const command of commands) {
    if (command.validateAfterMs === 0) {
      if (await isHeldByPods(world, command, memory.problems)) continue;
      const still = stillNow({ world, queue, around }, { method, command });
      if (typeof still === "string") logInvalid(log, command, still);
      else if (await start({ world, queue, log }, still, 0)) again = "now";
      continue;
    }
    countMoves(world, command.verdicts ?? []);
    world.events.publish(...proposed(command), ...approvals(world, command));
    const validateAtMs = nowMs + command.validateAfterMs;
    memory.pending = [...memory.pending, { method, command, validateAtMs }];
  }
  return again;
}

/** Publishes the remarks on nodes and claims. The first remark of each pool is also published on the pool. */
function* publishRemarks(
  world: World,
  { reason }: Method,
  remarks: readonly Remark[],
): Steps<void> {
  const holding = new Set<string>();
  yield* eachInSteps(remarks, ({ candidate, about, message }) => {
    const objects = objectsOf(candidate);
    if (about === "repairBlocked") {
      const native = poolById(world, candidate.pool.id)?.native;
      world.events.publish(
        ...repairBlocked(native === undefined ? objects : [...objects, native], message),
      );
      return;
    }
    const events =
      about === "blocked"
        ? blocked(objects, candidate.generation, message)
        : unconsolidatable(objects, message);
    world.events.publish(...events);
    const { pool, node, generation } = candidate;
    if (about !== "blocked" || holding.has(pool.id)) return;
    holding.add(pool.id);
    const native = poolById(world, pool.id)?.native;
    if (native === undefined) return;
    world.events.publish(holdsNode(native, generation, { node: node.name, reason, why: message }));
  });
}

/** The time until the next regular round, or until a command is due for validation if that is earlier. */
function whenNext(world: World, { pending, roundAtMs }: Memory): Outcome {
  const nextMs = Math.min(roundAtMs, ...pending.map(({ validateAtMs }) => validateAtMs));
  return requeueAfter(Math.max(1, nextMs - world.clock.elapsedMs()));
}

function dueOf({ clock }: World, { pending }: Memory): readonly Pending[] {
  const nowMs = clock.elapsedMs();
  return pending.filter(({ validateAtMs }) => validateAtMs <= nowMs);
}

/** Validates the commands that are due, and starts those that are still valid. */
async function validate(loop: Loop): Promise<Again> {
  const { world, queue, memory, log, run } = loop;
  const due = dueOf(world, memory);
  memory.pending = memory.pending.filter((one) => !due.includes(one));
  let again: Again = "later";
  for (const { method, command, validateAtMs } of due) {
    // The cluster is read again for each command, because the previous command may have tainted nodes.
    const sight = { world, queue, around: await readAround(loop) };
    const still = await run(validateCommand(pictureForCommand(sight), { method, command }));
    if (typeof still !== "string" && (await isHeldByPods(world, still, memory.problems))) continue;
    const now = typeof still === "string" ? still : stillNow(sight, { method, command: still });
    if (typeof now === "string") {
      reject(loop, command, now);
    } else {
      const waitedMs = world.clock.elapsedMs() - validateAtMs + command.validateAfterMs;
      if (await start({ world, queue, log }, now, waitedMs)) again = "now";
    }
  }
  return again;
}

/** Runs {@link lastCheck} on the current nodes, because other controllers ran while the command was computed. */
function stillNow(sight: ReadCluster, planned: ProposedCommand): Command | ValidationFailure {
  const { method, command } = planned;
  const nodes = sight.world.cluster.nodes();
  if (nodes === sight.around.scheduling.nodes) return command;
  // Budgets are counted again for changed nodes only.
  const now = { nodes, nodesBefore: sight.around.scheduling.nodes };
  const picture = { ...pictureForCommand(sight), ...now };
  return lastCheck(command, method, atOnce(roundForCommand(picture, planned)));
}

/**
 * Logs that a command that needs no validation is not valid any more. There is no event, because no event announced the
 * command, and the next round decides again.
 */
function logInvalid(log: Logger, { candidates, via }: Command, why: ValidationFailure): void {
  const nodes = candidates.map(({ node }) => node.name);
  log.debug("putting off a disruption, something changed meanwhile", { nodes, via, reason: why });
}

function reject({ world, log }: Loop, command: Command, why: ValidationFailure): void {
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

/** Starts a command and returns whether it has started. */
async function start(
  { world, queue, log }: Pick<Loop, "world" | "queue" | "log">,
  command: Command,
  waitedMs: number,
): Promise<boolean> {
  if (world.settings.observeOnly) {
    logObserved(world, log, command);
    return false;
  }
  try {
    await queue.start(command, waitedMs);
    return true;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
    const text = errorText(error);
    log.error("failed starting a disruption command", { error: `${text}: ${cause}` });
    return false;
  }
}

/** Logs what the command would do, for `--observe-only`. */
function logObserved(world: World, log: Logger, command: Command): void {
  const { candidates, reason } = command;
  log.info("would disrupt node(s)", { command: describeCommand(command, "observed") });
  world.events.publish(...wouldBeDisrupted(command));
  for (const pool of new Set(candidates.map((one) => one.pool.name)))
    world.metrics.count("observed_decisions_total", {
      decision: decisionOf(command),
      reason: reason.toLowerCase(),
      nodepool: pool,
    });
}

/** Resumes or rolls back the commands that an earlier process left unfinished. */
async function pickUp(loop: Loop): Promise<void> {
  const { world, queue, memory, run } = loop;
  const looking = findUnfinished(world.cluster.nodes(), queue.nodeNames, world.clock.now());
  const found = await run(looking);
  const pools = found.resume.length === 0 ? [] : await poolsInUse(world, memory.problems);
  const owners = new Map(pools.map((one) => [one.pool.id, one]));
  const takenBack = [...found.rolledBack];
  for (const { record, nodes, replacements } of found.resume) {
    const candidates = nodes.flatMap((node) => {
      const owner = owners.get(node.poolId ?? "");
      if (owner === undefined || node.claim === undefined) return [];
      return [candidateOf(node, node.claim, { ...owner, seats: world.cluster.placements })];
    });
    if (candidates.length === nodes.length) {
      queue.resume({ record, candidates, replacements });
      continue;
    }
    // The pool of a node was deleted. Its disruption rules are unknown, so the command is rolled back.
    const allStay = nodes.length === record.nodes.length;
    takenBack.push(rollBackOf(record.id, { nodes, replacements, allStay }));
  }
  for (const one of takenBack) await tryTakeBack(loop, one);
}

/** Takes a command back. A failed write does not delay other commands, because the next run tries again. */
async function tryTakeBack({ world, queue, log }: Loop, back: RolledBack): Promise<void> {
  try {
    await takeBack(world, back);
    if (back.undone !== undefined) queue.ledger.forget(back.undone.command);
  } catch (error) {
    const nodes = back.nodes.map(({ name }) => name);
    log.error("failed taking back an unfinished disruption command", {
      nodes,
      error: errorText(error),
    });
  }
}
