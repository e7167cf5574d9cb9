// For each step that places the pods of a packing: the smallest batch that costs more without that step.
import { expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import type { Heuristic } from "../heuristics.ts";
import { planBatch } from "../plan-batch.ts";
import { priceMicroUsd } from "../plan-price.ts";
import { DEFAULT_PLANNER } from "../planner-options.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";

const own = (topologyKey: string, app: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [
    { topologyKey, labelSelector: { matchLabels: { app } } },
  ],
});
/** The rules that pods of one app may have between each other. */
const RULES = {
  none: () => ({}),
  spread: (app: string) => ({
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: ZONE,
        whenUnsatisfiable: "DoNotSchedule" as const,
        labelSelector: { matchLabels: { app } },
      },
    ],
  }),
  affinity: (app: string) => ({ affinity: { podAffinity: own(ZONE, app) } }),
  apartByHost: (app: string) => ({ affinity: { podAntiAffinity: own(HOSTNAME, app) } }),
  apartByZone: (app: string) => ({ affinity: { podAntiAffinity: own(ZONE, app) } }),
  spreadAndApart: (app: string) => ({ ...RULES.spread(app), ...RULES.apartByHost(app) }),
};

interface PlacingCase {
  /** For each app: the number of pods, the cpu of each pod, and the rule between them. */
  readonly apps: readonly (readonly [number, string, keyof typeof RULES])[];
  readonly sizes: readonly number[];
  readonly zones: readonly string[];
  readonly price: number;
  readonly priceWithout: number;
}

const CASES: readonly (readonly [Heuristic, PlacingCase])[] = [
  [
    "hardestFirst",
    {
      apps: [
        [4, "1300m", "none"],
        [2, "1300m", "apartByZone"],
        [2, "1900m", "spreadAndApart"],
      ],
      sizes: [2, 4, 8],
      zones: ["zone-a", "zone-b"],
      price: 600_000,
      priceWithout: 700_000,
    },
  ],
  [
    "moreRounds",
    {
      apps: [
        [3, "500m", "spread"],
        [3, "1300m", "affinity"],
      ],
      sizes: [2, 4, 8],
      zones: ["zone-a", "zone-b", "zone-c"],
      price: 500_000,
      priceWithout: 600_000,
    },
  ],
];

/** Only the packing and the greedy rules make plans. */
const OTHERS: readonly Heuristic[] = [
  "upstreamGreedy",
  "cheapestNode",
  "cheapestNodeWithoutZone",
  "openZones",
  "dropNode",
  "moveNode",
];

it.each(CASES)("%s makes the plan of a packing cheaper", (heuristic, one) => {
  const pods = one.apps.flatMap(([count, cpu, rule], app) => {
    const name = `app-${app}`;
    return Array.from({ length: count }, (_, at) =>
      pod({ name: `${name}-${at}`, cpu, labels: { app: name }, spec: RULES[rule](name) }),
    );
  });
  const types = one.sizes.map((cpu) =>
    instanceType({ cpu, zones: one.zones, overhead: {}, capacityTypes: ["on-demand"] }),
  );
  const input = schedulingInput({ pods, pools: [poolInput({}, types)] });
  const priceOf = (without: readonly Heuristic[]) => {
    const options = { ...DEFAULT_PLANNER, minPods: 1, minSaving: 0, nodeMicroUsdPerHour: 0 };
    const plan = planBatch(input, { ...options, without: new Set([...OTHERS, ...without]) });
    expect(plan.unschedulable).toEqual([]);
    return priceMicroUsd(plan);
  };
  expect([priceOf([]), priceOf([heuristic])]).toEqual([one.price, one.priceWithout]);
});
