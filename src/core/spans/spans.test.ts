import { describe, expect, it } from "vitest";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { CommandRecord } from "../disruption/record.ts";
import { type ClaimWay, claimSpans, isWayOver } from "./claim-spans.ts";
import { type CommandWay, commandSpans, isCommandOver } from "./command-spans.ts";
import { spanIdOf, type TraceSpan, traceIdOf } from "./span.ts";
import { sharper } from "./times.ts";

const T = Date.parse("2026-01-01T00:00:00Z");
const UID = "8415565b-c2be-4d97-9e6b-5300fe7de3b3";

/**
 * A claim with conditions. `since`: for each condition, the seconds after T at which it became true, or the message why
 * it is not true.
 */
function claim(since: Readonly<Record<string, number | string>>, name = "a"): NodeClaim {
  return {
    metadata: { name, uid: name === "a" ? UID : `uid-${name}`, creationTimestamp: toRfc3339(T) },
    spec: {
      requirements: [],
      nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
    },
    status: {
      nodeName: `node-${name}`,
      conditions: Object.entries(since).map(([type, at]) =>
        typeof at === "string"
          ? { type, status: "False", reason: type, message: at, lastTransitionTime: toRfc3339(T) }
          : {
              type,
              status: "True",
              reason: type,
              message: "",
              lastTransitionTime: toRfc3339(T + at * 1_000),
            },
      ),
    },
  };
}

const DONE = { Launched: 2, Registered: 30, Initialized: 40 };

function facts(more: Partial<ClaimWay> = {}): ClaimWay {
  return { claim: claim(DONE), seenMs: {}, pods: [], isGone: false, nowMs: T + 60_000, ...more };
}

/** The spans as text: `name start-end`, in seconds after T. */
function shape(spans: readonly TraceSpan[]): readonly string[] {
  return spans.map(({ name, startMs, endMs, problem }) => {
    const why = problem === undefined ? "" : ` (${problem})`;
    return `${name} ${(startMs - T) / 1_000}-${(endMs - T) / 1_000}${why}`;
  });
}

describe("trace and span ids", () => {
  it("are derived from the UID and the path of the span", () => {
    expect(traceIdOf(UID)).toBe("8415565bc2be4d979e6b5300fe7de3b3");
    expect(traceIdOf("no uuid")).toMatch(/^[0-9a-f]{32}$/);
    expect(traceIdOf("00000000-0000-0000-0000-000000000000")).not.toMatch(/^0+$/);
    const ids = claimSpans(facts()).map(({ spanId }) => spanId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids[0]).toBe(spanIdOf(traceIdOf(UID), ""));
    expect(claimSpans(facts())).toEqual(claimSpans(facts()));
  });
});

describe("a timestamp in whole seconds", () => {
  it("is replaced by an observed time within its second, not by a later one", () => {
    expect(sharper(T, T + 700)).toBe(T + 700);
    expect(sharper(T, T + 5_000)).toBe(T);
    expect(sharper(T, T - 1)).toBe(T);
    expect(sharper(undefined, T)).toBe(T);
  });
});

describe("the pool of a claim", () => {
  it.each(["karpenter.sh/nodepool", "karpenter.sh/provisioner-name"])(
    "is read from the label %s",
    (label) => {
      const made = claim(DONE);
      const owned = { ...made, metadata: { ...made.metadata, labels: { [label]: "ours" } } };
      const [root] = claimSpans(facts({ claim: owned }));
      expect(root?.attributes["karpenter.nodepool.name"]).toBe("ours");
      const [, end] = commandSpans({
        record: { id: "c", reason: "Drifted", nodes: ["a"], replacements: 0 } as never,
        ended: [{ claim: owned, seenMs: { gone: T } }],
        replacements: [],
        nowMs: T,
      });
      expect(end?.attributes["karpenter.nodepool.name"]).toBe("ours");
    },
  );
});

describe("the spans of a NodeClaim", () => {
  it("come from its conditions if another process planned it", () => {
    expect(shape(claimSpans(facts()))).toEqual([
      "provision node 0-40",
      "launch 0-2",
      "register 2-30",
      "initialize 30-40",
    ]);
  });

  it("start with the batch, and each step starts after the one before has ended", () => {
    const pass = {
      openedMs: T - 1_500,
      closedMs: T - 400,
      plannedMs: T + 100,
      pods: 4,
      newClaims: 1,
      unplaced: 1,
    };
    const spans = claimSpans(facts({ pass, seenMs: { created: T + 150, Launched: T + 2_800 } }));
    expect(shape(spans)).toEqual([
      "provision node -1.5-40",
      "batch -1.5--0.4",
      "plan -0.4-0.1",
      "create claim 0.1-0.15",
      "launch 0.15-2.8",
      "register 2.8-30",
      "initialize 30-40",
    ]);
  });

  it("end with the reason at the step that failed", () => {
    const lost = claim({ Launched: "no capacity in any zone" });
    expect(shape(claimSpans(facts({ claim: lost, isGone: true })))).toEqual([
      "provision node 0-60 (no capacity in any zone)",
      "launch 0-60 (no capacity in any zone)",
    ]);
    const silent = claim({ Launched: 2 });
    expect(shape(claimSpans(facts({ claim: silent, isGone: true })))[2]).toBe(
      "register 2-60 (the claim went before it was registered)",
    );
  });

  it("are complete when the node is initialized and its pods are bound or deleted", () => {
    const pod = { namespace: "x", name: "p", uid: "p", createdAt: toRfc3339(T - 10_000) };
    const bound = { ...pod, bound: { atMs: T + 41_000, nodeName: "node-a" } };
    const gone = { ...pod, isGone: true as const };
    expect(isWayOver(facts({ claim: claim({ Launched: 2 }) }))).toBe(false);
    expect(isWayOver(facts({ claim: claim({ Launched: 2 }), isGone: true }))).toBe(true);
    expect(isWayOver(facts({ pods: [bound, pod] }))).toBe(false);
    expect(isWayOver(facts({ pods: [bound, gone] }))).toBe(true);
    const elsewhere = { ...pod, bound: { atMs: T + 20_000, nodeName: "other" } };
    const spans = claimSpans(facts({ pods: [bound, gone, elsewhere, pod] }));
    expect(shape(spans).slice(4)).toEqual([
      "bind pod 30-41",
      "bind pod 30-60 (the pod was deleted before it was bound)",
      "bind pod 20-20",
      "bind pod 30-60 (the pod was not bound)",
    ]);
    expect(spans[4]?.attributes).toMatchObject({
      "karpenter.pod.as_planned": true,
      "karpenter.pod.pending_ms": 51_000,
    });
    expect(spans[6]?.attributes["karpenter.pod.as_planned"]).toBe(false);
    expect(spans[0]?.attributes).toMatchObject({ "karpenter.pods": 4, "karpenter.pods.bound": 2 });
  });

  it("are bounded in number, but the root counts all pods", () => {
    const pods = Array.from({ length: 110 }, (_, at) => ({
      namespace: "x",
      name: `p${at}`,
      uid: `${at}`,
    }));
    const spans = claimSpans(facts({ pods }));
    expect(spans).toHaveLength(4 + 50);
    expect(spans[0]?.attributes["karpenter.pods"]).toBe(110);
  });
});

describe("the spans of a command", () => {
  const record: CommandRecord = {
    id: "ff697bb7-260e-4eb2-9de9-ce86805fcc40",
    reason: "Underutilized",
    consolidationType: "single",
    startedAt: toRfc3339(T),
    nodes: ["node-a"],
    replacements: 1,
  };
  const old = (since: Readonly<Record<string, number>>): NodeClaim => {
    const one = claim({ ...DONE, ...since });
    const deletionTimestamp = toRfc3339(T + 50_000);
    return { ...one, metadata: { ...one.metadata, deletionTimestamp } };
  };
  const whole: CommandWay = {
    record,
    begun: {
      startedMs: T + 300,
      waitedMs: 15_000,
      decision: "replace",
      method: "consolidation",
      pods: 3,
      savesMicroUsdPerHour: 40_000,
    },
    ended: [{ claim: old({ Drained: 70, VolumesDetached: 75 }), seenMs: { gone: T + 90_000 } }],
    replacements: [{ claim: claim({ ...DONE, Initialized: 45 }, "b"), seenMs: {} }],
    nowMs: T + 90_000,
  };

  it("cover validation, replacements, drain and termination", () => {
    const spans = commandSpans(whole);
    expect(shape(spans)).toEqual([
      "disrupt nodes -14.7-90",
      "validate -14.7-0.3",
      "launch replacements 0.3-45",
      "end node 50-90",
      "drain 50-70",
      "detach volumes 70-75",
      "end instance 75-90",
    ]);
    const [root, , , end, drain] = spans;
    expect(end?.parentId).toBe(root?.spanId);
    expect(drain?.parentId).toBe(end?.spanId);
    expect(root?.attributes["karpenter.command.saves_usd_per_hour"]).toBe(0.04);
    // The trace links to the trace of the new node.
    expect(root?.links).toEqual([traceIdOf("uid-b")]);
  });

  it("come from the records on its NodeClaims if another process began it", () => {
    const { begun: _, ...rest } = whole;
    expect(shape(commandSpans(rest)).slice(0, 2)).toEqual([
      "disrupt nodes 0-90",
      "launch replacements 0-45",
    ]);
  });

  it("say that the command was rolled back", () => {
    const spared = { claim: claim(DONE), seenMs: {}, isSpared: true as const };
    const back = { ...whole, ended: [spared], replacements: [] };
    expect(isCommandOver(back)).toBe(true);
    expect(shape(commandSpans(back))).toEqual([
      "disrupt nodes -14.7-90 (taken back from 1 of 1 nodes)",
      "validate -14.7-0.3",
      "launch replacements 0.3-90 (not all replacements became ready)",
    ]);
  });

  it("are complete when each node of the command is gone or was kept", () => {
    expect(isCommandOver(whole)).toBe(true);
    expect(isCommandOver({ ...whole, ended: [] })).toBe(false);
    const [one] = whole.ended;
    expect(isCommandOver({ ...whole, ended: one ? [one, { ...one, seenMs: {} }] : [] })).toBe(
      false,
    );
  });
});
