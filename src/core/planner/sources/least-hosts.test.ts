import { describe, expect, it } from "vitest";
import type { PodSpec } from "../../../apis/core/pod.ts";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { PriceFloor } from "../../provisioning/pools/price-floor.ts";
import { planUntil, prepare } from "../../provisioning/solve.ts";
import { packingDemandOf } from "../packing/demand.ts";
import { priceMicroUsd } from "../plan-price.ts";
import { DEFAULT_PLANNER } from "../planner-options.ts";
import { leastHosts } from "./least-hosts.ts";
import { PartialPlanBound } from "./partial-plan-bound.ts";

const HOST = "kubernetes.io/hostname";
const labels = { app: "web" };
const labelSelector = { matchLabels: labels };
const term = { topologyKey: HOST, labelSelector };
const apart: PodSpec["affinity"] = {
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
};
const ratherApart: PodSpec["affinity"] = {
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }],
  },
};
const spread = (topologyKey: string, maxSkew: number) => ({
  topologyKey,
  maxSkew,
  whenUnsatisfiable: "DoNotSchedule" as const,
  labelSelector,
});

/** A batch with this number of constrained pods, and some pods without constraints. */
function batchOf(count: number, spec: Partial<PodSpec>, limits: Record<string, number> = {}) {
  const types = [2, 4, 8].map((cpu) => instanceType({ cpu }));
  const web = Array.from({ length: count }, (_, index) =>
    pod({ name: `w-${index}`, cpu: "300m", labels, spec }),
  );
  const others = Array.from({ length: 400 }, (_, index) => pod({ name: `o-${index}`, cpu: "1" }));
  const pools = [poolInput({ limits }, types)];
  return atOnce(prepare(schedulingInput({ pods: [...web, ...others], pools })));
}

function hostsOf({ base, queued }: ReturnType<typeof batchOf>): number {
  const { rows } = atOnce(packingDemandOf(base, queued, DEFAULT_PLANNER));
  return leastHosts(base.classes, base.templates, rows, queued.length);
}

describe("the least number of nodes that any plan needs", () => {
  it("is one for each pod with host anti-affinity, or for as many pods as a host spread allows on a node", () => {
    expect(hostsOf(batchOf(50, { affinity: apart }))).toBe(50);
    expect(hostsOf(batchOf(50, { topologySpreadConstraints: [spread(HOST, 1)] }))).toBe(50);
    expect(hostsOf(batchOf(50, { topologySpreadConstraints: [spread(HOST, 4)] }))).toBe(13);
    expect(hostsOf(batchOf(50, {}))).toBe(0);
  });

  it("ignores preferences, and rules of pods that may find no place at all", () => {
    expect(hostsOf(batchOf(50, { affinity: ratherApart }))).toBe(0);
    const inZones = [spread("topology.kubernetes.io/zone", 1)];
    const both = { affinity: apart, topologySpreadConstraints: inZones };
    expect(hostsOf(batchOf(50, both))).toBe(0);
  });

  it("is zero if NodePool limits may prevent one of the nodes", () => {
    const within = (limits: Record<string, number>) =>
      hostsOf(batchOf(50, { affinity: apart }, limits));
    expect(within({ cpu: 64_000 })).toBe(0);
    // The 450 pods need at most 450 nodes of eight cores. The limit must have room for one node more.
    expect(within({ cpu: 451 * 8_000 - 1 })).toBe(0);
    expect(within({ cpu: 451 * 8_000 })).toBe(50);
    expect(within({ nodes: 450 })).toBe(0);
    expect(within({ nodes: 451 })).toBe(50);
  });

  it("raises the lower bound of a plan's price, never above the final price", () => {
    const batch = batchOf(150, { affinity: apart });
    const { templates, context } = batch.base;
    const floor = new PriceFloor(templates, context.space);
    const [soFar, opened] = [hostsOf(batch), 0].map(
      (n) => new PartialPlanBound(templates, floor, n),
    );
    const seen: (readonly [known: number, opened: number])[] = [];
    const plan = atOnce(
      planUntil(batch, ({ all }) => {
        seen.push([soFar?.of(all) ?? 0, opened?.of(all) ?? 0]);
        return false;
      }),
    );
    if (plan === undefined) throw new Error("nobody stopped it");
    expect(plan.newClaims.length).toBeGreaterThanOrEqual(150);
    const known = seen.map(([one]) => one);
    expect(known).toEqual(known.toSorted((a, b) => a - b));
    expect(known.at(-1)).toBeLessThanOrEqual(priceMicroUsd(plan));
    expect(seen[0]?.[0]).toBeGreaterThan((seen[0]?.[1] as number) * 1.2);
  });
});
