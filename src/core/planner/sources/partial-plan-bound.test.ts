import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { PriceFloor } from "../../provisioning/pools/price-floor.ts";
import { planUntil, prepare } from "../../provisioning/solve.ts";
import { priceMicroUsd } from "../plan-price.ts";
import { PartialPlanBound } from "./partial-plan-bound.ts";

const ZONE = "topology.kubernetes.io/zone";

describe("the lower bound of a running plan's price", () => {
  const types = [2, 4, 8, 16].map((cpu) => instanceType({ cpu }));
  const pods = Array.from({ length: 400 }, (_, index) =>
    pod({ name: `p-${index}`, cpu: ["700m", "1500m", "3"][index % 3] as string }),
  );
  const batch = () => atOnce(prepare(schedulingInput({ pods, pools: [poolInput({}, types)] })));

  it("grows as nodes fill, and never exceeds the final price", () => {
    const one = batch();
    const { templates, context } = one.base;
    const soFar = new PartialPlanBound(templates, new PriceFloor(templates, context.space));
    const seen: number[] = [];
    const plan = atOnce(
      planUntil(one, ({ all }) => {
        seen.push(soFar.of(all));
        return false;
      }),
    );
    if (plan === undefined) throw new Error("nobody stopped it");
    expect(seen.length).toBeGreaterThan(4);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen[0]).toBeGreaterThan(0);
    expect(seen.at(-1)).toBeLessThanOrEqual(priceMicroUsd(plan));
  });

  it("is computed for one plan only, even if that plan is repeated with a foreseen zone", () => {
    const terms = ["zone-a", "zone-b"].map((zone) => ({
      matchExpressions: [{ key: ZONE, operator: "In", values: [zone] }],
    }));
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms as never },
      },
    };
    const rule = { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: "DoNotSchedule" as const };
    const labels = { app: "web" };
    const topologySpreadConstraints = [{ ...rule, labelSelector: { matchLabels: labels } }];
    const web = Array.from({ length: 200 }, (_, index) =>
      pod({ name: `w-${index}`, labels, spec: { affinity, topologySpreadConstraints } }),
    );
    const last = pod({ name: "last", cpu: "50m", spec: { nodeSelector: { [ZONE]: "zone-b" } } });
    const one = schedulingInput({
      pods: [...web, last],
      pools: [poolInput({}, types.slice(0, 1))],
    });
    const seen: number[] = [];
    const plan = atOnce(planUntil(atOnce(prepare(one)), ({ size }) => !seen.push(size)));
    const zones = new Set(plan?.newClaims.map(({ cheapest }) => cheapest.zone));
    expect([...zones].sort()).toEqual(["zone-a", "zone-b"]);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });

  it("does not change later plans of the batch if a plan is stopped", () => {
    const one = batch();
    expect(atOnce(planUntil(one, ({ size }) => size > 10))).toBeUndefined();
    const plan = atOnce(planUntil(one, () => false));
    expect(plan).toEqual(atOnce(planUntil(batch(), () => false)));
  });
});
