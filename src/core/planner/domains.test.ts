// Pods that are spread over zones, packed zone by zone.
import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import type { DomainNow } from "./domains.ts";
import { planBatch, priceMicroUsd } from "./plan-batch.ts";
import { DEFAULT_PLANNER } from "./planner-options.ts";

const ZONES = ["zone-a", "zone-b", "zone-c"];
const TYPES = [1, 2, 4, 8].map((cpu) => instanceType({ cpu, zones: ZONES, overhead: {} }));
const PLANNER = { ...DEFAULT_PLANNER, minPods: 0, minSaving: 0, nodeMicroUsdPerHour: 0 };

function spreadPods(app: string, count: number, cpu: string): Pod[] {
  return Array.from({ length: count }, (_, index) =>
    pod({
      name: `${app}-${index}`,
      labels: { app },
      cpu,
      memory: "128Mi",
      spec: {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "topology.kubernetes.io/zone",
            whenUnsatisfiable: "DoNotSchedule",
            labelSelector: { matchLabels: { app } },
          },
        ],
      },
    }),
  );
}

function plan(pods: readonly Pod[], domainNow?: DomainNow) {
  const options = domainNow === undefined ? PLANNER : { ...PLANNER, domainNow };
  const result = planBatch(schedulingInput({ pods, pools: [poolInput({}, TYPES)] }), options);
  expect(result.unschedulable).toEqual([]);
  const zones = result.newClaims.flatMap((claim) =>
    claim.pods.map(({ metadata }) => [metadata.name, claim.cheapest.zone] as const),
  );
  return { priceMicroUsd: priceMicroUsd(result), zoneOf: new Map(zones) };
}

/** Of several sizes, for which zone by zone other machines do than for all together. */
const PODS = [
  ...spreadPods("large", 9, "2500m"),
  ...spreadPods("middle", 12, "1100m"),
  ...spreadPods("small", 15, "400m"),
];

describe("pods that are spread over zones", () => {
  it("fill nodes zone by zone, which costs less than packing them as if there were none", () => {
    const divided = plan(PODS, () => undefined);
    expect(divided.priceMicroUsd).toBeLessThan(plan(PODS).priceMicroUsd);
    for (const app of ["large", "middle", "small"]) {
      const own = PODS.filter(({ metadata }) => metadata.labels?.["app"] === app);
      const counts = ZONES.map(
        (zone) => own.filter(({ metadata }) => divided.zoneOf.get(metadata.name) === zone).length,
      );
      expect(counts).toEqual(ZONES.map(() => own.length / 3));
    }
  });

  it("stay in their zone, as many as that zone keeps", () => {
    const now = [
      "zone-a",
      "zone-a",
      "zone-a",
      "zone-a",
      "zone-b",
      "zone-b",
      "zone-b",
      "zone-c",
      "zone-c",
    ];
    const before = new Map(now.map((zone, index) => [`large-${index}`, zone]));
    const { zoneOf } = plan(PODS, ({ metadata }) => before.get(metadata.name));
    const moved = [...before].filter(([name, zone]) => zoneOf.get(name) !== zone);
    expect(moved).toEqual([["large-3", "zone-a"]]);
    expect(zoneOf.get("large-3")).toBe("zone-c");
  });
});
