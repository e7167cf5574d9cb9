import { describe, expect, it } from "vitest";
import { toRfc3339 } from "../../base/clock.ts";
import { pod } from "../../testing/builders.ts";
import { type CandidateOptions, candidate, NOW } from "../../testing/disruption.ts";
import type { Candidate } from "./candidates.ts";
import type { Command } from "./command.ts";
import { Ledger } from "./ledger.ts";
import { moveOf, movesAnnotation, movesOn, withMoves } from "./moves.ts";

const HOUR_MS = 60 * 60_000;
const restraint = {
  minSavingsPercent: 5,
  maxPaybackMs: 4 * HOUR_MS,
  replacementRestMs: HOUR_MS,
  maxMovesPerPodHour: 2,
};

/** A command that removes these nodes, with a replacement at this price. Without a price, it has no replacement. */
function command(candidates: readonly Candidate[], priceMicroUsd?: number): Command {
  const replacement = { cheapest: { priceMicroUsd } };
  return {
    reason: "Underutilized",
    consolidationType: "single",
    via: "consolidation",
    generation: "v1",
    candidates,
    replacements: priceMicroUsd === undefined ? [] : [replacement as never],
    targets: [],
    validateAfterMs: 15_000,
  };
}

const moved = (one: Command, id: string, atMs: number) =>
  moveOf(one, { id, reason: one.reason, startedAt: toRfc3339(atMs) });

const objected = (ledger: Ledger, one: Command, nowMs = NOW) =>
  ledger.holdOff(
    one,
    one.candidates.map(({ node }) => node),
    nowMs,
  );

const objection = (...asked: Parameters<typeof objected>) => objected(...asked)?.message;

describe("the ledger of consolidation", () => {
  it("requires a minimum saving for a replacement, but not for a deletion", () => {
    const ledger = new Ledger(restraint);
    const node = candidate("a");
    expect(objection(ledger, command([node], 0.96 * node.priceMicroUsd))).toBe(
      "Can't replace with a node that is cheaper by 5%, only by 4.0%",
    );
    expect(objection(ledger, command([node], 0.95 * node.priceMicroUsd))).toBeUndefined();
    expect(objection(ledger, command([node]))).toBeUndefined();
  });

  it("requires that the saving pays back the time in which old and new nodes overlap", () => {
    const slow = pod({ nodeName: "a", spec: { terminationGracePeriodSeconds: 3_600 } });
    const node = { ...candidate("a"), reschedulablePods: [slow] };
    const saving = (share: number) => command([node], (1 - share) * node.priceMicroUsd);
    expect(objection(new Ledger(restraint), saving(0.1))).toMatch(
      /^Can't save within 4h0m0s the cost of running old and new nodes side by side for 1h[0-9]m0s, only within 9h[0-9]+m0s$/,
    );
    expect(objection(new Ledger(restraint), saving(0.5))).toBeUndefined();
    expect(objection(new Ledger({ ...restraint, maxPaybackMs: 0 }), saving(0.1))).toBeUndefined();
    const grace = { ...node.claim.spec, terminationGracePeriod: "10m" };
    const bounded = { ...node, claim: { ...node.claim, spec: grace } };
    expect(
      objection(new Ledger(restraint), command([bounded], 0.9 * node.priceMicroUsd)),
    ).toBeUndefined();
  });

  it("does not replace a node within an hour after it replaced another one", () => {
    const ledger = new Ledger(restraint);
    const born = candidate("a");
    const bornMs = Date.parse(born.claim.metadata.creationTimestamp ?? "");
    const annotations = { "karpenter.sh/replacement-for-command": "id" };
    const metadata = { ...born.claim.metadata, annotations };
    const young = { ...born, claim: { ...born.claim, metadata } };
    expect(objection(ledger, command([young], 1), bornMs + HOUR_MS / 2)).toBe(
      'Node "a" replaced another node a short time ago; it is not replaced itself for 30 more minutes',
    );
    expect(objected(ledger, command([young], 1), bornMs)?.untilMs).toBe(bornMs + HOUR_MS);
    expect(objection(ledger, command([young], 1), bornMs + HOUR_MS)).toBeUndefined();
    expect(objection(ledger, command([young]), bornMs)).toBeUndefined();
    expect(objection(ledger, command([born], 1), bornMs)).toBeUndefined();
  });

  it("holds off commands for a workload whose pods reached the hourly limit of moves", () => {
    const ledger = new Ledger(restraint);
    const owner = { kind: "ReplicaSet", name: "web" };
    const running = pod({ name: "web-1", nodeName: "a", owner });
    const base = candidate("a", { pods: ["1"] } satisfies CandidateOptions);
    const node = { ...base.node, pods: [running] };
    const one = command([{ ...base, node, pods: [running], reschedulablePods: [running] }]);
    ledger.note(moved(one, "first", NOW), NOW);
    expect(objection(ledger, one, NOW + 60_000)).toBeUndefined();
    ledger.note(moved(one, "second", NOW + 60_000), NOW + 60_000);
    expect(objection(ledger, one, NOW + 120_000)).toBe(
      "Pods of ReplicaSet default/web were moved 2 times within the hour; the limit is 2",
    );
    expect(objected(ledger, one, NOW + 120_000)?.untilMs).toBe(NOW + HOUR_MS);
    expect(objection(ledger, one, NOW + HOUR_MS)).toBeUndefined();
    // Moves count whatever the reasons of the commands are.
    const drift = { ...one, reason: "Drifted" } as const;
    ledger.note(moved(drift, "third", NOW + HOUR_MS), NOW + HOUR_MS);
    expect(objection(ledger, drift, NOW + HOUR_MS)).toContain("moved 2 times");
    ledger.forget("third");
    expect(objection(ledger, drift, NOW + HOUR_MS)).toBeUndefined();
  });

  it("scales the hourly limit of moves with the number of the workload's pods", () => {
    const ledger = new Ledger(restraint);
    const owner = { kind: "ReplicaSet", name: "web" };
    const on = (name: string): Candidate => {
      const running = pod({ name: `web-${name}`, nodeName: name, owner });
      const base = candidate(name, { pods: ["1"] } satisfies CandidateOptions);
      const node = { ...base.node, pods: [running] };
      return { ...base, node, pods: [running], reschedulablePods: [running] };
    };
    const [first, second, third] = [on("a"), on("b"), on("c")];
    const one = command([first]);
    const moves = (count: number) => {
      for (let at = 0; at < count; at++)
        ledger.note(moved(one, `${ledger.recent(NOW).length}`, NOW), NOW);
    };
    const among = (...some: readonly Candidate[]) =>
      ledger.holdOff(
        one,
        some.map(({ node }) => node),
        NOW,
      )?.message;
    moves(3);
    expect(among(first, second)).toBeUndefined();
    expect(among(first)).toContain("moved 3 times within the hour; the limit is 2");
    moves(1);
    expect(among(first, second)).toContain("moved 4 times within the hour; the limit is 4");
    expect(among(first, second, third)).toBeUndefined();
  });

  it("counts moves of a Deployment's pods across its ReplicaSets", () => {
    const ledger = new Ledger(restraint);
    const of = (hash: string) => {
      const running = pod({
        name: "web-1",
        nodeName: "a",
        owner: { kind: "ReplicaSet", name: `web-${hash}` },
        labels: { "pod-template-hash": hash },
      });
      const base = candidate("a", { pods: ["1"] } satisfies CandidateOptions);
      const node = { ...base.node, pods: [running] };
      return command([{ ...base, node, pods: [running], reschedulablePods: [running] }]);
    };
    const first = moved(of("5d4f8"), "first", NOW);
    expect(first.pods).toEqual({ "Deployment default/web": 1 });
    ledger.note(first, NOW);
    ledger.note(moved(of("6c7b9"), "second", NOW), NOW);
    const third = of("7f9c1");
    expect(objection(ledger, third)).toBe(
      "Pods of Deployment default/web were moved 2 times within the hour; the limit is 2",
    );
    expect(objected(ledger, third)?.untilMs).toBe(NOW + HOUR_MS);
    // Earlier versions recorded the UID of the ReplicaSet.
    const older = new Ledger(restraint);
    older.note({ ...first, pods: { "uid-web-7f9c1": 2 } }, NOW);
    expect(objection(older, third)).toContain("were moved 2 times");
    expect(objection(older, of("5d4f8"))).toBeUndefined();
  });

  it("records only the latest moves if all of them would exceed the annotation size", () => {
    const pods = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`owner-${at}`, 1]));
    const many = Array.from({ length: 20 }, (_, minute) => ({
      ...moved(command([candidate("a")]), `c${minute}`, NOW + minute * 60_000),
      pods,
    }));
    const later = NOW + HOUR_MS / 2;
    const claim = withMoves(candidate("b").claim, many.toReversed(), later);
    const written = movesOn(claim).map((one) => one.command);
    expect(written).toEqual(many.slice(-written.length).map((one) => one.command));
    expect(written.length).toBeGreaterThan(2);
    expect(JSON.stringify(claim.metadata.annotations).length).toBeLessThan(200_000);
  });

  it("is restored from the annotations of all nodes that took the pods", () => {
    const owner = { kind: "ReplicaSet", name: "web" };
    const base = candidate("a", { pods: ["1"] } satisfies CandidateOptions);
    const running = pod({ name: "web-1", nodeName: "a", owner });
    const one = command([{ ...base, pods: [running], reschedulablePods: [running] }]);
    const bears = (annotations: Readonly<Record<string, string>>) => ({
      ...base.claim,
      metadata: { ...base.claim.metadata, annotations },
    });
    const first = bears(movesAnnotation([moved(one, "first", NOW)], NOW));
    const later = NOW + 60_000;
    const second = withMoves(first, [moved(one, "second", later)], later);
    const ledger = new Ledger(restraint);
    ledger.learn([second], later);
    expect(ledger.recent(later).map(({ command }) => command)).toEqual(["first", "second"]);
    expect(objection(ledger, one, later)).toContain("were moved 2 times within the hour");
    // A move that is more than an hour old is not written again.
    const third = withMoves(second, [moved(one, "third", NOW + HOUR_MS)], NOW + HOUR_MS);
    expect(movesOn(third).map(({ command }) => command)).toEqual(["second", "third"]);
    expect(movesOn(bears({ "karpenter.sh/disruption-moves": '[{"command": 3}]' }))).toEqual([]);
    expect(movesOn(bears({ "karpenter.sh/disruption-moves": "nonsense" }))).toEqual([]);
  });
});
