/**
 * Plans pods again in the same pass if the API server refused their claim as invalid. Each kind of pod is planned alone
 * (refused.ts). After these, pods without a place in the first plan are planned again, because the refused claims may
 * have used up capacity or limits. All pods that the pass has already placed keep their places.
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

/** Remembers which kinds of pods are next if not all kinds can be planned in one pass. */
export class Turns {
  readonly refused = new Apart();
  /** The order of pods that the first plan did not place. Pods of refused claims have their own order. */
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

/** The results of the pass so far. */
interface SoFar {
  readonly made: MadeClaim[];
  readonly existing: SchedulingResult["existing"][number][];
  /** The event for each pod without a place, by pod key. */
  readonly words: Map<string, { readonly pod: Pod; readonly message: string }>;
}

/** Plans the pods of failed claims again, and publishes for pods without a place why they have none. */
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
  // Pods without a place in the first plan are planned last: one of them may make its claim invalid too, and must not
  // block the kinds above.
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
  // The pods are read again. Planning and creating claims take time, and some pods may be bound or deleted by now.
  const { pending, leaving, buffered } = podsToPlace(world);
  const all = [...pending, ...leaving, ...buffered];
  const sticky = world.cluster.placements.assign(all, world.clock.now());
  // Pods with a reserved place are planned too, so that their place is not given to others.
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
 * Replaces the server's reasons with those of the new plan. Pods that have a place now, or wait for a claim of this
 * pass, get no event. Pods whose claims were not refused keep the reasons of the first plan.
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
