/**
 * Long computations in steps. A computation is a generator that yields after a limited amount of work. A program
 * without other work runs it in one go. A controller lets the event loop run between the steps. The result is the same.
 */
import type { Clock } from "./clock.ts";

/** A computation that yields between steps, so that its caller can let other work run. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs the computation to its end without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * Milliseconds after which a computation lets the event loop run, at the end of its current step. No turn should exceed
 * 50 ms; the other 40 are for the current step and a garbage collection in it.
 */
export const TURN_MS = 10;

/** The functions of a clock that are needed to run a computation in turns. */
type TurnClock = Pick<Clock, "turnMs" | "sleep">;

/** Runs the computation, and lets the event loop run after about `turnMs`. On a virtual clock it runs in one turn. */
export function inTurns<T>(clock: TurnClock, steps: Steps<T>, turnMs: number): Promise<T> {
  return stepRunner(clock, turnMs)(steps);
}

/** Runs computations one after the other. */
export type StepRunner = <T>(steps: Steps<T>) => Promise<T>;

/** Receives how long the work of each turn took. `clock`: measures real time or CPU time. */
export interface TurnMeter {
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly tell: (ms: number) => void;
}

/**
 * Like {@link inTurns}, for several computations one after the other. They share turns: a computation uses what the
 * previous one left of the turn. The first turn begins with this call, and time between two computations counts too.
 * `meter`: counts only the computations.
 */
export function stepRunner(clock: TurnClock, turnMs: number, meter?: TurnMeter): StepRunner {
  let startedMs = clock.turnMs();

  function isOver(): boolean {
    const nowMs = clock.turnMs();
    // Another turn of the event loop has begun since.
    if (nowMs < startedMs) startedMs = 0;
    return nowMs - startedMs >= turnMs;
  }

  function untilTurnEnds<T>(steps: Steps<T>): IteratorResult<undefined, T> {
    for (;;) {
      const result = steps.next();
      if (result.done === true || isOver()) return result;
    }
  }

  return async (steps) => {
    for (;;) {
      const begunMs = meter?.clock.elapsedMs() ?? 0;
      const { done, value } = untilTurnEnds(steps);
      meter?.tell(meter.clock.elapsedMs() - begunMs);
      if (done === true) return value;
      await clock.sleep(0);
      startedMs = clock.turnMs();
    }
  };
}

/** Whether the current turn of the event loop has lasted long enough. Used by loops over many small pieces of work. */
export function turnIsOver(clock: Pick<Clock, "turnMs">): boolean {
  return clock.turnMs() >= TURN_MS;
}

/**
 * Runs the computation in as many turns of the event loop as it needs. Time of other work in a turn counts, too.
 * Undefined: the computation is already done, as always on a virtual clock.
 */
export function besideOthers(
  clock: Pick<Clock, "turnMs" | "sleep">,
  steps: Steps<void>,
): Promise<void> | undefined {
  return untilTurnIsOver(clock, steps) ? undefined : afterOthers(clock, steps);
}

async function afterOthers(
  clock: Pick<Clock, "turnMs" | "sleep">,
  steps: Steps<void>,
): Promise<void> {
  do await clock.sleep(0);
  while (!untilTurnIsOver(clock, steps));
}

/**
 * Runs steps until the turn is over. Returns whether the work is done. At least one step runs, so that the work also
 * proceeds late in a turn.
 */
function untilTurnIsOver(clock: Pick<Clock, "turnMs">, steps: Steps<void>): boolean {
  for (;;) {
    if (steps.next().done === true) return true;
    if (turnIsOver(clock)) return false;
  }
}

/**
 * The default number of items in a step. A step of so many items stays within a turn if none takes more than two
 * milliseconds. A step that ends early costs less than a microsecond.
 */
export const ITEMS_PER_STEP = 16;

/** The number of items in a step, if not the default, and the function for each item. */
type EachItem<T, R> = [Visit<T, R>] | [perStep: number, visit: Visit<T, R>];
type Visit<T, R> = (item: T, index: number) => R;

/** Like `items.forEach(visit)`, with a pause after every `perStep` items. */
export function* eachInSteps<T>(items: readonly T[], ...each: EachItem<T, void>): Steps<void> {
  const [perStep, visit] = each.length === 1 ? [ITEMS_PER_STEP, each[0]] : each;
  for (let index = 0; index < items.length; index++) {
    if (index > 0 && index % perStep === 0) yield;
    visit(items[index] as T, index);
  }
}

/** Like `items.map(make)`, with a pause after every `perStep` items. */
export function* mapInSteps<T, R>(items: readonly T[], ...each: EachItem<T, R>): Steps<R[]> {
  const [perStep, make] = each.length === 1 ? [ITEMS_PER_STEP, each[0]] : each;
  const made: R[] = [];
  yield* eachInSteps(items, perStep, (item, index) => made.push(make(item, index)));
  return made;
}

/** Like `items.filter(keeps)`, with a pause after every `perStep` items. */
export function* filterInSteps<T>(items: readonly T[], ...each: EachItem<T, boolean>): Steps<T[]> {
  const [perStep, keeps] = each.length === 1 ? [ITEMS_PER_STEP, each[0]] : each;
  const kept: T[] = [];
  yield* eachInSteps(items, perStep, (item, index) => {
    if (keeps(item, index)) kept.push(item);
  });
  return kept;
}

/** Like `items.flatMap(make)`, in steps of the default size. */
export function* flatMapInSteps<T, R>(
  items: readonly T[],
  make: (item: T) => readonly R[],
): Steps<R[]> {
  const made: R[] = [];
  yield* eachInSteps(items, (item) => {
    made.push(...make(item));
  });
  return made;
}

/** Like `items.some(matches)`, in steps of the default size. */
export function* someInSteps<T>(
  items: readonly T[],
  matches: (item: T) => boolean,
): Steps<boolean> {
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % ITEMS_PER_STEP === 0) yield;
    if (matches(item)) return true;
  }
  return false;
}

/** Number of items that are sorted in one step. */
const RUN = 2_048;

/** Like `items.toSorted(compare)`, in steps: sorts parts of the list, then merges them. */
export function* sortInSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += RUN) {
    if (at > 0) yield;
    runs.push(items.slice(at, at + RUN).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* mergeInSteps(runs[at] as T[], runs[at + 1] ?? [], compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Merges two sorted lists. Of equal items, those of `a` come first. */
export function* mergeInSteps<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
): Steps<T[]> {
  const merged: T[] = [];
  let [fromA, fromB] = [0, 0];
  while (fromA < a.length || fromB < b.length) {
    if (merged.length > 0 && merged.length % RUN === 0) yield;
    const takesA =
      fromB === b.length || (fromA < a.length && compare(a[fromA] as T, b[fromB] as T) <= 0);
    merged.push((takesA ? a[fromA++] : b[fromB++]) as T);
  }
  return merged;
}
