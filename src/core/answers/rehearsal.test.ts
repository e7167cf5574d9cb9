/** These tests check when the events of a simulated disruption loop happen. */
import { expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { instanceType } from "../../testing/builders.ts";
import { candidate, NOW } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import { nextCommands } from "../disruption/run-round.ts";
import { planBatchInSteps } from "../planner/plan-batch.ts";
import { DEFAULT_PLANNER } from "../planner/planner-options.ts";
import type { Model } from "./model.ts";
import { type PlanPass, rehearse } from "./rehearsal.ts";
import { progressOf, type RehearsalProgress } from "./rehearsal-progress.ts";

const HOUR_MS = 3_600_000;
const restraint = {
  minSavingsPercent: 0,
  maxPaybackMs: HOUR_MS,
  replacementRestMs: HOUR_MS,
  maxMovesPerPodHour: 4,
};

it("a simulation starts a consolidation only after the wait for its validation", () => {
  const plan: PlanPass = (input) => planBatchInSteps(input, DEFAULT_PLANNER);
  const { steps } = atOnce(rehearse(twoHalfEmptyNodes(), plan, { untilMs: NOW + HOUR_MS }));
  expect(steps.map(({ kind, at, removed }) => [kind, at, removed])).toEqual([
    ["command", "2026-01-05T00:00:15Z", ["a"]],
  ]);
});

/** A model of two nodes whose pods together fit on one of them. */
function twoHalfEmptyNodes(): Model {
  const types = [instanceType({ cpu: 4, capacityTypes: ["on-demand"] })];
  const disruption = { budgets: [{ nodes: "100%" }] };
  const conditions = { Initialized: HOUR_MS, Consolidatable: HOUR_MS };
  const candidates = [
    candidate("a", { types, disruption, conditions, pods: ["1"] }),
    candidate("b", { types, disruption, conditions, pods: ["2"] }),
  ];
  const nodes = candidates.map(({ node }) => node);
  const pools = candidates
    .slice(0, 1)
    .map(({ pool }) => ({ pool, instanceTypes: types, usage: {} }));
  return quietModel({ pools, nodes, restraint });
}

it("a simulation tells how far it has come, and keeps the complete rounds when it is stopped", () => {
  const plan: PlanPass = (input) => planBatchInSteps(input, DEFAULT_PLANNER);
  const told: RehearsalProgress[] = [];
  const watch = (isOver: () => boolean) => ({
    tell: (progress: RehearsalProgress) => told.push(progress),
    isOver,
  });
  const untilMs = NOW + HOUR_MS;
  const whole = atOnce(rehearse(twoHalfEmptyNodes(), plan, { untilMs, watch: watch(() => false) }));
  expect(whole.ended).toBe("horizon");
  expect(told.map(({ commands, nodes }) => [commands, nodes])).toEqual([
    [1, 1],
    [1, 1],
  ]);
  expect(told[0]?.savedShare).toBeGreaterThan(0);
  expect(told[0]?.savedShare).toBeLessThanOrEqual(1);
  const first = watch(() => told.length > 2);
  const stopped = atOnce(rehearse(twoHalfEmptyNodes(), plan, { untilMs, watch: first }));
  expect(stopped).toMatchObject({ ended: "stopped", steps: whole.steps });
  const none = atOnce(rehearse(twoHalfEmptyNodes(), plan, { untilMs, watch: watch(() => true) }));
  expect([none.ended, none.steps, none.model.picture.nodes.length]).toEqual(["stopped", [], 2]);
});

it("a simulation says no saved share while the price rises, also from below the least price", () => {
  const model = twoHalfEmptyNodes();
  // The price at the start is below the least price because prices of some nodes are not known.
  const most = { startMicroUsd: 100, leastMicroUsd: 300 };
  const shareAt = (priceMicroUsdPerHour: number, limits = most) => {
    const done = { commands: 1, priceMicroUsdPerHour, most: limits };
    return progressOf(model, model, done).savedShare;
  };
  expect([200, 100, 50].map((price) => shareAt(price))).toEqual([undefined, undefined, undefined]);
  const known = { startMicroUsd: 100, leastMicroUsd: 20 };
  expect([100, 60, 20, 10].map((price) => shareAt(price, known))).toEqual([
    undefined,
    0.5,
    1,
    undefined,
  ]);
});

it("a simulation stopped at any pause leaves no what-if question open", () => {
  const plan: PlanPass = (input) => planBatchInSteps(input, DEFAULT_PLANNER);
  const untilMs = NOW + HOUR_MS;
  for (let most = 1; ; most += 3) {
    const start = manyPods();
    let pauses = 0;
    const watch = { tell: () => undefined, isOver: () => ++pauses >= most };
    const { model, ended } = atOnce(rehearse(start, plan, { untilMs, watch }));
    expect(() => atOnce(nextCommands(model.picture))).not.toThrow();
    if (ended !== "stopped") break;
  }
});

/** A model whose nodes have more pods than one step places. All of them fit on one node. */
function manyPods(): Model {
  const types = [instanceType({ cpu: 4, capacityTypes: ["on-demand"] })];
  const disruption = { budgets: [{ nodes: "100%" }] };
  const conditions = { Initialized: HOUR_MS, Consolidatable: HOUR_MS };
  const pods = Array.from({ length: 36 }, () => "10m");
  const of = (name: string) => candidate(name, { types, disruption, conditions, pods });
  const candidates = ["a", "b", "c"].map(of);
  const pools = candidates
    .slice(0, 1)
    .map(({ pool }) => ({ pool, instanceTypes: types, usage: {} }));
  return quietModel({ pools, nodes: candidates.map(({ node }) => node), restraint });
}
