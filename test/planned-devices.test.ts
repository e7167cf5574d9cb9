/**
 * The sandbox's scheduler can allocate every device that a plan counts on, although it may bind a new node's pods
 * in any order. On other nodes, pools may have slices for several nodes. Plan and scheduler share no code.
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
import { type NodeFacts, poolsFor } from "../src/sandbox/kube-scheduler/devices/pools.ts";
import {
  instanceType,
  nodeClaim,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
} from "../src/testing/builders.ts";
import {
  claimsOf,
  claimTemplate,
  DRIVER,
  deviceFacts,
  GPU_CLASS,
  gpus,
  resourceClaim,
  slice,
  templates,
} from "../src/testing/devices.ts";

const NODE = { name: "n", labels: {} };
const ZONE = "topology.kubernetes.io/zone";
const READY = { "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true" };

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

/** The pods without devices if the node is of this type and binds its pods in this order. */
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

it("a plan gives every pod of a new node its devices, in whatever order pods are bound", () => {
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
    { numRuns: Number(process.env["RUNS"] ?? 40), seed: 37 },
  );
  expect(shared).toBeGreaterThan(10);
});

/**
 * A pool's slices. Each is for a zone, for a node, or for all nodes. One slice may be missing, as while a pool is
 * updated.
 */
const network = fc.record({
  slices: fc.array(
    fc.record({
      count: fc.integer({ min: 0, max: 3 }),
      at: fc.constantFrom("zone-a", "zone-b", "n-a", "n-b", "everywhere", "everywhere"),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  lacks: fc.constantFrom(0, 0, 0, 1),
  repeats: fc.constantFrom(false, false, false, true),
});
const mixedWorld = fc.record({
  pools: fc.array(network, { minLength: 1, maxLength: 2 }),
  claims: fc.array(claim, { minLength: 1, maxLength: 2 }),
  pods: fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 4 }),
  hasNodes: fc.boolean(),
});

function publishedBy(
  { slices, lacks, repeats }: typeof network extends fc.Arbitrary<infer T> ? T : never,
  pool: string,
): readonly ResourceSlice[] {
  return slices.map(({ count, at }, index) => {
    const values = [at];
    const term = { matchExpressions: [{ key: ZONE, operator: "In", values }] };
    const where = at.startsWith("zone")
      ? { nodeSelector: { nodeSelectorTerms: [term] } }
      : at === "everywhere"
        ? {}
        : { nodeName: at };
    const devices = gpus(count).map((one) => ({
      ...one,
      name: repeats && at === slices[0]?.at ? one.name : `${one.name}-${index}`,
    }));
    return slice(pool, devices, {
      ...where,
      slice: `${pool}-${index}`,
      pool: { name: pool, generation: 1, resourceSliceCount: slices.length + lacks },
    });
  });
}

/**
 * Whether a request wants all devices of a pool. kube-scheduler visits pools in random order, and an invalid pool makes
 * an attempt fail. Any other request succeeds in a later attempt, which meets a valid pool first.
 */
function wantsAll({ requests = [] }: DeviceClaim): boolean {
  return requests
    .flatMap(({ exactly, firstAvailable = [] }) => [exactly, ...firstAvailable])
    .some((one) => one?.allocationMode === "All");
}

it("a plan allocates no devices from a pool that kube-scheduler 1.34 refuses to use", () => {
  let [here, there] = [0, 0];
  fc.assert(
    fc.property(mixedWorld, ({ pools, claims, pods: all, hasNodes }) => {
      // The order of binding decides which alternative a pod gets, so with alternatives only one pod is checked.
      const isFlexible = claims.some(({ requests }) => requests?.some((one) => !one.exactly));
      const pods = isFlexible ? all.slice(0, 1) : all;
      const slices = pools.flatMap((one, at) => publishedBy(one, `pool-${at}`));
      const specOf = (key: string) =>
        claims[(pods[Number(key.slice("default/p".length))] ?? 0) % claims.length] as DeviceClaim;
      const nodes = (hasNodes ? ["a", "b"] : []).map((zone) =>
        nodeView({
          node: { name: `n-${zone}`, labels: { [ZONE]: `zone-${zone}`, ...READY } },
          claim: nodeClaim({ name: `n-${zone}`, status: { nodeName: `n-${zone}` } }),
        }),
      );
      const types = [instanceType({ name: "t", cpu: 4, capacityTypes: ["on-demand"] })];
      const plan = solve({
        ...schedulingInput({
          pods: pods.map((number, index) =>
            pod({
              name: `p${index}`,
              cpu: "400m",
              spec: claimsOf(`template:c${number % claims.length}`),
            }),
          ),
          pools: [poolInput({}, types)],
          nodes,
        }),
        devices: deviceFacts({
          slices,
          templates: claims.map((one, at) => claimTemplate(`c${at}`, one)),
        }),
      });
      const updating = new Set(
        pools.flatMap(({ lacks }, at) => (lacks > 0 ? [`${DRIVER}/pool-${at}`] : [])),
      );
      const canAll = (node: NodeFacts, own: readonly { readonly metadata: object }[]) => {
        // Each node is checked alone, because the devices it uses of a shared pool depend on the order in which pods
        // are bound.
        const whole = new Set<string>();
        for (const one of own) {
          const key = keyOf(one as Parameters<typeof keyOf>[0]);
          const answer = allocate({
            claims: [resourceClaim(key, specOf(key))],
            pools: poolsFor(slices, node).filter(
              ({ twice, id }) =>
                (twice === undefined && !updating.has(id)) || wantsAll(specOf(key)),
            ),
            inUse: { whole, parts: new Map() },
            deviceClass: () => GPU_CLASS,
          });
          expect([node, key, answer.kind]).toEqual([node, key, "found"]);
          if (answer.kind !== "found") return;
          for (const { id } of answer.byClaim.flat()) whole.add(id);
        }
      };
      for (const { nodeName, pods: own } of plan.existing) {
        here += own.length;
        canAll({ name: nodeName, labels: { [ZONE]: nodeName.replace("n", "zone") } }, own);
      }
      for (const { requirements, pods: own } of plan.newClaims) {
        there += own.length;
        const zones = requirements.find(({ key }) => key === ZONE)?.values ?? ["zone-c"];
        canAll({ name: "new", labels: { [ZONE]: zones[0] ?? "" } }, own);
      }
    }),
    { numRuns: Number(process.env["RUNS"] ?? 100), seed: 37 },
  );
  expect([here > 10, there > 10]).toEqual([true, true]);
});
