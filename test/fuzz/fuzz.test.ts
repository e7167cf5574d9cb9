import { describe, expect, it } from "vitest";
import { GREEDY_PLANNER } from "../../src/core/planner/planner-options.ts";
import { validate } from "../validator/validate.ts";
import { drawScenario } from "./draw.ts";
import { withNamedDaemons } from "./draw-daemons.ts";
import { limitedAnyway, withLimits } from "./draw-limits.ts";
import { withVolumes } from "./draw-volumes.ts";
import { fixVerdict } from "./fixes.ts";
import { planned } from "./ours.ts";
import { faultsOf } from "./properties.ts";
import { refusals, refusedInTheEnd } from "./scheduler.ts";
import { shrink } from "./shrink.ts";

/** Number of seeds that `npm test` tries. */
const QUICK = 60;
/** Number of seeds that `npm test` tries of `npm run fuzz -- fixes`. */
const QUICK_FIXES = 10;
/** Seed: raising one of two limits is enough. With both raised, a topology rule refuses the pods. */
const TWO_LIMITS = 83_100_020;
/** Seed with three limits: the fix first raises one of them further than necessary, until the others are minimal. */
const THREE_LIMITS = 84_003_016;
/** Seed with three limits on all NodePools: a higher node limit alone is enough. */
const MORE_NODES = 84_002_009;
/** Seed: 19 kinds of pods are pending because of three limits. A fix is found for each before any is made smaller. */
const MANY_KINDS = 84_002_341;
/**
 * Seed with three limits on all NodePools. The search for one kind of pod uses up its budget of trial plans before the
 * fix of another kind is tried for it.
 */
const LENT = 84_003_098;
/** Seed: a planned node must keep several types (minValues), and no type may be added. Fewer types are enough. */
const FEWER_TYPES = 84_020_065;
/**
 * Seed: nodes count more against limits when they are opened than at the end. The plan without limits seems to be
 * within them.
 */
const LARGE_AT_FIRST = 956;
/**
 * Seed: two limits of one of three NodePools must be raised. The single changes, which are tried first, use up the
 * trial plans of one kind of pod.
 */
const TWO_OF_MANY = 1_168;
/** Seed: one pod needs two changes, and the fix of another pod is enough for it too. */
const LESS_OF_ANOTHER = 51_853;
/** Seeds: within the limits, or with enough types, the pod has a place if others may be placed elsewhere. */
const OTHERS_ELSEWHERE = [700_744, 700_762, 702_625];

describe("plans of random scenarios", () => {
  it("satisfy the validator, the simulated scheduler and the placement rules", () => {
    for (let seed = 0; seed < QUICK; seed++) {
      const scenario = withNamedDaemons(
        withLimits(withVolumes(drawScenario(seed), seed), seed),
        seed,
      );
      expect({ seed, faults: faultsOf(scenario) }).toEqual({ seed, faults: [] });
    }
  });
});

describe("the remedies that plans name for pods without a place", () => {
  it("place their pods when they are applied, and no smaller change of the same kind does", () => {
    let fixed = 0;
    const limited = [TWO_LIMITS, THREE_LIMITS, LARGE_AT_FIRST, TWO_OF_MANY];
    const known = [...limited, FEWER_TYPES, LESS_OF_ANOTHER, ...OTHERS_ELSEWHERE];
    for (const seed of [...Array(QUICK_FIXES).keys(), ...known]) {
      const verdict = fixVerdict(withLimits(withVolumes(drawScenario(seed), seed), seed));
      expect({ seed, faults: verdict.faults }).toEqual({ seed, faults: [] });
      fixed += verdict.fixed;
    }
    expect(fixed).toBeGreaterThan(5);
  });

  it("are as small as possible even if all pools have three limits", () => {
    const { faults } = fixVerdict(
      limitedAnyway(withVolumes(drawScenario(MORE_NODES), MORE_NODES), MORE_NODES),
    );
    expect(faults).toEqual([]);
  });

  it("may be those of other pods, after the search for their own has used up its trial plans", () => {
    const verdict = fixVerdict(limitedAnyway(withVolumes(drawScenario(LENT), LENT), LENT));
    expect(verdict).toEqual({ faults: [], fixed: 12, unfixed: 0 });
  });

  it("exist for each of many kinds of pods that limits exclude, and are as small as possible", () => {
    const { faults } = fixVerdict(
      withLimits(withVolumes(drawScenario(MANY_KINDS), MANY_KINDS), MANY_KINDS),
    );
    expect(faults).toEqual([]);
  });
});

/** A scenario whose plan has a new node with at least two pods. */
function crowded() {
  for (let seed = 0; ; seed++) {
    const scenario = drawScenario(seed);
    const plan = planned(scenario, GREEDY_PLANNER);
    const at = plan.newNodeClaims.findIndex(({ pods }) => pods.length > 1);
    if (at >= 0) return { scenario, plan, at };
  }
}

describe("the validator of plans", () => {
  const { scenario, plan, at } = crowded();
  const claim = plan.newNodeClaims[at] as (typeof plan.newNodeClaims)[number];
  const changed = (other: object) => ({
    ...plan,
    newNodeClaims: plan.newNodeClaims.with(at, { ...claim, ...other }),
  });

  it("finds a missing pod", () => {
    expect(validate(scenario, changed({ pods: claim.pods.slice(1) })).join()).toContain("0 times");
  });

  it("finds a pod that is placed twice", () => {
    const pods = [...claim.pods, claim.pods[0]];
    expect(validate(scenario, changed({ pods })).join()).toContain("2 times");
  });

  it("finds a price that is not the lowest", () => {
    const cheapest = { ...claim.cheapest, priceMicroUsdPerHour: 1 };
    expect(validate(scenario, changed({ cheapest })).join()).toContain("the cheapest costs");
  });

  it("finds a type that is too small for its pods", () => {
    const small = {
      name: "tiny",
      capacity: { cpu: "1m", memory: "1Mi", pods: "1" },
      labels: {},
      offerings: [{ zone: "zone-a", capacityType: "on-demand", priceMicroUsdPerHour: 9e9 }],
    };
    const wider = { ...scenario, instanceTypes: [...scenario.instanceTypes, small] };
    const faults = validate(wider, changed({ instanceTypes: [...claim.instanceTypes, "tiny"] }));
    expect(faults.join()).toMatch(/tiny (has|cannot be launched)/);
  });
});

describe("the validator of plans, for daemons that name nodes", () => {
  const requests = { cpu: "1500m" };
  const container = { name: "main", resources: { requests } };
  const pod = {
    kind: "Pod",
    metadata: { name: "one", namespace: "default", uid: "one" },
    spec: { containers: [container] },
  };
  const type = (name: string, cpu: string, priceMicroUsdPerHour: number) => ({
    name,
    labels: { "kubernetes.io/os": "linux" },
    capacity: { cpu, memory: "8Gi", pods: "10" },
    offerings: [{ zone: "zone-a", capacityType: "on-demand", priceMicroUsdPerHour }],
  });
  const pool = { kind: "NodePool", metadata: { name: "p" }, spec: { template: { spec: {} } } };
  const instanceTypes = [type("small", "2", 1), type("large", "4", 2)];
  const scenarioWith = (term: object) => {
    const required = { nodeSelectorTerms: [term] };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
    const template = { metadata: {}, spec: { containers: [container], affinity } };
    const daemonSet = { kind: "DaemonSet", metadata: { name: "agent" }, spec: { template } };
    return { manifests: [pool, daemonSet, pod], instanceTypes };
  };
  const nodes = (operator: string) => [{ key: "metadata.name", operator, values: ["other"] }];
  const planFor = (scenario: ReturnType<typeof scenarioWith>) => planned(scenario, GREEDY_PLANNER);

  it("treats a new node as none of the named ones, whatever its labels", () => {
    const linux = [{ key: "kubernetes.io/os", operator: "In", values: ["linux"] }];
    const scenario = scenarioWith({ matchExpressions: linux, matchFields: nodes("In") });
    const plan = planFor(scenario);
    expect(plan.newNodeClaims[0]?.cheapest.instanceType).toBe("small");
    expect(validate(scenario, plan)).toEqual([]);
  });

  it("finds missing room for a daemon that only excludes names", () => {
    const scenario = scenarioWith({ matchFields: nodes("NotIn") });
    const plan = planFor(scenario);
    expect(plan.newNodeClaims[0]?.cheapest.instanceType).toBe("large");
    expect(validate(scenario, plan)).toEqual([]);
    const tooSmall = planFor(scenarioWith({ matchFields: nodes("In") }));
    expect(validate(scenario, tooSmall).join()).toContain("small has 2000 of cpu");
  });
});

/** A scenario whose plan is valid only because of the zones of disks. */
function disksApart() {
  for (let seed = 0; seed < 100; seed++) {
    const scenario = withVolumes(drawScenario(seed), seed);
    const plan = planned(scenario, GREEDY_PLANNER);
    const newNodeClaims = plan.newNodeClaims.map((claim) => ({
      ...claim,
      requirements: claim.requirements.filter(({ key }) => !key.endsWith("/zone")),
    }));
    const faults = validate(scenario, { ...plan, newNodeClaims });
    if (faults.some((fault) => fault.includes("the disk"))) return { scenario, plan };
  }
  throw new Error("the validator finds no disk apart in a hundred scenarios");
}

describe("the validator of plans, for volumes", () => {
  it("finds a node that cannot be in the zone of a disk, and accepts the original plan", () => {
    const { scenario, plan } = disksApart();
    expect(validate(scenario, plan)).toEqual([]);
  });
});

describe("the simulated scheduler's check of a plan", () => {
  it("is repeated without the pods that it refuses, because other pods relied on them (seed 7631473)", () => {
    const zone = "topology.kubernetes.io/zone";
    const { manifests, instanceTypes } = drawScenario(0);
    const pool = manifests.find(({ kind }) => kind === "NodePool");
    const named = { ...pool, metadata: { name: "p" }, spec: { template: { spec: {} } } };
    const container = { name: "main", resources: { requests: { cpu: "1m" } } };
    const made = (name: string, labels: object, spec: object) => ({
      kind: "Pod",
      metadata: { name, namespace: "default", uid: name, labels },
      spec: { containers: [container], ...spec },
    });
    const term = { topologyKey: zone, labelSelector: { matchLabels: { app: "c" } } };
    const near = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const pods = [
      made("never", { app: "c" }, { nodeSelector: { tier: "none-has-it" } }),
      made("near", { app: "d" }, { affinity: near }),
    ];
    const type = {
      ...instanceTypes[0],
      offerings: ["zone-a", "zone-b"].map((one) => ({
        zone: one,
        capacityType: "on-demand",
        priceMicroUsdPerHour: 1,
      })),
    };
    const claim = (name: string, zones: string[], at: string) => ({
      nodePool: "p",
      pods: [`default/${name}`],
      requirements: [{ key: zone, operator: "In" as const, values: zones }],
      instanceTypes: [type.name],
      cheapest: {
        instanceType: type.name,
        zone: at,
        capacityType: "on-demand",
        priceMicroUsdPerHour: 1,
      },
    });
    const scenario = { manifests: [named, ...pods], instanceTypes: [type] };
    const newNodeClaims = [
      claim("never", ["zone-a", "zone-b"], "zone-a"),
      claim("near", ["zone-b"], "zone-b"),
    ];
    const plan = { newNodeClaims, existingNodes: [] };
    expect([...refusals(scenario, plan).keys()]).toEqual(["default/never"]);
    expect([...refusedInTheEnd(scenario, plan)]).toEqual(["default/never", "default/near"]);
  });
});

describe("the shrinking of a failing scenario", () => {
  it("keeps only the objects that make it fail", () => {
    const scenario = drawScenario(3);
    const name = scenario.manifests.find(({ kind }) => kind === "Pod")?.metadata.name;
    const small = shrink(scenario, ({ manifests }) =>
      manifests.some(({ metadata }) => metadata.name === name),
    );
    expect(small.manifests).toHaveLength(1);
    expect(small.instanceTypes).toHaveLength(0);
  });
});
