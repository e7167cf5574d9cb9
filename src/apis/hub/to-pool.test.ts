import { describe, expect, it } from "vitest";
import type { NodePool } from "../karpenter/nodepool.ts";
import type { Provisioner } from "../karpenter/provisioner.ts";
import { toPool } from "./to-pool.ts";

function provisioner(spec: Provisioner["spec"]): Provisioner {
  return {
    apiVersion: "karpenter.sh/v1alpha5",
    kind: "Provisioner",
    metadata: { name: "default", uid: "u" },
    spec: { providerRef: { name: "default" }, ...spec },
  };
}

function nodePool(extra: Partial<NodePool["metadata"]> = {}, ready = "True"): NodePool {
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name: "default", ...extra },
    spec: {
      template: {
        metadata: { labels: { team: "a" } },
        spec: {
          requirements: [],
          nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
          expireAfter: "360h",
        },
      },
      disruption: { consolidationPolicy: "WhenEmpty", consolidateAfter: "30s" },
      limits: { cpu: "10", memory: "1Gi" },
      weight: 3,
    },
    status: { conditions: [{ type: "Ready", status: ready as "True" }] },
  };
}

function writtenBy(...versions: readonly string[]) {
  return versions.map((apiVersion, index) => ({
    apiVersion,
    time: `2026-01-0${index + 1}T00:00:00Z`,
    fieldsV1: { "f:spec": {} },
  }));
}

describe("a Provisioner in hub form", () => {
  it("keeps its requirements as stored and is always ready", () => {
    const pool = toPool(
      provisioner({
        requirements: [{ key: "kubernetes.io/arch", operator: "In", values: ["amd64"] }],
        limits: { resources: { cpu: "10" } },
        kubeletConfiguration: { maxPods: 20 },
      }),
    );
    expect(pool).toMatchObject({
      generation: "alpha",
      id: "provisioner/default",
      ready: true,
      classRef: { group: "karpenter.k8s.aws", kind: "AWSNodeTemplate", name: "default" },
      limits: { cpu: 10_000 },
      kubelet: { maxPods: 20 },
      requirements: [{ key: "kubernetes.io/arch" }],
    });
  });

  it("gets its disruption policy from ttlSecondsAfterEmpty, consolidation and ttlSecondsUntilExpired", () => {
    const disruption = (spec: Provisioner["spec"]) => toPool(provisioner(spec)).disruption;
    expect(disruption({})).toMatchObject({
      policy: "none",
      consolidateAfter: "Never",
      expireAfter: "Never",
      expireMode: "voluntary",
      budgets: [],
    });
    expect(disruption({ ttlSecondsAfterEmpty: 30 })).toMatchObject({
      policy: "WhenEmpty",
      consolidateAfter: 30_000,
    });
    expect(disruption({ consolidation: { enabled: true } })).toMatchObject({
      policy: "WhenEmptyOrUnderutilized",
      consolidateAfter: 0,
    });
    expect(disruption({ ttlSecondsUntilExpired: 60 }).expireAfter).toBe(60_000);
    // Longer lifetimes are limited to the longest duration, because no later date can be written.
    expect(disruption({ ttlSecondsUntilExpired: 1e15 }).expireAfter).toBe(9_223_372_036_854);
  });

  it("S1-33: reads ttlSecondsAfterEmpty -1 as Never", () => {
    expect(toPool(provisioner({ ttlSecondsAfterEmpty: -1 })).disruption.consolidateAfter).toBe(
      "Never",
    );
  });

  it("has another hash with other taints, and the same with other requirements", () => {
    const hash = (spec: Provisioner["spec"]) => toPool(provisioner(spec)).hash;
    const taints = [{ key: "karpenter.sh/legacy", value: "true", effect: "NoSchedule" }] as const;
    expect(hash({ taints })).not.toBe(hash({}));
    expect(hash({ requirements: [{ key: "a", operator: "Exists" }] })).toBe(hash({}));
  });
});

describe("a NodePool in hub form", () => {
  it("has the default expireAfter if its own is out of range", () => {
    const native = nodePool();
    const { template } = native.spec;
    const spec = { ...template.spec, expireAfter: `${"9".repeat(400)}h` };
    const broken = { ...native, spec: { ...native.spec, template: { ...template, spec } } };
    expect(toPool(broken).disruption.expireAfter).toBe(2_592_000_000);
  });

  it("has expireMode forceful in v1", () => {
    expect(toPool(nodePool())).toMatchObject({
      generation: "v1",
      id: "nodepool/default",
      ready: true,
      weight: 3,
      limits: { cpu: 10_000, memory: 1_073_741_824 },
      disruption: {
        policy: "WhenEmpty",
        consolidateAfter: 30_000,
        expireAfter: 360 * 3_600_000,
        expireMode: "forceful",
        budgets: [{ nodes: "10%" }],
      },
    });
  });

  it("has the generation of the API version that wrote its spec last", () => {
    const generation = (...versions: readonly string[]) =>
      toPool(nodePool({ managedFields: writtenBy(...versions) })).generation;
    expect(generation("karpenter.sh/v1", "karpenter.sh/v1beta1")).toBe("beta");
    expect(generation("karpenter.sh/v1beta1", "karpenter.sh/v1")).toBe("v1");
    const marked = { annotations: { "compatibility.karpenter.sh/generation": "v1beta1" } };
    expect(toPool(nodePool(marked)).disruption.expireMode).toBe("voluntary");
    const both = { ...marked, managedFields: writtenBy("karpenter.sh/v1") };
    expect(toPool(nodePool(both)).generation).toBe("v1");
  });

  it("is not ready without a Ready condition that is True", () => {
    expect(toPool(nodePool({}, "False")).ready).toBe(false);
    expect(toPool({ ...nodePool(), status: {} }).ready).toBe(false);
  });

  it("has a hash of its template without requirements, whatever the order of taints", () => {
    const pool = nodePool();
    const taints = [
      { key: "a", effect: "NoSchedule" },
      { key: "b", effect: "NoExecute" },
    ] as const;
    const template = pool.spec.template;
    const withSpec = (spec: object) =>
      toPool({
        ...pool,
        spec: { ...pool.spec, template: { ...template, spec: { ...template.spec, ...spec } } },
      }).hash;
    expect(withSpec({ taints })).toBe(withSpec({ taints: taints.toReversed() }));
    expect(withSpec({ taints })).not.toBe(withSpec({}));
    expect(withSpec({ requirements: [{ key: "x", operator: "Exists" }] })).toBe(withSpec({}));
    expect(withSpec({ expireAfter: "1h" })).not.toBe(withSpec({}));
  });
});
