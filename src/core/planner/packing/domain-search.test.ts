// The search for a better division of spread pods over zones: the smallest batch that is packed cheaper with it.
import { expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { prepare } from "../../provisioning/solve.ts";
import { DEFAULT_PLANNER } from "../planner-options.ts";
import { packingDemandOf } from "./demand.ts";
import { withBetterDomains } from "./domain-search.ts";
import { pack } from "./pack.ts";
import { packingPrice } from "./packing.ts";

const ZONES = ["zone-a", "zone-b"];
/** Nodes of 2 and 4 cores. One core costs 35,000 micro-dollars an hour as spot. */
const TYPES = [2, 4].map((cpu) => instanceType({ cpu, zones: ZONES, overhead: {} }));

/** An app of pods that are spread over zones. There is one pod for each of these zones, and it runs there now. */
type App = readonly [app: string, cpu: string, zones: readonly string[]];

/** The price of the packing, and its pods as `app zone: number`, after a search with this budget of steps. */
function packed(apps: readonly App[], domainSearchWork: number) {
  const now = new Map<string, string>();
  const pods = apps.flatMap(([app, cpu, zones]) =>
    zones.map((zone, at) => {
      const name = `${app}-${at}`;
      now.set(name, zone);
      const labelSelector = { matchLabels: { app } };
      const spread = {
        maxSkew: 1,
        topologyKey: "topology.kubernetes.io/zone",
        whenUnsatisfiable: "DoNotSchedule" as const,
        labelSelector,
      };
      const spec = { topologySpreadConstraints: [spread] };
      return pod({ name, labels: { app }, cpu, memory: "128Mi", spec });
    }),
  );
  const { base, queued } = atOnce(
    prepare(schedulingInput({ pods, pools: [poolInput({}, TYPES)] })),
  );
  const options = {
    ...DEFAULT_PLANNER,
    nodeMicroUsdPerHour: 0,
    domainNow: ({ metadata }: (typeof pods)[number]) => now.get(metadata.name),
    domainSearchWork,
  };
  const demand = atOnce(packingDemandOf(base, queued, options));
  const solution = atOnce(pack(demand, demand.resourcePrices, { units: 100_000 }, options)) ?? [];
  const better = atOnce(withBetterDomains({ demand, solution }, options));
  const counts = better.demand.rows.map(({ count, domain, classes: [first] }) => {
    const app = first?.podClass.sample.metadata.labels?.["app"];
    return `${app} ${domain?.value}: ${count}`;
  });
  return { price: packingPrice(better.demand, better.solution), counts: counts.sort() };
}

it("a spread pod moves to a zone with fewer pods of its app if a node becomes smaller", () => {
  // The pods need 3.5 cores in zone-a and 2.5 in zone-b: two nodes of 4. With one large pod moved they need 2 and 4.
  const apps: readonly App[] = [
    ["large", "1500m", ["zone-a", "zone-a", "zone-b"]],
    ["small", "500m", ["zone-a", "zone-b", "zone-b"]],
  ];
  expect(packed(apps, 0)).toEqual({
    price: 8 * 35_000,
    counts: ["large zone-a: 2", "large zone-b: 1", "small zone-a: 1", "small zone-b: 2"],
  });
  expect(packed(apps, 100_000)).toEqual({
    price: 6 * 35_000,
    counts: ["large zone-a: 1", "large zone-b: 2", "small zone-a: 1", "small zone-b: 2"],
  });
});

it("a spread pod stays if its move would make the spread less even", () => {
  // In one zone, the two pods would share a node of 2 cores.
  const apps: readonly App[] = [["web", "800m", ["zone-a", "zone-b"]]];
  const price = 4 * 35_000;
  expect(packed(apps, 100_000)).toEqual({ price, counts: ["web zone-a: 1", "web zone-b: 1"] });
});
