/**
 * Carries out disruption commands. It taints the nodes and marks their claims, creates the replacements, and deletes
 * the claims once all replacements are initialized. A command that cannot go on is rolled back: taints and marks are
 * removed. What another process needs to continue after a crash is stored on the claims.
 * upstream: pkg/controllers/disruption/queue.go
 */
import { NODE } from "../../apis/core/node.ts";
import { CLAIM_KINDS, claimGeneration, poolIdOfClaim } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { condition, isTrue, withCondition } from "../../apis/karpenter/conditions.ts";
import { REPLACEMENT_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { inTurns, TURN_MS } from "../../base/steps.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { type Command, decisionOf, savingsMicroUsd } from "../../core/disruption/command.ts";
import { evictionOrder } from "../../core/disruption/eviction-order.ts";
import { Ledger } from "../../core/disruption/ledger.ts";
import { type MoveRecord, moveOf, movesAnnotation, movesOn } from "../../core/disruption/moves.ts";
import { pauseOf } from "../../core/disruption/pause.ts";
import {
  type CommandRecord,
  newRecord,
  recordOf,
  withRecord,
} from "../../core/disruption/record.ts";
import type { BegunCommand } from "../../core/spans/command-spans.ts";
import { cordoned, isCordoned } from "../../core/state/cordon.ts";
import { changeObject } from "../../kube/client/change-object.ts";
import { NotStoredError } from "../../kube/errors.ts";
import { createBell } from "../../kube/manager/bell.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { changeClaim, claimRequest, isDeleting, readClaim } from "../claims.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { unmarkIfKept } from "../ending/kept-claim.ts";
import { nodes } from "../mirrors.ts";
import { poolById } from "../pools.ts";
import { nominated } from "../provisioning/events.ts";
import { nominationMs, targetsOf } from "../provisioning/nomination.ts";
import type { World } from "../world.ts";
import { account, writeOnTarget } from "./account.ts";
import { Backoff } from "./backoff.ts";
import { launching, replacementFailed, terminating, waitingReadiness } from "./events.ts";
import { commandLabels, disruptedLabels, objectsOf, recordedDecision } from "./labels.ts";
import { openedAsNeedless } from "./opened.ts";
import { boundDrain, countCommand, requestReboot } from "./repairs.ts";
import { reportCommand } from "./report-command.ts";
import { discardReplacement, markedNames, openKept, rollBack } from "./roll-back.ts";
import { type RollBackReason, type RunningCommand, RunningCommands } from "./running.ts";
import type { Steering } from "./steering.ts";

const POLL_MS = 1_000;
/** A repair deletes the broken node only this long after its replacement is initialized. */
const FRESH_MS = 2_000;
/** How many milliseconds a command waits for its replacements. Many running commands may wait longer. */
const TIMEOUT_MS = { perCommand: 80, min: 10 * 60_000, max: 60 * 60_000 } as const;

/** Creates the replacement claims of a command. Returns a claim or an error for each. all.ts passes it in. */
export type CreateReplacements = (
  log: Logger,
  command: Command,
  annotations: Readonly<Record<string, string>>,
) => Promise<readonly (NodeClaim | Error)[]>;

export interface CommandQueue {
  readonly controller: Controller;
  /** Names of the nodes that running commands disrupt. */
  readonly nodeNames: ReadonlySet<string>;
  isRunning(id: string): boolean;
  /** Pools whose replacements failed. Until the back-off of a pool ends, no command launches replacements from it. */
  readonly backoff: Backoff;
  /**
   * Taints the nodes, creates the replacements and queues the command. Rejects if the command cannot start. `waitedMs`:
   * the time from the proposal of the command to the end of its validation.
   */
  start(command: Command, waitedMs: number): Promise<void>;
  /** Continues a command that another process began. */
  resume(one: Omit<RunningCommand, "move" | "startedMs">): void;
  /** Which pods recent commands moved, and what that holds off. */
  readonly ledger: Ledger;
}

interface Parts {
  readonly world: World;
  readonly log: Logger;
  readonly steering: Steering;
  readonly backoff: Backoff;
  readonly ledger: Ledger;
  readonly underWay: RunningCommands;
  readonly create: CreateReplacements;
}

/** Creates the queue, with its back-off and its ledger. */
export function createCommandQueue(
  world: World,
  create: CreateReplacements,
  steering: Steering,
): CommandQueue {
  const log = world.log.with({ controller: "disruption.queue" });
  const backoff = new Backoff();
  const ledger = new Ledger(world.settings.restraint);
  const underWay = new RunningCommands();
  const parts: Parts = { world, log, steering, backoff, ledger, underWay, create };
  const bell = createBell();

  function takeIn(one: RunningCommand): void {
    underWay.add(one);
    const names = one.candidates.flatMap((candidate) => markedNames(world, candidate));
    const replacements = one.replacements.map(({ metadata }) => metadata.name);
    world.cluster.markForDeletion(...names);
    world.cluster.replacedBy(names, replacements);
    protect(world, replacements);
    bell.ring({ kind: "", name: one.record.id });
  }

  return {
    nodeNames: underWay.nodeNames,
    ledger,
    isRunning: (id) => underWay.get(id) !== undefined,
    backoff,
    start: async (command, waitedMs) => {
      const record = newRecord(command, world.random.uuid(), world.clock.now());
      reportCommand(world, command, record.id);
      if (decisionOf(command) === "reboot") return requestReboot(world, command, record);
      const begun = await begin(parts, command, { record, waitedMs });
      const claimNames = begun.replacements.map(({ metadata }) => metadata.name);
      const started = { ...command, candidates: begun.candidates };
      const steps = evictionOrder(started, claimNames, world.cluster.nodes());
      const stops = await inTurns(world.clock, steps, TURN_MS);
      steering.plan(record.id, stops);
      for (const { name, pods } of stops) world.cluster.place(name, pods, world.clock.now());
      takeIn(begun);
      for (const { name, pods } of stops)
        for (const pod of pods) world.events.publish(nominated(pod, targetsOf(world, name)));
      protect(world, command.targets);
      countCommand(world, command, record);
    },
    resume: (one) => {
      log.info("resuming a disruption command that another process began", {
        "command-id": one.record.id,
        nodes: one.candidates.map(({ node }) => node.name),
      });
      const moves = one.replacements.flatMap(movesOn);
      const pods = one.candidates.flatMap(({ reschedulablePods }) => reschedulablePods);
      steering.promise(one.record.id, pods);
      const move = moves.find(({ command }) => command === one.record.id);
      takeIn({ ...one, move, startedMs: world.clock.elapsedMs() - ageMs(world, one.record) });
    },
    controller: {
      name: "disruption.queue",
      watches: CLAIM_KINDS.map((kind) =>
        source(kind, (claim) => commandsWaitingFor(claim, underWay.all())),
      ),
      concurrency: 100,
      backoffMs: { base: 1_000, max: 10_000 },
      listen: bell.listen,
      reconcile: async ({ name }) => {
        const one = underWay.get(name);
        return one === undefined ? AWAIT_CHANGE : advance(parts, one);
      },
    },
  };
}

/** Taints the nodes and creates the replacements. */
async function begin(
  parts: Parts,
  command: Command,
  { record, waitedMs }: { readonly record: CommandRecord; readonly waitedMs: number },
): Promise<RunningCommand & { readonly move: MoveRecord }> {
  const { world, log, backoff, ledger } = parts;
  world.spans?.started(record.id, begunOf(command, waitedMs));
  const startedMs = world.clock.elapsedMs();
  const candidates = await closeNodes(world, command, record);
  const started = { ...command, candidates };
  const move = moveOf(started, record);
  const { replacements, target } = await createReplacements(parts, started, move).catch(
    async (error) => {
      const pools = command.replacements.map(({ pool }) => pool.id);
      backoff.failed(pools, world.clock.now());
      tellFailure(parts, candidates, pools);
      await backoff.write(world, log);
      throw error;
    },
  );
  ledger.note(move, world.clock.now());
  return { record, candidates, replacements, target, move, startedMs };
}

/** Runs one step of a command: waits for the replacements, deletes the claims, or rolls the command back. */
async function advance(parts: Parts, one: RunningCommand): Promise<Outcome> {
  const { world, log, steering, backoff, underWay } = parts;
  const { id, reason } = one.record;
  // A started rollback is always finished: new pods may already run on a node whose taint was removed.
  const state = underWay.rollBackReason(one) ?? stateOf(parts, one);
  if (state === "failed" || state === "paused") return takeBack(parts, one, state);
  if (state === "waiting") return requeueAfter(POLL_MS);
  backoff.succeeded(poolsOf(one));
  // A consolidation saves less if its pods move to nodes outside its plan. So other nodes with room are tainted, too.
  await steering.begin(id, reason === "Underutilized" ? "keepOffOthers" : "amongPlanned");
  await Promise.all([
    ...one.candidates.map((candidate) => remove(parts, one, candidate)),
    backoff.write(world, log),
  ]);
  await account(world, log, one);
  underWay.remove(one);
  return AWAIT_CHANGE;
}

function stateOf(
  { world, underWay }: Parts,
  one: RunningCommand,
): ReturnType<typeof replacementsState> | "paused" {
  const state = replacementsState(world, one, underWay.size);
  // A command that has begun to delete claims is not rolled back: the pods of deleted nodes would have no planned
  // place.
  if (state === "failed" || underWay.hasBegunToEnd(one)) return state;
  return pausesOf(world, one).length > 0 ? "paused" : state;
}

/** Messages of the pauses of the command's pools. A repair is not stopped by a pause, because the node is broken. */
function pausesOf(world: World, { record, candidates }: RunningCommand): readonly string[] {
  if (record.reason === "Unhealthy") return [];
  const ids = new Set(candidates.map(({ pool }) => pool.id));
  return [...ids].flatMap(
    (id) => pauseOf(poolById(world, id)?.native, world.settings.pauseDisruption)?.message ?? [],
  );
}

/**
 * Rolls a command back. A failed command counts as one failure of its pools, however often the rollback is tried. A
 * paused command does not count.
 */
async function takeBack(parts: Parts, one: RunningCommand, why: RollBackReason): Promise<Outcome> {
  const { world, log, steering, backoff, ledger, underWay } = parts;
  const pools = poolsOf(one);
  const hasFailed = why === "failed";
  if (underWay.startRollBack(one, why)) {
    if (hasFailed) {
      backoff.failed(pools, world.clock.now());
      reportFailure(world, log, one);
    } else reportPause(world, log, one);
  }
  const [allStay] = await Promise.all([rollBack(world, one), backoff.write(world, log)]);
  if (hasFailed) {
    backoff.waitFrom(pools, world.clock.now());
    tellFailure(parts, one.candidates, pools);
  }
  // The plan is forgotten only after the rollback. Without it, provisioning would launch nodes for the pods of nodes
  // that are still marked.
  steering.forget(one.record.id);
  giveUpPlaces(world, one);
  // If a node of the command is deleted all the same, its pods still move. Then the record of the move is kept.
  if (allStay) ledger.forget(one.record.id);
  underWay.remove(one);
  await backoff.write(world, log);
  return AWAIT_CHANGE;
}

/** Frees the places reserved for the command's pods on other nodes, because the pods stay on their own nodes. */
function giveUpPlaces({ cluster }: World, { candidates }: RunningCommand): void {
  const pods = candidates.flatMap(({ reschedulablePods }) => reschedulablePods);
  for (const pod of pods) cluster.placements.giveUp(pod);
}

function poolsOf({ replacements }: RunningCommand): readonly string[] {
  return [...new Set(replacements.map((claim) => poolIdOfClaim(claim) ?? ""))];
}

function tellFailure(
  { world, backoff }: Parts,
  candidates: readonly Candidate[],
  pools: readonly string[],
): void {
  const waits = [...backoff.pools(world.clock.now())].filter(([id]) => pools.includes(id));
  world.events.publish(...replacementFailed(candidates, new Map(waits)));
}

/**
 * The commands that wait for this replacement claim. They run at once when it is deleted. Otherwise provisioning would
 * create a second replacement.
 */
function commandsWaitingFor(
  claim: KubeObject,
  running: Iterable<RunningCommand>,
): readonly Request[] {
  const { kind, name } = claimRequest(claim);
  return [...running]
    .filter(({ replacements }) =>
      replacements.map(claimRequest).some((one) => one.kind === kind && one.name === name),
    )
    .map(({ record }) => ({ kind: "", name: record.id }));
}

/** Nominates nodes, so that no other command disrupts them before the pods planned for them are bound. */
function protect(world: World, names: readonly string[]): void {
  const untilMs = world.clock.now() + nominationMs(world.settings);
  for (const name of names) world.cluster.nominate(name, untilMs);
}

function begunOf(command: Command, waitedMs: number): Omit<BegunCommand, "startedMs"> {
  return {
    waitedMs,
    decision: decisionOf(command),
    method: command.via,
    pods: command.candidates.reduce((sum, one) => sum + one.reschedulablePods.length, 0),
    savesMicroUsdPerHour: savingsMicroUsd(command),
  };
}

/**
 * Taints the Nodes and marks the claims of the candidates. Returns the candidates for which both writes succeeded.
 * Rejects if a write failed for any candidate of a command with replacements, or for all candidates of another command.
 */
async function closeNodes(
  world: World,
  command: Command,
  record: CommandRecord,
): Promise<readonly Candidate[]> {
  const errors: unknown[] = [];
  const closed = await Promise.all(
    command.candidates.map(async (candidate) => {
      try {
        await closeNode(world, record, candidate);
        return candidate;
      } catch (error) {
        errors.push(error);
        return undefined;
      }
    }),
  );
  const marked = closed.filter((one) => one !== undefined);
  const partly = errors.length > 0 && (command.replacements.length > 0 || marked.length === 0);
  if (partly) throw new Error("marking nodes as disrupted", { cause: errors[0] });
  return marked;
}

async function closeNode(world: World, record: CommandRecord, candidate: Candidate): Promise<void> {
  const words = vocabulary(candidate.generation);
  const node = nodes(world).get(candidate.node.name);
  if (node === undefined) throw new Error(`node ${candidate.node.name} is gone`);
  // Retries after a conflict: a kubelet may write its Node at the same moment.
  const closed = await changeObject(world.kube, NODE, node, (latest) => cordoned(latest, words));
  // A new Node with the same name is not tainted.
  if (closed === undefined) throw new Error(`node ${candidate.node.name} is gone`);
  if (!isCordoned(closed, words)) throw new NotStoredError(`the cordon of ${candidate.node.name}`);
  const { reason } = record;
  const marked = await changeClaim(world, candidate.claim, (claim) =>
    withCondition(
      withRecord(claim, record),
      { type: "DisruptionReason", status: "True", reason, message: reason },
      world.clock.now(),
    ),
  );
  const { name } = candidate.claim.metadata;
  if (marked === undefined) throw new Error(`claim ${name} is gone`);
  if (recordOf(marked)?.id !== record.id) throw new NotStoredError(`the mark of claim ${name}`);
}

async function createReplacements(
  { world, log, create }: Parts,
  command: Command,
  move: MoveRecord,
): Promise<Pick<RunningCommand, "replacements" | "target">> {
  // The claims of the candidates will be deleted, so the moves recorded on them are copied to the new claims.
  const moves = [...command.candidates.flatMap(({ claim }) => movesOn(claim)), move];
  if (command.replacements.length === 0) {
    return { replacements: [], target: await writeOnTarget({ world, log }, command, moves) };
  }
  const written = movesAnnotation(moves, world.clock.now());
  const annotations = { ...written, [REPLACEMENT_ANNOTATION_KEY]: move.command };
  const created = await create(log, command, annotations);
  const claims = created.filter((one): one is NodeClaim => !(one instanceof Error));
  const error = created.find((one) => one instanceof Error);
  if (error !== undefined) {
    await Promise.all(claims.map((claim) => discardReplacement(world, claim)));
    throw new Error("launching replacements", { cause: error });
  }
  for (const claim of claims) {
    world.events.publish(launching(claim, claimGeneration(claim), command.reason));
  }
  return { replacements: claims };
}

function replacementsState(
  world: World,
  { record, candidates, replacements, startedMs }: RunningCommand,
  commands: number,
): "ready" | "waiting" | "failed" {
  const latest = replacements.map((claim) => readClaim(world, claimRequest(claim)));
  if (latest.some((claim) => claim === undefined || isDeleting(claim))) return "failed";
  const waiting = latest.filter((claim) => !isReady(claim));
  if (waiting.length === 0)
    return record.reason === "Unhealthy" && latest.some((claim) => isFresh(world, claim))
      ? "waiting"
      : "ready";
  for (const claim of waiting as NodeClaim[])
    world.events.publish(waitingReadiness(claim, claimGeneration(claim)));
  for (const { claim, generation } of candidates)
    world.events.publish(waitingReadiness(claim, generation));
  const { perCommand, min, max } = TIMEOUT_MS;
  const limitMs = Math.min(max, Math.max(min, perCommand * commands));
  return world.clock.elapsedMs() - startedMs > limitMs ? "failed" : "waiting";
}

/** Whether the claim became initialized less than {@link FRESH_MS} ago. */
function isFresh({ clock }: World, claim: NodeClaim | undefined): boolean {
  const sinceMs = fromRfc3339(claim && condition(claim, "Initialized")?.lastTransitionTime) ?? 0;
  return Math.abs(clock.now() - sinceMs) < FRESH_MS;
}

/** The age by wall time, because another process may have begun the command. Negative ages count as 0. */
function ageMs({ clock }: World, { startedAt }: CommandRecord): number {
  return Math.max(0, clock.now() - (fromRfc3339(startedAt) ?? 0));
}

/** Whether the replacement is initialized and not being deleted. */
function isReady(replacement: NodeClaim | undefined): boolean {
  return (
    replacement !== undefined && !isDeleting(replacement) && isTrue(replacement, "Initialized")
  );
}

/**
 * Deletes the claim of one candidate, unless its node need not be removed any more. The event and metrics are published
 * only once, even if the deletion is tried again.
 */
async function remove(parts: Parts, one: RunningCommand, candidate: Candidate): Promise<void> {
  const { world, underWay } = parts;
  const { reason } = one.record;
  const { claim, generation, node } = candidate;
  const step = underWay.stepOf(one, node.name);
  if (step === "deleted") return;
  const isRepair = reason === "Unhealthy";
  if (await openedAsNeedless(parts, one, candidate))
    return underWay.note(one, node.name, "deleted");
  if (step === undefined)
    world.events.publish(...terminating(objectsOf(candidate), generation, reason));
  underWay.note(one, node.name, "told");
  const isMarked = (live: NodeClaim) => recordOf(live)?.id === one.record.id;
  const prepare = (live: NodeClaim) => boundDrain(world, live, one.record.graceMs);
  const proof = { stillHolds: isMarked, ...(isRepair ? { prepare } : {}) };
  const ended = await deleteClaim(world, claim, isRepair ? "unhealthy" : "disrupted", proof);
  if (ended === "held")
    throw new Error(`NodeClaim ${claim.metadata.name} is held: its events say why`);
  // Recorded only after the node is untainted, because this function runs again if that fails.
  if (ended === "changed") await openKept(parts, one, candidate);
  underWay.note(one, node.name, "deleted");
  if (ended === "changed") return;
  unmarkIfKept(world, claim, markedNames(world, candidate));
  const labels = disruptedLabels(one.record, candidate);
  world.metrics.count("nodeclaims_disrupted_total", labels);
  world.metrics.count(
    "pods_disruption_initiated_total",
    labels,
    candidate.reschedulablePods.length,
  );
}

function reportPause(world: World, log: Logger, one: RunningCommand): void {
  log.info("taking a disruption command back", {
    "command-id": one.record.id,
    decision: recordedDecision(one.record),
    nodes: one.candidates.map(({ node }) => node.name),
    reason: pausesOf(world, one).join("; "),
  });
}

function reportFailure(
  world: World,
  log: Logger,
  { record, candidates, replacements }: RunningCommand,
): void {
  log.error("failed terminating nodes while executing a disruption command", {
    "command-id": record.id,
    decision: recordedDecision(record),
    "disrupted-node-count": candidates.length,
    error: "a replacement is gone or did not become ready in time",
  });
  const latest = replacements.map((claim) => readClaim(world, claimRequest(claim)));
  world.metrics.count(
    "voluntary_disruption_queue_failures_total",
    commandLabels(record),
    latest.filter((claim) => !isReady(claim)).length,
  );
}
