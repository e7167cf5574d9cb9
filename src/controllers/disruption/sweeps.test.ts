import { describe, expect, it } from "vitest";
import { drift } from "../../core/disruption/methods/drift.ts";
import { emptiness } from "../../core/disruption/methods/emptiness.ts";
import type { Proposal } from "../../core/disruption/methods/method.ts";
import { candidate, methodInput } from "../../testing/disruption.ts";
import { type Facts, Sweeps } from "./sweeps.ts";

const MINUTE_MS = 60_000;
const LIST: Facts["types"][number] = [];
const facts = (text: string, atMs = 0, list = LIST): Facts => ({ text, atMs, types: [list] });
const nothing: Proposal = { commands: [], remarks: [] };

describe("sweeps", () => {
  it("let a method rest while nothing has changed, for as long as prices are the same", () => {
    const sweeps = new Sweeps();
    expect(sweeps.rests(drift, facts("a"))).toBe(false);
    sweeps.note(drift, nothing, facts("a"));
    expect(sweeps.rests(drift, facts("a", 29 * MINUTE_MS))).toBe(true);
    expect(sweeps.rests(drift, facts("a", 30 * MINUTE_MS))).toBe(false);
    expect(sweeps.rests(drift, facts("a", 4 * MINUTE_MS, []))).toBe(true);
    expect(sweeps.rests(drift, facts("a", 5 * MINUTE_MS, []))).toBe(false);
    expect(sweeps.rests(drift, facts("b"))).toBe(false);
    sweeps.note(emptiness, nothing, facts("a"));
    expect(sweeps.rests(emptiness, facts("a"))).toBe(false);
  });

  it("go on where they were, and start over if something has changed on the way", () => {
    const sweeps = new Sweeps();
    expect(sweeps.note(drift, { ...nothing, slice: ["a", "b"] }, facts("before"))).toBe(true);
    expect([...sweeps.examined(drift)]).toEqual(["a", "b"]);
    expect(sweeps.rests(drift, facts("before"))).toBe(false);
    expect(sweeps.note(drift, nothing, facts("after"))).toBe(false);
    expect([...sweeps.examined(drift)]).toEqual([]);
    expect(sweeps.rests(drift, facts("after"))).toBe(false);
    expect(sweeps.rests(drift, facts("before"))).toBe(true);
  });

  it("reach every node, a few at a time", () => {
    const sweeps = new Sweeps();
    const manyPods = Array.from({ length: 749 }, () => "4m");
    // Each needs a node of its own, and none may be made: no types.
    const nodes = Array.from({ length: 12 }, (_, index) =>
      candidate(`n${index}`, { conditions: { Drifted: 1_000 }, pods: manyPods }),
    );
    const told: string[] = [];
    let slices = 0;
    for (let goesOn = true; goesOn && slices < 10; slices++) {
      const input = { ...methodInput(nodes, { types: [] }), examined: sweeps.examined(drift) };
      const proposal = drift.propose(input);
      told.push(...proposal.remarks.map((remark) => remark.candidate.node.name));
      goesOn = sweeps.note(drift, proposal, facts("a"));
    }
    expect(slices).toBe(3);
    expect(told.sort()).toEqual(nodes.map(({ node }) => node.name).sort());
  });
});
