import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import { type Pass, place } from "../../provisioning/place.ts";
import { planOf, prepare } from "../../provisioning/solve.ts";
import { areFewLeftovers, placeLeftovers } from "./leftovers.ts";

const inZone = (zone: string) => ({
  spec: { nodeSelector: { "topology.kubernetes.io/zone": zone } },
});
/** The last may go to the node of the first, which is full, or to that of the two in the other zone. */
const PODS = [
  pod({ name: "large", cpu: "3500m", ...inZone("zone-a") }),
  pod({ name: "one", cpu: "1", ...inZone("zone-b") }),
  pod({ name: "two", cpu: "1", ...inZone("zone-b") }),
  pod({ name: "last", cpu: "600m" }),
];
const TYPES = [instanceType({ name: "small", cpu: 4 }), instanceType({ name: "big", cpu: 16 })];

/** The pods of each planned node, when all but the last are placed by the rules, and the last by `placeLast`. */
function nodesWhere(
  placeLast: (pass: Pass, rest: readonly QueuedPod[]) => readonly QueuedPod[],
  types: readonly InstanceType[] = TYPES,
) {
  const batch = atOnce(prepare(schedulingInput({ pods: PODS, pools: [poolInput({}, types)] })));
  const plan = atOnce(
    planOf(batch, function* (pass, queued) {
      yield;
      const first = queued.filter(({ pod: { metadata } }) => metadata.name !== "last");
      for (const item of first) place(pass, item);
      return placeLast(
        pass,
        queued.filter((item) => !first.includes(item)),
      );
    }),
  );
  expect(plan.unschedulable).toEqual([]);
  return plan.newClaims.map(({ pods }) => pods.map(({ metadata }) => metadata.name).join(" "));
}

const byPrice = (pass: Pass, rest: readonly QueuedPod[]) =>
  atOnce(placeLeftovers(pass, rest, 10, 0));

describe("pods that a packing leaves", () => {
  it("go where the price rises least, the rules' to the node with the fewest pods", () => {
    expect(nodesWhere((_, rest) => rest)).toEqual(["large last", "one two"]);
    expect(nodesWhere(byPrice)).toEqual(["large", "one two last"]);
  });

  it("are the rules' where they are too few to ask about prices", () => {
    const ofMany = (pass: Pass, rest: readonly QueuedPod[]) =>
      atOnce(placeLeftovers(pass, rest, 500, 0));
    expect(nodesWhere(ofMany)).toEqual(["large last", "one two"]);
  });

  it("are the rules' where nothing is packed, for then they are all", () => {
    const ofAll = (pass: Pass, rest: readonly QueuedPod[]) =>
      atOnce(placeLeftovers(pass, rest, 4, 0));
    expect(nodesWhere(ofAll)).toEqual(["large last", "one two"]);
  });

  it("are the rules' where a pool has burstable types", () => {
    const credits = { ...instanceType({ name: "burstable", cpu: 4 }), baseline: { cpu: 100 } };
    expect(nodesWhere(byPrice, [...TYPES, credits])).toEqual(["large last", "one two"]);
  });

  it("are packed once more if they are many, or many for so many nodes", () => {
    const passOf = (size: number, steady?: object) =>
      ({ claims: { size }, templates: [{ steady }] }) as unknown as Pass;
    expect(areFewLeftovers(passOf(200), 150, 1_000)).toBe(true);
    expect(areFewLeftovers(passOf(200), 151, 1_000)).toBe(false);
    expect(areFewLeftovers(passOf(200, {}), 20, 1_000)).toBe(true);
    expect(areFewLeftovers(passOf(200, {}), 21, 1_000)).toBe(false);
    expect(areFewLeftovers(passOf(2_000), 51, 10_000)).toBe(true);
    expect(areFewLeftovers(passOf(2_000), 201, 10_000)).toBe(false);
  });
});
