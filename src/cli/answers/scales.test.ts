import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import type { Found } from "../plan/documents.ts";
import { parseScales, withScales } from "./scales.ts";

const DEPLOYMENT: KubeObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "shop" },
  spec: { replicas: 5 },
} as KubeObject;

function pod(name: string, more: { node?: string; cost?: string; at?: string } = {}): KubeObject {
  const { node, cost, at = "2026-01-01T00:00:00Z" } = more;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "shop",
      labels: { "pod-template-hash": "abc" },
      creationTimestamp: at,
      ...(cost === undefined
        ? {}
        : { annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } }),
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-abc", uid: "u", controller: true },
      ],
    },
    spec: { containers: [], ...(node === undefined ? {} : { nodeName: node }) },
    status: { phase: node === undefined ? "Pending" : "Running" },
  } as KubeObject;
}

function left(pods: readonly KubeObject[], replicas: number): readonly string[] {
  const found = [DEPLOYMENT, ...pods].map((object): Found => ({ where: "", object, live: true }));
  return withScales(found, [{ workload: "shop/web", replicas }])
    .filter(({ object }) => object.kind === "Pod")
    .map(({ object }) => object.metadata.name);
}

describe("karpenter simulate --scale", () => {
  it("removes pods in the ReplicaSet controller's order: pending, low deletion cost, crowded node, younger", () => {
    const pods = [
      pod("old", { node: "a" }),
      pod("crowded-1", { node: "b" }),
      pod("crowded-2", { node: "b", at: "2026-01-02T00:00:00Z" }),
      pod("cheap", { node: "c", cost: "-1" }),
      pod("pending"),
    ];
    expect(left(pods, 4)).not.toContain("pending");
    expect(left(pods, 3)).toEqual(["old", "crowded-1", "crowded-2"]);
    expect(left(pods, 2)).toEqual(["old", "crowded-1"]);
    expect(left(pods, 9)).toHaveLength(5);
    expect(left(pods, 0)).toEqual([]);
  });

  it("refuses invalid numbers of replicas and unknown Deployments", () => {
    expect(parseScales(["web=3", "shop/web=0"])).toEqual([
      { workload: "default/web", replicas: 3 },
      { workload: "shop/web", replicas: 0 },
    ]);
    for (const text of ["web", "web=-1", "web=many", "web=9999999", "a/b/c=1"])
      expect(() => parseScales([text])).toThrow(/wanted NAMESPACE\/NAME=REPLICAS/);
    expect(() => withScales([], [{ workload: "shop/web", replicas: 1 }])).toThrow("no Deployment");
  });
});
