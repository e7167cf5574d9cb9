import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { node, pod } from "../../testing/builders.ts";
import { nodeView } from "../state/node-view.ts";
import { inTurnsByZone, type Place } from "./zone-turns.ts";

const ZONE = "topology.kubernetes.io/zone";
const SPREAD = {
  topologyKey: ZONE,
  maxSkew: 1,
  whenUnsatisfiable: "DoNotSchedule" as const,
  labelSelector: { matchLabels: { app: "web" } },
};
const owner = { kind: "ReplicaSet", name: "web" };
/** Three in a, one in b, none in c. */
const homes = new Map(
  Object.entries({ "a-0": "a", "a-1": "a", "a-2": "a", "b-0": "b" }).map(([name, zone]) => [
    pod({ name, owner, spec: { topologySpreadConstraints: [SPREAD] } }),
    zone,
  ]),
);
const [first, second, third, inB] = [...homes.keys()] as [Pod, Pod, Pod, Pod];
const nodes = ["a", "b", "c"].map((zone) =>
  nodeView({
    node: node({ name: zone, labels: { [ZONE]: zone } }),
    claim: undefined,
    pods: [...homes].flatMap(([one, home]) => (home === zone ? [one] : [])),
    marked: false,
    nominatedUntilMs: 0,
  }),
);
const turns = (places: readonly Place[]) =>
  inTurnsByZone(places, (one) => homes.get(one), nodes).map(({ name, pods }) => [
    name,
    pods.map(({ metadata }) => metadata.name),
  ]);

describe("pods that are spread over zones", () => {
  it("go to the emptiest zone first, whichever node has the first turn", () => {
    const places = [
      { name: "in-b", zone: "b", pods: [first] },
      { name: "in-c", zone: "c", pods: [second] },
    ];
    expect(turns(places)).toEqual([
      ["in-c", ["a-1"]],
      ["in-b", ["a-0"]],
    ]);
  });

  it("do not hold up those that stay in their zone: the node has another turn for them", () => {
    const places = [
      { name: "in-a", zone: "a", pods: [third] },
      { name: "in-b", zone: "b", pods: [first, inB] },
      { name: "in-c", zone: "c", pods: [second] },
    ];
    expect(turns(places)).toEqual([
      ["in-a", ["a-2"]],
      ["in-b", ["b-0"]],
      ["in-c", ["a-1"]],
      ["in-b", ["a-0"]],
    ]);
  });

  it("are told one from the other only as long as anybody steers them", () => {
    const many = Array.from({ length: 400 }, (_, index) =>
      pod({ name: `many-${index}`, owner, spec: { topologySpreadConstraints: [SPREAD] } }),
    );
    const places = [
      { name: "in-b", zone: "b", pods: many.slice(0, 200) },
      { name: "in-c", zone: "c", pods: many.slice(200) },
    ];
    const labels = { [ZONE]: "a" };
    const full = nodeView({
      node: node({ name: "full", labels }),
      claim: undefined,
      pods: many,
      marked: false,
      nominatedUntilMs: 0,
    });
    const found = inTurnsByZone(places, () => "a", [...nodes.slice(1), full]);
    expect(found.length).toBeLessThan(110);
    expect(new Set(found.flatMap(({ pods }) => pods)).size).toBe(400);
  });

  it("go as planned where that cannot come out right", () => {
    const places = [{ name: "in-b", zone: "b", pods: [first, second] }];
    expect(turns(places)).toEqual([["in-b", ["a-0", "a-1"]]]);
  });
});
