/**
 * Plays the seeds that its parent (run.ts) sends, one after the other, and returns each result. It ends when its parent
 * ends.
 */
import { play } from "./play.ts";
import { drawStory } from "./story.ts";

export interface Played {
  readonly seed: number;
  readonly faults: readonly string[];
  readonly virtualMs: number;
  readonly steps: number;
  readonly kills: number;
  readonly cpuMs: number;
}

process.on("message", async (seed: number) => {
  const before = process.cpuUsage();
  const { faults, virtualMs, steps, kills } = await play(drawStory(seed));
  const { user, system } = process.cpuUsage(before);
  const played: Played = {
    seed,
    faults: faults.slice(0, 5),
    virtualMs,
    steps,
    kills,
    cpuMs: Math.round((user + system) / 1_000),
  };
  process.send?.(played, undefined, undefined, (lost) => {
    if (lost !== null) process.exit(1);
  });
});
process.on("disconnect", () => process.exit(1));
