import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { toPool } from "../../apis/hub/to-pool.ts";
import { MANAGED_DELETION_COST_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import { atOnce } from "../../base/steps.ts";
import { instanceType, node, nodeClaim, nodePool, pod } from "../../testing/builders.ts";
import { nodeView } from "../state/node-view.ts";
import { type Candidate, findCandidates } from "./candidates.ts";
import { deletionCosts } from "./deletion-cost.ts";
import { DELETION_COST_ANNOTATION, evictionCost } from "./eviction-cost.ts";

const MARK = MANAGED_DELETION_COST_ANNOTATION_KEY;
const owned = (kind: string) => [
  { apiVersion: "x/v1", kind, name: "o", uid: "u", controller: true },
];

let made = 0;
function running(annotations: Readonly<Record<string, string>> = {}, kind = "ReplicaSet"): Pod {
  const one = pod({ annotations });
  const metadata = {
    ...one.metadata,
    name: `p${++made}`,
    uid: `u${made}`,
    ...(kind === "" ? {} : { ownerReferences: owned(kind) }),
  };
  return { ...one, metadata, spec: { ...one.spec, nodeName: "n" }, status: { phase: "Running" } };
}

const OWN = (cost: string) => ({ [DELETION_COST_ANNOTATION]: cost, [MARK]: cost });

interface Sketch {
  readonly pods?: readonly Pod[];
  readonly drifted?: boolean;
  readonly marked?: boolean;
}

/** The deletion costs for nodes of one pool and of equal price. `sketches`: nodes by name. */
function decide(
  sketches: Readonly<Record<string, Sketch>>,
  room: { drifted?: number; underutilized?: number } = {},
  spec: Parameters<typeof nodePool>[0] = {},
) {
  const pool = toPool(nodePool(spec));
  const types = [instanceType({ name: "m" })];
  const nodes = Object.entries(sketches).map(([name, { pods = [running()], drifted, marked }]) => {
    const labels = {
      "karpenter.sh/nodepool": "default",
      "node.kubernetes.io/instance-type": "m",
      "karpenter.sh/capacity-type": "on-demand",
      "topology.kubernetes.io/zone": "zone-a",
    };
    const providerId = `id-${name}`;
    const conditions = drifted === true ? [{ type: "Drifted", status: "True" }] : [];
    const claim = nodeClaim({ name, labels });
    const status = { ...claim.status, providerID: providerId, nodeName: name, conditions };
    return nodeView({
      node: node({
        name,
        providerId,
        labels: {
          ...labels,
          "karpenter.sh/initialized": "true",
          "karpenter.sh/registered": "true",
        },
      } as never),
      claim: { ...claim, status } as never,
      pods,
      marked: marked === true,
      nominatedUntilMs: 0,
    });
  });
  const { candidates } = atOnce(
    findCandidates({
      ...{ nowMs: 0, nodes, pools: [{ pool, instanceTypes: types }], pdbs: [] },
      ...{ queued: new Set<string>(), disruptionClass: "graceful" },
    }),
  );
  const { drifted = 100, underutilized = 100 } = room;
  const result = deletionCosts({
    nodes,
    candidates: candidates as readonly Candidate[],
    drifted: new Map([[pool.id, { allowed: drifted }]]),
    underutilized: new Map([[pool.id, { allowed: underutilized }]]),
  });
  const costs = Object.fromEntries(
    result.nodes.map(({ node, changes }) => [node.name, changes.map(({ cost }) => cost)]),
  );
  return { costs, isCut: result.isCut };
}

describe("pod deletion costs", () => {
  it("are lowest on leaving nodes, then on drifted ones, then on those with the largest saving", () => {
    const { costs } = decide({
      a: { pods: [running(), running()] },
      b: {},
      c: { drifted: true },
      d: { marked: true },
    });
    expect(costs).toEqual({
      d: ["-2147483648"],
      c: ["-3"],
      b: ["-2"],
      a: ["-1", "-1"],
    });
  });

  it("are set on as many nodes as budgets allow, and removed from the others", () => {
    const { costs } = decide(
      {
        a: { pods: [running(OWN("-9"))] },
        b: { pods: [running(OWN("-9"))], drifted: true },
        c: { pods: [running(), running()] },
      },
      { drifted: 0, underutilized: 1 },
    );
    expect(costs).toEqual({ a: ["-1"], b: [undefined] });
  });

  it("set by users are kept, even if Karpenter set one before", () => {
    const users = running({ [DELETION_COST_ANNOTATION]: "7" });
    const changed = running({ [DELETION_COST_ANNOTATION]: "8", [MARK]: "-1" });
    const { costs } = decide({
      a: { pods: [users, changed, running()] },
      b: { marked: true, pods: [users] },
    });
    expect(costs).toEqual({ a: ["-1"] });
    const bare = decide({ a: { pods: [users, changed] } }, { underutilized: 0 });
    expect(bare.costs).toEqual({});
  });

  it.each<[string, Pod]>([
    ["a pod without a controller", running({}, "")],
    ["a pod of a StatefulSet", running({}, "StatefulSet")],
    ["a do-not-disrupt pod", running({ "karpenter.sh/do-not-disrupt": "true" })],
  ])("are not set on a node with %s", (_, other) => {
    expect(decide({ a: { pods: [running(), other] } }).costs).toEqual({});
  });

  it("are set on pods of ReplicaSets only", () => {
    expect(decide({ a: { pods: [running({}, "Job"), running()] } }).costs).toEqual({ a: ["-1"] });
  });

  it("are not set on nodes that are never consolidated", () => {
    const never = { spec: { disruption: { consolidateAfter: "Never" } } } as const;
    expect(decide({ a: {} }, {}, never).costs).toEqual({});
    expect(decide({ a: { drifted: true } }, {}, never).costs).toEqual({ a: ["-1"] });
    expect(decide({ a: {} }, {}, { spec: { replicas: 1 } }).costs).toEqual({});
  });

  it("are changed on at most fifty nodes in one pass, not counting leaving nodes", () => {
    const many = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`n${String(index).padStart(2, "0")}`, {}]),
    );
    const { costs, isCut } = decide({ ...many, z: { marked: true } });
    expect([Object.keys(costs).length, isCut]).toEqual([51, true]);
    expect(costs["n00"]).toEqual(["-60"]);
  });
});

describe("the eviction cost of a pod", () => {
  const cost = (annotations: Readonly<Record<string, string>>) =>
    evictionCost(pod({ annotations }));

  it("uses karpenter.sh/disruption-cost rather than the pod deletion cost", () => {
    const own = { "karpenter.sh/disruption-cost": "134217728" };
    expect(cost(own)).toBe(2);
    expect(cost({ ...own, [DELETION_COST_ANNOTATION]: "268435456" })).toBe(2);
    expect(cost({ "karpenter.sh/disruption-cost": "1.5" })).toBe(1);
    expect(cost({ "karpenter.sh/disruption-cost": "-2147483649" })).toBe(1);
  });

  it("ignores a pod deletion cost that Karpenter set", () => {
    expect(cost(OWN("-134217728"))).toBe(1);
    expect(cost({ ...OWN("-134217728"), [DELETION_COST_ANNOTATION]: "134217728" })).toBe(2);
  });
});
