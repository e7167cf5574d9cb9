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

describe("liveness of a NodeClaim", () => {
  const of = (claim: NodeClaim, more: Partial<LivenessInput> = {}) =>
    liveness({
      claim,
      nodes: [unreadyNode()],
      pods: [],
      slices: undefined,
      initializationTimeoutMs: 1_800_000,
      watchedForMs: 86_400_000,
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

  it("ends after five minutes without an instance, or fifteen without a Node", () => {
    const conditions = [is("Launched", "Unknown", 299_000)];
    const launching = nodeClaim({ name: "a", status: { conditions } });
    expect(of(launching)).toEqual({ state: "alive", checkAfterMs: 1_000 });
    expect(of(launching, { nowMs: NOW + 1_000 })).toMatchObject({ reason: "launch_timeout" });
    const joining = claimWith(is("Launched", "True"), is("Registered", "Unknown", 900_000));
    expect(of(joining)).toMatchObject({ reason: "registration_timeout" });
  });

  it("ignores the launch timeout if the NodeClaim has a provider ID, as its conditions were lost", () => {
    const lost = claimWith(
      is("Launched", "Unknown", 899_000),
      is("Registered", "Unknown", 899_000),
    );
    expect(of(lost)).toEqual({ state: "alive", checkAfterMs: 1_000 });
    expect(of(lost, { nowMs: NOW + 1_000 })).toMatchObject({ reason: "registration_timeout" });
  });

  it("ends a registered NodeClaim that is not initialized within initializationTimeout", () => {
    expect(of(registered(1_799_000))).toEqual({ state: "alive", checkAfterMs: 1_000 });
    const late = registered(1_800_000);
    expect(of(late)).toEqual({ state: "late", reason: "initialization_timeout" });
    expect(of(late, { nodes: [] })).toMatchObject({ reason: "initialization_timeout" });
    const alive = { state: "alive", checkAfterMs: undefined };
    expect(of(registered(9_000_000), { initializationTimeoutMs: 0 })).toEqual(alive);
    expect(of(registered(9_000_000, "True"))).toEqual(alive);
  });

  it("counts the initialization timeout only from when this process began to look", () => {
    const old = registered(86_400_000);
    expect(of(old, { watchedForMs: 0 })).toEqual({ state: "alive", checkAfterMs: 1_800_000 });
    expect(of(old, { watchedForMs: 1_799_000 })).toEqual({ state: "alive", checkAfterMs: 1_000 });
    expect(of(old, { watchedForMs: 1_800_000 })).toMatchObject({ state: "late" });
    const young = registered(600_000);
    expect(of(young, { watchedForMs: 900_000 })).toMatchObject({ checkAfterMs: 1_200_000 });
  });

  it("keeps a NodeClaim whose Node is Ready, or was initialized before", () => {
    const alive = { state: "alive", checkAfterMs: undefined };
    expect(of(registered(9_000_000), { nodes: [node({ name: "a" })] })).toEqual(alive);
    const was = unreadyNode({ "karpenter.sh/initialized": "true" });
    expect(of(registered(9_000_000), { nodes: [was] })).toEqual(alive);
  });

  it("keeps a NodeClaim whose Node has a pod that would have to move", () => {
    const late = registered(9_000_000);
    const bound = pod({ nodeName: "a" });
    expect(of(late, { pods: [bound] })).toEqual({ state: "alive", checkAfterMs: 60_000 });
    const daemon = pod({ nodeName: "a", owner: { kind: "DaemonSet", name: "d" } });
    expect(of(late, { pods: [daemon] })).toMatchObject({ reason: "initialization_timeout" });
  });
});

describe("liveness of a NodeClaim with do-not-disrupt", () => {
  const late = claimWith(is("Launched", "True"), is("Registered", "True", 9_000_000));
  const note = { "karpenter.sh/do-not-disrupt": "true" };
  const broken: Node = { ...node({ name: "a" }), status: {} };
  const of = (claim: NodeClaim, on: Node) =>
    liveness({
      claim,
      nodes: [on],
      pods: [],
      slices: undefined,
      initializationTimeoutMs: 1_800_000,
      watchedForMs: 9_000_000,
      nowMs: NOW,
    });
  const annotated = <T extends NodeClaim | Node>(one: T): T => ({
    ...one,
    metadata: { ...one.metadata, annotations: note },
  });

  it("keeps a NodeClaim that is not initialized, if it or its Node has the annotation", () => {
    const kept = { state: "alive", checkAfterMs: 60_000 };
    expect(of(late, broken)).toMatchObject({ reason: "initialization_timeout" });
    expect(of(late, annotated(broken))).toEqual(kept);
    expect(of(annotated(late), broken)).toEqual(kept);
  });

  it("still ends if the NodeClaim never registered", () => {
    const joining = claimWith(is("Launched", "True"), is("Registered", "Unknown", 900_000));
    expect(of(annotated(joining), broken)).toEqual({
      state: "late",
      reason: "registration_timeout",
    });
  });
});

describe("initialization of a node", () => {
  it.each([
    ["succeeds when the Node is Ready", {}, "ok"],
    [
      "waits while a startup taint is there",
      { taints: [{ key: "start", effect: "NoSchedule" as const }] },
      "StartupTaintsExist",
    ],
    [
      "waits while an ephemeral taint is there",
      { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" as const }] },
      "KnownEphemeralTaintsExist",
    ],
    [
      "ignores any other taint",
      { taints: [{ key: "other", effect: "NoSchedule" as const }] },
      "ok",
    ],
    [
      "waits until a requested extended resource is allocatable",
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

describe("initialization of a node whose pods have ResourceClaims", () => {
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

  it("waits until each driver has published one complete resource pool for the node", () => {
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

  it("does not wait if ResourceClaims are ignored, or none were planned", () => {
    expect(reason(undefined)).toBe("ok");
    const verdict = initialization(nodeClaim(), node({ name: "n1" }), []);
    expect(verdict.ok).toBe(true);
  });
});

describe("registration", () => {
  it("waits while there is no Node, and fails if two Nodes match", () => {
    expect(registration([]).state).toBe("waiting");
    expect(registration([node({ name: "a" }), node({ name: "b" })])).toMatchObject({
      reason: "MultipleNodesFound",
      message: "Invariant violated, matched multiple nodes: a, b",
    });
    expect(registration([node()])).toMatchObject({ state: "found", taintMissing: true });
  });

  it("merges taints of the NodeClaim unless do-not-sync-taints is set, and is idempotent", () => {
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

describe("the conditions Consolidatable and Empty", () => {
  const owner = (policy: "WhenEmpty" | "none", after: number | "Never") =>
    pool({ disruption: { ...pool().disruption, policy, consolidateAfter: after } });

  it("are set in v1 after consolidateAfter without pod events", () => {
    const claim = claimWith(is("Initialized", "True", 60_000));
    const busy = { ...claim, status: { ...claim.status, lastPodEventTime: ago(10_000) } };
    expect(consolidatable(claim, owner("WhenEmpty", 30_000), NOW)).toEqual({ state: "set" });
    expect(consolidatable(busy, owner("WhenEmpty", 30_000), NOW)).toEqual({
      state: "clear",
      checkAfterMs: 20_000,
    });
    expect(consolidatable(claim, owner("WhenEmpty", "Never"), NOW).state).toBe("clear");
  });

  it("ignore DaemonSet pods in older generations", () => {
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

  it("respects budgets in v1 if so configured, except for NodeClaims that nobody replaces", () => {
    const claim = nodeClaim({ expireAfter: "1h" });
    const rules = { ...PLAIN, respectsBudgets: true };
    expect(expiry(claim, pool(), rules)?.mode).toBe("voluntary");
    expect(expiry(claim, pool({ replicas: 1 }), rules)?.mode).toBe("forceful");
    expect(expiry(claim, undefined, rules)?.mode).toBe("forceful");
  });

  it("is forceful by the NodeClaim's expireAfter in v1, voluntary by the pool's before", () => {
    const claim = nodeClaim({ expireAfter: "1h" });
    const created = Date.UTC(2026, 0, 1);
    expect(expiry(claim, pool(), PLAIN)).toEqual({ mode: "forceful", atMs: created + 3_600_000 });
    const older = pool({
      disruption: { ...pool().disruption, expireMode: "voluntary", expireAfter: 60_000 },
    });
    expect(expiry(claim, older, PLAIN)).toEqual({ mode: "voluntary", atMs: created + 60_000 });
  });

  it("is undefined without expireAfter, and for Never", () => {
    const { expireAfter: _, ...spec } = nodeClaim({ name: "a" }).spec;
    const claim = { ...nodeClaim({ name: "a" }), spec };
    expect(expiry(claim, pool(), { ...PLAIN, spreadPercent: 20 })).toBe(undefined);
    expect(expiry(nodeClaim({ expireAfter: "Never" }), pool(), PLAIN)).toBe(undefined);
  });

  it("is earlier by a random share that is fixed for each NodeClaim, never later", () => {
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

  it("comes forcefully at max-run-duration if that is before expireAfter", () => {
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

  it("becomes forceful at max-run-duration, if budgets delay the voluntary expiry", () => {
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

  it("is undefined if the NodeClaim or the older pool says Never (S4-05)", () => {
    expect(expiry(nodeClaim({ expireAfter: "Never" }), pool(), PLAIN)).toBeUndefined();
    const beta = pool({
      generation: "beta",
      disruption: { ...pool().disruption, expireMode: "voluntary", expireAfter: "Never" },
    });
    expect(expiry(nodeClaim({ expireAfter: "1h" }), beta, PLAIN)).toBeUndefined();
  });
});

describe("garbage collection", () => {
  const instance = (name: string, ageMs: number) =>
    nodeClaim({
      name,
      status: { providerID: `test://${name}` },
      metadata: { creationTimestamp: ago(ageMs) },
    });

  it("removes an instance without a NodeClaim after 30 seconds, unless one may adopt it", () => {
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

  it("removes a registered NodeClaim without an instance, unless its Node is Ready", () => {
    const claims = [claimWith(is("Registered", "True"))];
    const input = { nowMs: NOW, claims, instances: [], nodes: [] };
    expect(atOnce(orphanedClaims(input))).toHaveLength(1);
    const ready = { ...input, nodes: [node({ providerId: "test://a" })] };
    expect(atOnce(orphanedClaims(ready))).toHaveLength(0);
    expect(atOnce(orphanedClaims({ ...input, claims: [claimWith()] }))).toHaveLength(0);
  });

  it("spares a NodeClaim that is gone, recreated, or whose Node is Ready by now", () => {
    const claim = claimWith(is("Registered", "True"));
    expect(isStillOrphan(claim, claim, [])).toBe(true);
    expect(isStillOrphan(claim, undefined, [])).toBe(false);
    expect(isStillOrphan(claim, claim, [node({ providerId: "test://a" })])).toBe(false);
    const other = { ...claim, metadata: { ...claim.metadata, uid: "other" } };
    expect(isStillOrphan(claim, other, [])).toBe(false);
  });
});
