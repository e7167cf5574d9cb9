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

describe("a NodePool at run time", () => {
  it("is fine when it comes from a seed", () => {
    const files = ["s2-01-nodepool.yaml", "s3-31-nodepool-full-1.yaml", "s4-01-spot.yaml"];
    for (const object of files.flatMap((file) => seedObjects(file))) {
      if (object.kind !== "NodePool") continue;
      const native = convertObject(object, "karpenter.sh/v1") as NodePool;
      expect(nodePoolProblems(native, AWS_WELL_KNOWN_LABELS)).toEqual([]);
    }
  });

  it("may not name labels of Karpenter's own, nor alpha's owner label", () => {
    const labels = { "karpenter.sh/provisioner-name": "x", "karpenter.sh/nodepool": "y" };
    expect(nodePoolProblems(pool({}, {}, labels))).toHaveLength(2);
    expect(requirement("karpenter.sh/nodepool", "In", "x")).toHaveLength(1);
    expect(requirement("kubernetes.io/hostname", "In", "x")).toHaveLength(1);
    expect(requirement("topology.kubernetes.io/zone", "In", "a")).toEqual([]);
  });

  it("needs one capacity type that exists", () => {
    expect(requirement("karpenter.sh/capacity-type", "In", "cheap")).toHaveLength(1);
    expect(requirement("karpenter.sh/capacity-type", "In", "cheap", "spot")).toEqual([]);
  });

  it("names the field and the value of an amount that is none", () => {
    expect(nodePoolProblems(pool({ expireAfter: "soon" }, { limits: { cpu: "ten" } }))).toEqual([
      'spec.limits.cpu: "ten" is no quantity',
      'spec.template.spec.expireAfter: "soon" is neither a duration nor Never',
    ]);
  });

  it("lives no longer than durations can say, as Go has them", () => {
    expect(nodePoolProblems(pool({ expireAfter: "2562047h" }))).toEqual([]);
    for (const expireAfter of ["2562048h", `${"9".repeat(400)}h`])
      expect(nodePoolProblems(pool({ expireAfter }))).toEqual([
        `spec.template.spec.expireAfter: "${expireAfter}" is neither a duration nor Never`,
      ]);
  });

  it("has each taint once over both lists", () => {
    const taints = [{ key: "a", effect: "NoSchedule" }];
    expect(nodePoolProblems(pool({ taints, startupTaints: taints }))).toEqual([
      "spec.template.spec.startupTaints[0]: duplicate taint Key/Effect pair a=NoSchedule",
    ]);
  });
});
