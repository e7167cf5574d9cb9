import { describe, expect, it } from "vitest";
import type { Machine } from "../karpenter/machine.ts";
import type { NodeClaim } from "../karpenter/nodeclaim.ts";
import {
  claimGeneration,
  claimKind,
  claimKubelet,
  fromClaim,
  poolIdOfClaim,
  toClaim,
  withClaimKubelet,
} from "./claim.ts";

const machine: Machine = {
  apiVersion: "karpenter.sh/v1alpha5",
  kind: "Machine",
  metadata: { name: "default-x", labels: { "karpenter.sh/provisioner-name": "default" } },
  spec: {
    requirements: [{ key: "kubernetes.io/arch", operator: "In", values: ["amd64"] }],
    kubelet: { maxPods: 20, containerRuntime: "dockerd" },
    machineTemplateRef: { name: "default" },
    taints: [{ key: "a", effect: "NoSchedule" }],
  },
  status: {
    providerID: "aws:///a/i-1",
    conditions: [
      { type: "MachineLaunched", status: "True", severity: "" },
      { type: "Ready", status: "Unknown" },
    ],
  },
};

const nodeClaim: NodeClaim = {
  apiVersion: "karpenter.sh/v1",
  kind: "NodeClaim",
  metadata: { name: "default-y", labels: { "karpenter.sh/nodepool": "default" } },
  spec: {
    requirements: [],
    nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
  },
};

describe("NodeClaims and Machines in hub form", () => {
  it("have v1 fields and conditions, and are converted back to the same Machine", () => {
    const claim = toClaim(machine);
    expect(claim.spec.nodeClassRef).toEqual({
      group: "karpenter.k8s.aws",
      kind: "AWSNodeTemplate",
      name: "default",
    });
    expect(claim.status?.conditions?.map((one) => one.type)).toEqual(["Launched", "Ready"]);
    expect(fromClaim(claim)).toEqual(machine);
  });

  it("keep a Machine without machineTemplateRef", () => {
    const { machineTemplateRef: _, ...spec } = machine.spec;
    const inline: Machine = { ...machine, spec };
    expect(toClaim(inline).spec.nodeClassRef.name).toBe("");
    expect(fromClaim(toClaim(inline))).toEqual(inline);
  });

  it("are v1 NodeClaims unchanged", () => {
    expect(toClaim(nodeClaim)).toBe(nodeClaim);
    expect(fromClaim(nodeClaim)).toBe(nodeClaim);
  });

  it("have a kind, a generation and a NodePool or Provisioner", () => {
    const beta = {
      ...nodeClaim,
      metadata: {
        ...nodeClaim.metadata,
        annotations: { "compatibility.karpenter.sh/generation": "v1beta1" },
      },
    };
    const all = [toClaim(machine), nodeClaim, beta];
    expect(all.map(claimGeneration)).toEqual(["alpha", "v1", "beta"]);
    expect(all.map((one) => claimKind(one).plural)).toEqual([
      "machines",
      "nodeclaims",
      "nodeclaims",
    ]);
    expect(all.map(poolIdOfClaim)).toEqual([
      "provisioner/default",
      "nodepool/default",
      "nodepool/default",
    ]);
  });

  it("keep kubelet settings in the spec of a Machine, or outside the spec of a NodeClaim", () => {
    expect(claimKubelet(toClaim(machine))).toEqual(machine.spec.kubelet);
    const settled = withClaimKubelet(nodeClaim, { maxPods: 5 });
    expect(claimKubelet(settled)).toEqual({ maxPods: 5 });
    expect(settled.spec).toBe(nodeClaim.spec);
    const again = withClaimKubelet(toClaim(machine), { maxPods: 5 });
    expect((fromClaim(again) as Machine).spec.kubelet).toEqual({ maxPods: 5 });
  });
});
