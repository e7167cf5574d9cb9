/**
 * DaemonSets that run only in a zone, on a capacity type, or where a label of the NodePool has a certain value. A
 * single pod must get the cheapest machine that has room for it beside these daemons. If there is none, it must stay
 * pending.
 */
import { describe, expect, it } from "vitest";
import { Random } from "../../src/base/random.ts";
import { GREEDY_PLANNER } from "../../src/core/planner/planner-options.ts";
import {
  type Amounts,
  type Json,
  plus,
  podAmounts,
  portsCollide,
  repelledBy,
  shortOf,
  wantsNode,
} from "../validator/kubernetes.ts";
import { daemonPods, outcomesOf } from "../validator/places.ts";
import type { Scenario } from "../validator/validate.ts";
import { drawScenario } from "./draw.ts";
import { withPlacedDaemons } from "./draw-daemons.ts";
import { planned } from "./ours.ts";
import { faultsOf } from "./properties.ts";

const SEEDS = 150;
/** Fewer seeds, because each batch is planned several times. */
const SEEDS_OF_BATCHES = 40;
const TEAMS = ["red", "blue"];

/** The NodePools and DaemonSets of a random scenario, without limits and minValues, and one pod. */
function onePod(seed: number): Scenario {
  const { manifests, instanceTypes } = withPlacedDaemons(drawScenario(seed), seed);
  const random = new Random(seed + 1);
  const nodeSelector: Record<string, string> = {};
  if (random.int(2) === 0)
    nodeSelector["topology.kubernetes.io/zone"] = random.pick(["zone-a", "zone-b"]);
  if (random.int(3) === 0)
    nodeSelector["karpenter.sh/capacity-type"] = random.pick(["on-demand", "spot"]);
  if (random.int(3) === 0) nodeSelector["example.com/team"] = random.pick(TEAMS);
  const cpu = random.pick(["200m", "500m", "1", "2", "2500m", "3", "6"]);
  const ports = random.int(3) === 0 ? { ports: [{ containerPort: 80, hostPort: 80 }] } : {};
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "one", namespace: "default", uid: "one" },
    spec: {
      nodeSelector,
      containers: [{ name: "main", resources: { requests: { cpu } }, ...ports }],
    },
  };
  const pools = manifests
    .filter(({ kind }) => kind === "NodePool")
    .map(({ spec: { template }, ...pool }) => {
      const some = (template.spec.requirements ?? []).filter(
        (one: Json) => one.minValues === undefined,
      );
      return {
        ...pool,
        spec: { template: { ...template, spec: { ...template.spec, requirements: some } } },
      };
    })
    .slice(0, 1);
  const daemons = manifests.filter(({ kind }) => kind === "DaemonSet");
  return { manifests: [...pools, ...daemons, pod], instanceTypes };
}

/** The lowest price by trying every machine. Undefined: the pod fits on none. */
function leastPrice({ manifests, instanceTypes }: Scenario): number | undefined {
  const of = (kind: string) => manifests.filter((one) => one.kind === kind);
  const [pool, pod] = [of("NodePool")[0], of("Pod")[0]];
  const taints = pool?.spec.template.spec.taints ?? [];
  if (repelledBy(taints, pod?.spec) !== undefined) return undefined;
  const hasTeam = pool?.spec.template.spec.requirements.some(
    ({ key }: Json) => key === "example.com/team",
  );
  const choices = [
    [],
    ...(hasTeam
      ? TEAMS.map((team) => [{ key: "example.com/team", operator: "In", values: [team] }])
      : []),
  ];
  const prices = choices.flatMap((choice) =>
    outcomesOf(pool, choice, instanceTypes).flatMap((outcome) => {
      const { labels, allocatable, priceMicroUsd } = outcome;
      if (!wantsNode(pod?.spec, labels)) return [];
      const daemons = daemonPods(of("DaemonSet"), taints, labels);
      const all = [pod, ...daemons].reduce((sum: Amounts, one) => plus(sum, podAmounts(one)), {});
      if (shortOf(all, allocatable) !== undefined) return [];
      return daemons.length > 0 && portsCollide([pod, ...daemons]) ? [] : [priceMicroUsd];
    }),
  );
  return prices.length === 0 ? undefined : Math.min(...prices);
}

describe("the planner, for daemons that run only in some places", () => {
  it("gives a single pod the cheapest instance with room for it and the daemons", () => {
    let [placed, pending] = [0, 0];
    for (let seed = 0; seed < SEEDS; seed++) {
      const scenario = onePod(seed);
      const plan = planned(scenario, GREEDY_PLANNER);
      const found = plan.newNodeClaims[0]?.cheapest.priceMicroUsdPerHour;
      expect({ seed, found }).toEqual({ seed, found: leastPrice(scenario) });
      if (found === undefined) pending++;
      else placed++;
    }
    expect(placed).toBeGreaterThan(SEEDS / 4);
    expect(pending).toBeGreaterThan(SEEDS / 10);
  });

  it("leaves the daemons room on every node of a batch, wherever it starts", () => {
    for (let seed = 0; seed < SEEDS_OF_BATCHES; seed++) {
      const faults = faultsOf(withPlacedDaemons(drawScenario(seed), seed));
      expect({ seed, faults }).toEqual({ seed, faults: [] });
    }
  });
});
