import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { atOnce } from "../../base/steps.ts";
import { node, nodeClaim, nodeView, pod, pool } from "../../testing/builders.ts";
import { slice } from "../../testing/devices.ts";
import { consolidatable, empty } from "./empty.ts";
import { type Expiry, expiry, isForced } from "./expired.ts";
import { isStillOrphan, leakedInstances, orphanedClaims } from "./garbage.ts";
import { initialization } from "./initialized.ts";
import { type LivenessInput, liveness } from "./liveness.ts";
import { joinedNode, registration } from "./registered.ts";

const NOW = Date.UTC(2026, 0, 5);
const ago = (ms: number) => toRfc3339(NOW - ms);
const is = (type: string, status: "True" | "Unknown", forMs = 0) => ({
  type,
  status,
  lastTransitionTime: ago(forMs),
});
const claimWith = (...conditions: ReturnType<typeof is>[]) =>
  nodeClaim({ name: "a", status: { providerID: "test://a", conditions } });

describe("a claim is given up", () => {
  const of = (claim: NodeClaim, more: Partial<LivenessInput> = {}) =>
    liveness({
      claim,
      nodes: [unreadyNode()],
      pods: [],
      initializationTimeoutMs: 1_800_000,
      lookedForMs: 86_400_000,
      nowMs: NOW,
      ...more,
    });
  const unreadyNode = (labels = {}): Node => ({
    ...node({ name: "a", labels }),
    status: { conditions: [{ type: "Ready", status: "False" }] },
  });
  const registered = (forMs: number, initialized: "True" | "Unknown" = "Unknown") =>
    claimWith(
      is("Launched", "True"),
      is("Registered", "True", forMs),
      is("Initialized", initialized),
    );

  it("after five minutes without an instance, fifteen without a node", () => {
    const conditions = [is("Launched", "Unknown", 299_000)];
    const launching = nodeClaim({ name: "a", status: { conditions } });
    expect(of(launching)).toEqual({ state: "alive", checkAfterMs: 1_000 });
    expect(of(launching, { nowMs: NOW + 1_000 })).toMatchObject({ reason: "launch_timeout" });
    const joining = claimWith(is("Launched", "True"), is("Registered", "Unknown", 900_000));
    expect(of(joining)).toMatchObject({ reason: "registration_timeout" });
  });

  it("not for its launch where it names an instance: its conditions were lost", () => {
    const lost = claimWith(
      is("Launched", "Unknown", 899_000),
      is("Registered", "Unknown", 899_000),
    );
    expect(of(lost)).toEqual({ state: "alive", checkAfterMs: 1_000 });
    expect(of(lost, { nowMs: NOW + 1_000 })).toMatchObject({ reason: "registration_timeout" });
  });

  it("once registered, after as long as it is told that nothing makes it usable", () => {
    expect(of(registered(1_799_000))).toEqual({ state: "alive", checkAfterMs: 1_000 });
    const late = registered(1_800_000);
    expect(of(late)).toEqual({ state: "late", reason: "initialization_timeout" });
    expect(of(late, { nodes: [] })).toMatchObject({ reason: "initialization_timeout" });
    const alive = { state: "alive", checkAfterMs: undefined };
    expect(of(registered(9_000_000), { initializationTimeoutMs: 0 })).toEqual(alive);
    expect(of(registered(9_000_000, "True"))).toEqual(alive);
  });

  it("once registered, not before somebody has looked at it for as long", () => {
    const old = registered(86_400_000);
    expect(of(old, { lookedForMs: 0 })).toEqual({ state: "alive", checkAfterMs: 1_800_000 });
    expect(of(old, { lookedForMs: 1_799_000 })).toEqual({ state: "alive", checkAfterMs: 1_000 });
    expect(of(old, { lookedForMs: 1_800_000 })).toMatchObject({ state: "late" });
    const young = registered(600_000);
    expect(of(young, { lookedForMs: 900_000 })).toMatchObject({ checkAfterMs: 1_200_000 });
  });

  it("not where its Node is usable, or was once, and that is not written down", () => {
    const alive = { state: "alive", checkAfterMs: undefined };
    expect(of(registered(9_000_000), { nodes: [node({ name: "a" })] })).toEqual(alive);
    const was = unreadyNode({ "karpenter.sh/initialized": "true" });
    expect(of(registered(9_000_000), { nodes: [was] })).toEqual(alive);
  });

  it("not while its Node has a pod that would need another node", () => {
    const late = registered(9_000_000);
    const bound = pod({ nodeName: "a" });
    expect(of(late, { pods: [bound] })).toEqual({ state: "alive", checkAfterMs: 60_000 });
    const daemon = pod({ nodeName: "a", owner: { kind: "DaemonSet", name: "d" } });
    expect(of(late, { pods: [daemon] })).toMatchObject({ reason: "initialization_timeout" });
  });
});

describe("a claim whose node does not come up is kept for whoever looks into it", () => {
  const late = claimWith(is("Launched", "True"), is("Registered", "True", 9_000_000));
  const note = { "karpenter.sh/do-not-disrupt": "true" };
  const broken: Node = { ...node({ name: "a" }), status: {} };
  const of = (claim: NodeClaim, on: Node) =>
    liveness({
      claim,
      nodes: [on],
      pods: [],
      initializationTimeoutMs: 1_800_000,
      lookedForMs: 9_000_000,
      nowMs: NOW,
    });
  const annotated = <T extends NodeClaim | Node>(one: T): T => ({
    ...one,
    metadata: { ...one.metadata, annotations: note },
  });

  it("by do-not-disrupt on its Node or on itself", () => {
    const kept = { state: "alive", checkAfterMs: 60_000 };
    expect(of(late, broken)).toMatchObject({ reason: "initialization_timeout" });
    expect(of(late, annotated(broken))).toEqual(kept);
    expect(of(annotated(late), broken)).toEqual(kept);
  });

  it("not if it never registered", () => {
    const joining = claimWith(is("Launched", "True"), is("Registered", "Unknown", 900_000));
    expect(of(annotated(joining), broken)).toEqual({
      state: "late",
      reason: "registration_timeout",
    });
  });
});

describe("a node is initialized", () => {
  it.each([
    ["when it is Ready", {}, "ok"],
    [
      "not with a startup taint",
      { taints: [{ key: "start", effect: "NoSchedule" as const }] },
      "StartupTaintsExist",
    ],
    [
      "not with an ephemeral taint",
      { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" as const }] },
      "KnownEphemeralTaintsExist",
    ],
    ["with any other taint", { taints: [{ key: "other", effect: "NoSchedule" as const }] }, "ok"],
    [
      "not before its device is there",
      { allocatable: { "nvidia.com/gpu": "0" } },
      "ResourceNotRegistered",
    ],
  ])("%s", (_, options, expected) => {
    const gpu = expected === "ResourceNotRegistered" ? { "nvidia.com/gpu": "1" } : {};
    const claim = nodeClaim({
      startupTaints: [{ key: "start", effect: "NoSchedule" }],
      resources: { requests: { cpu: "1", ...gpu } },
    });
    const verdict = initialization(claim, node(options));
    expect(verdict.ok ? "ok" : verdict.reason).toBe(expected);
  });
});

describe("initialization of a node whose pods claim devices", () => {
  const claim = nodeClaim({
    annotations: { "karpenter.sh/requested-dra-drivers": "gpu.test,nic.test" },
  });
  const reason = (slices?: Parameters<typeof initialization>[2]) => {
    const verdict = initialization(claim, node({ name: "n1" }), slices);
    return verdict.ok ? "ok" : `${verdict.reason} ${verdict.message}`;
  };
  const waitsFor = (driver: string) =>
    `DRADriverPoolsNotPublished DRA driver "${driver}" has not published a complete resource pool`;
  const own = { nodeName: "n1" };

  it("waits until each driver has one complete pool for the node", () => {
    expect(reason([])).toBe(waitsFor("gpu.test"));
    expect(reason([slice("a", [], own)])).toBe(waitsFor("nic.test"));
    const half = {
      ...own,
      driver: "nic.test",
      pool: { name: "b", generation: 1, resourceSliceCount: 2 },
    };
    expect(reason([slice("a", [], own), slice("b", [], half)])).toBe(waitsFor("nic.test"));
    const elsewhere = { driver: "nic.test", nodeName: "n2" };
    expect(reason([slice("a", [], own), slice("b", [], elsewhere)])).toBe(waitsFor("nic.test"));
    expect(reason([slice("a", [], own), slice("b", [], { ...own, driver: "nic.test" })])).toBe(
      "ok",
    );
  });

  it("does not wait where claims are ignored, or none were planned", () => {
    expect(reason(undefined)).toBe("ok");
    const verdict = initialization(nodeClaim(), node({ name: "n1" }), []);
    expect(verdict.ok).toBe(true);
  });
});

describe("registration", () => {
  it("waits for one node, and refuses two", () => {
    expect(registration([]).state).toBe("waiting");
    expect(registration([node({ name: "a" }), node({ name: "b" })])).toMatchObject({
      reason: "MultipleNodesFound",
      message: "Invariant violated, matched multiple nodes: a, b",
    });
    expect(registration([node()])).toMatchObject({ state: "found", taintMissing: true });
  });

  it("merges taints, unless the node says not to, and is the same done twice", () => {
    const claim = nodeClaim({ taints: [{ key: "own", value: "new", effect: "NoSchedule" }] });
    const before = node({
      taints: [
        { key: "own", value: "old", effect: "NoSchedule" },
        { key: "karpenter.sh/unregistered", effect: "NoExecute" },
      ],
    });
    const joined = joinedNode(claim, before);
    expect(joined.spec?.taints).toEqual([{ key: "own", value: "old", effect: "NoSchedule" }]);
    expect(joinedNode(claim, joined)).toEqual(joined);
    const alone = node({ labels: { "karpenter.sh/do-not-sync-taints": "true" } });
    expect(joinedNode(claim, alone).spec?.taints).toBeUndefined();
  });
});

describe("quiet and empty", () => {
  const owner = (policy: "WhenEmpty" | "none", after: number | "Never") =>
    pool({ disruption: { ...pool().disruption, policy, consolidateAfter: after } });

  it("v1 counts from the last pod event", () => {
    const claim = claimWith(is("Initialized", "True", 60_000));
    const busy = { ...claim, status: { ...claim.status, lastPodEventTime: ago(10_000) } };
    expect(consolidatable(claim, owner("WhenEmpty", 30_000), NOW)).toEqual({ state: "set" });
    expect(consolidatable(busy, owner("WhenEmpty", 30_000), NOW)).toEqual({
      state: "clear",
      checkAfterMs: 20_000,
    });
    expect(consolidatable(claim, owner("WhenEmpty", "Never"), NOW).state).toBe("clear");
  });

  it("older generations look at the node: daemons do not count", () => {
    const claim = claimWith(is("Initialized", "True"));
    const view = (...kinds: string[]) =>
      nodeView({
        claim,
        pods: kinds.map((kind) =>
          pod({ name: kind, nodeName: "node", owner: { kind, name: "o" } }),
        ),
      });
    const ttl = owner("WhenEmpty", 30_000);
    expect(empty(claim, ttl, view("DaemonSet")).state).toBe("set");
    expect(empty(claim, ttl, view("DaemonSet", "ReplicaSet")).state).toBe("clear");
    expect(empty(claim, owner("none", "Never"), view()).state).toBe("clear");
  });
});

describe("expiry", () => {
  const PLAIN = { spreadPercent: 0, respectsBudgets: false };

  it("is voluntary for v1, too, where it is to respect budgets, but not for claims that nobody replaces", () => {
    const claim = nodeClaim({ expireAfter: "1h" });
    const rules = { ...PLAIN, respectsBudgets: true };
    expect(expiry(claim, pool(), rules)?.mode).toBe("voluntary");
    expect(expiry(claim, pool({ replicas: 1 }), rules)?.mode).toBe("forceful");
    expect(expiry(claim, undefined, rules)?.mode).toBe("forceful");
  });

  it("is the claim's own and forceful in v1, the pool's and voluntary before", () => {
    const claim = nodeClaim({ expireAfter: "1h" });
    const created = Date.UTC(2026, 0, 1);
    expect(expiry(claim, pool(), PLAIN)).toEqual({ mode: "forceful", atMs: created + 3_600_000 });
    const older = pool({
      disruption: { ...pool().disruption, expireMode: "voluntary", expireAfter: 60_000 },
    });
    expect(expiry(claim, older, PLAIN)).toEqual({ mode: "voluntary", atMs: created + 60_000 });
  });

  it("never comes for a claim without a lifetime", () => {
    const { expireAfter: _, ...spec } = nodeClaim({ name: "a" }).spec;
    const claim = { ...nodeClaim({ name: "a" }), spec };
    expect(expiry(claim, pool(), { ...PLAIN, spreadPercent: 20 })).toBe(undefined);
    expect(expiry(nodeClaim({ expireAfter: "Never" }), pool(), PLAIN)).toBe(undefined);
  });

  it("comes earlier by a share of the lifetime, another for each claim, never later", () => {
    const ends = Array.from({ length: 100 }, (_, n) => {
      const claim = nodeClaim({ name: `claim-${n}`, expireAfter: "100h" });
      const spread = expiry(claim, pool(), { ...PLAIN, spreadPercent: 20 })?.atMs as number;
      expect(expiry(claim, pool(), { ...PLAIN, spreadPercent: 20 })?.atMs).toBe(spread);
      return (spread - Date.UTC(2026, 0, 1)) / 3_600_000;
    });
    expect(Math.max(...ends)).toBeLessThanOrEqual(100);
    expect(Math.min(...ends)).toBeGreaterThan(80);
    // The expiry times are spread over the 20 hours.
    const hours = new Set(ends.map(Math.floor));
    expect(hours.size).toBeGreaterThan(15);
  });

  it("comes when the pods of the claim asked for it, whatever budgets say, if that is earlier", () => {
    const created = Date.UTC(2026, 0, 1);
    const rules = { ...PLAIN, respectsBudgets: true, spreadPercent: 20 };
    const lasting = (duration: string, expireAfter: string) => ({
      ...nodeClaim({ expireAfter }),
      metadata: {
        ...nodeClaim().metadata,
        labels: { "karpenter.sh/max-run-duration": duration },
      },
    });
    const beta = pool({
      generation: "beta",
      disruption: { ...pool().disruption, expireMode: "voluntary", expireAfter: "Never" },
    });
    const end = { mode: "forceful", atMs: created + 1_800_000 };
    for (const one of [pool(), beta])
      expect(expiry(lasting("30m", "Never"), one, rules)).toEqual(end);
    expect(expiry(lasting("30m", "20h"), pool(), rules)).toEqual(end);
    expect(expiry(lasting("30h", "1h"), pool(), rules)).toMatchObject({ mode: "voluntary" });
    for (const text of ["0s", "9m", "-2h", "soon"])
      expect(expiry(lasting(text, "Never"), pool(), rules)).toBeUndefined();
  });

  it("is forced when the pods of the claim asked for it, even if budgets delay its expiry", () => {
    const created = Date.UTC(2026, 0, 1);
    const claim = nodeClaim({
      expireAfter: "1h",
      labels: { "karpenter.sh/max-run-duration": "2h" },
    });
    const end = expiry(claim, pool(), { ...PLAIN, respectsBudgets: true });
    expect(end).toEqual({
      mode: "voluntary",
      atMs: created + 3_600_000,
      forcedAtMs: created + 7_200_000,
    });
    expect(isForced(end as Expiry, created + 7_199_999)).toBe(false);
    expect(isForced(end as Expiry, created + 7_200_000)).toBe(true);
    const own = expiry(claim, pool(), PLAIN);
    expect(own).toEqual({ mode: "forceful", atMs: created + 3_600_000 });
    expect(isForced(own as Expiry, created + 3_600_000)).toBe(true);
  });

  it("never comes for Never, whosever word it is (S4-05)", () => {
    expect(expiry(nodeClaim({ expireAfter: "Never" }), pool(), PLAIN)).toBeUndefined();
    const beta = pool({
      generation: "beta",
      disruption: { ...pool().disruption, expireMode: "voluntary", expireAfter: "Never" },
    });
    expect(expiry(nodeClaim({ expireAfter: "1h" }), beta, PLAIN)).toBeUndefined();
  });
});

describe("garbage", () => {
  const instance = (name: string, ageMs: number) =>
    nodeClaim({
      name,
      status: { providerID: `test://${name}` },
      metadata: { creationTimestamp: ago(ageMs) },
    });

  it("is an instance without a claim, once it is old enough", () => {
    const instances = [
      instance("a", 60_000),
      instance("young", 29_000),
      instance("leaked", 31_000),
    ];
    const input = { nowMs: NOW, claims: [claimWith()], nodes: [], instances };
    expect(atOnce(leakedInstances(input)).map(({ metadata }) => metadata.name)).toEqual(["leaked"]);
    // A claim without an instance may still take over an instance that was launched for it before a restart.
    const waiting = (madeAgoMs: number, metadata = {}) => {
      const made = { creationTimestamp: ago(madeAgoMs), ...metadata };
      const claim = nodeClaim({ name: "b", status: {}, metadata: made });
      return { ...input, claims: [claimWith(), claim] };
    };
    expect(atOnce(leakedInstances(waiting(32_000)))).toEqual([]);
    expect(atOnce(leakedInstances(waiting(29_000)))).toHaveLength(1);
    expect(atOnce(leakedInstances(waiting(32_000, { deletionTimestamp: ago(0) })))).toHaveLength(1);
  });

  it("is a registered claim without an instance, unless its node still reports Ready", () => {
    const claims = [claimWith(is("Registered", "True"))];
    const input = { nowMs: NOW, claims, instances: [], nodes: [] };
    expect(atOnce(orphanedClaims(input))).toHaveLength(1);
    const ready = { ...input, nodes: [node({ providerId: "test://a" })] };
    expect(atOnce(orphanedClaims(ready))).toHaveLength(0);
    expect(atOnce(orphanedClaims({ ...input, claims: [claimWith()] }))).toHaveLength(0);
  });

  it("stays one until it is gone, replaced by another of its name, or its node reports Ready", () => {
    const claim = claimWith(is("Registered", "True"));
    expect(isStillOrphan(claim, claim, [])).toBe(true);
    expect(isStillOrphan(claim, undefined, [])).toBe(false);
    expect(isStillOrphan(claim, claim, [node({ providerId: "test://a" })])).toBe(false);
    const other = { ...claim, metadata: { ...claim.metadata, uid: "other" } };
    expect(isStillOrphan(claim, other, [])).toBe(false);
  });
});
