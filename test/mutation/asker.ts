/**
 * The process that runs the tests of one mutant after another. It keeps what Vitest has compiled, so a mutant
 * costs only its own file and the tests. The runner kills and replaces this process when a mutant hangs.
 */
import { resolve } from "node:path";
import { createVitest } from "vitest/node";

/** The changed file, and the tests to run in that order until one fails. */
export interface AskedTests {
  readonly file: string;
  readonly tests: readonly string[];
}

/** The test file that failed, or null if all pass. */
export interface Answer {
  readonly killer: string | null;
}

/** Runs files in the given order. Vitest would sort them otherwise. */
class AsGiven {
  sort<T>(files: T[]): T[] {
    return files;
  }
  shard<T>(files: T[]): T[] {
    return files;
  }
}

const vitest = await createVitest("test", {
  bail: 1,
  cache: false,
  maxWorkers: 1,
  reporters: [{}],
  sequence: { sequencer: AsGiven as never },
  // No timeout: a test that only waits for a busy core has not found the fault. The runner ends tests that hang.
  testTimeout: 0,
  watch: false,
});
const specifications = new Map(
  (await vitest.globTestSpecifications()).map((one) => [one.moduleId, one]),
);

/** The previous mutant's file. Its text is restored, but Vitest still has the compiled mutant. */
let fileBefore = "";

async function answerTo({ file, tests }: AskedTests): Promise<Answer> {
  for (const one of [fileBefore, file]) vitest.invalidateFile(resolve(one));
  fileBefore = file;
  vitest.state.filesMap.clear();
  const asked = tests.flatMap((test) => specifications.get(resolve(test)) ?? []);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(asked);
  const failed = testModules.find((one) => !one.ok());
  if (failed !== undefined) return { killer: failed.relativeModuleId };
  return { killer: unhandledErrors.length > 0 ? "an error outside tests" : null };
}

process.on("message", async (question: AskedTests) => {
  process.send?.(await answerTo(question));
});
// The runner has ended, so this process ends too.
process.on("disconnect", () => process.exit());
process.send?.("ready");
