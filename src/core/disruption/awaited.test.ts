import { describe, expect, it } from "vitest";
import {
  DISRUPTION_COMMAND_ANNOTATION_KEY,
  REPLACEMENT_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nodeClaim, nodeView, pod } from "../../testing/builders.ts";
import { NOW } from "../../testing/disruption.ts";
import { awaitedPodsOn } from "./awaited.ts";

const RECORD = JSON.stringify({
  id: "c-1",
  reason: "Drifted",
  consolidationType: "",
  startedAt: toRfc3339(NOW),
  nodes: ["old"],
  replacements: 1,
});

function old({ deleting = true, pods = 1 } = {}) {
  const claim = nodeClaim({ name: "old" });
  const annotations = { [DISRUPTION_COMMAND_ANNOTATION_KEY]: RECORD };
  return nodeView({
    node: { name: "old" },
    claim: { ...claim, metadata: { ...claim.metadata, annotations } },
    pods: Array.from({ length: pods }, (_, index) =>
      pod({ name: `p-${index}`, nodeName: "old", owner: { kind: "ReplicaSet", name: "r" } }),
    ),
    deleting,
    nominatedUntilMs: 0,
  });
}

function fresh(command: string) {
  const claim = nodeClaim({ name: "new" });
  const annotations = { [REPLACEMENT_ANNOTATION_KEY]: command };
  const creationTimestamp = toRfc3339(NOW);
  return { ...claim, metadata: { ...claim.metadata, annotations, creationTimestamp } };
}

describe("a node that replaces another node", () => {
  it("awaits the pods of the old node, for an hour at most", () => {
    const awaiting = awaitedPodsOn([old()]);
    const hour = 60 * 60_000;
    expect(awaiting(fresh("c-1"), NOW)).toEqual({ nodeName: "old", untilMs: NOW + hour });
    expect(awaiting(fresh("c-1"), NOW + hour)).toBeUndefined();
    expect(awaiting(fresh("c-2"), NOW)).toBeUndefined();
    expect(awaiting(nodeClaim({ name: "other" }), NOW)).toBeUndefined();
  });

  it("awaits no pods if the old node has none left, or is not being deleted", () => {
    expect(awaitedPodsOn([old({ pods: 0 })])(fresh("c-1"), NOW)).toBeUndefined();
    expect(awaitedPodsOn([old({ deleting: false })])(fresh("c-1"), NOW)).toBeUndefined();
  });
});
