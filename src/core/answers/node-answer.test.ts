import { describe, expect, it } from "vitest";
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { instanceType, nodeView, type PodOptions, pod } from "../../testing/builders.ts";
import { candidate, NOW } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import type { Picture } from "../disruption/make-round.ts";
import type { NodeView } from "../state/node-view.ts";
import { nodeAnswer } from "./node-answer.ts";

const HOUR_MS = 3_600_000;
const TYPES = [instanceType({ cpu: 4, capacityTypes: ["on-demand"] })];
const REPAIRS = { policies: [], isOn: false, isLegacy: false };
const RESTRAINT = {
  ...{ minSavingsPercent: 0, maxPaybackMs: 0, replacementRestMs: 0, maxMovesPerPodHour: 4 },
};

interface Question {
  readonly pods?: readonly PodOptions[];
  readonly pool?: Partial<Pool>;
  readonly claim?: Partial<NodeClaim["metadata"]>;
  readonly conditions?: Readonly<Record<string, number>>;
  readonly picture?: Partial<Picture>;
  readonly spec?: Partial<NodeClaim["spec"]>;
  /** The capacity in the status of the claim. */
  readonly capacity?: Readonly<Record<string, string>>;
}

function asked({ pods = [], pool = {}, claim = {}, picture = {}, ...more }: Question) {
  const { conditions = { Initialized: HOUR_MS, Consolidatable: HOUR_MS } } = more;
  const disruption = { budgets: [{ nodes: "100%" }] };
  const one = candidate("n", { types: TYPES, pool, conditions, disruption });
  const old = one.node.claim as NodeClaim;
  const node: NodeView = {
    ...one.node,
    claim: {
      ...old,
      metadata: { ...old.metadata, ...claim },
      spec: { ...old.spec, ...more.spec },
      status: { ...old.status, ...(more.capacity && { capacity: more.capacity }) },
    },
    pods: pods.map((options) => pod({ nodeName: "n", ...options })),
  };
  const pools = [{ pool: one.pool, instanceTypes: TYPES, usage: {} }];
  const quiet = quietModel({ pools, nodes: [node], restraint: RESTRAINT }).picture;
  return nodeAnswer({ ...quiet, ...picture }, node, undefined, REPAIRS, undefined);
}

describe("the answer about a node", () => {
  it("says that Karpenter does not manage a node without a NodeClaim", () => {
    const own = nodeView({ node: { name: "own" } });
    const { picture } = quietModel({ pools: [], nodes: [own], restraint: RESTRAINT });
    expect(nodeAnswer(picture, own, undefined, REPAIRS, undefined)).toEqual({
      ...{ kind: "Node", name: "own", at: toRfc3339(NOW), managed: false, next: [] },
      says: "own has no NodeClaim, so Karpenter never removes it",
    });
  });

  it("says the node's type, price and pods, and that nothing protects it", () => {
    const daemon = { name: "d", owner: { kind: "DaemonSet", name: "d" } };
    const found = asked({ pods: [daemon] });
    expect(found.says).toBe(
      "n (m-4x, on-demand, zone-a, $0.2000 an hour) of default runs 0 pods; nothing protects it, but other nodes are disrupted first",
    );
    expect(found).toMatchObject({ managed: true, nodeClaim: "n", nodePool: "default", pods: [] });
    expect(found.alone?.nodes.map(({ node }) => node)).toEqual(["n"]);
    const absent = ["inconsistencies", "headroom", "repair", "brake", "removal"];
    expect(Object.keys(found).filter((key) => absent.includes(key))).toEqual([]);
  });

  it("says why the node stays, with all its reasons", () => {
    const kept = { name: "kept", annotations: { "karpenter.sh/do-not-disrupt": "true" } };
    const [first, ...others] = asked({ pods: [kept] }).holds ?? [];
    expect(first?.block).toBe("pod");
    const says = asked({ pods: [kept] }).says;
    expect(says).toContain("runs 1 pod; it stays: ");
    for (const other of others) expect(says).toContain(`; ${other.says}`);
    const leaver = { claim: { deletionTimestamp: toRfc3339(NOW) }, pods: [kept] };
    const { holds = [], says: both } = asked(leaver);
    expect(holds.length).toBeGreaterThan(1);
    for (const hold of holds) expect(both).toContain(hold.says);
    expect(both).not.toMatch(/and \d+ more/);
    const leaving = asked({ claim: { deletionTimestamp: toRfc3339(NOW) } });
    expect(leaving.says).toContain("runs 0 pods; being deleted since 2026-01-05T00:00:00Z: ");
    expect(leaving.alone).toBeUndefined();
  });

  it("says for which CapacityBuffers the node keeps room", () => {
    const kept = [
      { buffer: "default/a", pods: 1 },
      { buffer: "default/b", pods: 2 },
    ];
    const room = new Map([["n", kept as never]]);
    expect(asked({ picture: { room } }).says).toContain(
      "runs 0 pods and keeps room for 1 pod of CapacityBuffer default/a, 2 pods of CapacityBuffer default/b",
    );
    expect(asked({ picture: { room } }).headroom).toEqual(kept);
  });

  it("says why it was launched: for pods, in place of other nodes, or for a static pool", () => {
    const before = { name: "old", status: { phase: "Running" as const } };
    expect(asked({ pods: [before] }).origin).toMatchObject({
      ...{ reason: "pods", says: "created for pending pods; still running: 1" },
      pods: ["default/old"],
    });
    const later = asked({ pods: [before], claim: { creationTimestamp: "2025-01-01T00:00:00Z" } });
    expect(later.origin).toMatchObject({ says: "created for pending pods; none of them is left" });
    const annotations = { "karpenter.sh/replacement-for-command": "c1" };
    expect(asked({ claim: { annotations } }).origin).toMatchObject({
      ...{ reason: "replacement", command: "c1" },
      says: "created to replace other nodes, by the disruption command c1",
    });
    expect(asked({ pool: { replicas: 2 } }).origin).toMatchObject({
      ...{ reason: "capacity", says: "created to keep 2 nodes of its static NodePool" },
    });
  });

  it("lists the conditions for which the node may be disrupted, such as Drifted", () => {
    const conditions = { Initialized: HOUR_MS, Drifted: 60_000, Other: 0 };
    expect(asked({ conditions }).marks).toEqual([
      { type: "Drifted", since: "2026-01-04T23:59:00Z", reason: "Drifted" },
    ]);
  });

  it("lists the capacity that the node lacks compared with its NodeClaim", () => {
    const half = asked({ spec: { resources: { requests: { cpu: "1" } } }, capacity: { cpu: "8" } });
    expect(half.inconsistencies).toEqual([
      "expected 8 of resource cpu, but found 4 (50.0% of expected)",
    ]);
  });
});
