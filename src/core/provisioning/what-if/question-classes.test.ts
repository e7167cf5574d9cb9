import { expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { nodeView, pod, schedulingInput } from "../../../testing/builders.ts";
import { PreparedCluster } from "./prepared-cluster.ts";

it("hasNoRoom is true for a pod if all nodes but one are too full", () => {
  const node = (name: string, cpu: string) =>
    nodeView({
      node: { name, capacity: { cpu: "4" } },
      pods: [pod({ name: `on-${name}`, nodeName: name, cpu })],
    });
  const hasNoRoom = (but: string, ...nodes: readonly ReturnType<typeof nodeView>[]) => {
    const input = schedulingInput({ nodes, pools: [] });
    const cluster = atOnce(PreparedCluster.of(input));
    const { questionClasses, movingPods, nodes: places } = cluster;
    const place = places.find(({ view }) => view.name === but);
    const tried = questionClasses.of(movingPods.classOf(pod({ name: "asking", cpu: "3" })));
    return place && questionClasses.hasNoRoom(tried, place);
  };
  const [free, full, packed] = [node("free", "1"), node("full", "2"), node("packed", "3")];
  expect(hasNoRoom("free", free, full, packed)).toBe(true);
  expect(hasNoRoom("full", free, full, packed)).toBe(false);
  expect(hasNoRoom("full", full, packed)).toBe(true);
  expect(hasNoRoom("free", free, full, node("last", "1"))).toBe(false);
});
