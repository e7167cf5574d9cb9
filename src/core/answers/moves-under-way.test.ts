import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import {
  DISRUPTION_COMMAND_ANNOTATION_KEY,
  REPLACEMENT_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeView } from "../state/node-view.ts";
import { movesUnderWay, seenLeaving } from "./moves-under-way.ts";

const BEFORE = "2026-01-01T00:00:00Z";
const SINCE = "2026-01-02T00:00:00Z";
const RECORD = JSON.stringify({
  id: "c1",
  reason: "Underutilized",
  consolidationType: "single",
  startedAt: SINCE,
  nodes: ["old"],
  replacements: 1,
});

interface NodeOf {
  readonly pods?: readonly Pod[];
  readonly annotations?: Record<string, string>;
}

function node(name: string, { pods = [], annotations = {} }: NodeOf = {}): NodeView {
  const deleting = DISRUPTION_COMMAND_ANNOTATION_KEY in annotations;
  return {
    name,
    deleting,
    pods,
    claim: { metadata: { name, annotations } },
  } as unknown as NodeView;
}

function pod(name: string, nodeName?: string, creationTimestamp = BEFORE): Pod {
  const ownerReferences = [{ kind: "ReplicaSet", name: "web", uid: "web", controller: true }];
  const metadata = { name, namespace: "shop", creationTimestamp, ownerReferences };
  return { kind: "Pod", metadata, spec: { nodeName, containers: [] } } as unknown as Pod;
}

const LEAVES = { [DISRUPTION_COMMAND_ANNOTATION_KEY]: RECORD };
const old = (pods: readonly Pod[]) => node("old", { pods, annotations: LEAVES });
const heir = node("heir", { annotations: { [REPLACEMENT_ANNOTATION_KEY]: "c1" } });
const NO_PLAN = { existing: [], newClaims: [] };
const plain = (moves: ReturnType<typeof movesUnderWay>) =>
  [...moves].map(([from, to]) => [from, Object.fromEntries(to)]);

describe("pod moves that are under way", () => {
  it("are the planned places of pods on nodes that are being deleted", () => {
    const own = [pod("a", "old"), pod("b", "old"), pod("c", "old"), pod("d", "old")];
    const existing = [
      { nodeName: "heir", pods: [own[0] as Pod, own[1] as Pod, pod("x", "other"), pod("y")] },
      { nodeName: "other", pods: [own[2] as Pod] },
    ];
    const newClaims = [{ pods: [own[3] as Pod] }] as never;
    const nodes = [old(own), heir, node("other")];
    const seen = seenLeaving(new Map(), [], nodes);
    expect(plain(movesUnderWay(nodes, { existing, newClaims }, seen))).toEqual([
      ["old", { heir: 2, other: 1, "": 1 }],
    ]);
  });

  it("continue with the successors of evicted pods, but not with older pods", () => {
    const full = node("old", { pods: [pod("a", "old"), pod("b", "old")] });
    const seen = seenLeaving(new Map(), [full], [old([])]);
    const nodes = [
      old([]),
      node("other", { pods: [pod("c", "other", SINCE), pod("older", "other")] }),
    ];
    const waiting = [pod("d", undefined, SINCE), pod("e", undefined, SINCE)];
    const existing = [{ nodeName: "third", pods: waiting }];
    const moves = movesUnderWay(nodes, { existing, newClaims: [] }, seenLeaving(seen, [], nodes));
    expect(plain(moves)).toEqual([["old", { other: 1, third: 1 }]]);
  });

  it("lead to the command's replacement if nothing else is known, and end with the node", () => {
    const nodes = [old([]), heir];
    expect(plain(movesUnderWay(nodes, NO_PLAN, seenLeaving(new Map(), [], nodes)))).toEqual([
      ["old", { heir: 0 }],
    ]);
    expect(plain(movesUnderWay([heir], NO_PLAN, seenLeaving(new Map(), [], [heir])))).toEqual([]);
  });
});
