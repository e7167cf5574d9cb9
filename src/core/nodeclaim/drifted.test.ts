import { describe, expect, it } from "vitest";
import type { Generation } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { toPool } from "../../apis/hub/to-pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { instanceType, nodeClaim, nodePool, pool } from "../../testing/builders.ts";
import { isTypeGone, mayCheckType, poolDrift } from "./drifted.ts";

const HASH = "karpenter.sh/nodepool-hash";
const VERSION = "karpenter.sh/nodepool-hash-version";

const claim = (annotations: Record<string, string>, labels: Record<string, string> = {}) =>
  nodeClaim({ annotations, labels });
const machine = (hash: string): NodeClaim => ({
  ...claim({ "karpenter.sh/provisioner-hash": hash }),
  apiVersion: "karpenter.sh/v1alpha5",
  kind: "Machine",
});
const poolOf = (generation: Generation, options: Partial<Pool> = {}) =>
  pool({ generation, hash: "2", ...options });

describe("drift from the pool", () => {
  it("is found by the template hash, if both hashes have the same version", () => {
    expect(poolDrift(claim({ [HASH]: "1", [VERSION]: "v3" }), poolOf("v1"))).toBe(
      "NodePoolDrifted",
    );
    expect(poolDrift(claim({ [HASH]: "2", [VERSION]: "v3" }), poolOf("v1"))).toBeUndefined();
    expect(poolDrift(claim({ [HASH]: "1", [VERSION]: "v2" }), poolOf("v1"))).toBeUndefined();
    expect(poolDrift(claim({ [HASH]: "1" }), poolOf("beta"))).toBeUndefined();
    expect(poolDrift(claim({}), poolOf("v1"))).toBeUndefined();
  });

  it("S4-05: ignores a changed expireAfter for a beta pool, but not for a v1 pool", () => {
    const { spec } = nodePool().spec.template;
    const lasting = (expireAfter: string, labels: Record<string, string> = { team: "a" }) =>
      toPool(
        nodePool({ spec: { template: { metadata: { labels }, spec: { ...spec, expireAfter } } } }),
      );
    const made = lasting("30m");
    const old = claim({ [HASH]: made.hash, [VERSION]: "v3" });
    const lives = { ...old, spec: { ...old.spec, expireAfter: "30m" } };
    for (const expireAfter of ["Never", "1h"]) {
      const now = lasting(expireAfter);
      expect(poolDrift(lives, now)).toBe("NodePoolDrifted");
      expect(poolDrift(lives, { ...now, generation: "beta" })).toBeUndefined();
    }
    const relabelled = lasting("Never", { team: "b" });
    expect(poolDrift(lives, { ...relabelled, generation: "beta" })).toBe("NodePoolDrifted");
  });

  it("S2-43: is called ProvisionerDrifted for a Machine, which has no hash version", () => {
    expect(poolDrift(machine("1"), poolOf("alpha"))).toBe("ProvisionerDrifted");
    expect(poolDrift(machine("2"), poolOf("alpha"))).toBeUndefined();
  });

  it.each([
    [{ "karpenter.sh/capacity-type": "spot" }, undefined],
    [{ "karpenter.sh/capacity-type": "on-demand" }, "RequirementsDrifted"],
    [{}, "RequirementsDrifted"],
  ])("of labels %j from a pool that requires spot is %s", (labels, reason) => {
    const key = "karpenter.sh/capacity-type";
    const wants = poolOf("v1", { requirements: [{ key, operator: "In", values: ["spot"] }] });
    expect(poolDrift(claim({}, labels as Record<string, string>), wants)).toBe(reason);
  });
});

describe("drift from the offerings", () => {
  const labels = (capacityType: string, zone = "zone-a") => ({
    "node.kubernetes.io/instance-type": "m-4x",
    "topology.kubernetes.io/zone": zone,
    "karpenter.sh/capacity-type": capacityType,
  });
  const gone = (capacityType: string, zone?: string, types = [instanceType()]) =>
    isTypeGone(claim({}, labels(capacityType, zone)), types);

  it("ignores whether an offering is available", () => {
    const soldOut = instanceType().offerings.map((one) => ({ ...one, available: false }));
    expect(gone("spot", "zone-a", [instanceType({ offerings: soldOut })])).toBe(false);
  });

  it("is found if the type is not offered in the zone and capacity type of the claim", () => {
    expect(gone("spot")).toBe(false);
    expect(gone("spot", "zone-z")).toBe(true);
    expect(gone("spot", "zone-a", [])).toBe(true);
    expect(gone("spot", "zone-a", [instanceType({ capacityTypes: ["on-demand"] })])).toBe(true);
  });

  it("treats an instance of an ended reservation as on-demand", () => {
    expect(gone("reserved", "zone-a", [instanceType({ capacityTypes: ["on-demand"] })])).toBe(
      false,
    );
    expect(gone("reserved", "zone-a", [instanceType({ capacityTypes: ["spot"] })])).toBe(true);
  });

  it("is checked only for a NodeClaim that is an hour old", () => {
    const created = Date.parse(claim({}).metadata.creationTimestamp as string);
    expect(mayCheckType(claim({}), created + 3_599_000)).toBe(false);
    expect(mayCheckType(claim({}), created + 3_600_000)).toBe(true);
  });
});
