/**
 * The process that runs the tests of one mutant after another. It keeps what Vitest has compiled, so that a mutant
 * costs only its own file and the tests. The runner ends and replaces it when a mutant never comes to an end.
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

/** Runs files in the order in which they are given: nearest first. */
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
  // A test that only waits for a core has not seen the fault. The runner ends what never comes to an end.
  testTimeout: 0,
  watch: false,
});
const specifications = new Map(
  (await vitest.globTestSpecifications()).map((one) => [one.moduleId, one]),
);

/** It is as it was again, but what is compiled of it is not. */
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
// The runner has ended.
process.on("disconnect", () => process.exit());
process.send?.("ready");
