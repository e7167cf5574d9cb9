import { expect, it } from "vitest";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { atOnce } from "../../../base/steps.ts";
import { oneOf } from "../../scheduling/requirement.ts";
import { FirstPods } from "./late-counts.ts";
import { ANY_NODE, type NodePlace, type TopologyGroup } from "./topology-group.ts";

it("the counts of first pods read the domains of each node once, even for many pods", () => {
  const counts = new Map([
    ["zone-a", 60],
    ["zone-b", 0],
  ]);
  const some = { key: TOPOLOGY_ZONE_LABEL_KEY, filter: ANY_NODE, counts, maxSkew: 1 };
  const group = some as unknown as TopologyGroup;
  let asked = 0;
  const places = new Map<NodePlace, number>();
  for (let at = 0; at < 30; at++) {
    const domains = () => {
      asked++;
      return oneOf(TOPOLOGY_ZONE_LABEL_KEY, ["zone-a"]);
    };
    places.set({ taints: [], domains } as unknown as NodePlace, 1);
  }
  const firstPods = new FirstPods();
  const affinity = {} as TopologyGroup;
  for (const place of places.keys()) firstPods.add({ affinity, group }, place);
  const late = atOnce(
    firstPods.countedLate(function* () {
      yield;
      return places;
    }),
  );
  expect(late).toHaveLength(30);
  // Counts only pods of the spread on other nodes, not those on the node of the first pod.
  expect(late[0]).toMatchObject({ domain: "zone-a", refused: 29 });
  expect(asked).toBeLessThanOrEqual(60);
});
