import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { nodeView, pod } from "../../testing/builders.ts";
import { candidate, type RoundOptions, roundOf } from "../../testing/disruption.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
import type { Command } from "./command.ts";
import { lastCheck } from "./last-check.ts";
import { drift } from "./methods/drift-and-expiration.ts";
import { staticDrift } from "./methods/static-drift.ts";

const drifted = (name: string, pods: readonly string[]) =>
  candidate(name, { conditions: { Drifted: 1_000 }, pods });
const other = candidate("other", { conditions: {} });
const planned = (...candidates: readonly Candidate[]) =>
  atOnce(drift.propose(roundOf(candidates))).commands[0] as Command;
const command = planned(drifted("old", ["1"]), other);

const looked = (candidates: readonly Candidate[], options?: RoundOptions) =>
  lastCheck(command, drift, roundOf(candidates, options));

describe("the last check of a command", () => {
  it("passes if its node has the planned pods or fewer", () => {
    expect(command.targets).toEqual(["other"]);
    expect(looked([drifted("old", ["1"]), other])).toBe(command);
    expect(looked([drifted("old", []), other])).toBe(command);
  });

  it("fails if its node is gone, no longer drifted, or has a new pod", () => {
    expect(looked([other])).toBe("churn");
    expect(looked([candidate("old", { conditions: {}, pods: ["1"] }), other])).toBe("churn");
    expect(looked([drifted("old", ["1", "500m"]), other])).toBe("churn");
  });

  it("fails if budgets are used up, or replacements of its pool fail", () => {
    expect(looked([drifted("old", ["1"]), other], { allowed: 0 })).toBe("budget");
    const bought = planned(drifted("old", ["1"]));
    expect(bought.replacements).toHaveLength(1);
    const backingOff = new Map([[other.pool.id, 60_000]]);
    const now = roundOf([drifted("old", ["1"])], { backingOff });
    expect(lastCheck(bought, drift, now)).toBe("scheduling");
  });

  it("fails if a target node is gone or being deleted", () => {
    expect(looked([drifted("old", ["1"])])).toBe("scheduling");
    const leaving = nodeView({ node: { name: "other" }, claim: other.claim, deleting: true });
    expect(looked([drifted("old", ["1"])], { scheduling: { nodes: [leaving] } })).toBe(
      "scheduling",
    );
    const there = nodeView({ node: { name: "other" }, pods: [pod({ name: "x" })] });
    expect(looked([drifted("old", ["1"])], { scheduling: { nodes: [there] } })).toBe(command);
  });

  it("fails if it terminates first and another node of the static pool is missing by now", () => {
    const full = { replicas: 2, limits: { nodes: 2 } };
    const own = (name: string, Drifted?: number) =>
      candidate(name, { pool: full, conditions: Drifted === undefined ? {} : { Drifted } });
    const [old, stays] = [own("old", 1_000), own("stays")];
    const terminateFirst = { drift: true, repair: false };
    const round = roundOf([old, stays], { terminateFirst });
    const { commands } = atOnce(staticDrift.propose(round));
    expect(commands.map(({ replacements }) => replacements.length)).toEqual([0]);
    const first = commands[0] as Command;
    const beside = (...nodes: readonly NodeView[]) =>
      lastCheck(first, staticDrift, roundOf([old], { scheduling: { nodes } }));
    expect(beside(stays.node)).toBe(first);
    expect(beside()).toBe("scheduling");
    expect(beside({ ...stays.node, deleting: true })).toBe("scheduling");
    expect(beside({ ...stays.node, initialized: false })).toBe("scheduling");
  });

  it("keeps the nodes that are still empty, as many as budgets allow", () => {
    const both = planned(drifted("a", []), drifted("b", []));
    const names = (now: Command | string) =>
      typeof now === "string" ? now : now.candidates.map(({ node }) => node.name);
    const used = roundOf([drifted("a", ["1"]), drifted("b", [])]);
    expect(names(lastCheck(both, drift, used))).toEqual(["b"]);
    const fewer = roundOf([drifted("a", []), drifted("b", [])], { allowed: 1 });
    expect(names(lastCheck(both, drift, fewer))).toEqual(["a"]);
  });
});
