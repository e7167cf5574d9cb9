import { describe, expect, it } from "vitest";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import { beyondAsking, type Seen, unsettled } from "./unsettled.ts";

const DELETED = "2026-01-05T08:46:11Z";
const POOL = { "karpenter.sh/nodepool": "pool-0" };

const pod = (name: string, app: string, nodeName?: string): Pod =>
  ({
    metadata: { name, namespace: "default", labels: { app } },
    spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
    status:
      nodeName === undefined
        ? { phase: "Pending" }
        : { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  }) as unknown as Pod;

const leavingNode = (name: string): Node => ({
  metadata: { name, labels: POOL, deletionTimestamp: DELETED },
  spec: { taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] },
});

const leavingClaim = (name: string, nodeName: string, grace?: string): NodeClaim =>
  ({
    metadata: { name, labels: POOL, deletionTimestamp: DELETED },
    spec: grace === undefined ? {} : { terminationGracePeriod: grace },
    status: { nodeName, conditions: [{ type: "Initialized", status: "True" }] },
  }) as unknown as NodeClaim;

const app = (name: string, guarded: boolean): Seen["apps"][number] => ({
  name,
  pool: "pool-0",
  manifests: guarded ? [{ kind: "PodDisruptionBudget", metadata: { name } }] : [],
});

/** One node expired. A PodDisruptionBudget keeps its pod, and the other pod of the app is pending. */
const stuck: Seen = {
  apps: [app("app-1", true)],
  pools: [{ name: "pool-0", cpuLimit: 8, nodeLimit: undefined, replicas: undefined }],
  wanted: new Map([["app-1", 2]]),
  pods: [pod("a", "app-1", "n"), pod("b", "app-1")],
  nodes: [leavingNode("n")],
  claims: [leavingClaim("c", "n")],
};
const LEAVES = ["node n still leaves", "node n is closed", "claim c still leaves"];

describe("the report of what has not settled in a cluster", () => {
  it("omits a node whose pods a PDB keeps until others run, for which the limit leaves no room", () => {
    expect(unsettled(stuck)).toEqual([]);
  });

  it("omits the claim of a node that a PDB keeps, and names a claim that is marked for disruption and never deleted", () => {
    const [claim] = stuck.claims as [NodeClaim];
    const types = ["Initialized", "DisruptionReason"];
    const conditions = types.map((type) => ({ type, status: "True" as const, reason: "Drifted" }));
    const status = { nodeName: "n", conditions } as unknown as NonNullable<NodeClaim["status"]>;
    expect(unsettled({ ...stuck, claims: [{ ...claim, status }] })).toEqual([]);
    const { deletionTimestamp: _, ...metadata } = claim.metadata;
    expect(unsettled({ ...stuck, claims: [{ ...claim, metadata, status }] })).toEqual([
      "claim c is to be disrupted",
    ]);
  });

  it("omits a node with do-not-disrupt pods while the pods that replace them wait for room", () => {
    const [first, second] = stuck.pods as [Pod, Pod];
    const annotations = { "karpenter.sh/do-not-disrupt": "true" };
    const staying = { ...first, metadata: { ...first.metadata, annotations } };
    const apps = [app("app-1", false)];
    expect(unsettled({ ...stuck, apps, pods: [staying, second] })).toEqual([]);
  });

  it("names such a node as soon as one reason to omit it is missing", () => {
    const [first, second] = stuck.pods as [Pod, Pod];
    const where = (change: Partial<Seen>) => unsettled({ ...stuck, ...change });
    expect(where({ apps: [app("app-1", false)] })).toEqual(LEAVES);
    expect(where({ claims: [leavingClaim("c", "n", "5m")] })).toEqual(LEAVES);
    expect(where({ wanted: new Map([["app-1", 1]]) })).toEqual(LEAVES);
    expect(where({ pods: [second] })).toEqual(LEAVES);
    expect(where({ pods: [first, second, pod("d", "app-2", "n")] })).toEqual(LEAVES);
    const pools = [
      { name: "pool-0", cpuLimit: undefined, nodeLimit: undefined, replicas: undefined },
    ];
    expect(where({ pools })).toEqual(["1 of 2 pods of app-1 run", ...LEAVES]);
  });

  it("names a node that is closed to pods and does not leave, whatever runs there", () => {
    const [node] = stuck.nodes as [Node];
    const { deletionTimestamp: _, ...metadata } = node.metadata;
    const [claim] = stuck.claims as [NodeClaim];
    const { deletionTimestamp: __, ...rest } = claim.metadata;
    const open = { nodes: [{ ...node, metadata }], claims: [{ ...claim, metadata: rest }] };
    expect(unsettled({ ...stuck, ...open })).toEqual(["node n is closed"]);
  });
});

describe("the check of writes in a settled cluster", () => {
  const asking = (name: string) => `POST pods/${name} eviction {"kind":"Eviction"}`;
  const often = (times: number, write: string) => Array.from({ length: times }, () => write);
  const beyond = (writes: readonly string[], change: Partial<Seen> = {}) =>
    beyondAsking(writes, { ...stuck, ...change }, 60_000);

  it("accepts repeated evictions of a pod that a PDB keeps for good on a leaving node (calm seed 97198)", () => {
    expect(beyond(often(7, asking("a")))).toEqual([]);
  });

  it("reports evictions more often than every ten seconds, and any other write", () => {
    expect(beyond(often(9, asking("a")))).toEqual(often(2, asking("a")));
    for (const other of [asking("b"), "DELETE pods/a  {}", "PATCH nodes/n  {}"])
      expect(beyond([asking("a"), other])).toEqual([other]);
  });

  it("reports evictions if the pod can be evicted, or if its node stays or has a deadline", () => {
    const [first, second] = stuck.pods as [Pod, Pod];
    const [node] = stuck.nodes as [Node];
    const { deletionTimestamp: _, ...metadata } = node.metadata;
    const gone = { ...first, metadata: { ...first.metadata, deletionTimestamp: DELETED } };
    const changes: readonly Partial<Seen>[] = [
      { pods: [gone, second] },
      { pods: [second] },
      { wanted: new Map([["app-1", 1]]) },
      { apps: [app("app-1", false)] },
      { nodes: [{ ...node, metadata }] },
      { claims: [leavingClaim("c", "n", "5m")] },
    ];
    for (const change of changes) expect(beyond([asking("a")], change)).toEqual([asking("a")]);
  });
});
