/**
 * Long work that lets others have their turn. It is written as a generator that stops after every so
 * much work: whoever has nothing else to do runs it through, a controller lets the event loop in between
 * the steps. The result is the same either way.
 */
import type { Clock } from "./clock.ts";

/** A computation that yields between steps, so that its caller can let other work run. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs the work through. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * How long a controller works before others get their turn: at the end of the step that it is at. Beside that step, and
 * a collection of garbage that falls into it, it leaves 40 ms of the 50 that nobody should wait.
 */
export const TURN_MS = 10;

/** Runs the steps in turns of about this length. On a virtual clock, which stands still, it is one turn. */
export function inTurns<T>(clock: Clock, steps: Steps<T>, turnMs: number): Promise<T> {
  return stepRunner(clock, turnMs)(steps);
}

/** Runs one piece of work after the other. */
export type StepRunner = <T>(steps: Steps<T>) => Promise<T>;

/**
 * As {@link inTurns} for several pieces of work, one after the other: what one has left of a turn, the next has. What
 * is done between them counts, and counts from now on.
 */
export function stepRunner(clock: Clock, turnMs: number): StepRunner {
  let startedMs = clock.elapsedMs();
  return async (steps) => {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (clock.elapsedMs() - startedMs < turnMs) continue;
      await clock.sleep(0);
      startedMs = clock.elapsedMs();
    }
  };
}

/** Whether others should have their turn now: work of many small pieces asks after each. */
export function turnIsOver(clock: Pick<Clock, "turnMs">): boolean {
  return clock.turnMs() >= TURN_MS;
}

/**
 * Runs the work, in as many turns as it takes; what else is done in a turn counts, too. Undefined: it is done already,
 * as it always is on a clock that stands still.
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

/** Whether the work is done. Each call runs at least one step, so that work late in a turn also proceeds. */
function untilTurnIsOver(clock: Pick<Clock, "turnMs">, steps: Steps<void>): boolean {
  for (;;) {
    if (steps.next().done === true) return true;
    if (turnIsOver(clock)) return false;
  }
}

/**
 * Items of one step where a caller names no number: each may take some microseconds, and a step stays within a turn.
 */
const ITEMS_PER_STEP = 64;

/** The items for one step, if not the default, and the function for each item. */
type EachItem<T, R> = [Visit<T, R>] | [perStep: number, visit: Visit<T, R>];
type Visit<T, R> = (item: T, index: number) => R;

/** `items.forEach(visit)`, stopping after every `perStep` items. */
export function* eachInSteps<T>(items: readonly T[], ...each: EachItem<T, void>): Steps<void> {
  const [perStep, visit] = each.length === 1 ? [ITEMS_PER_STEP, each[0]] : each;
  for (let index = 0; index < items.length; index++) {
    if (index > 0 && index % perStep === 0) yield;
    visit(items[index] as T, index);
  }
}

/** `items.map(make)`, stopping after every `perStep` items. */
export function* mapInSteps<T, R>(items: readonly T[], ...each: EachItem<T, R>): Steps<R[]> {
  const [perStep, make] = each.length === 1 ? [ITEMS_PER_STEP, each[0]] : each;
  const made: R[] = [];
  yield* eachInSteps(items, perStep, (item, index) => made.push(make(item, index)));
  return made;
}

/** `items.filter(keeps)`, stopping after every `perStep` items. */
export function* filterInSteps<T>(items: readonly T[], ...each: EachItem<T, boolean>): Steps<T[]> {
  const [perStep, keeps] = each.length === 1 ? [ITEMS_PER_STEP, each[0]] : each;
  const kept: T[] = [];
  yield* eachInSteps(items, perStep, (item, index) => {
    if (keeps(item, index)) kept.push(item);
  });
  return kept;
}

/** `items.some(matches)`, in steps of the default size. */
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

/** Items that are sorted in one step. */
const RUN = 2_048;

/** `items.toSorted(compare)`: runs are sorted, then merged, one run's worth a step. */
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

/** Both lists are sorted. Of equal items, those of `a` come first. */
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
