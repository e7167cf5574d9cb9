import { describe, expect, it } from "vitest";
import { pod, schedulingInput } from "../../../testing/builders.ts";
import { solve } from "../solve.ts";
import { defaultSpreader } from "./default-spread.ts";

const ZONAL = {
  maxSkew: 1,
  topologyKey: "topology.kubernetes.io/zone",
  whenUnsatisfiable: "ScheduleAnyway",
};

const constraints = [ZONAL];

describe("default topology spread", () => {
  const owner = { kind: "ReplicaSet", name: "web" };
  const web = pod({ labels: { app: "web", tier: "front" }, owner });
  const service = {
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { tier: "front" } },
  };
  const replicaSet = {
    kind: "ReplicaSet",
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { matchLabels: { app: "web" } } },
  };
  const spreads = (one: typeof web, services: object[], workloads: object[]) =>
    defaultSpreader({ constraints, services, workloads } as never)(one).spec
      .topologySpreadConstraints;

  it("uses the selectors of the pod's Services and of its controller", () => {
    expect(spreads(web, [service], [replicaSet])).toEqual([
      {
        ...ZONAL,
        labelSelector: {
          matchLabels: { tier: "front" },
          matchExpressions: [{ key: "app", operator: "In", values: ["web"] }],
        },
      },
    ]);
  });

  it("uses the matchExpressions of the pod's controller", () => {
    const notBack = { key: "tier", operator: "NotIn", values: ["back"] };
    const spec = { selector: { matchLabels: { app: "web" }, matchExpressions: [notBack] } };
    const [spread] = spreads(web, [], [{ ...replicaSet, spec }]) ?? [];
    expect(spread?.labelSelector?.matchExpressions).toEqual([
      { key: "app", operator: "In", values: ["web"] },
      notBack,
    ]);
  });

  it("does not apply to pods without a Service or controller, or with their own spread", () => {
    const elsewhere = { ...service, metadata: { name: "web", namespace: "other" } };
    expect(spreads(web, [elsewhere, { ...service, spec: {} }], [])).toBe(undefined);
    const own = [{ maxSkew: 2, topologyKey: "rack", whenUnsatisfiable: "DoNotSchedule" as const }];
    const { labels } = web.metadata;
    const spread = pod({ labels: labels as never, spec: { topologySpreadConstraints: own } });
    expect(spreads(spread, [service], [])).toBe(own);
  });

  it("applies to each pod by its own controller, even if the pods are otherwise equal", () => {
    const hard = [{ ...ZONAL, whenUnsatisfiable: "DoNotSchedule" }];
    // These pods share one spec object and one labels object, as pods of one template do.
    const { spec } = web;
    const labels = { app: "web" };
    const pods = ["gone", "web", "web", "web"].map((of, index) => {
      const own = pod({ name: "abcd"[index] as string, owner: { kind: "ReplicaSet", name: of } });
      return { ...own, spec, metadata: { ...own.metadata, labels } };
    });
    const defaultSpread = { constraints: hard, services: [], workloads: [replicaSet] } as never;
    const zones = (input: object) =>
      solve(schedulingInput({ pods, ...input })).newClaims.map((one) => [
        one.cheapest.zone,
        one.pods.map(({ metadata }) => metadata.name).join(" "),
      ]);
    expect(zones({})).toEqual([["zone-a", "a b c d"]]);
    // The zone of the first pod's node is undecided, so the last of the other pods may join that node.
    expect(zones({ defaultSpread })).toEqual([
      ["zone-c", "a d"],
      ["zone-a", "b"],
      ["zone-b", "c"],
    ]);
  });
});
