import { describe, expect, it } from "vitest";
import { candidate } from "../../testing/disruption.ts";
import { mayRun, rule } from "./arbiter.ts";
import type { Command } from "./command.ts";
import { METHODS } from "./methods/all.ts";
import type { Proposal } from "./methods/method.ts";

const command = (
  names: readonly string[],
  consolidationType: Command["consolidationType"],
  validateAfterMs = 15_000,
): Command => ({
  reason: "Underutilized",
  consolidationType,
  via: "consolidation",
  generation: "v1",
  candidates: names.map((name) => candidate(name)),
  replacements: [],
  targets: [],
  validateAfterMs,
});
const plain = { simulates: false };
const simulating = { simulates: true };
const propose = (proposal: Partial<Proposal>): Proposal => ({
  commands: [],
  remarks: [],
  ...proposal,
});
const nodesOf = (commands: readonly Command[]) =>
  commands.map(({ candidates }) => candidates.map(({ node }) => node.name));

describe("the arbiter", () => {
  it.each([
    // Columns: needs validation, simulates, another command is pending, early round. Result: whether the method is run.
    [false, false, false, false, true],
    [false, false, true, true, true],
    [true, false, false, true, true],
    [true, false, true, false, false],
    [false, true, true, false, true],
    [false, true, false, true, false],
    [true, true, false, false, true],
    [true, true, true, true, false],
  ])(
    "runs a method that needs validation (%s) or simulates (%s), with a pending command (%s), early (%s): %s",
    (needsValidation, simulates, isPending, isEarly, asked) => {
      const pending = isPending ? [command(["a"], "single")] : [];
      const method = { reason: "Drifted", needsValidation, simulates } as const;
      expect(mayRun(method, { pending, isEarly, repairs: false })).toBe(asked);
    },
  );

  it("runs consolidation and repack only while no command waits for its validation", () => {
    const running = (pending: readonly Command[], isEarly: boolean) =>
      METHODS.filter((one) => mayRun(one, { pending, isEarly, repairs: true })).map(
        ({ name }) => name,
      );
    const always = ["repair", "emptiness", "static drift"];
    const without = ["expiration", "drift", "return to preferred"];
    const consolidating = ["multi-node consolidation", "single-node consolidation", "repack"];
    const waiting = [command(["a"], "single")];
    expect(running([], false).toSorted()).toEqual(
      [...always, ...without, ...consolidating].toSorted(),
    );
    expect(running(waiting, false).toSorted()).toEqual([...always, ...without].toSorted());
    expect(running([], true).toSorted()).toEqual(always.toSorted());
  });

  const poolIds = new Set(["nodepool/p"]);
  it.each([
    ["a plain method", plain, {}, false],
    ["a plain method that had to simulate", plain, { hasSimulated: true }, true],
    ["a simulating method", simulating, {}, true],
    [
      "a simulating method with a command",
      simulating,
      { commands: [command(["a"], "single")] },
      false,
    ],
    [
      "one that waits for pods to settle",
      simulating,
      { deferred: [{ poolIds, until: "settled" }] },
      false,
    ],
    [
      "one that waits for quiet nodes",
      simulating,
      { deferred: [{ poolIds, until: "quiet" }] },
      false,
    ],
    [
      "one that leaves pools to repack",
      simulating,
      { deferred: [{ poolIds, until: "repacked" }] },
      false,
    ],
  ] as const)("says whether the proposal of %s is final", (_, method, proposal, isFinal) => {
    expect(rule(method, propose(proposal), { pending: [] }).isFinal).toBe(isFinal);
  });

  const empty = command(["a", "b"], "empty");
  it.each([
    ["all of it while nothing waits", [], command(["a"], "multi"), [["a"]]],
    ["all that needs no validation", [command(["x"], "multi")], command(["a"], "", 0), [["a"]]],
    ["empty nodes that do not wait yet", [command(["a"], "empty")], empty, [["b"]]],
    ["no empty nodes that all wait", [empty], empty, []],
    ["no empty nodes beside a consolidation", [command(["x"], "multi")], empty, []],
    ["no consolidation beside empty nodes", [empty], command(["c"], "single"), []],
  ] as const)("starts %s", (_, pending, one, started) => {
    const ruling = rule(simulating, propose({ commands: [one] }), { pending });
    expect(nodesOf(ruling.commands)).toEqual(started);
    // A command was found, so the method is run again in the next round, even if the command must wait now.
    expect(ruling.isFinal).toBe(false);
  });

  it("counts a turn for groups with a command, and a wait for groups that wait for quiet nodes", () => {
    const other = new Set(["nodepool/q"]);
    const { served, awaited } = rule(
      simulating,
      propose({
        servedPools: [other],
        deferred: [
          { poolIds, until: "quiet" },
          { poolIds: other, until: "settled" },
          { poolIds: other, until: "repacked" },
        ],
      }),
      { pending: [] },
    );
    expect([served, awaited]).toEqual([[other], [poolIds]]);
  });
});
