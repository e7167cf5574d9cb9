/** A process that tries inputs one after the other. It says which one is next, in case it never comes back. */
import { faultOf, inputOf } from "./check.ts";
import { TARGETS } from "./targets.ts";

export interface WorkerTask {
  /** Input number n is seed n of the target at n modulo the number of targets. */
  readonly from: number;
  readonly to: number;
  /** Names of targets. */
  readonly targets: readonly string[];
}

/** What comes next, or what was wrong with the input that was next. */
export interface WorkerWord {
  readonly at: number;
  readonly fault?: string;
}

process.once("message", ({ from, to, targets }: WorkerTask) => {
  const chosen = TARGETS.filter(({ name }) => targets.includes(name));
  // Waits until the word is out: a process that dies takes unsent words with it, and an older input would get the blame.
  const say = (word: WorkerWord) =>
    new Promise<void>((resolve) => process.send?.(word, () => resolve()));
  const tryAll = async () => {
    for (let at = from; at < to; at++) {
      await say({ at });
      const target = chosen[at % chosen.length] as (typeof chosen)[number];
      const fault = await faultOf(target, inputOf(target, at), true);
      if (fault !== undefined) await say({ at, fault });
    }
    process.disconnect();
  };
  void tryAll();
});
