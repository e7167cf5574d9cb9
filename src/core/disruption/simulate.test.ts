import { expect, it } from "vitest";
import type { CapacityBuffer } from "../../apis/autoscaling/capacity-buffer.ts";
import { atOnce } from "../../base/steps.ts";
import { pod } from "../../testing/builders.ts";
import { candidate, roundOf } from "../../testing/disruption.ts";
import { bufferPods } from "../buffers/pods.ts";
import { consolidate } from "./consolidation.ts";
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
  expect(consolidate([first], full)).toMatchObject({
    kind: "noPlace",
    message: 'CapacityBuffer "shop/spare" would have less room',
  });
  const spare = roundOf(nodes, { scheduling: { pods: room("100m", 2), pools: [] } });
  expect(consolidate([first], spare)).toMatchObject({ candidates: [{ node: { name: "a" } }] });
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
