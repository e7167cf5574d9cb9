import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { instanceType, nodeClaim, pool, schedulingInput } from "../../testing/builders.ts";
import { candidate, roundOf } from "../../testing/disruption.ts";
import type { Offering } from "../cloudprovider/instance-type.ts";
import { planStaticNodes } from "../provisioning/static-nodes.ts";
import { rule } from "./arbiter.ts";
import type { Command } from "./command.ts";
import { staticDrift } from "./methods/static-drift.ts";

const OFFERING: Offering = {
  zone: "zone-a",
  capacityType: "on-demand",
  priceMicroUsd: 30,
  available: true,
  quota: { id: "usual", units: 4 },
};
const TYPES = [{ ...instanceType({ cpu: 4 }), offerings: [OFFERING] }];
const FULL = "other new nodes need what is left of quota usual";
const room = (units: number) => new Map([["usual", units]]);

function staticNodes(count: number, units: number) {
  const input = schedulingInput({ quotaRoom: room(units) });
  const own = { pool: pool({ replicas: count }), instanceTypes: TYPES, usage: {} };
  return atOnce(planStaticNodes(input, own, count));
}

/** A command that replaces one node by `replacements` nodes. */
function command(name: string, replacements: number): Command {
  return {
    reason: "Drifted",
    consolidationType: "",
    via: "drift",
    generation: "v1",
    candidates: [candidate(name)],
    replacements: staticNodes(replacements, 1_000).newClaims,
    targets: [],
    validateAfterMs: 0,
  };
}

function granted(commands: readonly Command[], units: number, pending: readonly Command[] = []) {
  const { commands: begun, remarks } = rule(
    staticDrift,
    { commands, remarks: [] },
    { pending, quotaRoom: () => room(units) },
  );
  return {
    begun: begun.flatMap(({ candidates }) => candidates.map(({ node }) => node.name)),
    waits: remarks.map((one) => [one.candidate.node.name, one.message]),
  };
}

describe("nodes of a static pool", () => {
  it("are as many as the quota leaves room for, and the plan names the quota", () => {
    const { newClaims, lacks } = staticNodes(5, 11);
    expect([newClaims.length, lacks]).toEqual([2, FULL]);
    const all = staticNodes(5, 20);
    expect([all.newClaims.length, all.lacks]).toEqual([5, undefined]);
  });

  it("are replaced for drift up to the quota, and the others say why they stay", () => {
    const conditions = [
      { type: "Drifted", status: "True" as const, lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    const drifted = ["a", "b", "c"].map((name) => {
      const one = candidate(name);
      const claim = nodeClaim({ name, status: { providerID: `test://${name}`, conditions } });
      const own = { ...one.pool, replicas: 3 };
      return { ...one, claim, pool: own, node: { ...one.node, claim, poolId: own.id } };
    });
    const input = roundOf(drifted, { types: TYPES, scheduling: { quotaRoom: room(9) } });
    const { commands, remarks } = atOnce(staticDrift.propose(input));
    expect(commands.map(({ replacements }) => replacements.length)).toEqual([1, 1]);
    expect(remarks.map((one) => [one.candidate.node.name, one.message])).toEqual([["c", FULL]]);
  });
});

describe("replacements of a round", () => {
  it("start if the quota has room for all nodes of a command", () => {
    const commands = [command("a", 1), command("b", 2), command("c", 1)];
    expect(granted(commands, 11)).toEqual({ begun: ["a", "c"], waits: [["b", FULL]] });
    expect(granted(commands, 16)).toEqual({ begun: ["a", "b", "c"], waits: [] });
  });

  it("keep room for a command that waits for its validation", () => {
    expect(granted([command("a", 1)], 7, [command("p", 1)]).waits).toEqual([["a", FULL]]);
  });

  it("are not needed by a command without new nodes, which always starts", () => {
    expect(granted([command("a", 0)], 0)).toEqual({ begun: ["a"], waits: [] });
  });
});
