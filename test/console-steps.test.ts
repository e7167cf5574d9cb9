/**
 * The console's What if takes more steps on a larger cluster, so that no single step holds the event loop for
 * long.
 */
import { expect, it } from "vitest";
import { drawObjects } from "../bench/console/cluster.ts";
import type { Steps } from "../src/base/steps.ts";
import { readObjects, readPicture } from "../src/cli/answers/read-picture.ts";
import { leftOut, modelOf, simulationInSteps } from "../src/cli/answers/simulate.ts";
import { countNodes } from "../src/core/disruption/node-counts.ts";

/** A cluster of this size, and the steps that simulate the removal of one of its nodes. */
async function removalFrom(nodes: number) {
  const found = [...drawObjects(nodes, 2).values()]
    .flat()
    .map((object) => ({ where: "", object, live: true as const }));
  const nowMs = Date.parse("2026-01-02T00:00:00Z");
  const objects = await readObjects({ cluster: true }, async () => ({ found, notes: [], nowMs }));
  const read = await readPicture({}, objects);
  const model = modelOf(read);
  const supposed = {
    removed: ["node-1"],
    zones: [],
    consolidate: false,
    horizonMs: 0,
    repairs: false,
  };
  return { model, steps: simulationInSteps(model, model, supposed, read.settings) };
}

/** Runs all steps, and returns how many there are, with the result. */
function allOf<T>(steps: Steps<T>): { readonly count: number; readonly value: T } {
  let count = 0;
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return { count, value };
    count += 1;
  }
}

/** The number of steps to simulate the removal of one node from a cluster of this size. */
async function stepsWith(nodes: number): Promise<number> {
  const { steps } = await removalFrom(nodes);
  const { count, value } = allOf(steps);
  expect(value.answer).toMatchObject({ before: { nodes }, after: { nodes: nodes - 1 } });
  return count;
}

it("a simulation in the console takes more steps for more nodes", async () => {
  const few = await stepsWith(128);
  const many = await stepsWith(512);
  // A step of most loops covers 64 nodes, and at least ten loops visit all nodes.
  expect(many - few).toBeGreaterThan(10 * ((512 - 128) / 64));
});

it("a simulation in the console does not count all nodes for a budget in its first step", async () => {
  const { model, steps } = await removalFrom(512);
  steps.next();
  // Counts are kept for each list of nodes. So if all nodes had been counted, this would be done at once.
  expect(countNodes(model.picture.nodes).next().done).toBe(false);
});

it("the notes of a simulation in the console take more steps for more nodes", async () => {
  const { model } = await removalFrom(1_024);
  expect(allOf(leftOut(model, { to: "2026-01-03T00:00:00Z" })).count).toBeGreaterThan(2);
});
