import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { atOnce } from "../../base/steps.ts";
import { node, pod } from "../../testing/builders.ts";
import { nodeView } from "../state/node-view.ts";
import { orderByZone, type PlannedTarget } from "./zone-order.ts";

const ZONE = "topology.kubernetes.io/zone";
const SPREAD = {
  topologyKey: ZONE,
  maxSkew: 1,
  whenUnsatisfiable: "DoNotSchedule" as const,
  labelSelector: { matchLabels: { app: "web" } },
};
const owner = { kind: "ReplicaSet", name: "web" };
/** The zones of four pods: three in a, one in b, none in c. */
const homes = new Map(
  Object.entries({ "a-0": "a", "a-1": "a", "a-2": "a", "b-0": "b" }).map(([name, zone]) => [
    pod({
      name,
      owner,
      spec: { topologySpreadConstraints: [SPREAD], nodeSelector: { is: "ours" } },
    }),
    zone,
  ]),
);
const [first, second, third, inB] = [...homes.keys()] as [Pod, Pod, Pod, Pod];
const alone = pod({ name: "alone" });
/** One node in each zone. The pods may not use the node in d. */
const nodes = ["a", "b", "c", "d"].map((zone) =>
  nodeView({
    node: node({ name: zone, labels: { [ZONE]: zone, is: zone === "d" ? "theirs" : "ours" } }),
    claim: undefined,
    pods: [...homes].flatMap(([one, home]) => (home === zone ? [one] : [])),
    marked: false,
    nominatedUntilMs: 0,
  }),
);
const turns = (places: readonly PlannedTarget[]) =>
  atOnce(orderByZone(places, (one) => homes.get(one), nodes)).map(({ name, pods }) => [
    name,
    pods.map(({ metadata }) => metadata.name),
  ]);

describe("pods that are spread over zones", () => {
  it("are evicted for the emptiest zone first, whatever the order of the nodes", () => {
    const places = [
      { name: "in-b", zone: "b", pods: [first] },
      { name: "in-c", zone: "c", pods: [second] },
    ];
    expect(turns(places)).toEqual([
      ["in-c", ["a-1"]],
      ["in-b", ["a-0"]],
    ]);
  });

  it("are evicted for a zone that is ahead only after others have left it", () => {
    const places = [
      { name: "in-a", zone: "a", pods: [third] },
      { name: "in-c", zone: "c", pods: [second] },
    ];
    expect(turns(places)).toEqual([
      ["in-c", ["a-1"]],
      ["in-a", ["a-2"]],
    ]);
  });

  it("wait until all pods for their new node may be evicted", () => {
    const places = [
      { name: "in-a", zone: "a", pods: [third] },
      { name: "in-b", zone: "b", pods: [first, inB] },
      { name: "in-c", zone: "c", pods: [second] },
    ];
    expect(turns(places)).toEqual([
      ["in-c", ["a-1"]],
      ["in-a", ["a-2"]],
      ["in-b", ["a-0", "b-0"]],
    ]);
  });

  it("do not block others forever, and are then evicted as planned", () => {
    const places = [{ name: "in-b", zone: "b", pods: [first, second, inB, alone] }];
    expect(turns(places)).toEqual([
      ["in-b", ["b-0", "alone"]],
      ["in-b", ["a-0", "a-1"]],
    ]);
  });

  it("count as leaving together if they are planned for the same node", () => {
    const all = [first, second, third];
    const places = [
      { name: "in-a", zone: "a", pods: all.slice(0, 2) },
      { name: "in-c", zone: "c", pods: [third] },
    ];
    expect(turns(places)).toEqual([
      ["in-c", ["a-2"]],
      ["in-a", ["a-0", "a-1"]],
    ]);
  });

  it("count for a zone that has no pods yet", () => {
    const places = [
      { name: "first-in-e", zone: "e", pods: [first, second] },
      { name: "in-c", zone: "c", pods: [third] },
      { name: "next-in-e", zone: "e", pods: [inB] },
    ];
    expect(turns(places)).toEqual([
      ["in-c", ["a-2"]],
      ["next-in-e", ["b-0"]],
      ["first-in-e", ["a-0", "a-1"]],
    ]);
  });
});
