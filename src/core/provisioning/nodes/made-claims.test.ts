// How claims that a pass has created affect the next plan of the same pass.
import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import {
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { keyOf } from "../../../apis/meta.ts";
import { atOnce } from "../../../base/steps.ts";
import {
  instanceType,
  nodeClaim,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
} from "../../../testing/builders.ts";
import { nodeView as viewOf } from "../../state/node-view.ts";
import type { PlannedClaim } from "../result.ts";
import { solve } from "../solve.ts";
import { type MadeClaim, withinReservations, withPlaced } from "./made-claims.ts";

const LABELS = { app: "x" };
const zoneOf = (values: readonly string[]) => ({
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: TOPOLOGY_ZONE_LABEL_KEY, operator: "In" as const, values }] },
    ],
  },
});
const TERM = {
  requiredDuringSchedulingIgnoredDuringExecution: [
    { topologyKey: TOPOLOGY_ZONE_LABEL_KEY, labelSelector: { matchLabels: LABELS } },
  ],
};
const pools = [
  poolInput(
    {},
    [2, 4].map((cpu) => instanceType({ name: `c-${cpu}x`, cpu })),
  ),
];

/** The claim `made` with this pod, and the node view of that claim before its launch. */
function made(first: Pod, status = {}) {
  const [plan] = solve(schedulingInput({ pods: [first], pools })).newClaims;
  const claim = { ...nodeClaim({ name: "made" }), status };
  const facts = { node: undefined, claim, pods: [], marked: false, nominatedUntilMs: 0 };
  return { claims: [{ name: "made", plan: plan as PlannedClaim }], view: viewOf(facts) };
}

const away = pod({ name: "away", spec: { affinity: { podAntiAffinity: TERM } } });
const near = pod({ name: "near", labels: LABELS, spec: { affinity: { podAffinity: TERM } } });
const other = pod({ name: "other", spec: { affinity: { podAffinity: TERM } } });

/** Which other pods may be planned in the same pass, if the claim of a first pod allows these zones. */
function planned(zones: readonly string[], spec: Partial<Pod["spec"]["affinity"]> = {}) {
  const affinity = { nodeAffinity: zoneOf(zones), ...spec };
  const { claims, view } = made(pod({ name: "first", labels: LABELS, spec: { affinity } }));
  const plain = pod({ name: "plain" });
  const input = schedulingInput({ pods: [away, near, other, plain], nodes: [view], pools });
  return atOnce(withPlaced(input, { made: claims, existing: [] })).pods.map(
    ({ metadata }) => metadata.name,
  );
}

describe("a NodeClaim that is not launched yet", () => {
  it("counts with its pods as its cheapest instance type", () => {
    const first = pod({ name: "first", cpu: "3" });
    const { claims, view } = made(first);
    const input = schedulingInput({ pods: [pod()], nodes: [view], pools });
    const seen = atOnce(withPlaced(input, { made: claims, existing: [] }));
    expect(seen.pods.map(keyOf)).toEqual(["default/pod"]);
    expect(seen.nodes[0]?.pods.map(keyOf)).toEqual(["default/first"]);
    expect(seen.nodes[0]?.labels[INSTANCE_TYPE_LABEL_KEY]).toBe("c-4x");
  });

  it("defers pods with rules on its pods over a label that the NodeClaim leaves open", () => {
    expect(planned(["zone-a", "zone-b"])).toEqual(["other", "plain"]);
    expect(planned(["zone-a"])).toEqual(["away", "near", "other", "plain"]);
  });

  it("counts against limits as its largest type until it is launched, then as the actual one", () => {
    const usage = (status: object, used: Record<string, number>) => {
      const { claims, view } = made(pod(), status);
      const [pool] = pools.map((one) => ({ ...one, usage: used }));
      const input = schedulingInput({ nodes: [view], pools: pool === undefined ? [] : [pool] });
      return atOnce(withPlaced(input, { made: claims, existing: [] })).pools[0]?.usage;
    };
    expect(usage({}, { nodes: 1 })).toMatchObject({ nodes: 1, cpu: 4_000 });
    const launched = { capacity: { cpu: "2" }, allocatable: { cpu: "2" } };
    expect(usage(launched, { nodes: 1, cpu: 2_000 })).toEqual({ nodes: 1, cpu: 2_000 });
  });

  it("is processed in steps, without comparing its pods with every pod without rules", () => {
    const { claims } = made(pod({ name: "first", labels: LABELS }));
    const [{ plan }] = claims as [MadeClaim];
    let looks = 0;
    const own = (name: string) => {
      const one = pod({ name, labels: { job: name } });
      Object.defineProperty(one.spec, "affinity", { enumerable: true, get: () => void looks++ });
      return one;
    };
    const many = Array.from({ length: 100 }, (_, at) => {
      const claim = { ...nodeClaim({ name: `made-${at}` }), status: {} };
      const facts = { node: undefined, claim, pods: [], marked: false, nominatedUntilMs: 0 };
      const there = Array.from({ length: 5 }, (_, index) => own(`there-${at}-${index}`));
      return { view: viewOf(facts), name: `made-${at}`, plan: { ...plan, pods: there } };
    });
    const others = Array.from({ length: 500 }, (_, at) => own(`other-${at}`));
    const nodes = many.map(({ view }) => view);
    const input = schedulingInput({ pods: [near, ...others], nodes, pools });
    const steps = withPlaced(input, { made: many, existing: [] });
    let count = 0;
    while (steps.next().done !== true) count++;
    expect(count).toBeGreaterThan(40);
    // A few comparisons for each pod.
    expect(looks).toBeLessThan(10_000);
  });

  it("gives no room once it is deleted", () => {
    const { claims } = made(pod({ name: "first" }));
    const seen = atOnce(
      withPlaced(schedulingInput({ pods: [pod()], pools }), { made: claims, existing: [] }),
    );
    expect(seen.pods.map(keyOf)).toEqual(["default/pod"]);
    expect(seen.pools[0]?.usage).toEqual({});
  });
});

it("counts a pod once that is bound to its planned node", () => {
  const bound = pod({ name: "bound", nodeName: "node" });
  const [waits, sits] = [pod({ name: "bound" }), pod({ name: "sits" })];
  const input = schedulingInput({ pods: [], nodes: [nodeView({ pods: [bound] })] });
  const existing = [{ nodeName: "node", pods: [waits, sits] }];
  const seen = atOnce(withPlaced(input, { made: [], existing }));
  expect(seen.pods).toEqual([]);
  expect(seen.nodes[0]?.pods.map(keyOf)).toEqual(["default/bound", "default/sits"]);
});

it("accepts new NodeClaims only for the units of a reservation that are left", () => {
  const label = "karpenter.k8s.aws/capacity-reservation-id";
  const offering = {
    ...{ zone: "zone-a", capacityType: "reserved" as const, priceMicroUsd: 1, available: true },
    ...{ reservationCapacity: 3, labels: { [label]: "cr-1" } },
  };
  const reserved = [poolInput({}, [instanceType({ cpu: 4, offerings: [offering] })])];
  const plan = solve(schedulingInput({ pods: [pod()], pools: reserved })).newClaims;
  const [one] = plan as [PlannedClaim];
  const before: readonly MadeClaim[] = [{ name: "made", plan: one }];
  expect(withinReservations([one, one, one], { made: before }, reserved)).toHaveLength(2);
  const open = solve(schedulingInput({ pods: [pod()], pools })).newClaims;
  expect(withinReservations([one, one, one, ...open], { made: before }, reserved)).toHaveLength(3);
});
