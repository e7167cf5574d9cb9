import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { Random } from "../../base/random.ts";
import { atOnce } from "../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { withoutRecord } from "../../testing/planner.ts";
import type { OpenClaims } from "../provisioning/nodes/open-claims.ts";
import { planAsUpstream, planByCheapestNode, prepare, solve } from "../provisioning/solve.ts";
import { planBatch } from "./plan-batch.ts";
import { priceMicroUsd } from "./plan-price.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER } from "./planner-options.ts";

/** Planner options with which any saving is enough, in batches of any size. */
const EAGER = { ...DEFAULT_PLANNER, minPods: 0, minSaving: 0, nodeMicroUsdPerHour: 0 };
const TYPES = [2, 4, 8, 16, 48].map((cpu) => instanceType({ cpu }));

/** Pods of a few sizes. Some have host anti-affinity, some are spread over zones. */
function batch(seed: number, count: number) {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, index) => {
    const app = random.pick(["a", "b", "c"]);
    const labelSelector = { matchLabels: { app } };
    const rules = [
      {},
      {},
      {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: "kubernetes.io/hostname", labelSelector },
            ],
          },
        },
      },
      {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "topology.kubernetes.io/zone",
            whenUnsatisfiable: "DoNotSchedule" as const,
            labelSelector,
          },
        ],
      },
    ];
    return pod({
      name: `${app}-${index}`,
      labels: { app },
      cpu: random.pick(["250m", "900m", "1500m", "3"]),
      memory: random.pick(["512Mi", "2Gi", "7Gi"]),
      spec: random.pick(rules),
    });
  });
}

const input = (seed: number, count: number) =>
  schedulingInput({ pods: batch(seed, count), pools: [poolInput({}, TYPES)] });

describe("planBatch", () => {
  it("makes the same plan whether or not there are pods that fit nowhere", () => {
    const good = batch(3, 150);
    const lost = Array.from({ length: 400 }, (_, index) =>
      index % 2 === 0
        ? pod({ name: `lost-${index}`, spec: { nodeSelector: { nowhere: "x" } } })
        : pod({ name: `huge-${index}`, cpu: "400" }),
    );
    const plan = (pods: Pod[]) =>
      planBatch(schedulingInput({ pods, pools: [poolInput({}, TYPES)] }), EAGER);
    const [alone, beside] = [plan(good), plan([...lost, ...good])];
    expect(JSON.stringify(beside.newClaims)).toBe(JSON.stringify(alone.newClaims));
    expect(alone.unschedulable).toEqual([]);
    const left = beside.unschedulable.map(({ pod: one }) => one.metadata.name);
    expect(left).toEqual(lost.map(({ metadata }) => metadata.name).sort());
    expect(beside.unschedulable[0]?.message).toContain("no instance type has enough resources");
  });

  it("launches for a few pods what consolidation would otherwise replace the greedy plan by", () => {
    const sized = (cpu: number, priceMicroUsd: number) =>
      instanceType({ name: `c-${cpu}`, cpu, capacityTypes: ["on-demand"], priceMicroUsd });
    const types = [sized(4, 136_000), sized(16, 544_000)];
    const pods = Array.from({ length: 3 }, (_, at) => pod({ name: `p-${at}`, cpu: "3" }));
    const three = schedulingInput({ pods, pools: [poolInput({}, types)] });
    const priceOf = (options: typeof EAGER) => priceMicroUsd(planBatch(three, options));
    expect([priceOf(GREEDY_PLANNER), priceOf(DEFAULT_PLANNER)]).toEqual([544_000, 408_000]);
  });

  it("never costs more than the greedy rules, and places every pod", () => {
    for (let seed = 0; seed < 8; seed++) {
      const one = input(seed, 40);
      const [planned, byRules] = [planBatch(one, EAGER), solve(one)];
      expect(priceMicroUsd(planned)).toBeLessThanOrEqual(priceMicroUsd(byRules));
      expect(planned.unschedulable).toEqual(byRules.unschedulable);
      const placed = planned.newClaims.flatMap(({ pods }) =>
        pods.map((each) => each.metadata.name),
      );
      expect(new Set(placed).size).toBe(40);
      expect(placed.length).toBe(40);
    }
  });

  it("makes the same plan as if the greedy rules had run to their end", () => {
    const settings = { ...DEFAULT_PLANNER, nodeMicroUsdPerHour: 1_000 };
    for (let seed = 0; seed < 2; seed++) {
      const one = input(seed, 200);
      // If pods have different priorities, the greedy rules are not stopped. Here one pod has a higher priority.
      const [first, ...others] = one.pods as [Pod, ...Pod[]];
      const pods = [{ ...first, spec: { ...first.spec, priority: 1 } }, ...others];
      const whole = planBatch({ ...one, pods }, settings);
      const planned = planBatch(one, settings);
      const names = ({ newClaims }: typeof planned) =>
        newClaims.map((claim) => [claim.cheapest, claim.pods.map((each) => each.metadata.name)]);
      expect(names(planned)).toEqual(names(whole));
      expect(priceMicroUsd(planned)).toBeLessThan(priceMicroUsd(solve(one)) * 0.95);
    }
  });

  it("does not let nodes grow into an expensive large type", () => {
    const pods = Array.from({ length: 30 }, (_, index) =>
      pod({ name: `p-${index}`, cpu: "1900m" }),
    );
    // The large instance type costs more for each core.
    const types = [instanceType({ cpu: 2 }), instanceType({ cpu: 64, priceMicroUsd: 9_000_000 })];
    const one = schedulingInput({ pods, pools: [poolInput({}, types)] });
    expect(solve(one).newClaims.length).toBe(1);
    const planned = planBatch(one, EAGER);
    expect(planned.newClaims.length).toBe(30);
    expect(priceMicroUsd(planned)).toBeLessThan(priceMicroUsd(solve(one)));
  });

  it("keeps fewer nodes if the fixed cost of a node outweighs the saving", () => {
    const pods = Array.from({ length: 30 }, (_, index) =>
      pod({ name: `p-${index}`, cpu: "1900m" }),
    );
    const types = [instanceType({ cpu: 2 }), instanceType({ cpu: 64, priceMicroUsd: 9_000_000 })];
    const one = schedulingInput({ pods, pools: [poolInput({}, types)] });
    const dear = { ...EAGER, nodeMicroUsdPerHour: 10_000_000 };
    expect(withoutRecord(planBatch(one, dear))).toEqual(solve(one));
  });

  it("makes the same plan for the same pods in any order", () => {
    const one = input(3, 60);
    const planned = planBatch(one, EAGER);
    const turned = planBatch({ ...one, pods: one.pods.toReversed() }, EAGER);
    expect(JSON.stringify(turned)).toBe(JSON.stringify(planned));
  });

  it("costs no more than upstream's exact rules, even if they are cheaper than the greedy rules here", () => {
    const labels = { app: "a" };
    const podAffinityTerm = {
      topologyKey: "topology.kubernetes.io/zone",
      labelSelector: { matchLabels: labels },
    };
    const wish = {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }],
    };
    const spec = { affinity: { podAntiAffinity: wish } };
    const pods = ["a", "b"].map((name) => pod({ name, labels, cpu: "1", spec }));
    const one = schedulingInput({ pods, pools: [poolInput({}, TYPES)] });
    expect(solve(one).newClaims.length).toBe(2);
    expect(planBatch(one, GREEDY_PLANNER).newClaims.length).toBe(2);
    expect(planBatch(one, DEFAULT_PLANNER).newClaims.length).toBe(1);
  });

  it("does not take a cheaper plan that keeps pods pending, as it cannot foresee zones", () => {
    const key = "topology.kubernetes.io/zone";
    const terms = ["zone-a", "zone-b"].map((zone) => ({
      matchExpressions: [{ key, operator: "In", values: [zone] }],
    }));
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms as never },
      },
    };
    const labels = { app: "web" };
    const rule = { maxSkew: 1, topologyKey: key, whenUnsatisfiable: "DoNotSchedule" as const };
    const topologySpreadConstraints = [{ ...rule, labelSelector: { matchLabels: labels } }];
    const web = ["a", "b"].map((name) =>
      pod({ name, labels, cpu: "1", memory: "5Gi", spec: { affinity, topologySpreadConstraints } }),
    );
    // Without a pod in each zone, all other pods could go to the same zone.
    const others = ["zone-b", "zone-a"].map((zone, at) =>
      pod({ name: `c-${at}`, memory: "12Gi", spec: { nodeSelector: { [key]: zone } } }),
    );
    const pools = [poolInput({}, [instanceType({ cpu: 4 })])];
    const planned = planBatch(
      schedulingInput({ pods: [...web, ...others], pools }),
      DEFAULT_PLANNER,
    );
    const names = planned.newClaims.map((claim) => claim.pods.map((each) => each.metadata.name));
    expect(names.toSorted()).toEqual([["a"], ["b"], ["c-0"], ["c-1"]]);
  });

  it("with upstream's exact rules, the node that reached a number of pods last comes first among equals", () => {
    const large = ["a", "b", "c", "d"].map((name) => pod({ name, cpu: "3500m" }));
    const pods = [...large, pod({ name: "e", cpu: "100m" })];
    const one = schedulingInput({ pods, pools: [poolInput({}, [instanceType({ cpu: 8 })])] });
    const names = ({ newClaims }: ReturnType<typeof solve>) =>
      newClaims.map((claim) => claim.pods.map(({ metadata }) => metadata.name).join(""));
    expect(names(solve(one))).toEqual(["abe", "cd"]);
    const toTheLetter = atOnce(planAsUpstream(atOnce(prepare(one))));
    expect(names(toTheLetter as ReturnType<typeof solve>)).toEqual(["ab", "cde"]);
  });

  it("with upstream's exact rules, leaves the zone of a planned node open in a spread (seed 7630568)", () => {
    const key = "topology.kubernetes.io/zone";
    const labels = { app: "web" };
    const rule = { maxSkew: 1, topologyKey: key, whenUnsatisfiable: "DoNotSchedule" as const };
    const labelSelector = { matchLabels: labels };
    const spread = { ...rule, labelSelector, nodeAffinityPolicy: "Ignore" as const };
    const counted = ["a", "b", "c"].map((name) =>
      pod({ name, labels, cpu: "3", spec: { nodeSelector: { [key]: "zone-a" } } }),
    );
    const spec = { nodeSelector: { [key]: "zone-b" }, topologySpreadConstraints: [spread] };
    const pods = [...counted, pod({ name: "d", labels, cpu: "1", spec })];
    const one = schedulingInput({ pods, pools: [poolInput({}, [instanceType({ cpu: 4 })])] });
    const toTheLetter = atOnce(planAsUpstream(atOnce(prepare(one))));
    expect(toTheLetter?.newClaims.length).toBe(4);
    expect(toTheLetter?.unschedulable).toEqual([]);
  });

  it("with upstream's exact rules, tries only the emptiest zone of a spread (seed 7500291)", () => {
    const small = instanceType({ cpu: 1, memoryGi: 8, zones: ["zone-a"] });
    const large = instanceType({ cpu: 4, zones: ["zone-c"], priceMicroUsd: 350_000 });
    const labels = { app: "b" };
    const topologySpreadConstraints = [
      {
        maxSkew: 2,
        topologyKey: "topology.kubernetes.io/zone",
        whenUnsatisfiable: "DoNotSchedule" as const,
        labelSelector: { matchLabels: labels },
      },
    ];
    const ports = [{ containerPort: 80, hostPort: 80 }];
    const resources = { requests: { cpu: "900m" } };
    const others = ["d-1", "d-2", "d-3", "d-4"].map((name) =>
      pod({ name, spec: { containers: [{ name: "main", image: "pause", ports, resources }] } }),
    );
    const spread = ["b-1", "b-2", "b-3"].map((name) =>
      pod({ name, labels, cpu: "250m", memory: "6Gi", spec: { topologySpreadConstraints } }),
    );
    const one = schedulingInput({
      pods: [...others, ...spread],
      pools: [poolInput({}, [small, large])],
    });
    const types = ({ newClaims }: ReturnType<typeof solve>) =>
      newClaims.map(({ cheapest }) => cheapest.instanceType).sort();
    const toTheLetter = atOnce(planAsUpstream(atOnce(prepare(one))));
    expect(types(solve(one))).toEqual(["m-1x", "m-1x", "m-1x", "m-4x", "m-4x"]);
    expect(types(toTheLetter as ReturnType<typeof solve>)).toEqual([
      "m-1x",
      "m-1x",
      "m-1x",
      "m-1x",
      "m-4x",
    ]);
  });

  it("opens a node with room for all pods that must share its host (seed 7501913)", () => {
    const labels = { app: "d" };
    const labelSelector = { matchLabels: labels };
    const near = [{ topologyKey: "kubernetes.io/hostname", labelSelector }];
    const apart = { topologyKey: "topology.kubernetes.io/zone", labelSelector };
    const affinity = {
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: near },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: apart }],
      },
    };
    const pods = [1, 2, 3].map((n) =>
      pod({ name: `d-${n}`, labels, cpu: "3", spec: { affinity } }),
    );
    const cheapZone = instanceType({ cpu: 4, zones: ["zone-a"] });
    const types = [cheapZone, instanceType({ cpu: 16, zones: ["zone-b"] })];
    const one = schedulingInput({ pods, pools: [poolInput({}, types)] });
    // The preferred anti-affinity does not reduce the room for the host group. So the greedy rules place the group.
    expect(solve(one).unschedulable).toEqual([]);
    const planned = planBatch(one, DEFAULT_PLANNER);
    expect(planned.unschedulable).toEqual([]);
    expect(planned.newClaims.length).toBe(1);
  });

  it("keeps the zones that minValues needs open, where the rules find no node (seed 8400119)", () => {
    const labels = { app: "d" };
    const term = {
      topologyKey: "topology.kubernetes.io/zone",
      labelSelector: { matchLabels: labels },
    };
    const affinity = {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
    };
    const types = ["a", "b", "c"].map((zone) =>
      instanceType({ name: `only-in-${zone}`, zones: [`zone-${zone}`] }),
    );
    const requirements = [
      { key: "node.kubernetes.io/instance-type", operator: "Exists" as const, minValues: 3 },
    ];
    const one = schedulingInput({
      pods: [pod({ name: "d-1", labels, cpu: "1", spec: { affinity } })],
      pools: [poolInput({ requirements }, types)],
    });
    expect(solve(one).unschedulable.length).toBe(1);
    const planned = planBatch(one, DEFAULT_PLANNER);
    expect(planned.unschedulable).toEqual([]);
    expect(planned.newClaims.map(({ instanceTypes }) => instanceTypes.length)).toEqual([3]);
  });

  it("fills burstable types only to their CPU baseline", () => {
    const burstable = {
      ...instanceType({ name: "t", cpu: 2, memoryGi: 8, priceMicroUsd: 30_000 }),
      baseline: { cpu: 400 },
    };
    const plan = (cpu: string, memory: string) => {
      const pods = Array.from({ length: 200 }, (_, at) => pod({ name: `p-${at}`, cpu, memory }));
      const { newClaims } = planBatch(
        schedulingInput({ pods, pools: [poolInput({}, [...TYPES, burstable])] }),
        DEFAULT_PLANNER,
      );
      return newClaims.map((claim) => ({
        pods: claim.pods.length,
        types: claim.instanceTypes.map(({ name }) => name),
      }));
    };
    const busy = plan("900m", "512Mi");
    expect(busy.length).toBeGreaterThan(1);
    expect(busy.filter(({ types }) => types.includes("t"))).toEqual([]);
    // Such a node is filled by pods with little cpu and much memory: four of 100m each, although the memory would hold
    // five.
    const idle = plan("100m", "1500Mi");
    expect(idle.filter(({ types }) => types[0] === "t").length).toBe(50);
    expect(Math.max(...idle.map(({ pods }) => pods))).toBe(4);
  });

  describe("with small pods that would make a large node expensive", () => {
    const offered = (zone: string, priceMicroUsd: number) =>
      ({ zone, capacityType: "on-demand", priceMicroUsd, available: true }) as const;
    const large = instanceType({
      cpu: 16,
      offerings: [offered("zone-a", 100_000), offered("zone-b", 1_000_000)],
    });
    const small = instanceType({
      cpu: 2,
      offerings: [offered("zone-a", 20_000), offered("zone-b", 30_000)],
    });
    const spec = { nodeSelector: { "topology.kubernetes.io/zone": "zone-b" } };
    const pods = [
      pod({ name: "big", cpu: "12" }),
      ...["s-0", "s-1"].map((name) => pod({ name, cpu: "500m", spec })),
    ];
    const two = schedulingInput({ pods, pools: [poolInput({}, [large, small])] });
    const names = ({ newClaims }: ReturnType<typeof solve>) =>
      newClaims.map((claim) => claim.pods.map(({ metadata }) => metadata.name));

    it("gives the small pods a node of their own, even in a small batch", () => {
      expect(priceMicroUsd(solve(two))).toBe(1_000_000);
      const planned = planBatch(two, DEFAULT_PLANNER);
      expect(names(planned)).toEqual([["big"], ["s-0", "s-1"]]);
      expect(priceMicroUsd(planned)).toBe(130_000);
    });

    it("keeps one node if the fixed cost of another one exceeds the saving", () => {
      const dear = { ...DEFAULT_PLANNER, nodeMicroUsdPerHour: 900_000 };
      expect(names(planBatch(two, dear))).toEqual(names(solve(two)));
    });

    it("keeps one node if the planner is greedy", () => {
      expect(withoutRecord(planBatch(two, GREEDY_PLANNER))).toEqual(solve(two));
    });

    it("keeps one node if the small type is burstable", () => {
      const burstable = { ...small, baseline: { cpu: 400 } };
      const one = schedulingInput({ pods, pools: [poolInput({}, [large, burstable])] });
      expect(names(planBatch(one, DEFAULT_PLANNER))).toEqual(names(solve(one)));
    });
  });

  it("opens the cheapest node among pools of equal weight, never of a lighter one (seed 8400812)", () => {
    const pools = [
      poolInput({ name: "dear", weight: 2 }, [instanceType({ cpu: 4, priceMicroUsd: 300_000 })]),
      poolInput({ name: "cheap", weight: 2 }, [instanceType({ cpu: 4, priceMicroUsd: 100_000 })]),
      poolInput({ name: "light", weight: 1 }, [instanceType({ cpu: 4, priceMicroUsd: 50_000 })]),
    ];
    const one = schedulingInput({ pods: ["a", "b"].map((name) => pod({ name, cpu: "3" })), pools });
    const poolsOf = ({ newClaims }: ReturnType<typeof solve>) =>
      newClaims.map(({ pool }) => pool.name);
    expect(poolsOf(solve(one))).toEqual(["dear", "dear"]);
    expect(poolsOf(planBatch(one, DEFAULT_PLANNER))).toEqual(["cheap", "cheap"]);
  });

  it("bounds the number of planned nodes asked in one step, if it opens nodes by price", () => {
    const apart = {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "x" } } },
          ],
        },
      },
    };
    // Each of these pods fills its node. One more pod on the node would need a larger, more expensive type.
    const full = Array.from({ length: 150 }, (_, at) =>
      pod({ name: `x-${at}`, labels: { app: "x" }, cpu: `${7_800 - at}m`, spec: apart }),
    );
    const small = Array.from({ length: 100 }, (_, at) =>
      pod({ name: `s-${at}`, cpu: `${900 + at}m` }),
    );
    const one = schedulingInput({ pods: [...full, ...small], pools: [poolInput({}, TYPES)] });
    let claims: OpenClaims | undefined;
    const plan = planByCheapestNode(atOnce(prepare(one)), 0, function* (pass, queued) {
      claims = pass.claims;
      yield;
      return queued;
    });
    let [before, most, all] = [0, 0, 0];
    while (plan.next().done !== true) {
      all = claims?.asked ?? 0;
      most = Math.max(most, all - before);
      before = all;
    }
    expect(all).toBeGreaterThan(10_000);
    expect(most).toBeLessThan(1_024 + 2 * 250);
  });

  it("does not pack small batches by default, and takes a cheaper plan of another source", () => {
    const one = input(5, 40);
    const { newClaims, unschedulable, planner } = planBatch(one, DEFAULT_PLANNER);
    expect(unschedulable).toEqual([]);
    expect(planner?.considered.map(({ source }) => source)).not.toContain("packing");
    const most = 0.98 * priceMicroUsd(solve(one));
    expect(priceMicroUsd({ newClaims })).toBeLessThan(most);
  });

  it("plans by the greedy rules alone if set to greedy", () => {
    expect(withoutRecord(planBatch(input(5, 120), GREEDY_PLANNER))).toEqual(solve(input(5, 120)));
  });
});
