/**
 * `npm run fuzz -- calm [--count N] [--seed N] [--verbose]`: random days of random clusters, each played on
 * virtual time under the eyes of a witness. Says what was tried; a failure comes with the command that
 * replays it. `--verbose` prints what happened on that day.
 */
import { play } from "./play.ts";
import { drawStory } from "./story.ts";

const DEFAULT_COUNT = 500;
const MAX_REPORTS = 5;

export interface CalmOptions {
  readonly first: number | undefined;
  readonly count: number | undefined;
  readonly verbose: boolean;
}

/** The exit code. */
export async function calm({ first, count, verbose }: CalmOptions): Promise<number> {
  const from = first ?? 0;
  const many = count ?? (first === undefined ? DEFAULT_COUNT : 1);
  const sum = { seeds: 0, failed: 0, hours: 0, steps: 0, kills: 0 };
  for (let seed = from; seed < from + many && sum.failed < MAX_REPORTS; seed++) {
    const story = drawStory(seed);
    const { faults, virtualMs, steps, kills, trace } = await play(story);
    sum.seeds++;
    sum.hours += virtualMs / 3_600_000;
    sum.steps += steps;
    sum.kills += kills;
    if (faults.length > 0) {
      sum.failed++;
      const lines = [
        `seed ${seed}:`,
        ...faults.slice(0, 5).map((fault) => `  ${fault}`),
        `  again: npm run fuzz -- calm --seed ${seed} --verbose`,
      ];
      process.stdout.write(`${lines.join("\n")}\n`);
    }
    if (verbose) process.stdout.write(`${JSON.stringify(story, null, 1)}\n${trace.join("\n")}\n`);
    if (sum.seeds % 10 === 0) process.stdout.write(`${told(sum)}\n`);
  }
  process.stdout.write(`${told(sum)}, ${sum.failed === 0 ? "no fault" : `${sum.failed} failed`}\n`);
  return sum.failed === 0 ? 0 : 1;
}

function told({ seeds, hours, steps, kills }: Record<string, number>): string {
  return `${seeds} seeds, ${(hours ?? 0).toFixed(0)} virtual hours, ${steps} steps, ${kills} restarts of Karpenter`;
}
