import { expect, it } from "vitest";
import type { Pod, TopologySpreadConstraint } from "../../../apis/core/pod.ts";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { improvedBy } from "../../../testing/planner.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { prepare, solve } from "../../provisioning/solve.ts";
import { DEFAULT_PLANNER } from "../planner-options.ts";
import { moveNode } from "./move-node.ts";

const ZONE = "topology.kubernetes.io/zone";

/** Small instance types cost less in zone-b, large ones in zone-c. */
const TYPES = [
  instanceType({ name: "small-b", memoryGi: 8, zones: ["zone-b"], priceMicroUsd: 100_000 }),
  instanceType({ name: "small-c", memoryGi: 8, zones: ["zone-c"], priceMicroUsd: 110_000 }),
  instanceType({ name: "large-b", memoryGi: 64, zones: ["zone-b"], priceMicroUsd: 420_000 }),
  instanceType({ name: "large-c", memoryGi: 64, zones: ["zone-c"], priceMicroUsd: 400_000 }),
];

/** Each pod gets a node of its own, because it requests two of four cores. The large pods come last in the batch. */
function batchOf(
  count: number,
  constraint: Partial<TopologySpreadConstraint>,
  types = TYPES,
  larges = count,
) {
  const labels = { app: "web" };
  const rule = { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: "DoNotSchedule" as const };
  const labelSelector = { matchLabels: labels };
  const topologySpreadConstraints = [{ ...rule, labelSelector, ...constraint }];
  const names = Array.from({ length: count }, (_, at) => String(at));
  const pods = [
    ...names.map((at) =>
      pod({ name: `web-${at}`, labels, cpu: "2500m", spec: { topologySpreadConstraints } }),
    ),
    ...names.slice(0, larges).map((at) => pod({ name: `z-${at}`, cpu: "1", memory: "20Gi" })),
  ];
  return { pods, ...movedOf(pods, types) };
}

function movedOf(pods: readonly Pod[], types: readonly InstanceType[]) {
  const input = schedulingInput({ pods, pools: [poolInput({}, types)] });
  const plan = solve(input);
  const batch = atOnce(prepare(input));
  return { batch, plan, better: improvedBy(moveNode, batch, plan, DEFAULT_PLANNER) };
}

const nodesOf = ({ newClaims }: SchedulingResult) =>
  newClaims.map(({ cheapest, pods }) =>
    [cheapest.instanceType, ...pods.map(({ metadata }) => metadata.name)].join(" "),
  );

const OTHERS = { labelSelector: { matchLabels: { app: "other" } } };

it("moves a node to the zone in which a type for all of its pods is cheapest (seed 7991844)", () => {
  const { plan, better } = batchOf(1, OTHERS);
  expect(nodesOf(plan)).toEqual(["large-b web-0 z-0"]);
  expect(nodesOf(better)).toEqual(["large-c web-0 z-0"]);
  expect(better.unschedulable).toEqual([]);
});

it("keeps nodes in their zones if the pods have a topology spread, even ScheduleAnyway", () => {
  const hard = batchOf(2, {});
  expect(nodesOf(hard.plan).toSorted()).toEqual(["large-b web-0 z-0", "large-c web-1 z-1"]);
  expect(hard.better).toBe(hard.plan);
  const soft = batchOf(2, { whenUnsatisfiable: "ScheduleAnyway" });
  expect(nodesOf(soft.plan).toSorted()).toEqual(["large-b web-0 z-0", "large-c web-1 z-1"]);
  expect(soft.better).toBe(soft.plan);
});

it("does not move a node to a zone in which other pods could take the room of its pods", () => {
  const arch = "kubernetes.io/arch";
  const arm = { memoryGi: 8, zones: ["zone-c"], arch: "arm64", priceMicroUsd: 90_000 };
  const types = [...TYPES, instanceType({ name: "arm-c", ...arm })];
  const [web, large] = batchOf(1, OTHERS).pods as [Pod, Pod];
  const amd = { ...web, spec: { ...web.spec, nodeSelector: { [arch]: "amd64" } } };
  const inC = pod({ name: "in-c", cpu: "3500m", spec: { nodeSelector: { [ZONE]: "zone-c" } } });
  const { plan, better } = movedOf([amd, large, inC], types);
  expect(nodesOf(plan).toSorted()).toEqual(["arm-c in-c", "large-b web-0 z-0"]);
  expect(better).toBe(plan);
});

it("does not move a node of a burstable type, or without a saving", () => {
  const burstable = TYPES.map((type) => ({ ...type, baseline: { cpu: 4_000 } }));
  const onCredits = batchOf(1, OTHERS, burstable);
  expect(onCredits.better).toBe(onCredits.plan);
  const small = batchOf(2, OTHERS, TYPES, 0);
  expect(nodesOf(small.plan)).toEqual(["small-b web-0", "small-b web-1"]);
  expect(small.better).toBe(small.plan);
});

it("gives equal plans for equal batches, and leaves the batch as it was", () => {
  const { batch, plan, better } = batchOf(3, OTHERS);
  expect(nodesOf(better).every((node) => node.startsWith("large-c"))).toBe(true);
  expect(improvedBy(moveNode, batch, plan, DEFAULT_PLANNER)).toEqual(better);
});
