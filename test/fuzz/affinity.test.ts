/**
 * Pods with affinity to pods of their own kind, over every sort of topology key. As many of them are placed as fit into
 * the best domain, whichever domain the first pod chooses. The best domain is found by trying every machine.
 */
import { describe, expect, it } from "vitest";
import { Random } from "../../src/base/random.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER } from "../../src/core/planner/planner-options.ts";
import {
  type Amounts,
  type Json,
  plus,
  podAmounts,
  repelledBy,
  shortOf,
  wantsNode,
} from "../validator/kubernetes.ts";
import { type Outcome, outcomesOf } from "../validator/places.ts";
import { type Scenario, validate } from "../validator/validate.ts";
import { drawScenario } from "./draw.ts";
import { planned } from "./ours.ts";
import { schedulerFaults } from "./scheduler.ts";

const SEEDS = 150;
const ZONE = "topology.kubernetes.io/zone";
const CAPACITY_TYPE = "karpenter.sh/capacity-type";
const TEAM = "example.com/team";
const HOSTNAME = "kubernetes.io/hostname";
const VALUES: Readonly<Record<string, readonly string[]>> = {
  [ZONE]: ["zone-a", "zone-b", "zone-c"],
  [CAPACITY_TYPE]: ["on-demand", "spot"],
  [TEAM]: ["blue", "red"],
};

interface Kin {
  readonly key: string;
  readonly pods: readonly Json[];
  readonly scenario: Scenario;
}

/** One NodePool, and a few pods with affinity to each other over one key. Some of them can be in some domains only. */
function drawKin(seed: number): Kin {
  const { manifests, instanceTypes } = drawScenario(seed);
  const random = new Random(seed + 1);
  const key = random.pick([...Object.keys(VALUES), HOSTNAME]);
  const labelSelector = { matchLabels: { app: "kin" } };
  const pods = Array.from({ length: 2 + random.int(4) }, (_, at) => {
    const nodeSelector: Record<string, string> = {};
    for (const [one, values] of Object.entries(VALUES))
      if (random.int(4) === 0) nodeSelector[one] = random.pick(values);
    const cpu = random.pick(["200m", "500m", "1", "3"]);
    const term = { topologyKey: key, labelSelector };
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: `kin-${at}`,
        namespace: "default",
        uid: `kin-${at}`,
        labels: { app: "kin" },
      },
      spec: {
        nodeSelector,
        affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
        containers: [{ name: "main", resources: { requests: { cpu } } }],
      },
    };
  });
  const pool = manifests.find(({ kind }) => kind === "NodePool");
  const template: Json = pool?.spec.template;
  const own = (template.spec.requirements ?? []).filter(
    (one: Json) => one.minValues === undefined && one.key !== TEAM,
  );
  const requirements = [...own, { key: TEAM, operator: "In", values: VALUES[TEAM] }];
  const spec = { template: { ...template, spec: { ...template.spec, requirements } } };
  return { key, pods, scenario: { manifests: [{ ...pool, spec }, ...pods], instanceTypes } };
}

/** The largest number of the pods that fit into one domain. */
function mostTogether({ key, pods, scenario: { manifests, instanceTypes } }: Kin): number {
  const pool = manifests.find(({ kind }) => kind === "NodePool");
  const taints = pool?.spec.template.spec.taints ?? [];
  const welcome = pods.filter(({ spec }) => repelledBy(taints, spec) === undefined);
  const outcomes = (VALUES[TEAM] ?? []).flatMap((team) =>
    outcomesOf(pool, [{ key: TEAM, operator: "In", values: [team] }], instanceTypes),
  );
  const takes = ({ labels, allocatable }: Outcome, some: readonly Json[]) =>
    some.every(({ spec }) => wantsNode(spec, labels)) &&
    shortOf(
      some.reduce((sum: Amounts, one) => plus(sum, podAmounts(one)), {}),
      allocatable,
    ) === undefined;
  if (key === HOSTNAME) {
    const subsets = Array.from({ length: 2 ** welcome.length }, (_, at) =>
      welcome.filter((_, index) => (at >> index) % 2 === 1),
    );
    const held = subsets.filter(
      (some) => some.length > 0 && outcomes.some((one) => takes(one, some)),
    );
    return Math.max(0, ...held.map(({ length }) => length));
  }
  const domains = VALUES[key] ?? [];
  const counts = domains.map((domain) => {
    const there = outcomes.filter(({ labels }) => labels[key] === domain);
    return welcome.filter((pod) => there.some((one) => takes(one, [pod]))).length;
  });
  return Math.max(0, ...counts);
}

describe("the planner, for pods with affinity to each other", () => {
  it("places as many as can be together, as the simulated scheduler agrees", () => {
    let [split, all] = [0, 0];
    for (let seed = 0; seed < SEEDS; seed++) {
      const kin = drawKin(seed);
      const most = mostTogether(kin);
      for (const options of [GREEDY_PLANNER, DEFAULT_PLANNER]) {
        const plan = planned(kin.scenario, options);
        const { placed } = plan.totals;
        expect({ seed, key: kin.key, placed }).toEqual({ seed, key: kin.key, placed: most });
        expect({ seed, faults: validate(kin.scenario, plan) }).toEqual({ seed, faults: [] });
        expect({ seed, faults: schedulerFaults(kin.scenario, plan) }).toEqual({ seed, faults: [] });
      }
      if (most === kin.pods.length) all++;
      else if (most > 0) split++;
    }
    expect(all).toBeGreaterThan(SEEDS / 10);
    expect(split).toBeGreaterThan(SEEDS / 10);
  });
});
