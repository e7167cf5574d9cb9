/**
 * What would happen: pods that wait get their places, and the disruption loop goes on, command by command,
 * until it has nothing more to do. The decisions are those of the live loop: the same methods, validated
 * after the same wait, held back by the same ledger. Between commands the clock jumps to the next moment
 * at which something that keeps a node ends.
 */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { keyOf } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { priceOf } from "../disruption/candidates.ts";
import type { Command } from "../disruption/command.ts";
import type { Method } from "../disruption/methods/method.ts";
import { nextCommands } from "../disruption/round.ts";
import { survey } from "../disruption/survey.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import {
  type CommandAnswer,
  commandAnswer,
  type LaunchFacts,
  launchFacts,
} from "./command-answer.ts";
import { holdsOf, ownedNode } from "./holds.ts";
import { change, later, type Model, type Move } from "./model.ts";

export interface Totals {
  /** All of them, Karpenter's or not. */
  readonly nodes: number;
  readonly pods: number;
  readonly pendingPods: number;
  /** Of Karpenter's nodes. */
  readonly priceMicroUsdPerHour: number;
}

export interface Step {
  /** RFC 3339: when it is begun. */
  readonly at: string;
  readonly kind: "removal" | "provisioning" | "command";
  readonly says: string;
  readonly command?: CommandAnswer;
  readonly removed: readonly string[];
  readonly launched: readonly (LaunchFacts & { readonly node: string })[];
  readonly moves: readonly Move[];
  /** Once it is done. */
  readonly priceMicroUsdPerHour: number;
}

/** `settled`: nothing more to do within the horizon; `limit`: more commands than are carried out. */
export type Ending = "settled" | "horizon" | "limit";

export interface Rehearsal {
  readonly model: Model;
  readonly steps: readonly Step[];
  readonly ended: Ending;
}

/** A machine is ready, and its pods run, this long after it was asked for. */
const LAUNCH_MS = 60_000;
/** The loop asks this often. */
const POLL_MS = 10_000;
const MOST_COMMANDS = 5_000;
const MOST_WAITS = 1_000;
/** Proposals that do not stand their second look, one after the other. */
const MOST_REJECTED = 20;

type Plan = (input: SchedulingInput) => SchedulingResult;

/** Pods that wait get their places; undefined: there was nothing to do. */
export function provision(model: Model, plan: Plan): { model: Model; step: Step } | undefined {
  const { scheduling, nowMs } = model.picture;
  const waiting = scheduling.pods.filter(({ spec }) => !spec.nodeName);
  if (waiting.length === 0) return undefined;
  const { newClaims, existing } = plan({ ...scheduling, pods: waiting });
  if (newClaims.length === 0 && existing.length === 0) return undefined;
  const readyMs = newClaims.length === 0 ? nowMs : nowMs + LAUNCH_MS;
  const done = change(model, { launched: newClaims, placed: existing, nowMs: readyMs });
  const placed = done.moves.filter(({ to }) => to !== undefined).length;
  const says = `${placed} pod(s) get a place, ${newClaims.length} node(s) are launched`;
  return { model: done.model, step: stepOf("provisioning", nowMs, says, done, newClaims, []) };
}

/** Nodes go, whatever keeps them; their pods wait. */
export function removeNodes(model: Model, names: readonly string[], why: string) {
  const { nowMs } = model.picture;
  const done = change(model, { gone: names, nowMs });
  const says = `${why}: ${names.join(", ")}`;
  return { model: done.model, step: stepOf("removal", nowMs, says, done, [], names) };
}

/** Everything voluntary, to the end or to the horizon. */
export function rehearse(start: Model, plan: Plan, untilMs: number): Rehearsal {
  const steps: Step[] = [];
  let model = start;
  let commands = 0;
  let rejected = 0;
  let waits = 0;
  for (;;) {
    const found = nextCommands(model.picture);
    const leaving = model.picture.nodes.filter(({ deleting }) => deleting);
    if (leaving.length > 0) {
      const names = leaving.map(({ name }) => name);
      const ended = removeNodes(model, names, "on their way out already");
      model = ended.model;
      steps.push(ended.step);
    }
    const placed = provision(model, plan);
    if (placed !== undefined) {
      model = placed.model;
      steps.push(placed.step);
    }
    if (found === undefined) {
      if (placed !== undefined || leaving.length > 0) continue;
      const nextMs = nextChange(model);
      if (nextMs === undefined) return { model, steps, ended: "settled" };
      if (nextMs > untilMs) return { model, steps, ended: "horizon" };
      if (++waits > MOST_WAITS) return { model, steps, ended: "limit" };
      model = later(model, nextMs);
      continue;
    }
    let done = 0;
    for (const command of found.commands) {
      if (commands >= MOST_COMMANDS) return { model, steps, ended: "limit" };
      const carried = carryOut(model, found.method, command, ++commands);
      model = carried.model;
      if (carried.step === undefined) continue;
      steps.push(carried.step);
      done++;
    }
    rejected = done > 0 ? 0 : rejected + 1;
    if (rejected >= MOST_REJECTED) return { model, steps, ended: "limit" };
    if (done === 0) model = later(model, model.picture.nowMs + POLL_MS);
    if (model.picture.nowMs > untilMs) return { model, steps, ended: "horizon" };
  }
}

/** After its wait, if it still holds then. */
function carryOut(
  before: Model,
  method: Method,
  proposed: Command,
  number: number,
): { readonly model: Model; readonly step?: Step } {
  const model =
    proposed.validateAfterMs === 0
      ? before
      : later(before, before.picture.nowMs + proposed.validateAfterMs);
  const { picture } = model;
  const command =
    proposed.validateAfterMs === 0
      ? proposed
      : method.validate(proposed, survey(picture, method, new Set()).input);
  if (typeof command === "string") return { model };
  picture.ledger.note(command, picture.nowMs);
  const { candidates, replacements, belowMicroUsd } = command;
  const gone = candidates.map(({ node }) => node.name);
  const moving = new Set(candidates.flatMap((one) => one.reschedulablePods).map(keyOf));
  const placed = picture.simulator
    .without(candidates, belowMicroUsd)
    .placements.map(({ nodeName, pods }) => ({
      nodeName,
      pods: pods.filter((pod) => moving.has(keyOf(pod))),
    }));
  const done = change(model, {
    gone,
    placed,
    launched: replacements,
    command: `command-${number}`,
    nowMs: picture.nowMs + (replacements.length === 0 ? 0 : LAUNCH_MS),
  });
  const answer = commandAnswer(proposed, method.name);
  const step = stepOf("command", picture.nowMs, answer.says, done, replacements, gone);
  return { model: done.model, step: { ...step, command: answer } };
}

function stepOf(
  kind: Step["kind"],
  atMs: number,
  says: string,
  { model, names, moves }: ReturnType<typeof change>,
  launched: Command["replacements"],
  removed: readonly string[],
): Step {
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
    priceMicroUsdPerHour: totalsOf(model).priceMicroUsdPerHour,
  };
}

/** The first moment at which something that keeps a node ends. */
function nextChange({ picture }: Model): number | undefined {
  const { nowMs, ledger, nodes } = picture;
  const ends = nodes.flatMap((node) => {
    const owned = ownedNode(picture, node);
    if (owned === undefined) return [];
    return holdsOf(picture, owned).flatMap(({ until }) => fromRfc3339(until) ?? []);
  });
  const forgotten = ledger.forgetsAtMs(nowMs);
  const all = forgotten === undefined ? ends : [...ends, forgotten];
  return all.length === 0 ? undefined : Math.max(Math.min(...all), nowMs + POLL_MS);
}

export function totalsOf({ picture, pools }: Model): Totals {
  const types = new Map(pools.map(({ pool, instanceTypes }) => [pool.id, instanceTypes]));
  return {
    nodes: picture.nodes.length,
    pods: picture.nodes.reduce((sum, { pods }) => sum + pods.filter(isReschedulable).length, 0),
    pendingPods: picture.scheduling.pods.filter(({ spec }) => !spec.nodeName).length,
    priceMicroUsdPerHour: picture.nodes.reduce(
      (sum, { managed, labels, poolId = "" }) =>
        managed ? sum + priceOf(labels, types.get(poolId) ?? []) : sum,
      0,
    ),
  };
}
