/** Each rule about NodePools and nodes reports a fault, and accepts a slightly smaller one. */
import { beforeEach, describe, expect, it } from "vitest";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { PodDisruptionBudget } from "../../src/apis/policy/kinds.ts";
import { toRfc3339 } from "../../src/base/clock.ts";
import { PoolRules } from "./pool-rules.ts";
import type { PoolFacts } from "./pools.ts";

const MINUTE = 60_000;
const DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp";
const START_MS = Date.UTC(2026, 0, 5, 8, 0);

const POOL: PoolFacts = {
  name: "pool-0",
  generation: "v1",
  kind: { apiVersion: "karpenter.sh/v1", kind: "NodePool" },
  manifests: [],
  budgets: [],
  cpuLimit: undefined,
  nodeLimit: 2,
  expires: true,
  replicas: undefined,
  onlyEmpty: false,
  quietMs: 5 * MINUTE,
};

type Changed = (pdb: PodDisruptionBudget) => void;

let nowMs: number;
let faults: string[];
let claims: NodeClaim[];
let pods: Pod[];
let guards: PodDisruptionBudget[];
let wounded: boolean;
let guardChanged: Changed;

beforeEach(() => {
  nowMs = START_MS;
  faults = [];
  claims = [];
  pods = [];
  guards = [];
  wounded = false;
});

function rulesOf(pool: Partial<PoolFacts> = {}): PoolRules {
  return new PoolRules({
    pools: [{ ...POOL, ...pool }],
    pods: { byIndex: (_, node) => pods.filter(({ spec }) => spec.nodeName === node) },
    pdbs: {
      list: () => guards,
      on: (handler) => {
        guardChanged = (pdb) => handler("updated", pdb, undefined);
        return () => undefined;
      },
    },
    claims: () => claims,
    expiryMs: 40 * MINUTE,
    nowMs: () => nowMs,
    troubled: () => false,
    isWounded: () => wounded,
    accuse: (sentence) => faults.push(sentence),
  });
}

interface Words {
  readonly conditions?: readonly string[];
  readonly reason?: string;
  readonly metadata?: object;
  readonly grace?: string;
}

function claim(name: string, { conditions = [], reason, metadata, grace }: Words = {}): NodeClaim {
  const all = [...conditions.map((type) => ({ type, reason: type }))];
  if (reason !== undefined) all.push({ type: "DisruptionReason", reason });
  return {
    metadata: {
      name,
      labels: { "karpenter.sh/nodepool": "pool-0" },
      creationTimestamp: toRfc3339(START_MS),
      annotations: { "karpenter.sh/disruption-command": '{"id":"c"}' },
      ...metadata,
    },
    spec: { terminationGracePeriod: grace },
    status: {
      nodeName: name,
      providerID: `aws:///zone/i-${name}`,
      conditions: all.map((one) => ({ ...one, status: "True" })),
    },
  } as unknown as NodeClaim;
}

function pod(name: string, nodeName: string | undefined, metadata: object = {}): Pod {
  return {
    metadata: { name, namespace: "default", labels: { app: "app-0" }, ...metadata },
    spec: { nodeName, containers: [] },
    status: {
      startTime: toRfc3339(START_MS - MINUTE),
      conditions: [{ type: "Ready", status: "True" }],
    },
  } as unknown as Pod;
}

function guard(disruptionsAllowed: number): PodDisruptionBudget {
  return {
    metadata: { name: "app-0", namespace: "default" },
    spec: { selector: { matchLabels: { app: "app-0" } } },
    status: { disruptionsAllowed },
  } as unknown as PodDisruptionBudget;
}

describe("the checks of NodePools in long runs", () => {
  it("report a claim marked as Drifted, unless its pool has changed since the claim was created", () => {
    const rules = rulesOf();
    rules.poolChanged("pool-0", "1");
    const drifted = claim("a", { conditions: ["Drifted"] });
    rules.claimChanged(drifted, claim("a"));
    expect(faults).toEqual([]);
    const metadata = { creationTimestamp: toRfc3339(START_MS + 2 * MINUTE) };
    rules.claimChanged({ ...drifted, metadata: { ...drifted.metadata, ...metadata } }, claim("a"));
    expect(faults.join()).toContain("a is Drifted, and pool-0 has not changed since it came");
  });

  it("report a claim from an old template that is not marked as Drifted when the cluster has settled", () => {
    const rules = rulesOf();
    claims = [claim("a"), claim("b", { conditions: ["Drifted"] })];
    rules.atRest();
    expect(faults).toEqual([]);
    rules.poolChanged("pool-0", "1");
    claims.push(
      claim("c", { metadata: { labels: { "karpenter.sh/nodepool": "pool-0", rev: "1" } } }),
    );
    rules.atRest();
    expect(faults).toEqual([
      "rests with a, made before pool-0 changed, and nothing says that it drifted",
    ]);
  });

  it("report an expired claim before its time, and without expiry in its pool", () => {
    const expired = claim("a", { conditions: ["Expired"] });
    nowMs += 40 * MINUTE;
    rulesOf().claimChanged(expired, claim("a"));
    expect(faults).toEqual([]);
    const labels = { "karpenter.sh/provisioner-name": "pool-0" };
    const alpha = { metadata: { labels } };
    rulesOf().claimChanged(claim("a", { ...alpha, conditions: ["Expired"] }), claim("a", alpha));
    expect(faults).toEqual([]);
    rulesOf({ expires: false }).claimChanged(expired, claim("a"));
    nowMs -= 1_000;
    rulesOf().claimChanged(expired, claim("a"));
    expect(faults).toHaveLength(2);
  });

  it("report a static pool that loses a node, and a WhenEmpty pool that loses a node with pods", () => {
    rulesOf({ onlyEmpty: true }).marked(claim("a"), "Empty");
    rulesOf({ replicas: 1 }).marked(claim("a"), "Drifted");
    expect(faults).toEqual([]);
    rulesOf({ onlyEmpty: true }).marked(claim("a"), "Underutilized");
    rulesOf({ replicas: 1 }).marked(claim("a"), "Empty");
    expect(faults).toEqual([
      "a is disrupted as Underutilized, though pool-0 has only empty nodes taken away",
      "a is disrupted as Empty, though pool-0 keeps its nodes",
    ]);
  });

  it("report consolidation in a pool that turned it off, after commands already under way could end", () => {
    const rules = rulesOf();
    rules.leftAlone("pool-0");
    nowMs += 20_000;
    rules.marked(claim("a"), "Empty");
    expect(faults).toEqual([]);
    nowMs += 10_000;
    rules.marked(claim("a"), "Empty");
    expect(faults.join()).toContain("pool-0 has consolidation turned off");
  });

  it.each([
    ["came", pod("p", "a"), pod("p", undefined)],
    ["left", pod("p", "a", { deletionTimestamp: toRfc3339(START_MS) }), pod("p", "a")],
  ])(
    "report consolidation of a node earlier than consolidateAfter after a pod %s",
    (_, after, before) => {
      const rules = rulesOf();
      rules.podChanged("updated", after, before);
      nowMs += 5 * MINUTE - 15_000;
      rules.marked(claim("a"), "Empty");
      expect(faults).toEqual([]);
      nowMs -= 1_000;
      rules.marked(claim("a"), "Empty");
      expect(faults.join()).toContain("284000 ms after a pod came or left, pool-0 waits 300000");
    },
  );

  it("report more nodes than the limit of nodes, not counting nodes that leave", () => {
    const rules = rulesOf();
    claims = [claim("a"), claim("b"), claim("c", { reason: "Drifted" })];
    rules.look();
    expect(faults).toEqual([]);
    claims.push(claim("d"));
    rules.look();
    expect(faults).toEqual(["pool-0 has 3 nodes, its limit is 2"]);
  });
});

describe("the witness's rules about nodes and their pods", () => {
  it("report the disruption of a node that a user protects", () => {
    const rules = rulesOf();
    rules.keeps("a", true);
    rules.marked(claim("a"), "Drifted");
    nowMs += MINUTE;
    rules.marked(claim("b"), "Drifted");
    expect(faults).toEqual([]);
    rules.marked(claim("a"), "Drifted");
    expect(faults).toEqual(["a is disrupted as Drifted, though its node is kept by hand"]);
    rules.keeps("a", false);
    rules.marked(claim("a"), "Drifted");
    expect(faults).toHaveLength(1);
  });

  it("report a node with pods that is disrupted as Empty", () => {
    pods = [pod("over", "a", { deletionTimestamp: toRfc3339(START_MS) })];
    rulesOf().marked(claim("a"), "Empty");
    expect(faults).toEqual([]);
    pods = [pod("p", "a")];
    rulesOf().marked(claim("a"), "Empty");
    expect(faults).toEqual(["a is disrupted as Empty, and p is on it"]);
    // An empty node of any NodePool may be removed.
    rulesOf({ name: "pool-1" }).marked(claim("a"), "Empty");
    expect(faults).toHaveLength(2);
  });

  it("report nodes disrupted together that count on the same eviction twice", () => {
    const rules = rulesOf();
    guards = [guard(1)];
    pods = [pod("p", "a"), pod("q", "a"), pod("r", "b")];
    const marked = ["a", "b"].map((name) => claim(name, { reason: "Underutilized" }));
    claims = marked.slice(0, 1);
    rules.marked(claims[0] as NodeClaim, "Underutilized");
    claims = marked;
    guardChanged(guard(3));
    nowMs += 10_000;
    guardChanged(guard(1));
    rules.marked(claims[1] as NodeClaim, "Underutilized");
    expect(faults).toEqual([]);
    nowMs += MINUTE;
    rules.marked(claims[1] as NodeClaim, "Underutilized");
    expect(faults).toEqual([
      "2 nodes are disrupted together (a, b) with 2 + 1 pods of app-0, which allows 1",
    ]);
  });

  it("report pods bound to a node that is to leave", () => {
    const rules = rulesOf();
    claims = [claim("a", { reason: "Drifted" })];
    rules.marked(claims[0] as NodeClaim, "Drifted");
    nowMs += 4_000;
    rules.podChanged("updated", pod("p", "a"), pod("p", undefined));
    expect(faults).toEqual([]);
    nowMs += 4_000;
    rules.podChanged("updated", pod("p", "a"), pod("p", undefined));
    expect(faults).toEqual(["p is put on a, which is to be disrupted and stands open"]);
    rules.claimChanged(claim("a"), claims[0] as NodeClaim);
    rules.podChanged("updated", pod("p", "a"), pod("p", undefined));
    expect(faults).toHaveLength(1);
  });

  it("report a claim deleted before its node is closed to pods", () => {
    const rules = rulesOf();
    const node = (spec: object) => ({ metadata: { name: "a" }, spec }) as Node;
    const tainted = (key: string, effect: string) => node({ taints: [{ key, effect }] });
    rules.asked(claim("a"), "Empty", undefined);
    rules.asked(claim("a"), "Empty", node({ unschedulable: true }));
    rules.asked(claim("a"), "Empty", tainted("karpenter.sh/disrupted", "NoSchedule"));
    expect(faults).toEqual([]);
    rules.asked(claim("a"), "Empty", tainted("karpenter.sh/other-nodes-first", "PreferNoSchedule"));
    expect(faults).toEqual(["a (Empty) is deleted, and its node stands open"]);
  });

  it("report a removed node before its pods have left or their time is up", () => {
    const node = { metadata: { name: "a" } } as Node;
    const deadline = (ms: number) => ({ annotations: { [DEADLINE]: toRfc3339(START_MS + ms) } });
    const ends = (ms: number) => ({ deletionTimestamp: toRfc3339(START_MS + ms) });
    claims = [claim("a")];
    pods = [pod("p", "a", ends(0))];
    rulesOf().nodeRemoved(node);
    pods = [pod("p", "a")];
    claims = [claim("a", { metadata: deadline(0) })];
    rulesOf().nodeRemoved(node);
    expect(faults).toEqual([]);
    claims = [claim("a", { metadata: deadline(MINUTE) })];
    rulesOf().nodeRemoved(node);
    pods = [pod("q", "a", ends(1_000))];
    claims = [claim("a")];
    rulesOf().nodeRemoved(node);
    expect(faults).toEqual(["a is gone, and p ran there", "a is gone, and q ran there"]);
    wounded = true;
    rulesOf().nodeRemoved(node);
    expect(faults).toHaveLength(2);
  });

  it("report pods that get less or more time than terminationGracePeriod", () => {
    const leaving = (minutes: number, grace?: string) =>
      claim("a", {
        ...(grace === undefined ? {} : { grace }),
        metadata: {
          deletionTimestamp: toRfc3339(START_MS),
          annotations: { [DEADLINE]: toRfc3339(START_MS + minutes * MINUTE) },
        },
      });
    const rules = rulesOf();
    rules.claimChanged(leaving(10, "10m"), claim("a"));
    expect(faults).toEqual([]);
    rules.claimChanged(leaving(9, "10m"), claim("a"));
    rules.claimChanged(leaving(10), claim("a"));
    expect(faults).toHaveLength(2);
    wounded = true;
    rules.claimChanged(leaving(9, "10m"), claim("a"));
    expect(faults).toHaveLength(2);
    claims = [leaving(10, "10m")];
    nowMs += 20 * MINUTE;
    rules.look();
    expect(faults).toHaveLength(2);
    nowMs += MINUTE;
    rules.look();
    expect(faults.at(-1)).toBe("a is still there 11 min after its time was up");
  });

  it("report a claim that is not deleted although the cloud takes its instance back", () => {
    const rules = rulesOf();
    claims = [claim("a", { conditions: ["Registered"] }), claim("b")];
    for (const one of claims) rules.warned(`i-${one.metadata.name}`);
    nowMs += 45_000;
    rules.look();
    expect(faults).toEqual([]);
    nowMs += 1_000;
    rules.look();
    expect(faults).toEqual(["a stays, though the cloud takes i-a back in a moment"]);
  });
});
