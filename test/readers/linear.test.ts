import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import type { Growth } from "./steps.ts";

/**
 * Largest allowed growth of the steps when the text is twice as long: twice, and a little for cases that longer
 * texts make more likely.
 */
const MOST_GROWTH = 2.3;
/** Steps that do not depend on the text's length. */
const START = 4_000;

interface Counted {
  readonly found: readonly Growth[];
  readonly squared: Growth;
}

let counted: Counted;
beforeAll(async () => {
  const child = fork(fileURLToPath(new URL("steps.ts", import.meta.url)), {
    execArgv: ["--import", "tsx"],
  });
  counted = await new Promise<Counted>((resolve, reject) => {
    child.once("message", (message) => resolve(message as Counted));
    child.once("exit", (code) => reject(new Error(`ended with ${code}`)));
  });
});

const isTooFast = ({ small, large }: Growth) => large > MOST_GROWTH * small + START;

describe("the number of steps for reading a hostile text", () => {
  it("grows linearly with the text", () => {
    expect(counted.found.length).toBeGreaterThan(30);
    expect(counted.found.filter(isTooFast)).toEqual([]);
  });

  it("is counted, so that a nested loop is detected", () => {
    expect(isTooFast(counted.squared)).toBe(true);
    // The counter works: every text of 1,000 characters takes at least that many steps.
    expect(counted.found.filter(({ small }) => small < 1_000)).toEqual([]);
  });
});
