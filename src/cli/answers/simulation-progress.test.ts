/** The progress line of `karpenter simulate`. */
import { expect, it } from "vitest";
import { simulationWatch } from "./simulation-progress.ts";

it("says each second how long a simulation has taken, and after a round what it did and what is left", () => {
  let nowMs = 0;
  const lines: string[] = [];
  const progress = { stage: (text: string) => lines.push(text), end: () => undefined };
  const watch = simulationWatch("simulating 300 nodes", progress, { elapsedMs: () => nowMs });
  for (nowMs = 100; nowMs <= 2_000; nowMs += 100) expect(watch.isOver()).toBe(false);
  expect(lines).toEqual([
    "simulating 300 nodes",
    "simulating 300 nodes: 1s so far",
    "simulating 300 nodes: 2s so far",
  ]);
  const told = { commands: 1, nodes: 270, priceMicroUsdPerHour: 56_949_480 };
  nowMs = 5_000;
  watch.tell({ ...told, simulatedMs: 45_000, savedShare: 0.25 });
  nowMs = 6_000;
  watch.isOver();
  const line = "simulating 300 nodes: 1 command, 270 nodes at $56.9495 an hour";
  expect(lines.slice(3)).toEqual([
    `${line}, 5s so far, about 15s left`,
    `${line}, 6s so far, about 14s left`,
  ]);
  watch.tell({ ...told, simulatedMs: 45_000 });
  expect(lines.at(-1)).toBe(`${line}, 6s so far`);
});
