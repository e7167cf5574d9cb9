// Pods that are spread over zones, packed zone by zone.
import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { prepare } from "../../provisioning/solve.ts";
import { planBatch } from "../plan-batch.ts";
import { priceMicroUsd } from "../plan-price.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER, type PlannerOptions } from "../planner-options.ts";
import { countDivided, type DomainNow } from "./domains.ts";

const ZONES = ["zone-a", "zone-b", "zone-c"];
const TYPES = [1, 2, 4, 8].map((cpu) => instanceType({ cpu, zones: ZONES, overhead: {} }));
const PLANNER = { ...DEFAULT_PLANNER, minPods: 0, minSaving: 0, nodeMicroUsdPerHour: 0 };

const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";

function spreadPods(app: string, count: number, cpu: string, ...hosts: string[]): Pod[] {
  return Array.from({ length: count }, (_, index) =>
    pod({
      name: `${app}-${index}`,
      labels: { app },
      cpu,
      memory: "128Mi",
      spec: {
        topologySpreadConstraints: [ZONE, ...hosts].map((topologyKey) => ({
          maxSkew: 1,
          topologyKey,
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { app } },
        })),
      },
    }),
  );
}

function plan(pods: readonly Pod[], options: PlannerOptions = PLANNER) {
  const result = planBatch(schedulingInput({ pods, pools: [poolInput({}, TYPES)] }), options);
  expect(result.unschedulable).toEqual([]);
  const zones = result.newClaims.flatMap((claim) =>
    claim.pods.map(({ metadata }) => [metadata.name, claim.cheapest.zone] as const),
  );
  return { priceMicroUsd: priceMicroUsd(result), zoneOf: new Map(zones) };
}

/** Pods of several sizes. Planned for each zone alone, they need other instance types than planned together. */
const PODS = [
  ...spreadPods("large", 9, "2500m"),
  ...spreadPods("middle", 12, "1100m"),
  ...spreadPods("small", 15, "400m"),
];

describe("pods that are spread over zones", () => {
  it("are packed zone by zone, at least 12 % cheaper than by the greedy rules", () => {
    const divided = plan(PODS);
    expect(divided.priceMicroUsd).toBeLessThan(plan(PODS, GREEDY_PLANNER).priceMicroUsd * 0.88);
    for (const app of ["large", "middle", "small"]) {
      const own = PODS.filter(({ metadata }) => metadata.labels?.["app"] === app);
      const counts = ZONES.map(
        (zone) => own.filter(({ metadata }) => divided.zoneOf.get(metadata.name) === zone).length,
      );
      expect(counts).toEqual(ZONES.map(() => own.length / 3));
    }
  });

  it("stay in their zone as far as the spread allows", () => {
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
    const domainNow: DomainNow = ({ metadata }) => before.get(metadata.name);
    const { zoneOf } = plan(PODS, { ...PLANNER, domainNow });
    const moved = [...before].filter(([name, zone]) => zoneOf.get(name) !== zone);
    expect(moved).toEqual([["large-3", "zone-a"]]);
    expect(zoneOf.get("large-3")).toBe("zone-c");
  });

  it("change zones if a node becomes cheaper and no zone gets ahead", () => {
    const pods = [...spreadPods("large", 4, "2500m"), ...spreadPods("small", 4, "1500m")];
    const now = ["zone-a", "zone-a", "zone-b", "zone-c", "zone-a", "zone-b", "zone-b", "zone-c"];
    const before = new Map(pods.map(({ metadata }, index) => [metadata.name, now[index]]));
    const options = { ...PLANNER, domainNow: ({ metadata }: Pod) => before.get(metadata.name) };
    const asTheyRun = plan(pods, options);
    expect(asTheyRun.zoneOf).toEqual(before);
    const exchanged = plan(pods, { ...options, domainSearchWork: 1_000_000 });
    expect([asTheyRun.priceMicroUsd, exchanged.priceMicroUsd]).toEqual([630_000, 560_000]);
    const goingOn = [...before].filter(([name, zone]) => exchanged.zoneOf.get(name) !== zone);
    expect(goingOn).toEqual([["large-1", "zone-a"]]);
    expect(exchanged.zoneOf.get("large-1")).toBe("zone-b");
  });

  it("are packed one per node and Deployment if they also spread over hosts", () => {
    const pods = Array.from({ length: 8 }, (_, index) =>
      spreadPods(`app-${index}`, 3 + 3 * (index % 3), `${300 + 170 * index}m`, HOST),
    ).flat();
    const byRules = plan(pods, GREEDY_PLANNER).priceMicroUsd;
    expect(plan(pods).priceMicroUsd).toBeLessThan(byRules * 0.8);
  });

  it("are packed in batches from a fifth of the size that other pods need", () => {
    const options = { ...DEFAULT_PLANNER, nodeMicroUsdPerHour: 0 };
    const byRules = (pods: readonly Pod[]) => plan(pods, GREEDY_PLANNER);
    const some = PODS.slice(0, 20);
    expect(plan(some, options).priceMicroUsd).toBeLessThan(byRules(some).priceMicroUsd);
    const few = PODS.slice(0, 19);
    // Other sources save a little, a packing saves more.
    expect(plan(few, { ...options, minSaving: 0.25 })).toEqual(byRules(few));
    expect(plan(few).priceMicroUsd).toBeLessThan(byRules(few).priceMicroUsd);
  });

  it("are packed only in zones that their pool offers", () => {
    const pods = PODS.map(({ spec, ...one }) => {
      const rules = spec.topologySpreadConstraints ?? [];
      const wide = rules.map((rule) => ({ ...rule, maxSkew: 20 }));
      return { ...one, spec: { ...spec, topologySpreadConstraints: wide } };
    });
    const requirements = [{ key: ZONE, operator: "NotIn" as const, values: ["zone-c"] }];
    // Another NodePool has zone-c, but its nodes are too small for these pods.
    const tiny = [instanceType({ cpu: 0.1, zones: ZONES })];
    const pools = [poolInput({ requirements }, TYPES), poolInput({ name: "tiny" }, tiny)];
    const { newClaims, unschedulable } = planBatch(schedulingInput({ pods, pools }), PLANNER);
    expect(unschedulable).toEqual([]);
    expect(new Set(newClaims.map(({ cheapest }) => cheapest.zone))).toEqual(
      new Set(["zone-a", "zone-b"]),
    );
  });

  it("are packed for a NodePool that can launch their nodes, if one of higher weight cannot", () => {
    const tiny = poolInput({ name: "tiny", weight: 10 }, [
      instanceType({ cpu: 0.1, zones: ZONES }),
    ]);
    const taints = [{ key: "team", effect: "NoSchedule" as const }];
    const closed = poolInput({ name: "closed", weight: 5, taints }, TYPES);
    const pools = [tiny, closed, poolInput({}, TYPES)];
    const packed = planBatch(schedulingInput({ pods: PODS, pools }), PLANNER);
    expect(packed.unschedulable).toEqual([]);
    expect(priceMicroUsd(packed)).toBe(plan(PODS).priceMicroUsd);
  });

  it("are not divided by zone if their selector also counts pods without the spread", () => {
    const divided = (pods: readonly Pod[]) => {
      const input = schedulingInput({ pods, pools: [poolInput({}, TYPES)] });
      const { queued, classes } = atOnce(prepare(input));
      return countDivided(queued, classes);
    };
    expect(divided(PODS)).toBe(36);
    expect(divided([...PODS, pod({ name: "other", labels: { app: "other" } })])).toBe(36);
    expect(divided([...PODS, pod({ name: "stranger", labels: { app: "large" } })])).toBe(27);
  });
});
