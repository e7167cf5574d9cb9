/** A clock with which every step takes a whole turn, so that tests can change things in between. */
import type { FakeWorld } from "./fake-world.ts";

/** Runs steps. `between` runs in the first of the turns, or in each. */
export function inManyTurns(
  world: FakeWorld,
  between: () => unknown,
  when: "inFirst" | "inEach" = "inFirst",
): { readonly world: FakeWorld; readonly turns: () => number } {
  let [lookedAt, turns] = [0, 0];
  const clock = {
    now: () => world.clock.now() + lookedAt * 1_000,
    elapsedMs: () => world.clock.elapsedMs() + lookedAt * 1_000,
    after: world.clock.after.bind(world.clock),
    turnMs: () => ++lookedAt * 1_000,
    sleep: async () => {
      if (turns++ === 0 || when === "inEach") await between();
    },
  };
  return {
    world: { ...world, clock: clock as unknown as FakeWorld["clock"] },
    turns: () => turns,
  };
}
