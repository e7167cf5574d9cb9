import { expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { withoutRecord } from "../../../testing/planner.ts";
import { solve } from "../../provisioning/solve.ts";
import { planBatch } from "../plan-batch.ts";
import { priceMicroUsd } from "../plan-price.ts";
import { DEFAULT_PLANNER } from "../planner-options.ts";

const ZONE = "topology.kubernetes.io/zone";
const sold = (name: string, cpu: number, zone: string, priceMicroUsd: number) =>
  instanceType({ name, cpu, zones: [zone], capacityTypes: ["on-demand"], priceMicroUsd });
/** Zone-b has no large types, and its small types are cheaper. */
const TYPES = [
  sold("small-b", 4, "zone-b", 40_000),
  sold("small-c", 4, "zone-c", 41_000),
  sold("large-c", 16, "zone-c", 100_000),
];
/** Pods whose spread selector matches no pod. So the spread never makes a later pod choose another zone. */
const spec = {
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: ZONE,
      whenUnsatisfiable: "DoNotSchedule" as const,
      labelSelector: { matchLabels: { app: "other" } },
    },
  ],
};
const pods = (more = {}) =>
  Array.from({ length: 8 }, (_, at) =>
    pod({ name: `p-${at}`, cpu: "1900m", spec: { ...spec, ...more } }),
  );
const nodesOf = ({ newClaims }: ReturnType<typeof solve>) =>
  newClaims.map(({ cheapest }) => cheapest.instanceType);

it("excludes the zone that is cheapest for the first pod if all pods cost less elsewhere", () => {
  const input = schedulingInput({ pods: pods(), pools: [poolInput({}, TYPES)] });
  expect(nodesOf(solve(input))).toEqual(Array(4).fill("small-b"));
  const planned = planBatch(input, DEFAULT_PLANNER);
  expect(nodesOf(planned)).toEqual(["large-c"]);
  expect(priceMicroUsd(planned)).toBe(100_000);
  expect(planned.unschedulable).toEqual([]);
});

it("keeps the zone for pods that select it, and for a pool without another zone", () => {
  const asks = { nodeSelector: { [ZONE]: "zone-b" } };
  const wanted = schedulingInput({ pods: pods(asks), pools: [poolInput({}, TYPES)] });
  expect(withoutRecord(planBatch(wanted, DEFAULT_PLANNER))).toEqual(solve(wanted));
  const only = schedulingInput({ pods: pods(), pools: [poolInput({}, TYPES.slice(0, 1))] });
  expect(withoutRecord(planBatch(only, DEFAULT_PLANNER))).toEqual(solve(only));
});

it("does not exclude a zone that pods prefer, whatever it saves", () => {
  const terms = [{ matchExpressions: [{ key: ZONE, operator: "In", values: ["zone-b"] }] }];
  const weighted = terms.map((preference) => ({ weight: 1, preference }));
  const wish = {
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: weighted } },
  };
  const wanted = schedulingInput({ pods: pods(wish), pools: [poolInput({}, TYPES)] });
  expect(nodesOf(planBatch(wanted, DEFAULT_PLANNER))).toEqual(Array(4).fill("small-b"));
});

it("excludes the zone only for pods with rules over zones", () => {
  const huge = instanceType({
    name: "huge",
    cpu: 32,
    zones: ["zone-b", "zone-c"],
    capacityTypes: ["on-demand"],
    priceMicroUsd: 300_000,
  });
  // These pods do not compete for nodes: they need different architectures.
  const arch = (value: string) => ({ nodeSelector: { "kubernetes.io/arch": value } });
  const arm = { ...huge, labels: { ...huge.labels, "kubernetes.io/arch": ["arm64"] } };
  const plain = pod({ name: "plain", cpu: "25", spec: arch("arm64") });
  const all = [...pods(arch("amd64")), plain];
  const pools = [poolInput({}, [...TYPES, arm])];
  const planned = planBatch(schedulingInput({ pods: all, pools }), DEFAULT_PLANNER);
  const zonesOf = (name: string) =>
    planned.newClaims.find(({ cheapest }) => cheapest.instanceType === name)?.requirements;
  expect(nodesOf(planned).toSorted()).toEqual(["huge", "large-c"]);
  expect(zonesOf("large-c")).toContainEqual({ key: ZONE, operator: "In", values: ["zone-c"] });
  expect(zonesOf("huge")?.filter(({ key }) => key === ZONE)).toEqual([]);
});
