/**
 * A process that tries inputs one after the other. It announces each input before it tries it, in case the input ends
 * or blocks the process.
 */
import { faultOf, inputOf } from "./check.ts";
import { TARGETS } from "./targets.ts";

export interface WorkerTask {
  /** Number of the first input. Input n is seed n of target n modulo the number of targets. */
  readonly from: number;
  readonly to: number;
  /** Names of the targets to try. */
  readonly targets: readonly string[];
}

/** The next input, or the fault of the last one. */
export interface WorkerWord {
  readonly at: number;
  readonly fault?: string;
}

process.once("message", ({ from, to, targets }: WorkerTask) => {
  const chosen = TARGETS.filter(({ name }) => targets.includes(name));
  // Waits until the message is sent. Otherwise a process that dies would lose it, and the fault would be reported
  // for an older input.
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
