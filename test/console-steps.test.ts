/**
 * The console's What if takes more steps on a larger cluster, so that no single step holds the event loop for
 * long.
 */
import { expect, it } from "vitest";
import { drawObjects } from "../bench/console/cluster.ts";
import { readObjects, readPicture } from "../src/cli/answers/read-picture.ts";
import { modelOf, simulationInSteps } from "../src/cli/answers/simulate.ts";

/** The number of steps to simulate the removal of one node from a cluster of this size. */
async function stepsWith(nodes: number): Promise<number> {
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
  const steps = simulationInSteps(model, model, supposed, read.settings);
  let count = 0;
  let next = steps.next();
  for (; next.done !== true; next = steps.next()) count += 1;
  expect(next.value.answer).toMatchObject({ before: { nodes }, after: { nodes: nodes - 1 } });
  return count;
}

it("a simulation in the console takes more steps for more nodes", async () => {
  const few = await stepsWith(128);
  const many = await stepsWith(512);
  // A step of most loops covers 64 nodes, and at least ten loops visit all nodes.
  expect(many - few).toBeGreaterThan(10 * ((512 - 128) / 64));
});
