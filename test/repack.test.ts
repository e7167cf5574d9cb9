/**
 * Repack as seen by a user: each command is checked on clusters where repack settles. The last state is checked by the
 * validator, which shares no code with repack.
 */
import { describe, expect, it } from "vitest";
import { settle, startOf } from "../bench/repack.ts";
import { scenariosC, workloadOf } from "../bench/scenarios-c.ts";
import { isReschedulable } from "../src/apis/core/pod-predicates.ts";
import { planOf } from "../src/cli/plan/plan.ts";
import type { NodeView } from "../src/core/state/node-view.ts";
import { validate } from "./validator/validate.ts";

describe("consolidation by repack", () => {
  it.each(["C-families"])(
    "makes %s cheaper until nothing changes, within budgets, with a place for every pod",
    (name) => {
      const made = scenariosC(30).find((one) => one.name === name);
      if (made === undefined) throw new Error(`there is no scenario ${name}`);
      const scenario = { ...made, pools: made.pools.map(atMostThree) };
      const start = startOf(scenario);
      const { model, steps, ended } = settle(start, "true");
      expect(ended).toBe("settled");
      let price = start.before.priceMicroUsdPerHour;
      for (const { command, removed, priceMicroUsdPerHour } of steps) {
        expect(command?.reason).toMatch(/^(Empty|Underutilized)$/);
        expect(removed.length).toBeLessThanOrEqual(3);
        expect(priceMicroUsdPerHour).toBeLessThan(price);
        price = priceMicroUsdPerHour;
      }
      expect(steps.some(({ command }) => command?.method === "repack")).toBe(true);
      expect(faults(scenario, model.picture.nodes, start.before.pods)).toEqual([]);
    },
  );
});

function atMostThree(pool: ReturnType<typeof scenariosC>[number]["pools"][number]) {
  const { spec } = pool as typeof pool & { readonly spec: { readonly disruption: object } };
  return {
    ...pool,
    spec: { ...spec, disruption: { ...spec.disruption, budgets: [{ nodes: "3" }] } },
  };
}

/** The validator's complaints about nodes and their pods, as if the pods had just been placed there. */
function faults(
  scenario: Parameters<typeof workloadOf>[0],
  nodes: readonly NodeView[],
  count: number,
): readonly string[] {
  const { nodePools, instanceTypes } = workloadOf(scenario, "down");
  const existing = nodes.map(({ name, pods }) => ({
    nodeName: name,
    pods: pods.filter(isReschedulable),
  }));
  const plan = planOf({ newClaims: [], existing, unschedulable: [], excludedByLimits: [] }, count, {
    parseMs: 0,
    solveMs: 0,
  });
  const pods = existing
    .flatMap((one) => one.pods)
    .map(({ spec: { nodeName: _, ...spec }, ...pod }) => ({ ...pod, spec }));
  const manifests = [
    ...nodePools,
    ...nodes.map(({ node }) => ({ ...node, kind: "Node" })),
    ...pods.map((pod) => ({ ...pod, kind: "Pod" })),
  ];
  expect(pods).toHaveLength(count);
  return validate({ manifests: manifests as never, instanceTypes: instanceTypes as never }, plan);
}
