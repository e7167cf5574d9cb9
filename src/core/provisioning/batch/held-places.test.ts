// Where planning sees pods that a command is about to move.
import { describe, expect, it } from "vitest";
import { keyOf } from "../../../apis/meta.ts";
import { atOnce } from "../../../base/steps.ts";
import { nodeClaim, nodeView, pod, schedulingInput } from "../../../testing/builders.ts";
import { type NodeView, nodeView as viewOf } from "../../state/node-view.ts";
import { atTheirPlaces } from "./held-places.ts";

const [big, small] = [
  pod({ name: "big", cpu: "3", nodeName: "old" }),
  pod({ name: "small", cpu: "1", nodeName: "old" }),
];
const waiting = pod({ name: "waiting", cpu: "1" });

/** Who is planned for, and who is where, when both pods of `old` are to go to `target`. */
function placed(target: NodeView) {
  const old = nodeView({ node: { name: "old" }, pods: [big, small], deleting: true });
  const input = schedulingInput({ pods: [big, small, waiting], nodes: [old, target] });
  const seen = atOnce(
    atTheirPlaces(input, ({ spec }) => (spec.nodeName === "old" ? "target" : undefined)),
  );
  return {
    planned: seen.pods.map(keyOf),
    homes: seen.nodes.map(({ name, pods }) => [name, ...pods.map(keyOf)]),
  };
}

describe("pods with a place by a command", () => {
  it("are seen there, and no longer where they run", () => {
    expect(placed(nodeView({ node: { name: "target" } }))).toEqual({
      planned: ["default/waiting"],
      homes: [["old"], ["target", "default/big", "default/small"]],
    });
  });

  it("are seen on a node that one command knows by its claim, and another by its Node", () => {
    const old = nodeView({ node: { name: "old" }, pods: [big, small], deleting: true });
    const target = nodeView({ node: { name: "target" }, claim: nodeClaim({ name: "claim" }) });
    const input = schedulingInput({ pods: [big, small, waiting], nodes: [old, target] });
    const seen = atOnce(
      atTheirPlaces(input, (one) =>
        one === waiting ? undefined : one === big ? "claim" : "target",
      ),
    );
    expect(seen.pods).toEqual([waiting]);
  });

  it("are planned for when somebody else has taken their room", () => {
    const other = pod({ name: "other", cpu: "2", nodeName: "target" });
    expect(placed(nodeView({ node: { name: "target" }, pods: [other] }))).toEqual({
      planned: ["default/big", "default/waiting"],
      homes: [
        ["old", "default/big"],
        ["target", "default/other", "default/small"],
      ],
    });
  });

  it("are seen on a claim whose machine is not known yet, and nowhere else once it goes", () => {
    const claim = { ...nodeClaim({ name: "target" }), status: {} };
    const facts = { node: undefined, claim, pods: [], nominatedUntilMs: 0 };
    expect(placed(viewOf({ ...facts, marked: false })).planned).toEqual(["default/waiting"]);
    expect(placed(viewOf({ ...facts, marked: true })).planned).toHaveLength(3);
  });
});
