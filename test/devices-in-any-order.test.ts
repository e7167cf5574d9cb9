/**
 * What a plan promises on one new node, the sandbox's scheduler can allocate there in whichever order it binds the
 * pods. The two share no code.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { keyOf } from "../src/apis/meta.ts";
import type {
  Device,
  DeviceClaim,
  ResourceClaim,
  ResourceSlice,
} from "../src/apis/resource/kinds.ts";
import type { InstanceType } from "../src/core/cloudprovider/instance-type.ts";
import type { PlannedClaim } from "../src/core/provisioning/result.ts";
import { solve } from "../src/core/provisioning/solve.ts";
import { allocate } from "../src/sandbox/kube-scheduler/devices/allocator.ts";
import { poolsFor } from "../src/sandbox/kube-scheduler/devices/pools.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../src/testing/builders.ts";
import {
  claimsOf,
  claimTemplate,
  deviceFacts,
  GPU_CLASS,
  gpus,
  resourceClaim,
  slice,
  templates,
} from "../src/testing/devices.ts";

const NODE = { name: "n", labels: {} };

const way = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 5 }).map((count) => ({ count })) },
  { weight: 1, arbitrary: fc.constant({ allocationMode: "All" as const }) },
);
const request = fc.array(way, { minLength: 1, maxLength: 3 }).map(([first, ...others]) => {
  const named = [first, ...others].map((one, at) => ({
    name: `a${at}`,
    deviceClassName: "gpu",
    ...one,
  }));
  const [{ name: _, ...only }] = named as [(typeof named)[number]];
  return others.length === 0 ? { exactly: only } : { firstAvailable: named };
});
const claim: fc.Arbitrary<DeviceClaim> = request.map((one) => ({
  requests: [{ name: "gpu", ...one }],
}));
const world = fc.record({
  types: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 3 }),
  claims: fc.array(claim, { minLength: 1, maxLength: 3 }),
  pods: fc.array(fc.nat({ max: 2 }), { minLength: 2, maxLength: 8 }),
  order: fc.array(fc.nat({ max: 1_000 }), { minLength: 8, maxLength: 8 }),
});

/** The pods that find no devices on the node, when it is of this type and binds its pods in this order. */
function unserved(
  { pods }: PlannedClaim,
  type: InstanceType | undefined,
  { order, specOf }: { order: readonly number[]; specOf: (key: string) => DeviceClaim },
): readonly string[] {
  const devices: readonly Device[] = type?.dynamicResources?.pools[0]?.devices ?? [];
  const published: readonly ResourceSlice[] = [slice("gpus", devices, { nodeName: NODE.name })];
  const pools = poolsFor(published, NODE);
  const whole = new Set<string>();
  const bound = pods
    .map((one, at) => ({ key: keyOf(one), rank: order[at] ?? 0 }))
    .sort((a, b) => a.rank - b.rank);
  return bound.flatMap(({ key }) => {
    const claims: readonly ResourceClaim[] = [resourceClaim(key, specOf(key))];
    const inUse = { whole, parts: new Map() };
    const answer = allocate({ claims, pools, inUse, deviceClass: () => GPU_CLASS });
    if (answer.kind !== "found") return [key];
    for (const { id } of answer.byClaim.flat()) whole.add(id);
    return [];
  });
}

it("gives every pod of a new node its devices, whichever is bound first", () => {
  let shared = 0;
  fc.assert(
    fc.property(world, ({ types, claims, pods, order }) => {
      const instanceTypes = types.map((count, at) => ({
        ...instanceType({ name: `t${at}`, cpu: 4, capacityTypes: ["on-demand"] }),
        dynamicResources: templates(gpus(count)),
      }));
      const numberOf = (index: number) => (pods[index] ?? 0) % claims.length;
      const specOf = (key: string) =>
        claims[numberOf(Number(key.slice("default/p".length)))] as DeviceClaim;
      const named = pods.map((_, index) =>
        pod({ name: `p${index}`, cpu: "400m", spec: claimsOf(`template:c${numberOf(index)}`) }),
      );
      const plan = solve({
        ...schedulingInput({ pods: named, pools: [poolInput({}, instanceTypes)] }),
        devices: deviceFacts({ templates: claims.map((one, at) => claimTemplate(`c${at}`, one)) }),
      });
      for (const planned of plan.newClaims) {
        if (planned.pods.length > 1) shared++;
        for (const type of planned.instanceTypes)
          expect(unserved(planned, type, { order, specOf })).toEqual([]);
      }
    }),
    { numRuns: Number(process.env["RUNS"] ?? 80), seed: 37 },
  );
  expect(shared).toBeGreaterThan(20);
});
