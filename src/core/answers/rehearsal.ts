/**
 * Simulates the future: places pending pods, then runs the disruption loop command by command until it has nothing more
 * to do. The methods, waits and hold-offs are those of the live loop. If there is no command, the clock jumps to the
 * next time at which something that protects a node ends.
 */

import { keyOf } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { flatMapInSteps, type Steps } from "../../base/steps.ts";
import { isBufferPod } from "../buffers/pods.ts";
import { roomAmong } from "../buffers/room.ts";
import { type Command, decisionOf } from "../disruption/command.ts";
import type { Method } from "../disruption/methods/method.ts";
import { moveOf } from "../disruption/moves.ts";
import { type FoundCommands, nextCommands, validateCommand } from "../disruption/run-round.ts";
import { countStatic, missing, surplus } from "../disruption/static-pools.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import { planStaticNodes } from "../provisioning/static-nodes.ts";
import { brokenConditionsIn } from "../repair/survey.ts";
import {
  type CommandAnswer,
  commandAnswer,
  type LaunchFacts,
  launchFacts,
} from "./command-answer.ts";
import { holdsOf } from "./holds.ts";
import { keptRoomIn, keptRoomOf } from "./kept-room.ts";
import { type Changed, change, later, type Model, type Move, pendingPods } from "./model.ts";
import { ownedNode } from "./owned-node.ts";
import { playPassesInSteps } from "./planning-passes.ts";
import {
  type MostSaving,
  mostSaving,
  progressOf,
  type RehearsalWatch,
  unlessOver,
} from "./rehearsal-progress.ts";
import { totalsOf } from "./totals.ts";

/** One event of a simulation. */
export interface Step {
  /** When the event begins, as RFC 3339. */
  readonly at: string;
  readonly kind: "removal" | "provisioning" | "command";
  readonly says: string;
  readonly command?: CommandAnswer;
  readonly removed: readonly string[];
  readonly launched: readonly (LaunchFacts & { readonly node: string })[];
  readonly moves: readonly Move[];
  /** The price of the cluster after the event. */
  readonly priceMicroUsdPerHour: number;
}

/**
 * Why the simulation ended. `settled`: nothing is left to do. `horizon`: the simulated time is over. `limit`: the
 * largest number of rounds, or of failed validations in a row, was reached. `stopped`: it took longer than it may, so
 * it has only the commands up to then.
 */
export type Ending = "settled" | "horizon" | "limit" | "stopped";

/** A simulated run of the disruption loop. */
export interface Rehearsal {
  readonly model: Model;
  readonly steps: readonly Step[];
  readonly ended: Ending;
}

/** Milliseconds from the launch of a node until it is ready and its pods run. */
const LAUNCH_MS = 60_000;
/** Milliseconds from the deletion of a node until it is drained and gone. */
const DRAIN_MS = 30_000;
/** Milliseconds between two rounds of the disruption loop. */
const POLL_MS = 10_000;
const MOST_ROUNDS = 5_000;
/** The most rounds in a row whose commands all fail their validation. */
const MOST_REJECTED = 20;

/** Plans one planning pass. */
export type PlanPass = (input: SchedulingInput) => Steps<SchedulingResult>;

interface Provisioned {
  readonly model: Model;
  readonly step: Step;
}

/** Places the pending pods. If nothing changes, the result has the same model object. */
export function* provision(before: Model, plan: PlanPass): Steps<Played> {
  const bound = yield* takeRoom(before, plan);
  const { model } = bound;
  const { scheduling, nowMs } = model.picture;
  const waiting = scheduling.pods.filter(({ spec }) => !spec.nodeName);
  if (waiting.length === 0) return bound;
  const { result, passes } = yield* playPassesInSteps({ ...scheduling, pods: waiting }, plan);
  const { newClaims, existing } = result;
  const isIdle = newClaims.length === 0 && existing.every(({ pods }) => pods.every(isBufferPod));
  const unplaced = result.unschedulable.map(({ pod }) => pod);
  if (isIdle && isSameRoom(keptRoomOf(model.picture), keptRoomIn(existing))) return bound;
  const readyMs = newClaims.length === 0 ? nowMs : nowMs + LAUNCH_MS;
  const done = yield* change(model, {
    launched: newClaims,
    placed: existing,
    unplaced,
    nowMs: readyMs,
  });
  if (isIdle) return { model: done.model, steps: bound.steps };
  const placed = done.moves.filter(({ to }) => to !== undefined).length;
  const inPasses = passes === 1 ? "" : ` in ${passes} passes`;
  const room = roomAmong(newClaims.flatMap(({ pods }) => pods)).map(
    ({ buffer, pods }) => `, room for ${pods} of ${buffer}`,
  );
  const says = `${counted(placed, "pod")} placed, ${counted(newClaims.length, "node")} launched${inPasses}${room.join("")}`;
  const step = yield* stepOf("provisioning", nowMs, says, done, newClaims, []);
  return { model: done.model, steps: [...bound.steps, step] };
}

/**
 * Binds pending pods to existing nodes as kube-scheduler would. kube-scheduler ignores CapacityBuffers, so these
 * pods may take their room. Without CapacityBuffers, nothing is bound here: the plan places these pods.
 */
function* takeRoom(model: Model, plan: PlanPass): Steps<Played> {
  const { scheduling, nowMs } = model.picture;
  const waiting = yield* pendingPods(model);
  if (waiting.length === 0 || !scheduling.pods.some(isBufferPod)) return { model, steps: [] };
  const { existing } = yield* plan({ ...scheduling, pods: waiting, pools: [] });
  if (existing.length === 0) return { model, steps: [] };
  const done = yield* change(model, { placed: existing, nowMs });
  const says = `${counted(done.moves.length, "pod")} placed, 0 nodes launched`;
  const step = yield* stepOf("provisioning", nowMs, says, done, [], []);
  return { model: done.model, steps: [step] };
}

function isSameRoom(a: ReturnType<typeof keptRoomIn>, b: ReturnType<typeof keptRoomIn>): boolean {
  return a.size === b.size && [...a].every(([pod, node]) => b.get(pod) === node);
}

/** Removes these nodes even if something protects them. Their pods become pending. */
export function* removeNodes(
  model: Model,
  names: readonly string[],
  why: string,
): Steps<Provisioned> {
  const { nowMs } = model.picture;
  const done = yield* change(model, { gone: names, nowMs });
  const says = `${why}: ${names.join(", ")}`;
  return { model: done.model, step: yield* stepOf("removal", nowMs, says, done, [], names) };
}

/** Adds nodes to static pools and removes nodes from them, until each has the number in `spec.replicas`. */
function* keepReplicas(before: Model): Steps<Played> {
  let model = before;
  const steps: Step[] = [];
  for (const { pool } of before.picture.staticPools) {
    const { nodes, nowMs } = model.picture;
    const count = countStatic(pool, nodes);
    const beyond = surplus(pool, count, nowMs).map(({ name }) => name);
    if (beyond.length > 0) {
      const gone = yield* removeNodes(model, beyond, `beyond the replicas of ${pool.name}`);
      model = gone.model;
      steps.push(gone.step);
    }
    const own = model.picture.staticPools.find((one) => one.pool.id === pool.id);
    const { count: lacking } = missing(pool, count);
    if (own === undefined || lacking === 0 || !pool.ready) continue;
    const { newClaims: launched } = yield* planStaticNodes(model.picture.scheduling, own, lacking);
    if (launched.length === 0) continue;
    const done = yield* change(model, { launched, nowMs: nowMs + LAUNCH_MS });
    const says = `${counted(launched.length, "node")} launched to keep ${pool.replicas} of ${pool.name}`;
    model = done.model;
    steps.push(yield* stepOf("provisioning", nowMs, says, done, launched, []));
  }
  return { model, steps };
}

interface RehearsalLimits {
  /** The simulated time at which the rehearsal ends. */
  readonly untilMs: number;
  /** Absent: nobody follows it, and it runs to its end. */
  readonly watch?: RehearsalWatch | undefined;
}

/** Runs the disruption loop until nothing is left to do, until the time `untilMs`, or until the watch says so. */
export function* rehearse(
  start: Model,
  plan: PlanPass,
  { untilMs, watch }: RehearsalLimits,
): Steps<Rehearsal> {
  const steps: Step[] = [];
  const most = watch === undefined ? undefined : yield* mostSaving(start);
  let model = start;
  let idle = 0;
  for (let count = 0; count < MOST_ROUNDS; count++) {
    const round = playRound(model, plan, { untilMs, count });
    const done = watch === undefined ? yield* round : yield* unlessOver(round, watch.isOver);
    if (done === undefined) return { model, steps, ended: "stopped" };
    model = done.model;
    steps.push(...done.steps);
    if (done.isIdle !== undefined) idle = done.isIdle ? idle + 1 : 0;
    if (most !== undefined) watch?.tell(progressOf(start, model, { ...sumOf(steps, most), most }));
    const ended = idle >= MOST_REJECTED ? "limit" : done.ended;
    if (ended !== undefined) return { model, steps, ended };
  }
  return { model, steps, ended: "limit" };
}

/** The number of commands so far, and the price after the last step. */
function sumOf(steps: readonly Step[], { startMicroUsd }: MostSaving) {
  return {
    commands: steps.filter(({ kind }) => kind === "command").length,
    priceMicroUsdPerHour: steps.at(-1)?.priceMicroUsdPerHour ?? startMicroUsd,
  };
}

interface Round extends Played {
  /** Why the rehearsal ends with this round. Absent: another round follows. */
  readonly ended?: Ending;
  /** Whether no command was carried out. Absent: none was found, or the cluster changed first. */
  readonly isIdle?: boolean;
}

/** One round of the disruption loop: its commands, or the wait for the next change. */
function* playRound(
  before: Model,
  plan: PlanPass,
  { untilMs, count }: { readonly untilMs: number; readonly count: number },
): Steps<Round> {
  const found = yield* nextCommands(before.picture);
  const settled = yield* found === undefined ? settle(before, plan) : placeWaiting(before, plan);
  // The cluster has changed, so the methods are asked again before a command without a wait is carried out.
  if (settled.model !== before) return settled;
  if (found === undefined) {
    const nextMs = yield* nextChange(before);
    if (nextMs === undefined) return { ...settled, ended: "settled" };
    if (nextMs > untilMs) return { ...settled, ended: "horizon" };
    return { model: yield* later(before, nextMs), steps: settled.steps };
  }
  const done = yield* oneRound(before, found, count);
  let { model } = done;
  const steps = [...settled.steps, ...done.steps];
  if (model.picture.nodes.some(({ deleting }) => deleting)) {
    const left = yield* underWay(model, plan);
    model = left.model;
    steps.push(...left.steps);
  }
  const isIdle = done.steps.length === 0;
  return { model, steps, isIdle, ...(model.picture.nowMs > untilMs ? { ended: "horizon" } : {}) };
}

/**
 * Finishes what has begun: removes leaving nodes, adjusts static pools to their replicas, and places pending pods. If
 * nodes were removed, the clock is set to the time when they are gone.
 */
export function* settle(before: Model, plan: PlanPass): Steps<Played> {
  const { model, steps } = yield* underWay(before, plan);
  const goneMs = before.picture.nowMs + DRAIN_MS;
  const waits = steps.some(({ removed }) => removed.length > 0) && model.picture.nowMs < goneMs;
  return { model: waits ? yield* later(model, goneMs) : model, steps };
}

/** Removes the leaving nodes, adjusts static pools to their replicas, and places the pending pods. */
function* underWay(before: Model, plan: PlanPass): Steps<Played> {
  const leaving = before.picture.nodes.filter(({ deleting }) => deleting);
  const names = leaving.map(({ name }) => name);
  const gone =
    leaving.length === 0
      ? undefined
      : yield* removeNodes(before, names, "on their way out already");
  const placed = yield* placeWaiting(gone?.model ?? before, plan);
  return {
    model: placed.model,
    steps: [...(gone === undefined ? [] : [gone.step]), ...placed.steps],
  };
}

/** Adjusts static pools to their replicas and places the pending pods, without removing nodes that are leaving. */
function* placeWaiting(before: Model, plan: PlanPass): Steps<Played> {
  const kept = yield* keepReplicas(before);
  const placed = yield* provision(kept.model, plan);
  return { model: placed.model, steps: [...kept.steps, ...placed.steps] };
}

interface Played {
  readonly model: Model;
  readonly steps: readonly Step[];
}

/**
 * Carries out the commands of one round, immediately or after their wait. During the wait, the loop also carries out
 * commands that need no wait.
 */
function* oneRound(
  before: Model,
  { method, commands }: FoundCommands,
  round: number,
): Steps<Played> {
  const { nowMs } = before.picture;
  const immediate = commands.filter(({ validateAfterMs }) => validateAfterMs === 0);
  const waiting = commands.filter(({ validateAfterMs }) => validateAfterMs > 0);
  const first = yield* carryAll(before, method, immediate, `${round}-now`);
  if (waiting.length === 0) return first;
  let { model } = first;
  const steps = [...first.steps];
  if (model.picture.nowMs < nowMs + POLL_MS) model = yield* later(model, nowMs + POLL_MS);
  const other = yield* nextCommands(model.picture, waiting);
  if (other !== undefined) {
    // A command that needs a wait of its own is left out here. It is proposed again in the next round.
    const ready = other.commands.filter(({ validateAfterMs }) => validateAfterMs === 0);
    const done = yield* carryAll(model, other.method, ready, `${round}-meanwhile`);
    model = done.model;
    steps.push(...done.steps);
  }
  const dueMs = nowMs + Math.max(...waiting.map(({ validateAfterMs }) => validateAfterMs));
  if (model.picture.nowMs < dueMs) model = yield* later(model, dueMs);
  const confirmed: Command[] = [];
  for (const command of waiting) {
    const still = yield* validateCommand(model.picture, { method, command });
    if (typeof still !== "string") confirmed.push(still);
  }
  const last = yield* carryAll(model, method, confirmed, `${round}`);
  return { model: last.model, steps: [...steps, ...last.steps] };
}

/** Begins all these commands at the same time, and sets the clock to the time when the last one has ended. */
function* carryAll(
  before: Model,
  method: Method,
  commands: readonly Command[],
  id: string,
): Steps<Played> {
  let model = before;
  const steps: Step[] = [];
  for (const [index, command] of commands.entries()) {
    const there = new Set(model.picture.nodes.map(({ name }) => name));
    if (!command.candidates.every(({ node }) => there.has(node.name))) continue;
    const done = yield* carryOut(model, method, command, `${id}-${index}`);
    model = done.model;
    steps.push(done.step);
  }
  if (steps.length === 0) return { model, steps };
  const waits = steps.some(({ launched }) => launched.length > 0) ? LAUNCH_MS : 0;
  const endMs = model.picture.nowMs + DRAIN_MS + waits;
  return { model: yield* later(model, endMs), steps };
}

function* carryOut(model: Model, method: Method, command: Command, id: string): Steps<Provisioned> {
  const { picture } = model;
  const begun = { id, reason: command.reason, startedAt: toRfc3339(picture.nowMs) };
  picture.ledger.note(moveOf(command, begun), picture.nowMs);
  const { candidates, replacements, terms: supposing } = command;
  const names = candidates.map(({ node }) => node.name);
  if (decisionOf(command) === "reboot") {
    const done = yield* change(model, { mended: names, nowMs: picture.nowMs });
    const answer = commandAnswer(command, method.name);
    const step = yield* stepOf("command", picture.nowMs, answer.says, done, [], []);
    return { model: done.model, step: { ...step, command: answer } };
  }
  const gone = names;
  const moving = new Set(candidates.flatMap((one) => one.reschedulablePods).map(keyOf));
  const { placements } = yield* picture.simulator.withoutInSteps(candidates, supposing);
  // Room that the nodes keep for CapacityBuffers moves with the command, too. A CapacityBuffer pod without room on the
  // other nodes is pending until the next pass.
  const placed = placements.map(({ nodeName, pods }) => ({
    nodeName,
    pods: pods.filter((pod) => moving.has(keyOf(pod)) || isBufferPod(pod)),
  }));
  const done = yield* change(model, {
    gone,
    placed,
    launched: replacements,
    command: id,
    nowMs: picture.nowMs,
  });
  const answer = commandAnswer(command, method.name);
  const step = yield* stepOf("command", picture.nowMs, answer.says, done, replacements, gone);
  return { model: done.model, step: { ...step, command: answer } };
}

function* stepOf(
  kind: Step["kind"],
  atMs: number,
  says: string,
  { model, names, moves }: Changed,
  launched: Command["replacements"],
  removed: readonly string[],
): Steps<Step> {
  return {
    at: toRfc3339(atMs),
    kind,
    says,
    removed,
    launched: launched.map((plan, index) => ({
      node: names[index] as string,
      ...launchFacts(plan),
    })),
    moves,
    priceMicroUsdPerHour: (yield* totalsOf(model)).priceMicroUsdPerHour,
  };
}

/**
 * The next time at which something that protects a node from disruption ends, or a repair is due. Undefined: there is
 * none.
 */
function* nextChange({ picture, pools }: Model): Steps<number | undefined> {
  const { nowMs, ledger, nodes } = picture;
  const ends = yield* flatMapInSteps(nodes, (node) => {
    const owned = ownedNode(picture, node);
    if (owned === undefined) return [];
    return holdsOf(picture, owned).flatMap(({ until }) => fromRfc3339(until) ?? []);
  });
  const dues = nodes.flatMap((node) =>
    brokenConditionsIn(node, picture.settings.repair?.policies ?? []),
  );
  const forgotten = ledger.forgetsAtMs(nowMs);
  const rests = nodes.flatMap(
    ({ claim }) => (claim && ledger.replacementHoldOffEndsMs(claim)) ?? [],
  );
  const poolRests = pools.flatMap(({ pool }) => ledger.repackHoldOffEndsMs(pool.id, nowMs) ?? []);
  const all = [
    ...[...ends, ...poolRests, ...rests, ...dues.map(({ dueMs }) => dueMs)].filter(
      (ms) => ms > nowMs,
    ),
    ...(forgotten === undefined ? [] : [forgotten]),
  ];
  return all.length === 0 ? undefined : Math.max(Math.min(...all), nowMs + POLL_MS);
}
