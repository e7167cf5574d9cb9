import { describe, expect, it } from "vitest";
import type { RequirementSpec } from "../../../apis/karpenter/nodepool.ts";
import type { InstanceType, Offering } from "../../../core/cloudprovider/instance-type.ts";
import { awsClaim } from "../../../testing/aws-world.ts";
import { candidates } from "./candidates.ts";

const ZONES = new Set(["a", "b"]);
const BOTH: RequirementSpec = {
  key: "karpenter.sh/capacity-type",
  operator: "In",
  values: ["spot", "on-demand"],
};

/** An offering from text: `spot/a:30` is an available one of 30 micro-dollars, and `!` marks an unavailable one. */
function offering(text: string): Offering {
  const [, off, capacityType, zone, price] = /^(!?)(.+)\/(.+):(\d+)$/.exec(text) ?? [];
  return {
    zone: zone as string,
    capacityType: capacityType as Offering["capacityType"],
    priceMicroUsd: Number(price),
    available: off === "",
  };
}

function type(name: string, offerings: string, extra: Partial<InstanceType> = {}): InstanceType {
  return {
    name,
    labels: { "node.kubernetes.io/instance-type": [name], ...extra.labels },
    capacity: { cpu: 4_000, memory: 8e9, pods: 58, ...extra.capacity },
    overhead: {},
    offerings: offerings.split(" ").map(offering),
  };
}

function show(types: readonly InstanceType[], requirements: readonly RequirementSpec[]): string {
  const found = candidates(awsClaim(requirements), types, ZONES);
  if (found === undefined) return "none";
  const shown = found.types.map(
    (one) => `${one.type.name}@${one.offerings.map(({ zone }) => zone).join("+")}`,
  );
  return `${found.capacityType}: ${shown.join(" ")}`;
}

describe("the offerings that a launch requests", () => {
  it("are spot if allowed and available, the cheapest first", () => {
    const types = [type("x", "spot/a:30 on-demand/a:90"), type("y", "spot/b:20 on-demand/b:80")];
    expect(show(types, [BOTH])).toBe("spot: y@b x@a");
    expect(show(types, [{ ...BOTH, values: ["on-demand"] }])).toBe("on-demand: y@b x@a");
  });

  it("leave out spot that costs more than the cheapest on-demand offering", () => {
    const types = [type("x", "spot/a:50 on-demand/a:90"), type("y", "spot/b:95 on-demand/b:80")];
    expect(show(types, [BOTH])).toBe("spot: x@a");
  });

  it("leave out unavailable offerings and zones without a subnet", () => {
    const types = [type("x", "!spot/a:30 spot/c:10 on-demand/b:90")];
    expect(show(types, [BOTH])).toBe("on-demand: x@b");
    expect(show(types, [{ ...BOTH, values: ["spot"] }])).toBe("none");
  });

  it("are of GPU or metal types only if no other type fits", () => {
    const gpu = type("gpu", "on-demand/a:10", { capacity: { "nvidia.com/gpu": 1 } });
    const metal = type("metal", "on-demand/a:20", {
      labels: { "karpenter.k8s.aws/instance-size": ["metal"] },
    });
    const plain = type("plain", "on-demand/a:90");
    expect(show([gpu, metal, plain], [BOTH])).toBe("on-demand: plain@a");
    expect(show([gpu, metal], [BOTH])).toBe("on-demand: gpu@a metal@a");
  });

  it("fit the claim's requests and labels, and ignore labels that no type has", () => {
    const types = [type("x", "on-demand/a:10"), type("y", "on-demand/a:20")];
    const named = { key: "node.kubernetes.io/instance-type", operator: "NotIn", values: ["x"] };
    const team = { key: "team", operator: "In", values: ["a"] };
    expect(show(types, [named, team] as RequirementSpec[])).toBe("on-demand: y@a");
    const big = awsClaim([], { resources: { requests: { cpu: "5" } } });
    expect(candidates(big, types, ZONES)).toBeUndefined();
  });
});
