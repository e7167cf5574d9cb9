import { describe, expect, it } from "vitest";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { atOnce } from "../../base/steps.ts";
import { nodeClaim, nodeView, type PodOptions, pod } from "../../testing/builders.ts";
import { bufferPods } from "../buffers/pods.ts";
import { Placements } from "./placements.ts";
import { plannedPodsAnnotation } from "./planned-pods.ts";

const NOW = Date.UTC(2026, 0, 5);
const MINUTE = 60_000;
const JOB = { kind: "Job", name: "job" };

/** A pod of an owner, running on node `old`. */
const moving = (name: string, options: PodOptions = {}) =>
  pod({ name, nodeName: "old", owner: JOB, ...options });
const pending = (name: string, owner = JOB) => pod({ name, owner });

/** Placements with one seat on node `a` that is vacant since now. */
function withVacantSeat(owner = JOB): Placements {
  const placements = new Placements();
  const old = moving("old", { owner });
  placements.plan("a", [old], NOW);
  placements.gone(old);
  placements.assign([], NOW);
  return placements;
}

describe("the node planned for a pod", () => {
  it("is that of the latest plan, until the pod is bound or deleted", () => {
    const placements = new Placements();
    const [one, other] = [pod({ name: "one" }), pod({ name: "other" })];
    placements.plan("a", [one, other], NOW);
    placements.plan("b", [one], NOW);
    expect(placements.assign([one, other], NOW)).toEqual(
      new Map([
        ["default/one", "b"],
        ["default/other", "a"],
      ]),
    );
    placements.bound(one, () => ["b"]);
    placements.gone(other);
    expect([one, other].map((each) => placements.targetOf(each))).toEqual([undefined, undefined]);
  });

  it("passes to one successor of a deleted pod that was to move, with the same owner", () => {
    const placements = withVacantSeat();
    const stranger = pending("stranger", { kind: "Job", name: "other" });
    const successors = [stranger, moving("elsewhere"), pending("first"), pending("second")];
    expect([...placements.assign(successors, NOW)]).toEqual([["default/first", "a"]]);
    placements.plan("a", [pending("first")], NOW);
    expect(placements.assign([pending("second")], NOW).size).toBe(0);
  });

  it("does not pass on if the pod was pending, or has no owner", () => {
    const placements = new Placements();
    const [waiting, bare] = [pending("waiting"), pod({ name: "bare", nodeName: "old" })];
    placements.plan("a", [waiting, bare], NOW);
    placements.gone(waiting);
    placements.gone(bare);
    expect(placements.assign([pending("next"), pod({ name: "bare" })], NOW).size).toBe(0);
  });

  it.each([
    ["Job", 10],
    ["ReplicaSet", 1],
    ["StatefulSet", 1],
    ["ReplicationController", 1],
  ])("is kept for the successor of a pod of a %s for %i minutes", (kind, minutes) => {
    const placements = withVacantSeat({ kind, name: "job" });
    const next = pending("next");
    const untilMs = NOW + minutes * MINUTE;
    expect(placements.awaitedAt("a", NOW)).toEqual({ count: 1, untilMs });
    expect(placements.assign([next], untilMs - 1).size).toBe(1);
    expect(placements.awaitedAt("a", untilMs)).toBeUndefined();
    expect(placements.assign([next], untilMs).size).toBe(0);
  });

  it("is kept no longer if no pod is pending, so that nothing is planned", () => {
    const placements = new Placements();
    const old = moving("old", { owner: { kind: "ReplicaSet", name: "set" } });
    placements.plan("a", [old], NOW);
    placements.gone(old);
    expect(placements.awaitedAt("a", NOW)).toEqual({ count: 1, untilMs: NOW + MINUTE });
    expect(placements.awaitedAt("a", NOW + MINUTE)).toBeUndefined();
  });

  it("is kept for an hour for a running pod that is not evicted, but not for a pending pod", () => {
    const placements = new Placements();
    placements.plan("a", [moving("early")], NOW);
    placements.plan("a", [moving("late"), pending("new")], NOW + MINUTE);
    expect(placements.awaitedAt("a", NOW)).toEqual({ count: 2, untilMs: NOW + 61 * MINUTE });
    expect(placements.awaitedAt("a", NOW + 60 * MINUTE)?.count).toBe(1);
    expect(placements.awaitedAt("a", NOW + 61 * MINUTE)).toBeUndefined();
  });

  it("is dropped when the pod gives up its own seat or the vacant one assigned to it", () => {
    const placements = withVacantSeat();
    const own = moving("own");
    placements.plan("a", [own], NOW);
    expect(placements.awaitedAt("a", NOW)?.count).toBe(1);
    placements.giveUp(own);
    expect(placements.awaitedAt("a", NOW)).toBeUndefined();

    const vacant = withVacantSeat();
    vacant.giveUp(pending("next"));
    vacant.giveUp(pending("next"), "b");
    expect(vacant.awaitedAt("a", NOW)?.count).toBe(1);
    vacant.giveUp(pending("next"), "a");
    expect(vacant.awaitedAt("a", NOW)).toBeUndefined();
  });

  it("is dropped for vacant seats once its node takes no pods, but kept for existing pods", () => {
    const placements = withVacantSeat();
    placements.plan("a", [moving("other", { owner: { kind: "Job", name: "two" } })], NOW);
    placements.targetGone("a");
    expect(placements.awaitedAt("a", NOW)?.count).toBe(1);
    expect(placements.assign([pending("next")], NOW).size).toBe(0);
  });
});

describe("pods bound to a node on which they have no seat", () => {
  it("are reported, the first three, while seats of other pods are open", () => {
    const placements = new Placements();
    const planned = pod({ name: "planned" });
    placements.plan("a", [planned], NOW);
    const daemon = { kind: "DaemonSet", name: "agent" };
    placements.bound(pod({ name: "daemon", owner: daemon }), () => ["a"]);
    for (const name of ["t1", "t2", "t3", "t4"])
      placements.bound(pod({ name }), () => ["node-a", "a"]);
    expect(placements.unplannedPodsOn("a")).toEqual(["default/t1", "default/t2", "default/t3"]);
    placements.bound(planned, () => ["a"]);
    expect(placements.unplannedPodsOn("a")).toEqual([]);
  });

  it("are reported if their own seat is on another node", () => {
    const placements = new Placements();
    placements.plan("a", [pod({ name: "one" }), pod({ name: "two" })], NOW);
    placements.plan("b", [pod({ name: "other" })], NOW);
    placements.bound(pod({ name: "one" }), () => ["a"]);
    placements.bound(pod({ name: "other" }), () => ["a"]);
    expect(placements.unplannedPodsOn("a")).toEqual(["default/other"]);
    expect(placements.targetOf(pod({ name: "other" }))).toBeUndefined();
  });

  it("swap seats with the pod of the same owner whose seat they take", () => {
    const placements = new Placements();
    const [one, other, third] = [pending("one"), pending("other"), pending("third")];
    placements.plan("a", [one], NOW);
    placements.plan("b", [other], NOW);
    placements.plan("c", [third], NOW);
    placements.fillLast("b");
    placements.bound(other, () => ["node-a", "a"]);
    expect([one, other, third].map((each) => placements.targetOf(each))).toEqual([
      "b",
      undefined,
      "c",
    ]);
    expect(placements.isFilledLast("b")).toBe(true);
    expect(placements.unplannedPodsOn("a")).toEqual([]);
    placements.bound(one, () => ["b"]);
    expect(placements.assign([one], NOW).size).toBe(0);
  });

  it("do not exchange seats with a pod of other requests, which might not fit there", () => {
    const placements = new Placements();
    const large = { ...pending("large"), spec: pod({ cpu: "8" }).spec };
    placements.plan("a", [large], NOW);
    placements.plan("b", [pending("small")], NOW);
    placements.bound(pending("small"), () => ["a"]);
    expect(placements.targetOf(large)).toBe("a");
  });

  it("do not exchange seats with a pod that was resized while it waits", () => {
    const placements = new Placements();
    const waiting = pending("waiting");
    placements.plan("a", [waiting], NOW);
    placements.plan("b", [pending("other")], NOW);
    const resized = { ...waiting, spec: pod({ cpu: "8" }).spec };
    placements.plan("a", [resized], NOW);
    placements.bound(pending("other"), () => ["a"]);
    expect(placements.targetOf(resized)).toBe("a");
  });

  it("leave their seat to the successor whose vacant seat they take", () => {
    const placements = withVacantSeat();
    placements.plan("b", [pending("other")], NOW);
    placements.bound(pending("other"), () => ["a"]);
    expect([...placements.assign([pending("next")], NOW)]).toEqual([["default/next", "b"]]);
  });

  it("use up a vacant seat of their owner, on that node if there is one", () => {
    const placements = withVacantSeat();
    const second = moving("second");
    placements.plan("b", [second], NOW);
    placements.gone(second);
    placements.bound(pending("next"), () => ["b"]);
    expect(placements.awaitedAt("b", NOW)).toBeUndefined();
    placements.bound(pending("last"), () => ["c"]);
    expect(placements.awaitedAt("a", NOW)).toBeUndefined();
  });
});

describe("a node", () => {
  it("is filled last as long as it has open seats", () => {
    const placements = new Placements();
    placements.fillLast("a");
    expect(placements.isFilledLast("a")).toBe(false);
    placements.plan("a", [pod()], NOW);
    placements.fillLast("a");
    expect(placements.isFilledLast("a")).toBe(true);
    placements.bound(pod(), () => ["a"]);
    expect(placements.isFilledLast("a")).toBe(false);
  });
});

describe("seats restored after a restart", () => {
  const running = pod({ name: "there", nodeName: "n", owner: JOB });
  function recalled(
    claim: Partial<NodeClaim["metadata"]> = {},
    { usableForMs = 0, isUsable = true, deleting = false } = {},
  ) {
    const placements = new Placements();
    const annotations = plannedPodsAnnotation([pending("x"), pending("y"), pending("z")]);
    const lastTransitionTime = new Date(NOW - usableForMs).toISOString();
    const status = isUsable ? "True" : "False";
    const conditions = [
      { type: "Initialized", status, lastTransitionTime, reason: "", message: "" } as const,
    ];
    const own = nodeClaim({
      name: "a",
      metadata: { annotations, ...claim },
      status: { conditions },
    });
    const view = nodeView({ node: { name: "n" }, claim: own, pods: [running], deleting });
    atOnce(placements.recall([view, nodeView({ node: { name: "unmanaged" } })], NOW));
    return placements.awaitedAt("a", NOW);
  }

  it("are those of the planned pods that do not run on the node", () => {
    expect(recalled()).toEqual({ count: 2, untilMs: NOW + 10 * MINUTE });
    expect(recalled({ annotations: {} })).toBeUndefined();
  });

  it("are kept for ten minutes after the node was initialized", () => {
    expect(recalled({}, { usableForMs: 4 * MINUTE })?.untilMs).toBe(NOW + 6 * MINUTE);
    expect(recalled({}, { usableForMs: 10 * MINUTE })).toBeUndefined();
    expect(recalled({}, { usableForMs: 11 * MINUTE, isUsable: false })?.count).toBe(2);
    expect(recalled({}, { deleting: true })).toBeUndefined();
  });

  it("are not added if a newer plan already has seats on the node", () => {
    const placements = new Placements();
    placements.plan("a", [pod({ name: "own" })], NOW);
    const annotations = plannedPodsAnnotation([pending("x")]);
    const claim = nodeClaim({ name: "a", metadata: { annotations } });
    atOnce(placements.recall([nodeView({ claim })], NOW));
    expect(placements.awaitedAt("a", NOW)).toBeUndefined();
  });
});

describe("room for pods of a CapacityBuffer", () => {
  it("is recognized by the seats planned on the node", () => {
    const placements = new Placements();
    const buffer = { metadata: { name: "spare", uid: "1" }, spec: {} };
    const plan = { template: { spec: pod().spec }, count: 1, isBound: () => false };
    placements.plan("a", [pod()], NOW);
    expect(placements.hostsBufferPods("a")).toBe(false);
    placements.plan("a", bufferPods(buffer, plan), NOW);
    expect(placements.hostsBufferPods("a")).toBe(true);
  });
});
