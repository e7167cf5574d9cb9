import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nodeClaim, pod } from "../../testing/builders.ts";
import { NOW } from "../../testing/disruption.ts";
import type { Command } from "./command.ts";
import {
  isRecent,
  type MoveRecord,
  moveOf,
  movesOn,
  oldestFirst,
  withMoves,
  withoutMove,
  workloadName,
} from "./moves.ts";

const of = (owner: string, name: string): Pod =>
  pod({ name, owner: { kind: "StatefulSet", name: owner } });

/** A command that removes one node of each of two pools. The first node has these pods. */
function command(pods: readonly Pod[], more: Partial<Command> = {}): Command {
  const candidates = ["nodepool/b", "nodepool/a"].map((id, at) => ({
    ...{ node: { name: `n${at}` }, pool: { id }, priceMicroUsd: 100 },
    reschedulablePods: at === 0 ? pods : [],
  }));
  const head = { reason: "Underutilized", consolidationType: "multi", replacements: [] };
  return { ...head, candidates, ...more } as unknown as Command;
}

const recorded = (one: Command, id = "c1", atMs = NOW) =>
  moveOf(one, { id, reason: "Underutilized", startedAt: toRfc3339(atMs) });

describe("the record of a command", () => {
  it("contains its nodes, prices and pods by workload, the largest workload first", () => {
    const pods = [of("b", "b-0"), of("a", "a-0"), of("c", "c-0"), of("c", "c-1"), pod()];
    const record = recorded(command(pods));
    expect(record).toMatchObject({
      ...{ command: "c1", at: "2026-01-05T00:00:00Z", nodes: ["n0", "n1"] },
      ...{ priceMicroUsd: 200, savesMicroUsd: 200, replacements: 0 },
    });
    expect(Object.entries(record.pods)).toEqual([
      ["uid-c", 2],
      ["uid-a", 1],
      ["uid-b", 1],
    ]);
  });

  it("names the pools if the command is a repack or a multi-node replacement", () => {
    const replacements = [{ cheapest: { priceMicroUsd: 1 } }] as never;
    const pools = (more: Partial<Command>) => recorded(command([], more)).pools;
    expect(pools({ replacements })).toEqual(["nodepool/a", "nodepool/b"]);
    expect(pools({})).toBeUndefined();
    expect(pools({ replacements, consolidationType: "single" })).toBeUndefined();
    const terms = { packed: 1 } as never;
    expect(pools({ replacements, consolidationType: "single", terms })).toHaveLength(2);
  });

  it("is valid for an hour, and sorted from the oldest", () => {
    const [old, young] = [recorded(command([]), "b"), recorded(command([]), "a", NOW + 1_000)];
    expect([isRecent(old, NOW + 3_599_999), isRecent(old, NOW + 3_600_000)]).toEqual([true, false]);
    const alike = recorded(command([]), "c");
    expect([young, alike, old].sort(oldestFirst)).toEqual([old, alike, young]);
  });
});

describe("the records of moves on a NodeClaim", () => {
  const record = recorded(command([of("a", "a-0")]));

  it("can be removed one by one", () => {
    const claim = nodeClaim();
    const both = withMoves(claim, [record, { ...record, command: "c2" }], NOW);
    const one = withoutMove(both, "c1");
    expect(movesOn(one).map((each) => each.command)).toEqual(["c2"]);
    expect(withoutMove(one, "other")).toBe(one);
    expect(withoutMove(one, "c2").metadata.annotations).toEqual({});
  });

  it("are ignored if any field is invalid", () => {
    const read = (more: object) => {
      const text = JSON.stringify([{ ...record, ...more }]);
      return movesOn(nodeClaim({ annotations: { "karpenter.sh/disruption-moves": text } })).length;
    };
    expect([read({}), read({ pools: ["nodepool/a"] })]).toEqual([1, 1]);
    const broken: Partial<Record<keyof MoveRecord, unknown>>[] = [
      ...[{ command: 1 }, { reason: 1 }, { at: 1 }, { at: "yesterday" }, { nodes: "n" }],
      ...[{ nodes: [1] }, { priceMicroUsd: "1" }, { savesMicroUsd: null }, { replacements: 0.5 }],
      ...[{ pods: null }, { pods: { a: 0.5 } }, { pods: 1 }, { pools: "a" }, { pools: [1] }],
    ];
    expect(broken.filter((one) => read(one) > 0)).toEqual([]);
  });
});

describe("the workload of a pod", () => {
  it("is its Deployment or its owner", () => {
    const labels = { "pod-template-hash": "5d4f8" };
    const owner = { kind: "ReplicaSet", name: "web-5d4f8" };
    expect(workloadName(pod({ labels, owner }))).toBe("Deployment default/web");
    expect(workloadName(of("db", "db-0"))).toBe("StatefulSet default/db");
    expect(workloadName(pod())).toBeUndefined();
  });
});
