/**
 * Faults while Karpenter works (work-faults.ts, work-wire-faults.ts, work-cloud-faults.ts), in the middle of a run and
 * at the next start: no node ends under its pods or without need, nothing is launched without need or left over, and
 * whoever waits is told for what. `npm test` plays one of them. `npm run calm` plays each fault with each work
 * (WORK_SEEDS=0-3: which seeds; WORK_ONLY: a regular expression for title and work).
 */
import { describe, expect, it } from "vitest";
import { CLOUD_FAULTS } from "./work-cloud-faults.ts";
import { DISCOVERY_FAULTS } from "./work-discovery-faults.ts";
import { WORK_FAULTS } from "./work-faults.ts";
import { HOSTILE_FAULTS } from "./work-hostile-faults.ts";
import { MIXED_FAULTS } from "./work-mixed-faults.ts";
import { playWork, WORKS } from "./work-stage.ts";
import { TOLD_FAULTS } from "./work-told-faults.ts";
import { WIRE_FAULTS } from "./work-wire-faults.ts";

const FAULTS = {
  ...WORK_FAULTS,
  ...WIRE_FAULTS,
  ...CLOUD_FAULTS,
  ...MIXED_FAULTS,
  ...DISCOVERY_FAULTS,
  ...TOLD_FAULTS,
  ...HOSTILE_FAULTS,
};
const EVERYTHING = process.env["CALM"] !== undefined;
/** The quick set: a fault that once did harm. */
const QUICK = "a person takes the disruption marks off Nodes and claims drift";
const ONLY = new RegExp(process.env["WORK_ONLY"] ?? (EVERYTHING ? "" : `^${QUICK}$`));
const [FROM = 0, TO = EVERYTHING ? 3 : 1] = (process.env["WORK_SEEDS"] ?? "")
  .split("-")
  .filter((text) => text !== "")
  .map(Number);
const CASES = Object.entries(FAULTS)
  .flatMap(([title, make]) =>
    WORKS.flatMap((work) =>
      Array.from({ length: TO - FROM }, (_, at) => ({
        title,
        make,
        work,
        seed: FROM + at,
        // Every second seed begins the fault with the start of the next process.
        restarts: (FROM + at) % 2 === 1,
      })),
    ),
  )
  .filter(({ title, work }) => ONLY.test(`${title} ${work}`));

describe("a fault while Karpenter works does no harm", () => {
  it.each(CASES)("$work, $title, seed $seed", { timeout: 900_000 }, async ({ title, ...one }) => {
    const { said, log } = await playWork({ ...one, isLong: process.env["CALM"] === "long" });
    if (said.length > 0 && EVERYTHING) console.error(log.slice(-300).join("\n"));
    expect({ title, work: one.work, said }).toEqual({ title, work: one.work, said: [] });
  });
});
