import { describe, expect, it } from "vitest";
import { HOSTNAME_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { atOnce } from "../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import {
  claimsOf,
  claimTemplate,
  deviceClaim,
  deviceFacts,
  gpus,
  templates,
} from "../../testing/devices.ts";
import { planByCheapestNode, prepare, solve } from "../provisioning/solve.ts";
import { planBatch } from "./plan-batch.ts";
import { priceMicroUsd } from "./plan-price.ts";
import { DEFAULT_PLANNER } from "./planner-options.ts";
import { strandingNodes, strandsMore } from "./stranding.ts";

const team = (name: string) => ({ nodeSelector: { team: name } });
const at = (cpu: number, priceMicroUsd: number) =>
  instanceType({ cpu, priceMicroUsd, zones: ["zone-a"], capacityTypes: ["on-demand"] });
const POOLS = [
  poolInput({ id: "v1/blue", name: "blue", labels: { team: "blue" } }, [
    at(8, 100_000),
    at(16, 400_000),
  ]),
  poolInput({ id: "v1/green", name: "green", labels: { team: "green" } }, [at(2, 20_000)]),
];
const BLUE = ["b-0", "b-1"].map((name) => pod({ name, cpu: "3", spec: team("blue") }));
const small = (name: string, spec = {}) => pod({ name, cpu: "800m", spec });

function planned(others: readonly ReturnType<typeof pod>[]) {
  const input = schedulingInput({ pods: [...BLUE, ...others], pools: POOLS });
  const batch = atOnce(prepare(input));
  const byPrice = atOnce(planByCheapestNode(batch, 20_000));
  expect(byPrice.newClaims.map(({ cheapest }) => cheapest.instanceType).sort()).toEqual([
    "m-2x",
    "m-8x",
  ]);
  expect(priceMicroUsd(byPrice)).toBe(120_000);
  return { input, batch, byPrice, byRules: solve(input) };
}

it("stranding nodes are nodes that some pods need and that other pods could fill first", () => {
  const { input, batch, byPrice, byRules } = planned(
    ["a-0", "a-1", "a-2"].map((one) => small(one)),
  );
  expect(
    [...atOnce(strandingNodes(batch, byPrice))].map(({ cheapest }) => cheapest.priceMicroUsd),
  ).toEqual([100_000]);
  expect(priceMicroUsd(byRules)).toBe(400_000);
  expect(atOnce(strandingNodes(batch, byRules)).size).toBe(0);
  // If kube-scheduler puts all small pods on the large node, a second large node is needed. Both together still cost
  // less than the greedy plan.
  expect(priceMicroUsd(planBatch(input, DEFAULT_PLANNER))).toBe(120_000);
  // The plan saves 280,000. One more node costs 100,000 for the instance, and `nodeMicroUsdPerHour`.
  const dear = (nodeMicroUsdPerHour: number) =>
    atOnce(strandsMore(batch, byPrice, byRules, { nodeMicroUsdPerHour }));
  expect([dear(179_000), dear(181_000)]).toEqual([false, true]);
});

it("a node strands no pods if the other pods cannot go there, or there is room for all", () => {
  const mayNot = planned(
    ["b-2", "b-3"].map((name) => small(name, team("blue"))).concat(small("g-0", team("green"))),
  );
  expect(atOnce(strandingNodes(mayNot.batch, mayNot.byPrice)).size).toBe(0);
  const haveRoom = planned([small("a-0"), small("g-0", team("green"))]);
  expect(atOnce(strandingNodes(haveRoom.batch, haveRoom.byPrice)).size).toBe(0);
});

describe("pods that claim devices", () => {
  const count = (number: number) => ({ deviceClassName: "gpu", count: number });
  const three = { name: "three", ...count(3) };
  const TEMPLATES = [
    claimTemplate("one", deviceClaim(count(1))),
    claimTemplate("four", deviceClaim(count(4))),
    claimTemplate("first", {
      requests: [{ name: "gpu", firstAvailable: [three, { name: "one", ...count(1) }] }],
    }),
  ];
  const gpuType = (devices: number, priceMicroUsd: number) => ({
    ...at(16, priceMicroUsd),
    name: `g-${devices}`,
    dynamicResources: templates(gpus(devices)),
  });
  const POOL = poolInput({}, [gpuType(1, 10_000), gpuType(4, 100_000)]);
  /** For each node that should fill last: the devices that its pods claim. */
  const last = (...names: readonly string[]) => {
    const pods = names.map((name, index) =>
      pod({ name: `${name}-${index}`, cpu: "100m", spec: claimsOf(`template:${name}`) }),
    );
    const input = schedulingInput({ pods, pools: [POOL] });
    const batch = atOnce(prepare({ ...input, devices: deviceFacts({ templates: TEMPLATES }) }));
    const plan = atOnce(planByCheapestNode(batch, 0));
    const found = atOnce(strandingNodes(batch, plan));
    return [...found].map(({ cheapest }) => cheapest.instanceType);
  };

  it("may be stranded by pods that take the devices of their node", () => {
    expect(last("four", "one")).toEqual(["g-4"]);
    expect(last("four", "first")).toEqual(["g-4"]);
  });

  it("are not stranded if the node has devices for all, or no other pod can use them", () => {
    expect(last("one", "one")).toEqual([]);
    expect(last("four")).toEqual([]);
  });
});

it("a node strands no pods if the pods can swap their places", () => {
  const pods = ["p-0", "p-1"].map((name) => pod({ name, cpu: "3" }));
  const input = schedulingInput({ pods, pools: [poolInput({}, [at(4, 40_000)])] });
  const batch = atOnce(prepare(input));
  const plan = solve(input);
  expect(plan.newClaims.length).toBe(2);
  expect(atOnce(strandingNodes(batch, plan)).size).toBe(0);
});

it("identifies a planned node by its offering if offerings of the type differ in capacity", () => {
  const [blue, green] = POOLS as [(typeof POOLS)[number], (typeof POOLS)[number]];
  const [type] = blue.instanceTypes as [(typeof blue.instanceTypes)[number]];
  const [cheap] = type.offerings as [(typeof type.offerings)[number]];
  const zones = ["zone-a", "zone-b"];
  const labels = { ...type.labels, [TOPOLOGY_ZONE_LABEL_KEY]: zones };
  const offerings = [
    { ...cheap, zone: "zone-b", priceMicroUsd: 900_000 },
    { ...cheap, capacityOverride: { pods: 99 } },
  ];
  const pools = [{ ...blue, instanceTypes: [{ ...type, labels, offerings }] }, green];
  const term = { topologyKey: HOSTNAME_LABEL_KEY, labelSelector: { matchLabels: { app: "a" } } };
  const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  const apart = { labels: { app: "a" }, cpu: "1200m", spec: { affinity: { podAntiAffinity } } };
  const pods = [...BLUE.slice(1), ...["a-0", "a-1"].map((name) => pod({ name, ...apart }))];
  const batch = atOnce(prepare(schedulingInput({ pods, pools })));
  const plan = atOnce(planByCheapestNode(batch, 20_000));
  expect(plan.newClaims.map(({ cheapest }) => cheapest.priceMicroUsd)).toEqual([100_000, 20_000]);
  // A pod that loses its room on the small node gets the room on the large node instead.
  expect(atOnce(strandingNodes(batch, plan)).size).toBe(0);
});

it("a node strands pods that must be on a host of their own, if each other host has one", () => {
  const labels = { app: "db" };
  const terms = [{ topologyKey: HOSTNAME_LABEL_KEY, labelSelector: { matchLabels: labels } }];
  const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: terms };
  const apart = { affinity: { podAntiAffinity } };
  const kept = ["d-0", "d-1"].map((name) => pod({ name, labels, cpu: "1", spec: apart }));
  const free = ["f-0", "f-1"].map((name) => pod({ name, cpu: "1500m" }));
  const types = [at(2, 20_000), at(8, 30_000)];
  const inputOf = (pods: readonly ReturnType<typeof pod>[]) =>
    schedulingInput({ pods, pools: [poolInput({}, types)] });
  const stranding = (pods: readonly ReturnType<typeof pod>[]) => {
    const input = inputOf(pods);
    const plan = solve(input);
    return [...atOnce(strandingNodes(atOnce(prepare(input)), plan))].map(({ pods: own }) =>
      own.map(({ metadata }) => metadata.name),
    );
  };
  expect(stranding([...kept, ...free])).toEqual([["d-1"]]);
  expect(stranding([...kept.slice(0, 1), ...free])).toEqual([]);
  // One of two large nodes has only free pods. A free pod that takes the room of d-1 leaves room for d-1 there.
  const more = [
    ...free,
    ...["f-2", "f-3", "f-4", "f-5"].map((name) => pod({ name, cpu: "1500m" })),
  ];
  expect(solve(inputOf([...kept, ...more])).newClaims).toHaveLength(3);
  expect(stranding([...kept, ...more])).toEqual([]);
});
