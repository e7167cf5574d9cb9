/** These tests check when the events of a simulated disruption loop happen. */
import { expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { instanceType } from "../../testing/builders.ts";
import { candidate, NOW } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import { planBatchInSteps } from "../planner/plan-batch.ts";
import { DEFAULT_PLANNER } from "../planner/planner-options.ts";
import type { Model } from "./model.ts";
import { type PlanPass, rehearse } from "./rehearsal.ts";

const HOUR_MS = 3_600_000;

it("a simulation starts a consolidation only after the wait for its validation", () => {
  const plan: PlanPass = (input) => planBatchInSteps(input, DEFAULT_PLANNER);
  const { steps } = atOnce(rehearse(twoHalfEmptyNodes(), plan, NOW + HOUR_MS));
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
  const restraint = {
    minSavingsPercent: 0,
    maxPaybackMs: HOUR_MS,
    replacementRestMs: HOUR_MS,
    maxMovesPerPodHour: 4,
  };
  return quietModel({ pools, nodes, restraint });
}
