/**
 * Plans for random clusters are checked from first principles. The checker shares no code with the engine. It compares
 * labels, taints and amounts as kubelet and kube-scheduler would do with the launched nodes.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import {
  instanceType,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
  ZONES,
} from "../../testing/builders.ts";
import { type Deployment, deployment, podsOf } from "../../testing/deployments.ts";
import { applyEdits } from "../answers/fixes/edits.ts";
import { remedies } from "../answers/fixes/remedy.ts";
import { leastPriceMicroUsd } from "../answers/least-price.ts";
import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import type { QueuedPod } from "./batch/queue.ts";
import type { PlannedClaim, SchedulingResult } from "./result.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { planOf, prepare, solve, wholePlan } from "./solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const ARCH = "kubernetes.io/arch";
const CAPACITY_TYPE = "karpenter.sh/capacity-type";

type Labels = Readonly<Record<string, string>>;
const type = fc
  .record({
    cpu: fc.constantFrom(1, 2, 4, 8, 16),
    arch: fc.constantFrom("amd64", "arm64"),
    zones: fc.subarray([...ZONES], { minLength: 1 }),
    capacityTypes: fc.subarray<Offering["capacityType"]>(["on-demand", "spot"], { minLength: 1 }),
    pods: fc.constantFrom(4, 110),
  })
  .map((shape) => ({ ...shape, name: `${shape.arch}-${shape.cpu}-${shape.pods}` }));

const scenario = fc
  .record({
    deployments: fc.tuple(deployment("a"), deployment("b"), deployment("c")),
    types: fc.uniqueArray(type, { minLength: 1, maxLength: 6, selector: (one) => one.name }),
    pools: fc.array(
      fc.record({
        weight: fc.integer({ min: 0, max: 2 }),
        tainted: fc.boolean(),
        team: fc.boolean(),
        nodes: fc.constantFrom(undefined, undefined, 1, 3),
        cpu: fc.constantFrom(undefined, undefined, 12_000),
      }),
      { minLength: 1, maxLength: 2 },
    ),
    nodes: fc.array(
      fc.record({
        zone: fc.constantFrom(...ZONES),
        cpu: fc.constantFrom(1, 4),
        runs: fc.constantFrom("", "a", "b"),
        tainted: fc.boolean(),
      }),
      { maxLength: 3 },
    ),
    daemonCpuMilli: fc.constantFrom(0, 0, 250),
  })
  .map(toInput);

interface Scenario {
  readonly input: SchedulingInput;
  readonly deployments: readonly Deployment[];
}

interface Drawn {
  readonly deployments: readonly Deployment[];
  readonly types: readonly Parameters<typeof instanceType>[0][];
  readonly pools: readonly {
    readonly weight: number;
    readonly tainted: boolean;
    readonly team: boolean;
    readonly nodes: number | undefined;
    readonly cpu: number | undefined;
  }[];
  readonly nodes: readonly { zone: string; cpu: number; runs: string; tainted: boolean }[];
  readonly daemonCpuMilli: number;
}

const TAINT = { key: "dedicated", effect: "NoSchedule" as const };

function toInput(drawn: Drawn): Scenario {
  const types = drawn.types.map((one) => instanceType(one));
  const daemon = pod({
    name: "agent",
    cpu: `${drawn.daemonCpuMilli}m`,
    memory: "64Mi",
    owner: { kind: "DaemonSet", name: "agent" },
    spec: { tolerations: [{ operator: "Exists" }] },
  });
  const input = schedulingInput({
    pods: drawn.deployments.flatMap(podsOf),
    pools: drawn.pools.map((one, index) =>
      poolInput(
        {
          name: `pool-${index}`,
          weight: one.weight,
          taints: one.tainted ? [TAINT] : [],
          labels: one.team ? { team: "red" } : {},
          limits: {
            ...(one.nodes === undefined ? {} : { nodes: one.nodes }),
            ...(one.cpu === undefined ? {} : { cpu: one.cpu }),
          },
        },
        types,
      ),
    ),
    nodes: drawn.nodes.map((one, index) =>
      nodeView({
        node: {
          name: `node-${index}`,
          labels: { [ZONE]: one.zone },
          capacity: { cpu: String(one.cpu), memory: "8Gi" },
          taints: one.tainted ? [TAINT] : [],
        },
        pods:
          one.runs === ""
            ? []
            : [pod({ name: `old-${index}`, labels: { app: one.runs }, nodeName: `node-${index}` })],
      }),
    ),
    daemonPods: drawn.daemonCpuMilli > 0 ? [daemon] : [],
  });
  return { input, deployments: drawn.deployments };
}

/** One way in which a claim may be launched: a type, zone and capacity type that it allows. */
interface Outcome {
  readonly labels: Labels;
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly pods: number;
}

function outcomes(claim: PlannedClaim): Outcome[] {
  const open = (key: string, value: string) => {
    const of = claim.requirements.filter((one) => one.key === key);
    return of.every(({ operator, values = [] }) => {
      if (operator === "NotIn") return !values.includes(value);
      return operator !== "In" || values.includes(value);
    });
  };
  return claim.instanceTypes.flatMap((each) => {
    const [arch = ""] = each.labels[ARCH] ?? [];
    return each.offerings
      .filter((one) => open(ZONE, one.zone) && open(CAPACITY_TYPE, one.capacityType))
      .map((one) => ({
        labels: {
          ...claim.pool.labels,
          [ZONE]: one.zone,
          [CAPACITY_TYPE]: one.capacityType,
          [ARCH]: arch,
        },
        cpuMilli: each.capacity["cpu"] ?? 0,
        memoryBytes: each.capacity["memory"] ?? 0,
        pods: each.capacity["pods"] ?? 0,
      }));
  });
}

function cpuOf(one: Pod): number {
  return Number(String(one.spec.containers[0]?.resources?.requests?.["cpu"]).replace("m", ""));
}

function memoryOf(one: Pod): number {
  const text = String(one.spec.containers[0]?.resources?.requests?.["memory"]);
  return Number(text.replace("Mi", "")) * 2 ** 20;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function checkClaim(claim: PlannedClaim, input: SchedulingInput): void {
  const all = [...claim.pods, ...input.daemonPods];
  const possible = outcomes(claim);
  expect(possible.length).toBeGreaterThan(0);
  expect(new Set(claim.instanceTypes).size).toBe(claim.instanceTypes.length);
  for (const one of possible) {
    expect(sum(all.map(cpuOf))).toBeLessThanOrEqual(one.cpuMilli);
    expect(sum(all.map(memoryOf))).toBeLessThanOrEqual(one.memoryBytes);
    expect(all.length).toBeLessThanOrEqual(one.pods);
    for (const each of claim.pods) expect(one.labels).toMatchObject(each.spec.nodeSelector ?? {});
  }
  if (claim.pool.taints.length > 0) {
    for (const each of claim.pods) expect(each.spec.tolerations).toBeDefined();
  }
  expect(hostPortsClash(claim.pods)).toBe(false);
}

function hostPortsClash(on: readonly Pod[]): boolean {
  const ports = on.flatMap((one) => (one.spec.containers[0]?.ports ?? []).map((p) => p.hostPort));
  return new Set(ports).size !== ports.length;
}

function checkExisting(input: SchedulingInput, result: SchedulingResult): void {
  for (const { nodeName, pods: placed } of result.existing) {
    const view = input.nodes.find((one) => one.name === nodeName);
    expect(sum(placed.map(cpuOf))).toBeLessThanOrEqual(view?.available["cpu"] ?? 0);
    expect(sum(placed.map(memoryOf))).toBeLessThanOrEqual(view?.available["memory"] ?? 0);
    for (const one of placed) {
      expect(view?.labels).toMatchObject(one.spec.nodeSelector ?? {});
      if (view?.taints.length !== 0) expect(one.spec.tolerations).toBeDefined();
    }
    expect(hostPortsClash(placed)).toBe(false);
  }
}

interface Spot {
  /** The zones in which the node may be launched. */
  readonly zones: ReadonlySet<string>;
  /** The number of the app's pods on the node, and how many of them this plan placed. */
  readonly count: number;
  readonly placed: number;
  /** Whether the pod's node selector allows the node. A spread counts only such nodes. */
  readonly eligible: boolean;
}

function spots(of: Deployment, input: SchedulingInput, result: SchedulingResult): Spot[] {
  const ofApp = (list: readonly Pod[]) =>
    list.filter((one) => one.metadata.labels?.["app"] === of.app).length;
  const existing = input.nodes.map((view) => {
    const placed = result.existing.find((one) => one.nodeName === view.name)?.pods ?? [];
    const zones = new Set([view.labels[ZONE] as string]);
    const eligible = Object.entries(of.selector).every(
      ([key, value]) => view.labels[key] === value,
    );
    return { zones, count: ofApp(view.pods) + ofApp(placed), placed: ofApp(placed), eligible };
  });
  const planned = result.newClaims.map((claim) => {
    const zones = new Set(outcomes(claim).map((one) => one.labels[ZONE] as string));
    return { zones, count: ofApp(claim.pods), placed: ofApp(claim.pods), eligible: true };
  });
  return [...existing, ...planned].filter((one) => one.count > 0);
}

function checkTopology(of: Deployment, input: SchedulingInput, result: SchedulingResult): void {
  const at = spots(of, input, result);
  const fresh = at.filter((one) => one.placed > 0);
  if (of.topology === "hostSpread" || of.topology === "hostApart") {
    for (const one of fresh) expect(one.count).toBe(1);
  }
  if (of.topology === "zoneApart") {
    for (const one of fresh) {
      expect(one.count).toBe(1);
      for (const other of at) {
        if (other !== one) expect([...one.zones].some((zone) => other.zones.has(zone))).toBe(false);
      }
    }
  }
  if (of.topology === "zoneTogether" && fresh.length > 0) {
    const settled = at.filter((one) => one.zones.size === 1);
    expect(settled.length).toBeGreaterThan(0);
    for (const one of fresh) {
      const covered = [...one.zones].every((zone) =>
        at.some((other) => other.zones.size === 1 && other.zones.has(zone)),
      );
      expect(covered).toBe(true);
    }
  }
  if (of.topology === "zoneSpread") {
    const counts = new Map<string, number>();
    const grown = new Set<string>();
    for (const one of at.filter(({ eligible }) => eligible)) {
      expect(one.zones.size).toBe(1);
      const [zone] = [...one.zones] as [string];
      counts.set(zone, (counts.get(zone) ?? 0) + one.count);
      if (one.placed > 0) grown.add(zone);
    }
    const least = Math.min(...eligibleZones(of, input).map((zone) => counts.get(zone) ?? 0));
    for (const zone of grown) expect((counts.get(zone) ?? 0) - least).toBeLessThanOrEqual(1);
  }
}

/**
 * The zones that a spread of these pods counts: a node there matches the pods' selector, or a pool could launch one
 * there.
 */
function eligibleZones(of: Deployment, input: SchedulingInput): string[] {
  return ZONES.filter((zone) => {
    const fits = (labels: Labels) =>
      Object.entries(of.selector).every(([key, value]) => labels[key] === value);
    if (input.nodes.some((view) => view.labels[ZONE] === zone && fits(view.labels))) return true;
    return input.pools.some(({ pool, instanceTypes }) =>
      instanceTypes.some((each) =>
        offers(each, zone, (labels) => fits({ ...pool.labels, ...labels })),
      ),
    );
  });
}

function offers(each: InstanceType, zone: string, fits: (labels: Labels) => boolean): boolean {
  const [arch = ""] = each.labels[ARCH] ?? [];
  return each.offerings.some(
    (one) =>
      one.zone === zone && fits({ [ZONE]: zone, [CAPACITY_TYPE]: one.capacityType, [ARCH]: arch }),
  );
}

function checkLimits(input: SchedulingInput, result: SchedulingResult): void {
  for (const { pool } of input.pools) {
    const claims = result.newClaims.filter((claim) => claim.pool === pool);
    expect(claims.length).toBeLessThanOrEqual(pool.limits["nodes"] ?? Number.POSITIVE_INFINITY);
    const cpu = claims.map((claim) =>
      Math.max(...claim.instanceTypes.map((each) => each.capacity["cpu"] ?? 0)),
    );
    expect(sum(cpu)).toBeLessThanOrEqual(pool.limits["cpu"] ?? Number.POSITIVE_INFINITY);
  }
}

/** Pods without rules about other pods may stay without a place only if no unlimited pool has a type for them. */
function checkLeftOver(input: SchedulingInput, result: SchedulingResult): void {
  for (const { pod: left, message } of result.unschedulable) {
    expect(message).not.toBe("");
    if (left.spec.affinity !== undefined || left.spec.topologySpreadConstraints !== undefined)
      continue;
    for (const { pool, instanceTypes } of input.pools) {
      if (Object.keys(pool.limits).length > 0) continue;
      if (pool.taints.length > 0 && left.spec.tolerations === undefined) continue;
      const alone = [left, ...input.daemonPods];
      const fit = instanceTypes.some(
        (each) =>
          sum(alone.map(cpuOf)) <= (each.capacity["cpu"] ?? 0) &&
          sum(alone.map(memoryOf)) <= (each.capacity["memory"] ?? 0) &&
          ZONES.some((zone) =>
            offers(each, zone, (labels) =>
              Object.entries(left.spec.nodeSelector ?? {}).every(
                ([key, value]) => ({ ...pool.labels, ...labels })[key] === value,
              ),
            ),
          ),
      );
      expect(fit).toBe(false);
    }
  }
}

describe("solve, on random clusters", () => {
  it("makes valid plans that contain every pod", () => {
    fc.assert(
      fc.property(scenario, ({ input, deployments }) => {
        const result = solve(input);
        const placed = [...result.newClaims, ...result.existing].flatMap((one) => one.pods);
        const left = result.unschedulable.map((one) => one.pod);
        const names = [...placed, ...left].map((one) => one.metadata.name).sort();
        expect(names).toEqual(input.pods.map((one) => one.metadata.name).sort());
        for (const claim of result.newClaims) checkClaim(claim, input);
        checkExisting(input, result);
        for (const one of deployments) checkTopology(one, input, result);
        checkLimits(input, result);
        checkLeftOver(input, result);
        const price = sum(result.newClaims.map((one) => one.cheapest.priceMicroUsd));
        expect(leastPriceMicroUsd(input, result)).toBeLessThanOrEqual(price);
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it("makes the same plan for any order of pods, pools, types and nodes", () => {
    fc.assert(
      fc.property(scenario, ({ input }) => {
        const turned = solve({
          ...input,
          pods: input.pods.toReversed(),
          pools: input.pools
            .toReversed()
            .map((one) => ({ ...one, instanceTypes: one.instanceTypes.toReversed() })),
          nodes: input.nodes.toReversed(),
        });
        expect(JSON.stringify(turned)).toBe(JSON.stringify(solve(input)));
      }),
      { seed: 2, numRuns: 50 },
    );
  });

  it("makes several plans of one batch, each like the only one", () => {
    fc.assert(
      fc.property(scenario, ({ input }) => {
        const batch = atOnce(prepare(input));
        const first = atOnce(planOf(batch));
        expect(atOnce(wholePlan(batch, first))).toEqual(solve(input));
        // This plan skips every second pod. That must not change the next plan.
        atOnce(planOf(batch, everySecond));
        expect(atOnce(planOf(batch))).toEqual(first);
      }),
      { seed: 5, numRuns: 100 },
    );
  });

  it("uses no unit of a reservation twice", () => {
    const reserving = fc.tuple(
      scenario,
      fc.array(
        fc.record({ id: fc.constantFrom("r-1", "r-2"), count: fc.integer({ max: 3, min: 0 }) }),
        {
          minLength: 6,
          maxLength: 6,
        },
      ),
      fc.constantFrom("strict" as const, "fallback" as const),
    );
    fc.assert(
      fc.property(reserving, ([{ input }, reserved, reservedCapacity]) => {
        const pools = input.pools.map((one) => ({
          ...one,
          instanceTypes: one.instanceTypes.map((each, index) =>
            withReservation(each, reserved[index]),
          ),
        }));
        const options = { ...input.options, reservedCapacity };
        const result = solve({ ...input, pools, options });
        for (const id of ["r-1", "r-2"]) {
          const holding = result.newClaims.filter((claim) => idsOf(claim).includes(id));
          const known = reserved.slice(0, pools[0]?.instanceTypes.length);
          const counts = known
            .filter((one) => one.id === id && one.count > 0)
            .map((one) => one.count);
          expect(holding.length).toBeLessThanOrEqual(counts.length === 0 ? 0 : Math.min(...counts));
        }
        for (const claim of result.newClaims) {
          const isReserved = claim.cheapest.capacityType === "reserved";
          expect(idsOf(claim).length > 0).toBe(isReserved);
          checkClaim(claim, input);
        }
        const deferred = result.unschedulable.filter((one) => one.deferred === true);
        if (reservedCapacity === "fallback") expect(deferred).toEqual([]);
      }),
      { seed: 3, numRuns: 60 },
    );
  });

  it("suggests fixes for pending pods that really place them", () => {
    let fixes = 0;
    fc.assert(
      fc.property(scenario, ({ input }) => {
        const result = solve(input);
        const advice = remedies(input, result);
        for (const fix of new Set([...advice.values()].map((one) => one.fix))) {
          if (fix === undefined) continue;
          fixes++;
          const after = solve(applyEdits(input, fix.pods, fix.edits)).unschedulable;
          const still = after.filter(({ pod: one }) => advice.get(keyOf(one))?.fix === fix);
          expect(still).toEqual([]);
        }
      }),
      { seed: 4, numRuns: 25 },
    );
    expect(fixes).toBeGreaterThan(10);
  });
});

function* everySecond(_: unknown, queued: readonly QueuedPod[]): Steps<readonly QueuedPod[]> {
  return queued.filter((_, index) => index % 2 === 0);
}

const RESERVATION = "test.sh/reservation-id";

function withReservation(
  each: InstanceType,
  reserved: { readonly id: string; readonly count: number } | undefined,
): InstanceType {
  if (reserved === undefined) return each;
  const [{ zone }] = each.offerings as [Offering];
  const offering: Offering = {
    zone,
    capacityType: "reserved",
    priceMicroUsd: 0,
    available: true,
    labels: { [RESERVATION]: reserved.id },
    reservationCapacity: reserved.count,
  };
  return { ...each, offerings: [...each.offerings, offering] };
}

function idsOf({ requirements }: PlannedClaim): readonly string[] {
  return requirements.find(({ key }) => key === RESERVATION)?.values ?? [];
}
