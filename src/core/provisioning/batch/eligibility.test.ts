import { describe, expect, it } from "vitest";
import type { NodeSelectorTerm, Pod } from "../../../apis/core/pod.ts";
import { pod } from "../../../testing/builders.ts";
import { VolumeIndex } from "../../scheduling/volumes.ts";
import { refusal } from "./eligibility.ts";

const NO_VOLUMES = new VolumeIndex({ claims: [], volumes: [], classes: [], csiNodes: [] });

const NODEPOOL = "karpenter.sh/nodepool";
const PROVISIONER = "karpenter.sh/provisioner-name";

function refused(spec: Partial<Pod["spec"]>, ownerLabels = [NODEPOOL]): string | undefined {
  return refusal(pod({ spec }), {
    volumes: NO_VOLUMES,
    wellKnownLabels: [],
    ownerLabels,
    plansClaims: false,
  });
}

const requiring = (term: NodeSelectorTerm) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
    },
  },
});

describe("refusal of a pod", () => {
  it("accepts ordinary pods, also with a node selector for a provisioner", () => {
    expect(refused({})).toBe(undefined);
    expect(refused({ nodeSelector: { "karpenter.sh/provisioner-name": "default" } })).toBe(
      undefined,
    );
    expect(refused({ nodeSelector: { team: "red" } })).toBe(undefined);
  });

  it("refuses pods whose node affinity excludes nodes of Karpenter", () => {
    const without = (...keys: string[]) =>
      requiring({
        matchExpressions: keys.map((key) => ({ key, operator: "DoesNotExist" as const })),
      });
    const left = "configured to not run on a Karpenter provisioned node";
    expect(refused(without(NODEPOOL))).toBe(left);
    expect(refused(without(PROVISIONER), [PROVISIONER, PROVISIONER])).toBe(left);
    expect(refused(without(NODEPOOL, PROVISIONER), [NODEPOOL, PROVISIONER])).toBe(left);
    // The label of NodePools does not occur on nodes of Provisioners, and the other way round.
    expect(refused(without(PROVISIONER))).toBe(undefined);
    expect(refused(without(NODEPOOL), [NODEPOOL, PROVISIONER])).toBe(undefined);
  });

  it("refuses node affinity of empty terms only", () => {
    expect(refused(requiring({}))).toBe(
      "node selector terms without matchExpressions match no node",
    );
    const terms = [
      { matchExpressions: [] },
      { matchExpressions: [{ key: "a", operator: "Exists" as const }] },
    ];
    const required = { nodeSelectorTerms: terms };
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
    expect(refused({ affinity: { nodeAffinity } })).toBe(undefined);
  });

  it("names a restricted label in the node selector", () => {
    expect(refused({ nodeSelector: { "karpenter.sh/initialized": "true" } })).toContain(
      "label karpenter.sh/initialized is restricted",
    );
    const host = refused({ nodeSelector: { "kubernetes.io/hostname": "n" } });
    expect(host).toContain("restricted");
    expect(host).not.toContain("did you mean");
    expect(refused({ nodeSelector: { "karpenter.sh/capacity-typ": "spot" } })).toContain(
      "did you mean karpenter.sh/capacity-type?",
    );
  });

  it("accepts AWS labels of the schema and of the types, and no others", () => {
    const key = (name: string) => `karpenter.k8s.aws/${name}`;
    const asking = (name: string) => pod({ spec: { nodeSelector: { [key(name)]: "8" } } });
    const of = (name: string) =>
      refusal(asking(name), {
        volumes: NO_VOLUMES,
        wellKnownLabels: [key("instance-pods")],
        ownerLabels: [NODEPOOL],
        plansClaims: false,
      });
    expect([of("instance-pods"), of("instance-cpu")]).toEqual([undefined, undefined]);
    expect(of("nope")).toContain("karpenter.k8s.aws/nope is restricted");
    expect(of("nope")).not.toContain("did you mean");
    expect(of("instance-famly")).toContain(`did you mean ${key("instance-family")}?`);
  });

  it("names an invalid label value, or a bound beyond the range", () => {
    const refusedFor = (operator: "In" | "NotIn" | "Gt" | "Lt", value: string) =>
      refused(requiring({ matchExpressions: [{ key: "k", operator, values: [value] }] }));
    for (const operator of ["In", "NotIn"] as const)
      expect(refusedFor(operator, "bad value!")).toBe(
        "invalid value bad value! for key k: a label value is empty or at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends",
      );
    expect(refused({ nodeSelector: { k: "bad value!" } })).toContain("invalid value bad value!");
    for (const operator of ["Gt", "Lt"] as const) {
      expect(refusedFor(operator, "9007199254740991")).toBe(undefined);
      expect(refusedFor(operator, "9007199254740992")).toBe(
        `key k with operator ${operator} must have a value of at most 9007199254740991, not 9007199254740992`,
      );
    }
    expect(refusedFor("Gt", "0")).toBe(undefined);
    expect(refusedFor("Lt", "0")).toBe(
      "key k with operator Lt 0 is met by no label; ask for Lt 1 or more",
    );
  });

  it("refuses matchFields, invalid expressions and ResourceClaims", () => {
    const fields = {
      matchFields: [{ key: "metadata.name", operator: "In" as const, values: ["n"] }],
    };
    expect(refused(requiring(fields))).toBe("node selector term with matchFields is not supported");
    const empty = { matchExpressions: [{ key: "k", operator: "In" as const, values: [] }] };
    expect(refused(requiring(empty))).toBe("key k with operator In must have a value defined");
    for (const values of [["x"], ["1", "2"], [], ["-1"]]) {
      const bound = { matchExpressions: [{ key: "k", operator: "Gt" as const, values }] };
      expect(refused(requiring(bound))).toBe(
        "key k with operator Gt must have a single positive integer value",
      );
    }
    expect(refused({ resourceClaims: [{ name: "gpu" }] })).toContain("Dynamic Resource Allocation");
  });
});
