import { describe, expect, it } from "vitest";
import type { NodeClaim } from "../karpenter/nodeclaim.ts";
import type { NodePool } from "../karpenter/nodepool.ts";
import type { Provisioner } from "../karpenter/provisioner.ts";
import { toAwsClass } from "./aws-class.ts";
import { toClaim } from "./claim.ts";
import { POOL_SHAPE, sound } from "./shape.ts";
import { toPool } from "./to-pool.ts";

const REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const READY = { conditions: [{ type: "Ready", status: "True" }] };

function pool(spec: unknown): NodePool {
  const metadata = { name: "p" };
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata,
    spec,
    status: READY,
  } as never;
}

describe("an object that violates its schema", () => {
  it("is returned unchanged if it is valid", () => {
    const good = pool({
      template: { spec: { nodeClassRef: REF, requirements: [{ key: "a", operator: "Exists" }] } },
      limits: { cpu: 10, memory: "1Gi" },
    });
    expect(sound(good, POOL_SHAPE)).toEqual({ value: good, problems: [] });
    expect(sound(good, POOL_SHAPE).value).toBe(good);
    expect(toPool(good)).toMatchObject({ ready: true, classRef: REF });
    expect(toPool(good).unreadable).toBeUndefined();
  });

  it.each([
    [undefined, "spec: is missing"],
    ["text", "spec: is no object"],
    [{}, "spec.template: is missing"],
    [{ template: {} }, "spec.template.spec: is missing"],
    [{ template: { spec: { nodeClassRef: null } } }, "spec.template.spec.nodeClassRef: is missing"],
    [{ template: { spec: { requirements: {} } } }, "spec.template.spec.requirements: is no list"],
    [
      { template: { spec: { requirements: [{ key: "a", operator: "In", values: [1] }] } } },
      "spec.template.spec.requirements[0].values[0]: is no text",
    ],
    [{ template: { spec: { taints: ["x"] } } }, "spec.template.spec.taints[0]: is no object"],
    [{ template: { spec: {} }, limits: { cpu: {} } }, "spec.limits.cpu: is no quantity"],
    [
      { template: { spec: {} }, disruption: { budgets: [{}] } },
      "spec.disruption.budgets[0].nodes: is missing",
    ],
    [{ template: { spec: {} }, weight: "heavy" }, "spec.weight: is no number"],
  ])("as a NodePool with spec %j is read without an error, and is not ready", (spec, problem) => {
    const read = toPool(pool(spec));
    expect(read.unreadable).toContain(problem);
    expect(read.ready).toBe(false);
    // No provider has a class of this kind, so every provider's Karpenter reports the pool.
    expect(read.classRef.kind).toBe("");
  });

  it("as a Provisioner has no taints, and is not ready", () => {
    const broken = { kind: "Provisioner", metadata: { name: "p" }, spec: { taints: 3 } };
    expect(toPool(broken as unknown as Provisioner)).toMatchObject({
      taints: [],
      ready: false,
      unreadable: "spec.taints: is no list",
    });
  });

  it("as a NodeClaim keeps its valid fields", () => {
    const broken = {
      kind: "NodeClaim",
      metadata: { name: "c" },
      spec: { requirements: "none", nodeClassRef: REF, expireAfter: 7 },
      status: { providerID: "aws:///a/i-1" },
    };
    const claim = toClaim(broken as unknown as NodeClaim);
    expect(claim.spec).toEqual({ requirements: [], nodeClassRef: REF });
    expect(claim.status?.providerID).toBe("aws:///a/i-1");
  });

  it("has an empty value for a required field that is null", () => {
    const broken = { kind: "NodeClaim", metadata: { name: "c" }, spec: { nodeClassRef: null } };
    expect(toClaim(broken as unknown as NodeClaim).spec).toEqual({
      requirements: [],
      nodeClassRef: {},
    });
  });

  it("as an EC2NodeClass has no terms, amiFamily Custom, and is not ready", () => {
    const broken = {
      kind: "EC2NodeClass",
      metadata: { name: "c" },
      spec: { amiSelectorTerms: "x" },
    };
    for (const one of [broken, { ...broken, spec: undefined }])
      expect(toAwsClass(one as never)).toMatchObject({
        ...{ amiFamily: "Custom", amiTerms: [], ready: false },
        unreadable:
          one.spec === undefined ? "spec: is missing" : "spec.amiSelectorTerms: is no list",
      });
  });
});
