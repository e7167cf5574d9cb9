/**
 * Loops that users of Karpenter reported, each as a story in loops/. After its set-up the same round is played again
 * and again. No more claims are created and pods evicted than the file allows.
 * If a setting prevents the loop, the story is also played without it and must then exceed the limits. Otherwise it
 * would prove nothing. If no setting does, a mutant (mutants.ts) proves it. `npm test` plays some rounds of two loops;
 * `npm run calm` plays all for hours, `CALM=short` all for some rounds.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { FOLDER, type Loop, tryLoop } from "./loop.ts";
import { MUTANTS } from "./mutants.ts";
import { changesOf, daysOf, mutated } from "./try-mutants.ts";

const LONG = process.env["CALM"] === "long";
/** Loops that `npm test` plays. */
const QUICK = ["full-onto-empty.yaml", "like-for-like.yaml"];
const FILES = readdirSync(FOLDER)
  .filter((file) => process.env["CALM"] !== undefined || QUICK.includes(file))
  .sort();

const LOOPS = FILES.map((file) => ({
  file,
  loop: parse(readFileSync(FOLDER + file, "utf8")) as Loop,
}));

describe("loops that users reported", () => {
  it.each(LOOPS)("do not occur: $file", { timeout: 900_000 }, async ({ loop }) => {
    const rounds = loop.rounds[LONG ? "long" : "quick"];
    const { made, evicted, broken, most, told } = await tryLoop(loop, rounds);
    expect(broken).toEqual([]);
    expect(made, told).toBeLessThanOrEqual(most.made);
    expect(evicted, told).toBeLessThanOrEqual(most.evicted);
  });

  it.each(LOOPS.filter(({ loop }) => loop.without !== undefined))(
    "would not be calm without what keeps them so: $file",
    { timeout: 900_000 },
    async ({ loop }) => {
      const rounds = loop.without?.rounds ?? 0;
      const { made, evicted, broken, most, told } = await tryLoop(loop, rounds, loop.without);
      const isCalm = broken.length === 0 && made <= most.made && evicted <= most.evicted;
      expect(isCalm, `${made} made, ${evicted} evicted\n${told}`).toBe(false);
    },
  );
});

describe("the rule or setting that prevents a loop", () => {
  it("is recorded for each loop, as a setting or as a mutant without the rule", () => {
    const shown = readdirSync(FOLDER).filter((file) => {
      const { without } = parse(readFileSync(FOLDER + file, "utf8")) as Loop;
      return without !== undefined || MUTANTS.some(({ loop }) => loop === file);
    });
    expect(shown).toEqual(readdirSync(FOLDER));
  });

  it.each(MUTANTS)(
    "can be removed from the source, and simulated days exist that show the loop: $without",
    (mutant) => {
      expect(daysOf(mutant, 0, 1)).toHaveLength(1);
      for (const change of changesOf(mutant)) {
        const text = readFileSync(new URL(`../../${change.file}`, import.meta.url), "utf8");
        expect(mutated(change, text)).not.toBe(text);
      }
    },
  );
});
