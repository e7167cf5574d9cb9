import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { claimManifest } from "./manifest.ts";
import type { PlannedClaim } from "./result.ts";
import type { PoolInput } from "./scheduling-input.ts";
import { solve } from "./solve.ts";

function planned(pool: Parameters<typeof poolInput>[0], nodeSelector = {}): PlannedClaim {
  const types: PoolInput["instanceTypes"] = [instanceType({ cpu: 2 }), instanceType({ cpu: 4 })];
  const pods = [pod({ spec: { nodeSelector } })];
  const result = solve(schedulingInput({ pods, pools: [poolInput(pool, types)] }));
  expect(result.unschedulable).toEqual([]);
  return result.newClaims[0] as PlannedClaim;
}

describe("claimManifest", () => {
  it("makes a NodeClaim with the requirements that the pods leave open", () => {
    const claim = claimManifest(
      planned({
        labels: { team: "red" },
        annotations: { note: "hello" },
        startupTaints: [{ key: "cilium", effect: "NoExecute" }],
        requirements: [{ key: "karpenter.sh/capacity-type", operator: "In", values: ["spot"] }],
        terminationGracePeriodMs: 60_000,
      }),
      "x7k2p",
    );
    expect(claim).toMatchInlineSnapshot(`
      {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
          "annotations": {
            "karpenter.sh/nodeclaim-min-values-relaxed": "false",
            "karpenter.sh/nodepool-hash": "1",
            "karpenter.sh/nodepool-hash-version": "v3",
            "karpenter.sh/planned-pods": "{"uid-default-pod":1}",
            "note": "hello",
          },
          "generateName": "default-",
          "labels": {
            "karpenter.sh/nodepool": "default",
            "team": "red",
            "test.sh/testclass": "default",
          },
          "name": "default-x7k2p",
          "ownerReferences": [
            {
              "apiVersion": "karpenter.sh/v1",
              "blockOwnerDeletion": true,
              "kind": "NodePool",
              "name": "default",
              "uid": "uid-default",
            },
          ],
        },
        "spec": {
          "expireAfter": "720h",
          "nodeClassRef": {
            "group": "test.sh",
            "kind": "TestClass",
            "name": "default",
          },
          "requirements": [
            {
              "key": "karpenter.sh/capacity-type",
              "operator": "In",
              "values": [
                "spot",
              ],
            },
            {
              "key": "karpenter.sh/nodepool",
              "operator": "In",
              "values": [
                "default",
              ],
            },
            {
              "key": "node.kubernetes.io/instance-type",
              "operator": "In",
              "values": [
                "m-2x",
                "m-4x",
              ],
            },
            {
              "key": "team",
              "operator": "In",
              "values": [
                "red",
              ],
            },
            {
              "key": "test.sh/testclass",
              "operator": "In",
              "values": [
                "default",
              ],
            },
          ],
          "resources": {
            "requests": {
              "cpu": "100m",
              "memory": "128Mi",
              "pods": "1",
            },
          },
          "startupTaints": [
            {
              "effect": "NoExecute",
              "key": "cilium",
            },
          ],
          "terminationGracePeriod": "1m0s",
        },
      }
    `);
  });

  it("makes a Machine for a Provisioner, with the older field names", () => {
    const alpha = {
      generation: "alpha" as const,
      classRef: { group: "karpenter.k8s.aws", kind: "AWSNodeTemplate", name: "default" },
      kubelet: { maxPods: 20 },
    };
    expect(claimManifest(planned(alpha), "x7k2p")).toMatchInlineSnapshot(`
      {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Machine",
        "metadata": {
          "annotations": {
            "karpenter.sh/planned-pods": "{"uid-default-pod":1}",
            "karpenter.sh/provisioner-hash": "1",
          },
          "generateName": "default-",
          "labels": {
            "karpenter.sh/provisioner-name": "default",
          },
          "name": "default-x7k2p",
          "ownerReferences": [
            {
              "apiVersion": "karpenter.sh/v1alpha5",
              "blockOwnerDeletion": true,
              "kind": "Provisioner",
              "name": "default",
              "uid": "uid-default",
            },
          ],
        },
        "spec": {
          "kubelet": {
            "maxPods": 20,
          },
          "machineTemplateRef": {
            "apiVersion": "karpenter.k8s.aws/v1alpha1",
            "kind": "AWSNodeTemplate",
            "name": "default",
          },
          "requirements": [
            {
              "key": "karpenter.sh/capacity-type",
              "operator": "In",
              "values": [
                "on-demand",
                "spot",
              ],
            },
            {
              "key": "karpenter.sh/provisioner-name",
              "operator": "In",
              "values": [
                "default",
              ],
            },
            {
              "key": "node.kubernetes.io/instance-type",
              "operator": "In",
              "values": [
                "m-2x",
                "m-4x",
              ],
            },
          ],
          "resources": {
            "requests": {
              "cpu": "100m",
              "memory": "128Mi",
              "pods": "1",
            },
          },
        },
      }
    `);
  });

  it("sets the label of the pod's node selector for a custom key with operator Exists", () => {
    const requirements = [{ key: "team", operator: "Exists" as const }];
    const claim = claimManifest(planned({ requirements }, { team: "blue" }), "a");
    expect(claim.metadata.labels?.["team"]).toBe("blue");
  });

  it("sets no label for a key with operator NotIn only", () => {
    const requirements = [{ key: "team", operator: "NotIn" as const, values: ["red"] }];
    const claim = claimManifest(planned({ requirements }), "a");
    expect(claim.metadata.labels?.["team"]).toBe(undefined);
  });
});
