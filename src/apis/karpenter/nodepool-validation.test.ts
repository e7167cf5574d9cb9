import { describe, expect, it } from "vitest";
import { seedObjects } from "../../testing/seed-manifests.ts";
import { AWS_WELL_KNOWN_LABELS } from "../aws/labels.ts";
import { convertObject } from "../hub/conversion.ts";
import type { NodePool } from "./nodepool.ts";
import { nodePoolProblems } from "./nodepool-validation.ts";

function pool(spec: object, more: object = {}, labels: object = {}): NodePool {
  const nodeClassRef = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
  return {
    metadata: { name: "default" },
    spec: {
      template: { metadata: { labels }, spec: { requirements: [], nodeClassRef, ...spec } },
      ...more,
    },
  } as NodePool;
}

function requirement(key: string, operator: string, ...values: readonly string[]) {
  return nodePoolProblems(pool({ requirements: [{ key, operator, values }] }));
}

describe("validation of a NodePool at run time", () => {
  it("accepts the NodePools of the seeds", () => {
    const files = ["s2-01-nodepool.yaml", "s3-31-nodepool-full-1.yaml", "s4-01-spot.yaml"];
    for (const object of files.flatMap((file) => seedObjects(file))) {
      if (object.kind !== "NodePool") continue;
      const native = convertObject(object, "karpenter.sh/v1") as NodePool;
      expect(nodePoolProblems(native, AWS_WELL_KNOWN_LABELS)).toEqual([]);
    }
  });

  it("refuses Karpenter's own labels in labels and requirements", () => {
    const labels = { "karpenter.sh/provisioner-name": "x", "karpenter.sh/nodepool": "y" };
    expect(nodePoolProblems(pool({}, {}, labels))).toHaveLength(2);
    expect(requirement("karpenter.sh/nodepool", "In", "x")).toHaveLength(1);
    expect(requirement("kubernetes.io/hostname", "In", "x")).toHaveLength(1);
    expect(requirement("topology.kubernetes.io/zone", "In", "a")).toEqual([]);
  });

  it("refuses a capacity-type requirement without a known value", () => {
    expect(requirement("karpenter.sh/capacity-type", "In", "cheap")).toHaveLength(1);
    expect(requirement("karpenter.sh/capacity-type", "In", "cheap", "spot")).toEqual([]);
  });

  it("names field and value of an invalid quantity or duration", () => {
    expect(nodePoolProblems(pool({ expireAfter: "soon" }, { limits: { cpu: "ten" } }))).toEqual([
      'spec.limits.cpu: "ten" is no quantity',
      'spec.template.spec.expireAfter: "soon" is neither a duration nor Never',
    ]);
  });

  it("refuses an expireAfter above Go's longest duration", () => {
    expect(nodePoolProblems(pool({ expireAfter: "2562047h" }))).toEqual([]);
    for (const expireAfter of ["2562048h", `${"9".repeat(400)}h`])
      expect(nodePoolProblems(pool({ expireAfter }))).toEqual([
        `spec.template.spec.expireAfter: "${expireAfter}" is neither a duration nor Never`,
      ]);
  });

  it("refuses a taint that is also a startupTaint", () => {
    const taints = [{ key: "a", effect: "NoSchedule" }];
    expect(nodePoolProblems(pool({ taints, startupTaints: taints }))).toEqual([
      "spec.template.spec.startupTaints[0]: duplicate taint Key/Effect pair a=NoSchedule",
    ]);
  });
});
