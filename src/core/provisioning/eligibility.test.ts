import { describe, expect, it } from "vitest";
import type { NodeSelectorTerm, Pod } from "../../apis/core/pod.ts";
import { pod } from "../../testing/builders.ts";
import { VolumeIndex } from "../scheduling/volumes.ts";
import { refusal } from "./eligibility.ts";

const NO_VOLUMES = new VolumeIndex({ claims: [], volumes: [], classes: [], csiNodes: [] });

function refused(spec: Partial<Pod["spec"]>): string | undefined {
  return refusal(pod({ spec }), NO_VOLUMES, []);
}

const requiring = (term: NodeSelectorTerm) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
    },
  },
});

describe("refusal", () => {
  it("lets ordinary pods through, those that name a provisioner too", () => {
    expect(refused({})).toBe(undefined);
    expect(refused({ nodeSelector: { "karpenter.sh/provisioner-name": "default" } })).toBe(
      undefined,
    );
    expect(refused({ nodeSelector: { team: "red" } })).toBe(undefined);
  });

  it("leaves pods alone that want no node of ours", () => {
    for (const key of ["karpenter.sh/nodepool", "karpenter.sh/provisioner-name"]) {
      const term = { matchExpressions: [{ key, operator: "DoesNotExist" as const }] };
      expect(refused(requiring(term))).toBe(
        "configured to not run on a Karpenter provisioned node",
      );
    }
  });

  it("names the label that pods may not select on", () => {
    expect(refused({ nodeSelector: { "karpenter.sh/initialized": "true" } })).toContain(
      "label karpenter.sh/initialized is restricted",
    );
    expect(refused({ nodeSelector: { "kubernetes.io/hostname": "n" } })).toContain("restricted");
  });

  it("refuses what it cannot read", () => {
    const fields = {
      matchFields: [{ key: "metadata.name", operator: "In" as const, values: ["n"] }],
    };
    expect(refused(requiring(fields))).toBe("node selector term with matchFields is not supported");
    const empty = { matchExpressions: [{ key: "k", operator: "In" as const, values: [] }] };
    expect(refused(requiring(empty))).toBe("key k with operator In must have a value defined");
    const bound = { matchExpressions: [{ key: "k", operator: "Gt" as const, values: ["x"] }] };
    expect(refused(requiring(bound))).toBe(
      "key k with operator Gt must have a single positive integer value",
    );
    expect(refused({ resourceClaims: [{ name: "gpu" }] })).toContain("Dynamic Resource Allocation");
  });
});
