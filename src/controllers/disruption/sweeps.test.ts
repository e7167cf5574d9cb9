import { describe, expect, it } from "vitest";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { atOnce } from "../../base/steps.ts";
import { rule } from "../../core/disruption/arbiter.ts";
import type { Command } from "../../core/disruption/command.ts";
import { drift } from "../../core/disruption/methods/drift-and-expiration.ts";
import { emptiness } from "../../core/disruption/methods/emptiness.ts";
import type { Proposal } from "../../core/disruption/methods/method.ts";
import { singleNodeConsolidation } from "../../core/disruption/methods/single-node-consolidation.ts";
import { staticDrift } from "../../core/disruption/methods/static-drift.ts";
import type { RoundFacts } from "../../core/disruption/round.ts";
import { candidate, roundOf } from "../../testing/disruption.ts";
import { factsOf, type SweepFacts, Sweeps, sharedFacts } from "./sweeps.ts";

const MINUTE_MS = 60_000;
const LIST: SweepFacts["types"][number] = [];
const facts = (text: string, atMs = 0, list = LIST): SweepFacts => ({
  text,
  names: [],
  guards: [],
  atMs,
  types: [list],
});
const nothing: Proposal = { commands: [], remarks: [] };

describe("sweeps of the disruption methods", () => {
  it("skip a method while facts and offerings are unchanged, up to its time limit", () => {
    const sweeps = new Sweeps();
    expect(sweeps.isSettled(drift, facts("a"))).toBe(false);
    sweeps.note(drift, rule(drift, nothing, { pending: [] }), facts("a"));
    expect(sweeps.isSettled(drift, facts("a", 29 * MINUTE_MS))).toBe(true);
    expect(sweeps.isSettled(drift, facts("a", 30 * MINUTE_MS))).toBe(false);
    const single = singleNodeConsolidation;
    sweeps.note(single, rule(single, nothing, { pending: [] }), facts("a"));
    expect(sweeps.isSettled(single, facts("a", 4 * MINUTE_MS, []))).toBe(true);
    expect(sweeps.isSettled(single, facts("a", 5 * MINUTE_MS, []))).toBe(false);
    // Offerings have changed: drift runs again after a minute, because an instance type may have capacity again.
    expect(sweeps.isSettled(drift, facts("a", MINUTE_MS - 1, []))).toBe(true);
    expect(sweeps.isSettled(drift, facts("a", MINUTE_MS, []))).toBe(false);
    expect(sweeps.isSettled(drift, facts("b"))).toBe(false);
    sweeps.note(emptiness, rule(emptiness, nothing, { pending: [] }), facts("a"));
    expect(sweeps.isSettled(emptiness, facts("a"))).toBe(false);
  });

  it("skip drift of static NodePools after a simulation, not after blocking budgets", () => {
    const limits = { nodes: 20 };
    const held = Array.from({ length: 20 }, (_, index) =>
      candidate(`n${index}`, {
        pool: { replicas: 20, limits },
        conditions: { Drifted: 1_000 },
        pods: ["3"],
      }),
    );
    const protectedPods: RoundFacts["protectedPods"] = (candidates) =>
      new Set(candidates.flatMap(({ reschedulablePods }) => reschedulablePods));
    const input = (allowed: number) =>
      roundOf(held, {
        scheduling: { pools: [] },
        protectedPods,
        allowed,
        terminateFirst: { drift: true, repair: false },
      });
    const sweeps = new Sweeps();
    sweeps.note(
      staticDrift,
      rule(staticDrift, atOnce(staticDrift.propose(input(20))), { pending: [] }),
      facts("a"),
    );
    expect(sweeps.isSettled(staticDrift, facts("a"))).toBe(true);
    expect(sweeps.isSettled(staticDrift, facts("b"))).toBe(false);
    // The budgets allow no disruption, so nothing was simulated. Another run is cheap, so the result is not remembered.
    sweeps.note(
      staticDrift,
      rule(staticDrift, atOnce(staticDrift.propose(input(0))), { pending: [] }),
      facts("a"),
    );
    expect(sweeps.isSettled(staticDrift, facts("a"))).toBe(false);
  });

  it("run a method again once the ledger's hold on a node ends", () => {
    const { input: scheduling } = roundOf([]).facts.simulator;
    const around = { pools: [], scheduling, revision: 1, surging: [] };
    const read = (rests: boolean, counting: readonly string[]) => {
      const candidates = [candidate("n", { pods: ["1"] })];
      const round = roundOf(candidates, { fromRepack: () => rests });
      return atOnce(
        factsOf(candidates, round, { ...around, shared: sharedFacts(around), counting, atMs: 0 }),
      );
    };
    const sweeps = new Sweeps();
    sweeps.note(
      singleNodeConsolidation,
      rule(singleNodeConsolidation, nothing, { pending: [] }),
      read(true, ["a"]),
    );
    expect(sweeps.isSettled(singleNodeConsolidation, read(true, ["a"]))).toBe(true);
    expect(sweeps.isSettled(singleNodeConsolidation, read(false, ["a"]))).toBe(false);
    expect(sweeps.isSettled(singleNodeConsolidation, read(true, []))).toBe(false);
  });

  it("run a method again once the state, a pod to place, or a pool of the reading is another", () => {
    const { pool } = candidate("n", { pods: ["1"] });
    const owner = { pool, instanceTypes: LIST };
    const scheduling = { ...roundOf([]).facts.simulator.input, pools: [{ ...owner, usage: {} }] };
    const reading = { pools: [owner], scheduling, revision: 1 };
    const pods = candidate("m", { pods: ["1"] }).pods;
    const changed = { ...pool, observedGeneration: pool.observedGeneration + 1 };
    const others = [
      { ...reading, revision: 2 },
      { ...reading, scheduling: { ...scheduling, pods } },
      { ...reading, scheduling: { ...scheduling, pools: [] } },
      { ...reading, pools: [{ ...owner, pool: changed }] },
    ];
    const texts = [reading, ...others].map(sharedFacts);
    expect(new Set(texts).size).toBe(texts.length);
    expect(sharedFacts({ ...reading })).toBe(texts[0]);
  });

  it("run a method again once the candidate nodes are others", () => {
    const sweeps = new Sweeps();
    const of = (...names: readonly string[]) => ({ ...facts("a"), names: [names] });
    sweeps.note(drift, rule(drift, nothing, { pending: [] }), of("x", "y"));
    expect(sweeps.isSettled(drift, of("x", "y"))).toBe(true);
    expect(sweeps.isSettled(drift, of("x", "z"))).toBe(false);
    expect(sweeps.isSettled(drift, of("x"))).toBe(false);
  });

  it("run a method again once a PodDisruptionBudget has changed", () => {
    const sweeps = new Sweeps();
    const guard = { metadata: { name: "guard", namespace: "default" }, spec: {} };
    sweeps.note(drift, rule(drift, nothing, { pending: [] }), { ...facts("a"), guards: [guard] });
    expect(sweeps.isSettled(drift, { ...facts("a"), guards: [guard] })).toBe(true);
    expect(sweeps.isSettled(drift, { ...facts("a"), guards: [{ ...guard }] })).toBe(false);
  });

  it("skip a method while only currentHealthy of a PodDisruptionBudget changes", () => {
    const { input: scheduling } = roundOf([]).facts.simulator;
    const around = { pools: [], scheduling, revision: 1, surging: [] };
    const guard = {
      metadata: { name: "guard", namespace: "default", uid: "u", generation: 1 },
      spec: { maxUnavailable: 1 },
      status: { disruptionsAllowed: 0, currentHealthy: 2 },
    };
    const asked = { ...around, shared: sharedFacts(around), counting: [], atMs: 0 };
    const under = (pdb: PodDisruptionBudget) =>
      atOnce(factsOf([], roundOf([], { pdbs: [pdb] }), asked));
    const rests = (before: PodDisruptionBudget, after: PodDisruptionBudget) => {
      const sweeps = new Sweeps();
      sweeps.note(drift, rule(drift, nothing, { pending: [] }), under(before));
      return sweeps.isSettled(drift, under(after));
    };
    const { metadata, spec, status } = guard;
    const fewer = { ...status, currentHealthy: 1 };
    expect(rests(guard, { ...guard, status: fewer })).toBe(true);
    expect(rests(guard, { ...guard, status: { ...status, disruptionsAllowed: 1 } })).toBe(false);
    expect(rests(guard, { ...guard, metadata: { ...metadata, generation: 2 } })).toBe(false);
    expect(rests(guard, { ...guard, metadata: { ...metadata, uid: "v" } })).toBe(false);
    // The same PodDisruptionBudget, but unready pods may be evicted.
    const loose = {
      ...guard,
      spec: { ...spec, unhealthyPodEvictionPolicy: "AlwaysAllow" as const },
    };
    expect(rests(loose, { ...loose, status: fewer })).toBe(false);
  });

  it("run a method again after it found a command", () => {
    const sweeps = new Sweeps();
    sweeps.note(drift, rule(drift, nothing, { pending: [] }), facts("a"));
    const [command] = atOnce(
      drift.propose(roundOf([candidate("n", { conditions: { Drifted: 1_000 } })])),
    ).commands;
    expect(command).toBeDefined();
    sweeps.note(
      drift,
      rule(drift, { ...nothing, commands: [command as Command] }, { pending: [] }),
      facts("b"),
    );
    expect(sweeps.isSettled(drift, facts("a"))).toBe(false);
  });

  it("run a method again if it left pools to repack", () => {
    const sweeps = new Sweeps();
    sweeps.note(
      drift,
      rule(
        drift,
        { ...nothing, deferred: [{ poolIds: new Set(["p"]), until: "repacked" }] },
        { pending: [] },
      ),
      facts("a"),
    );
    expect(sweeps.isSettled(drift, facts("a"))).toBe(false);
  });

  it("run a method again if it deferred its command, even if facts have not changed", () => {
    const sweeps = new Sweeps();
    const [command] = atOnce(
      drift.propose(roundOf([candidate("n", { conditions: { Drifted: 1_000 } })])),
    ).commands as [Command];
    const poolIds = new Set([command.candidates[0]?.pool.id ?? ""]);
    sweeps.note(
      drift,
      rule(drift, { ...nothing, deferred: [{ poolIds, until: "settled" }] }, { pending: [] }),
      facts("a"),
    );
    expect(sweeps.isSettled(drift, facts("a"))).toBe(false);
    sweeps.note(drift, rule(drift, { ...nothing, deferred: [] }, { pending: [] }), facts("a"));
    expect(sweeps.isSettled(drift, facts("a"))).toBe(true);
  });

  it("reach every drifted node, in several steps", () => {
    // Each pod needs a new node, but no node can be launched, because there are no instance types.
    const nodes = Array.from({ length: 20 }, (_, index) =>
      candidate(`n${index}`, { conditions: { Drifted: 1_000 }, pods: ["3"] }),
    );
    const steps = drift.propose(roundOf(nodes, { types: [] }));
    let turns = 0;
    for (let step = steps.next(); ; step = steps.next(), turns++) {
      if (step.done !== true) continue;
      const told = step.value.remarks.map((remark) => remark.candidate.node.name);
      expect(told.sort()).toEqual(nodes.map(({ node }) => node.name).sort());
      break;
    }
    expect(turns).toBeGreaterThanOrEqual(nodes.length);
  });
});
