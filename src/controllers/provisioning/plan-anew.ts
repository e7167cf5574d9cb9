/**
 * Plans pods again in the same pass if the API server refused their claim as invalid. Each kind of pod is planned
 * alone. Then come pods for which the first plan had no place, because the refused claims may have been in their way.
 * Everything that the pass has placed stays and counts.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Logger } from "../../base/log.ts";
import { inTurns, TURN_MS } from "../../base/steps.ts";
import { isBufferPod } from "../../core/buffers/pods.ts";
import {
  type MadeClaim,
  withinReservations,
  withPlaced,
} from "../../core/provisioning/nodes/made-claims.ts";
import type { SchedulingResult } from "../../core/provisioning/result.ts";
import type { PoolInput, SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import type { World } from "../world.ts";
import { type Applied, apply, type FailedClaim } from "./apply.ts";
import { failedScheduling } from "./events.ts";
import { podsToPlace, schedulingInput } from "./gather.ts";
import { Apart, isInvalid } from "./refused.ts";
import { tellUnstuck } from "./unstuck.ts";

/** Whose turn it is, from pass to pass. */
export class Turns {
  readonly refused = new Apart();
  /** Turns of pods that were left over. Refused claims have separate turns. */
  readonly leftOver = new Apart();
}

/** A pass whose plan has been carried out. */
interface Pass {
  readonly pools: readonly PoolInput[];
  readonly result: SchedulingResult;
  readonly applied: Applied;
  readonly turns: Turns;
  readonly plan: (input: SchedulingInput) => Promise<SchedulingResult>;
}

/** The results so far. */
interface SoFar {
  readonly made: MadeClaim[];
  readonly existing: SchedulingResult["existing"][number][];
  /** The event for each pod of a failed claim, by key. */
  readonly words: Map<string, { readonly pod: Pod; readonly message: string }>;
}

/** Plans the pods of failed claims again, and reports on pods without a place why they have none. */
export async function placeRefused(world: World, log: Logger, pass: Pass): Promise<void> {
  const { made, failed } = pass.applied;
  const soFar: SoFar = { made: [...made], existing: [...pass.result.existing], words: new Map() };
  noteFailed(soFar, failed);
  try {
    await placeInTurn(world, log, pass, soFar);
  } finally {
    for (const { pod, message } of soFar.words.values())
      if (!isBufferPod(pod)) world.events.publish(failedScheduling(pod, message));
  }
}

async function placeInTurn(world: World, log: Logger, pass: Pass, soFar: SoFar): Promise<void> {
  const { applied, result, turns } = pass;
  const invalid = invalidOf(applied.failed);
  if (invalid.length === 0) return;
  const place = (keys: readonly string[]) => placeAgain(world, log, pass, soFar, new Set(keys));
  for (const kind of turns.refused.kindsOf(invalid)) await place(kind);
  const leftOver = result.unschedulable.filter(({ ignored }) => ignored !== true);
  if (leftOver.length === 0) return;
  // Planned separately: a pod that is new here may be invalid too, and must not block the kinds above.
  const failed = await place(leftOver.map(({ pod }) => keyOf(pod)));
  for (const kind of turns.leftOver.kindsOf(invalidOf(failed))) await place(kind);
}

/** Plans only these pods. Returns the claims that could not be created for them. */
async function placeAgain(
  world: World,
  log: Logger,
  { pools, plan }: Pass,
  soFar: SoFar,
  own: ReadonlySet<string>,
): Promise<readonly FailedClaim[]> {
  // The current pods: planning and creating claims take time, and some pods may be bound or gone by now.
  const { pending, leaving, buffered } = podsToPlace(world);
  const all = [...pending, ...leaving, ...buffered];
  const sticky = world.cluster.placements.assign(all, world.clock.now());
  // Pods keep the room that was planned for them, also those that the plan would have wait.
  const some = all.filter((pod) => own.has(keyOf(pod)) || sticky.has(keyOf(pod)));
  const usedNow = pools.map((one) => ({ ...one, usage: world.cluster.poolUsage(one.pool.id) }));
  const input = schedulingInput(world, some, usedNow);
  const found = await plan(await inTurns(world.clock, withPlaced(input, soFar), TURN_MS));
  const newClaims = withinReservations(found.newClaims, soFar, pools);
  noteUnplaced(soFar, found, own);
  tellUnstuck(world, log, found.unstuck);
  const { made, failed } = await apply(world, log, { ...found, newClaims });
  soFar.made.push(...made);
  soFar.existing.push(...found.existing);
  noteFailed(soFar, failed);
  return failed;
}

function invalidOf(failed: readonly FailedClaim[]) {
  return failed.filter(({ error }) => isInvalid(error)).map(({ plan }) => plan);
}

function noteFailed({ words }: SoFar, failed: readonly FailedClaim[]): void {
  for (const { plan, error } of failed)
    for (const pod of plan.pods) words.set(keyOf(pod), { pod, message: error.message });
}

/**
 * Notes the new plan's reasons instead of the server's. Pods that have a place now, or wait for a claim of this pass,
 * get no event. Pods of claims that were not refused have the reasons of the first plan.
 */
function noteUnplaced(
  { words }: SoFar,
  { unschedulable }: SchedulingResult,
  own: ReadonlySet<string>,
): void {
  const known = new Set([...own].filter((key) => words.delete(key)));
  for (const { pod, message, deferred } of unschedulable)
    if (known.has(keyOf(pod)) && deferred !== true) words.set(keyOf(pod), { pod, message });
}
