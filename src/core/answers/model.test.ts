import { expect, it } from "vitest";
import { toRfc3339 } from "../../base/clock.ts";
import { atOnce } from "../../base/steps.ts";
import { instanceType } from "../../testing/builders.ts";
import { candidate, NOW } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import { change } from "./model.ts";

it("a move is a pod event of the node that pods join, not of other nodes", () => {
  const types = [instanceType({ cpu: 4 })];
  const of = (name: string) => candidate(name, { types, pods: ["1"] });
  const [a, b, c] = [of("a"), of("b"), of("c")];
  const pools = [{ pool: a.pool, instanceTypes: types, usage: {} }];
  const restraint = {
    minSavingsPercent: 0,
    maxPaybackMs: 0,
    replacementRestMs: 0,
    maxMovesPerPodHour: 4,
  };
  const before = quietModel({ pools, nodes: [a.node, b.node, c.node], restraint });
  const placed = [{ nodeName: "b", pods: a.node.pods }];
  const { model } = atOnce(change(before, { gone: ["a"], placed, nowMs: NOW + 1_000 }));
  const events = (nodes: typeof model.picture.nodes) =>
    nodes.map(({ name, claim }) => [name, claim?.status?.lastPodEventTime]);
  const [, , ofC] = events(before.picture.nodes);
  expect(events(model.picture.nodes)).toEqual([["b", toRfc3339(NOW + 1_000)], ofC]);
});
