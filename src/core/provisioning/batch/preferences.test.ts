import { describe, expect, it } from "vitest";
import type { PodSpec } from "../../../apis/core/pod.ts";
import { deepFreeze } from "../../../base/json.ts";
import { wishesOf } from "./preferences.ts";

const KNOWN: readonly string[] = ["example.com/disk"];

function spec(key: string): PodSpec {
  const preference = { matchExpressions: [{ key, operator: "DoesNotExist" as const }] };
  const preferredDuringSchedulingIgnoredDuringExecution = [{ weight: 1, preference }];
  return {
    containers: [{ name: "main" }],
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution } },
  };
}

describe("what pods of a template wish for", () => {
  it("is read once, and anew for who reads it another way", () => {
    const template = deepFreeze(spec("example.com/disk"));
    const first = wishesOf(template, "Respect", KNOWN);
    expect(first.preferred).toHaveLength(1);
    expect(wishesOf({ ...template }, "Respect", KNOWN)).not.toBe(first);
    expect(wishesOf(Object.freeze({ ...template, nodeName: "a" }), "Respect", KNOWN)).toBe(first);
    expect(wishesOf(template, "Ignore", KNOWN).preferred).toEqual([]);
    expect(wishesOf(template, "Respect", KNOWN).preferred).toHaveLength(1);
    const foreign = deepFreeze(spec("karpenter.k8s.aws/no-such"));
    expect(wishesOf(foreign, "Respect", KNOWN).preferred).toEqual([]);
    const all = ["karpenter.k8s.aws/no-such"];
    expect(wishesOf(foreign, "Respect", all).preferred).toHaveLength(1);
  });
});
