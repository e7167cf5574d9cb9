import { expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { instanceType, nodeView, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { solve } from "../provisioning/solve.ts";
import { planBatch } from "./plan-batch.ts";
import { priceMicroUsd } from "./plan-price.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER } from "./planner-options.ts";

const labels = { app: "kin" };
const spec = {
  affinity: {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: labels } },
      ],
    },
  },
};
/**
 * Five pods that must share a host. One is large and is placed first. Pods of other sizes are placed before the rest.
 */
const kin = ["2", "300m", "300m", "300m", "300m"].map((cpu, at) =>
  pod({ name: `kin-${at}`, labels, cpu, spec }),
);
const TYPES = [instanceType({ cpu: 4 })];

/** Where each pod of the group is placed: the name of a node, or the number of a planned node. */
function homes({ newClaims, existing }: ReturnType<typeof solve>): string[] {
  const planned = newClaims.map(({ pods }, at) => ({ nodeName: `new ${at}`, pods }));
  return [...existing, ...planned].flatMap(({ nodeName, pods }) =>
    pods.filter(({ metadata }) => metadata.labels === labels).map(() => nodeName),
  );
}

function plansFor(others: readonly Pod[], nodes: readonly ReturnType<typeof nodeView>[] = []) {
  const one = schedulingInput({ pods: [...kin, ...others], pools: [poolInput({}, TYPES)], nodes });
  return { byRules: solve(one), planned: planBatch(one, DEFAULT_PLANNER), input: one };
}

it("the planner keeps room on one host for all pods that must share it, before other pods take it", () => {
  const { byRules, planned, input } = plansFor([pod({ name: "between", cpu: "1500m" })]);
  expect(byRules.unschedulable.length).toBeGreaterThan(0);
  expect(planned.unschedulable).toEqual([]);
  expect(new Set(homes(planned)).size).toBe(1);
  expect(homes(planned).length).toBe(5);
  expect(planBatch(input, GREEDY_PLANNER)).toEqual(byRules);
});

it("the planner keeps room for pods that must share a host in large batches, too, at no extra cost", () => {
  const alone = plansFor([]);
  const many = Array.from({ length: 600 }, (_, at) => pod({ name: `p-${at}`, cpu: "1100m" }));
  const large = plansFor(many);
  expect(large.byRules.unschedulable.length).toBeGreaterThan(0);
  expect(large.planned.unschedulable).toEqual([]);
  expect(priceMicroUsd(large.planned)).toBeLessThanOrEqual(
    priceMicroUsd(large.byRules) + priceMicroUsd(alone.planned),
  );
});

it("the planner skips a host with room for only some of the pods that must share it, as upstream does", () => {
  const there = nodeView({ node: { name: "there", capacity: { cpu: "2500m" } } });
  const { byRules, planned } = plansFor([], [there]);
  expect(homes(byRules)).toEqual(Array(5).fill("new 0"));
  expect(homes(planned)).toEqual(Array(5).fill("new 0"));
});

it("the planner leaves pods pending that must share a host and fit on no host together", () => {
  const wide = Array.from({ length: 9 }, (_, at) =>
    pod({ name: `wide-${at}`, labels, cpu: "500m", spec }),
  );
  const one = schedulingInput({ pods: wide, pools: [poolInput({}, TYPES)] });
  expect(planBatch(one, DEFAULT_PLANNER).unschedulable).toEqual(solve(one).unschedulable);
});
