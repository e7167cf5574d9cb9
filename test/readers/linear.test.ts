import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import type { Growth } from "./steps.ts";

/** Twice the steps, and a little for what a longer text makes likelier. */
const MOST_GROWTH = 2.3;
/** Steps that do not depend on the text. */
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

describe("the steps of reading a hostile text", () => {
  it("grow with the text and no faster", () => {
    expect(counted.found.length).toBeGreaterThan(30);
    expect(counted.found.filter(isTooFast)).toEqual([]);
  });

  it("are counted: a loop in a loop is found", () => {
    expect(isTooFast(counted.squared)).toBe(true);
    // Whatever a text is, each of its characters is looked at.
    expect(counted.found.filter(({ small }) => small < 1_000)).toEqual([]);
  });
});
