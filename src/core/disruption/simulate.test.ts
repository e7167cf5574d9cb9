import { expect, it } from "vitest";
import type { CapacityBuffer } from "../../apis/autoscaling/capacity-buffer.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import { pod } from "../../testing/builders.ts";
import { candidate, roundOf } from "../../testing/disruption.ts";
import { bufferPods } from "../buffers/pods.ts";
import { consolidateInSteps, consolidateOne, validateConsolidation } from "./consolidation.ts";
import { drift } from "./methods/drift-and-expiration.ts";

/** A CapacityBuffer that keeps room for `count` pods of this size. */
function room(cpu: string, count = 1) {
  const buffer = { metadata: { name: "spare", namespace: "shop", uid: "u" }, spec: {} };
  const template = { spec: pod({ cpu }).spec };
  return bufferPods(buffer as CapacityBuffer, { template, count, isBound: () => true });
}

it("consolidation keeps a node if its removal would take room from a CapacityBuffer, and names it", () => {
  const nodes = ["a", "b"].map((name) => candidate(name, { pods: ["1"] }));
  const [first] = nodes;
  if (first === undefined) throw new Error("no node");
  const full = roundOf(nodes, { scheduling: { pods: room("2", 2), pools: [] } });
  expect(consolidateOne(first, full)).toMatchObject({
    kind: "noPlace",
    message: 'CapacityBuffer "shop/spare" would have less room',
  });
  const spare = roundOf(nodes, { scheduling: { pods: room("100m", 2), pools: [] } });
  expect(consolidateOne(first, spare)).toMatchObject({ candidates: [{ node: { name: "a" } }] });
});

it("drift moves the pods of a node into the room of a CapacityBuffer if no other node has room", () => {
  const drifted = candidate("a", { pods: ["2"], conditions: { Drifted: 0 } });
  const other = candidate("b", { pods: ["1"], conditions: {} });
  const round = roundOf([drifted, other], { scheduling: { pods: room("2500m", 2), pools: [] } });
  const { commands } = atOnce(drift.propose(round));
  expect(commands).toMatchObject([
    { candidates: [{ node: { name: "a" } }], replacements: [], targets: ["b"] },
  ]);
});

it("virtual pods of a CapacityBuffer do not count as pods that limits keep pending", () => {
  const node = candidate("a", { pool: { limits: { cpu: 0 } }, pods: ["3500m"] });
  const { simulator } = roundOf([node], { scheduling: { pods: room("4") } }).facts;
  expect(simulator.podsOverLimits()).toEqual([]);
  const stored = [pod({ name: "stored", cpu: "4" })];
  const alike = roundOf([node], { scheduling: { pods: stored } }).facts.simulator;
  expect(alike.podsOverLimits().map(({ sample }) => sample.metadata.name)).toEqual(["stored"]);
});

it("consolidation of nodes with many pods pauses while it places them", () => {
  const pods = Array.from({ length: 36 }, () => "10m");
  const conditions = { Initialized: 3_600_000, Consolidatable: 3_600_000 };
  const nodes = ["a", "b", "c"].map((name) => candidate(name, { pods, conditions }));
  const round = roundOf(nodes);
  const countOf = (steps: Steps<unknown>): number => {
    let pauses = 0;
    while (steps.next().done !== true) pauses++;
    return pauses;
  };
  const some = nodes.slice(0, 2);
  const found = atOnce(consolidateInSteps(some, round));
  if ("message" in found) throw new Error(found.message);
  expect(found.candidates).toHaveLength(2);
  // 72 pods, 16 in a step.
  expect(countOf(consolidateInSteps(some, round))).toBeGreaterThanOrEqual(4);
  expect(countOf(validateConsolidation(found, round))).toBeGreaterThanOrEqual(4);
});
