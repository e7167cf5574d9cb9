import { describe, expect, it } from "vitest";
import type { NodeOverlay } from "../../apis/karpenter/nodeoverlay.ts";
import { instanceType, pool } from "../../testing/builders.ts";
import { judgeOverlays, layOverlays } from "./overlays.ts";

const TYPE = "node.kubernetes.io/instance-type";
const ZONE = "topology.kubernetes.io/zone";

function overlay(name: string, spec: Partial<NodeOverlay["spec"]>): NodeOverlay {
  return { metadata: { name }, spec: { requirements: [], ...spec } };
}

const types = [instanceType({ cpu: 2, zones: ["a", "b"], capacityTypes: ["on-demand"] })];
const pools = [{ pool: pool(), labels: { team: "web" }, instanceTypes: types }];

/** The pool's instance types after these overlays. */
function laid(overlays: NodeOverlay[]) {
  const [first] = pools as [(typeof pools)[number]];
  return layOverlays(first, judgeOverlays(pools, overlays).accepted);
}

/** The prices by zone after these overlays, in micro-dollars. Without overlays the type costs 100,000. */
function prices(...overlays: NodeOverlay[]): (number | undefined)[] {
  return (laid(overlays)[0]?.offerings ?? []).map((one) => one.priceMicroUsd);
}

describe("NodeOverlays", () => {
  it("replace, raise and lower prices, but never below zero", () => {
    expect(prices(overlay("x", { price: "0.25" }))).toEqual([250_000, 250_000]);
    expect(prices(overlay("x", { priceAdjustment: "+10%" }))).toEqual([110_000, 110_000]);
    expect(prices(overlay("x", { priceAdjustment: "-0.02" }))).toEqual([80_000, 80_000]);
    expect(prices(overlay("x", { priceAdjustment: "-5" }))).toEqual([0, 0]);
  });

  describe("for offerings without a known price", () => {
    const [known, ...others] = instanceType({ cpu: 2, capacityTypes: ["spot"] }).offerings;
    const unpriced = {
      ...(known as NonNullable<typeof known>),
      priceMicroUsd: 0,
      available: false,
      isUnpriced: true as const,
    };
    const laidOver = (overlays: NodeOverlay[]) => {
      const offerings = [unpriced, ...others];
      const one = { pool: pool(), labels: {}, instanceTypes: [instanceType({ offerings })] };
      const [type] = layOverlays(one, judgeOverlays([one], overlays).accepted);
      return type?.offerings[0];
    };

    it("make the offering available at the overlay's price", () => {
      const offering = laidOver([overlay("x", { price: "0.25" })]);
      expect(offering).toMatchObject({ priceMicroUsd: 250_000, available: true });
      expect(offering?.isUnpriced).toBe(undefined);
    });

    it("ignore a price adjustment without a price", () => {
      for (const priceAdjustment of ["+10%", "+0.1"])
        expect(laidOver([overlay("x", { priceAdjustment })])).toEqual(unpriced);
    });

    it("adjust the price that a lighter overlay sets; of several prices, the heaviest counts", () => {
      const told = overlay("a", { price: "0.2" });
      const more = overlay("b", { priceAdjustment: "+10%", weight: 5 });
      expect(laidOver([told, more])?.priceMicroUsd).toBe(220_000);
      const heavy = overlay("c", { price: "0.3", weight: 4 });
      expect(laidOver([told, heavy])?.priceMicroUsd).toBe(300_000);
      expect(laidOver([told, more, heavy])?.priceMicroUsd).toBe(330_000);
    });

    it("do not make an offering available that has no capacity", () => {
      const { isUnpriced: _, ...out } = unpriced;
      const offerings = [out, ...others];
      const one = { pool: pool(), labels: {}, instanceTypes: [instanceType({ offerings })] };
      const [type] = layOverlays(one, [overlay("x", { price: "0.25" })]);
      expect(type?.offerings[0]?.available).toBe(false);
    });
  });

  it("keep the capacity and overhead overrides of an offering", () => {
    const own = { capacityOverride: { memory: 1_024 }, overheadOverride: { cpu: 100 } };
    const plain = instanceType({ cpu: 2 });
    const offerings = plain.offerings.map((one) => ({ ...one, ...own }));
    const one = { pool: pool(), labels: {}, instanceTypes: [{ ...plain, offerings }] };
    const [type] = layOverlays(one, [overlay("x", { price: "0.25" })]);
    expect(type?.offerings[0]).toMatchObject({ ...own, priceMicroUsd: 250_000 });
  });

  it("keep the devices and volume attachment limits of a type", () => {
    const pools = [{ driver: "gpu.nvidia.com", pool: "gpus", devices: [{ name: "gpu-0" }] }];
    const kept = {
      dynamicResources: { pools, bindings: [] },
      volumeAttachmentLimits: { "ebs.csi.aws.com": 25 },
    };
    const one = {
      pool: pool(),
      labels: {},
      instanceTypes: [{ ...instanceType({ cpu: 2 }), ...kept }],
    };
    const priced = layOverlays(one, [overlay("x", { price: "0.25" })])[0];
    expect(priced?.offerings[0]?.priceMicroUsd).toBe(250_000);
    expect(priced).toMatchObject(kept);
    const larger = layOverlays(one, [overlay("y", { capacity: { "x.com/gpu": "2" } })])[0];
    expect(larger).toMatchObject({ ...kept, capacity: { "x.com/gpu": 2 } });
  });

  it("change only the offerings that match by type, zone or label of the pool", () => {
    const only = (key: string, value: string) => [
      { key, operator: "In" as const, values: [value] },
    ];
    expect(prices(overlay("x", { price: "1", requirements: only(ZONE, "b") }))).toEqual([
      100_000, 1_000_000,
    ]);
    expect(prices(overlay("x", { price: "1", requirements: only("team", "web") }))).toEqual([
      1_000_000, 1_000_000,
    ]);
    expect(prices(overlay("x", { price: "1", requirements: only(TYPE, "other") }))).toEqual([
      100_000, 100_000,
    ]);
    expect(prices(overlay("x", { price: "1", requirements: only("unknown", "y") }))).toEqual([
      100_000, 100_000,
    ]);
  });

  it("add resources to a type, by the heaviest overlay for each resource", () => {
    const instanceTypes = laid([
      overlay("light", { capacity: { "x.com/gpu": "1", "x.com/net": "5" }, weight: 1 }),
      overlay("heavy", { capacity: { "x.com/gpu": "2" }, weight: 2 }),
    ]);
    expect(instanceTypes[0]?.capacity).toMatchObject({
      cpu: 2_000,
      "x.com/gpu": 2,
      "x.com/net": 5,
    });
    expect(types[0]?.capacity["x.com/gpu"]).toBe(undefined);
  });

  it("override a resource of a type, and match offerings by their own labels", () => {
    const [plain] = types[0]?.offerings ?? [];
    const offerings = ["r1", "r2"].map((id) => ({ ...plain, labels: { "x/id": id } })) as never;
    const type = instanceType({ capacity: { "x.com/gpu": 1 }, offerings });
    const one = { pool: pool(), labels: {}, instanceTypes: [type] };
    const requirements = [{ key: "x/id", operator: "In" as const, values: ["r2"] }];
    const change = overlay("x", { price: "1", capacity: { "x.com/gpu": "4" }, requirements });
    const [after] = layOverlays(one, judgeOverlays([one], [change]).accepted);
    expect(after?.capacity["x.com/gpu"]).toBe(4);
    expect(after?.offerings.map((each) => each.priceMicroUsd)).toEqual([100_000, 1_000_000]);
  });

  it("that match nothing return the same list of types", () => {
    const elsewhere = { key: ZONE, operator: "In" as const, values: ["z"] };
    expect(laid([overlay("x", { price: "1", requirements: [elsewhere] })])).toBe(types);
  });

  it("of equal weight that change the same offering conflict, and the later name wins", () => {
    const { rejected } = judgeOverlays(pools, [
      overlay("a", { price: "1" }),
      overlay("b", { price: "2" }),
    ]);
    expect([...rejected]).toEqual([
      ["a", { reason: "Conflict", message: "conflict with another overlay" }],
    ]);
    expect(prices(overlay("a", { price: "1" }), overlay("b", { price: "2" }))[0]).toBe(2_000_000);
    expect(prices(overlay("a", { price: "1", weight: 9 }), overlay("b", { price: "2" }))[0]).toBe(
      1_000_000,
    );
  });

  it("of equal weight do not conflict over different types or pools", () => {
    const small = instanceType({ name: "small", cpu: 2 });
    const large = instanceType({ name: "large", cpu: 4 });
    const two = ["web", "batch"].map((team) => ({
      pool: pool({ name: team }),
      labels: { team },
      instanceTypes: [small, large],
    }));
    const only = (key: string, value: string) => [
      { key, operator: "In" as const, values: [value] },
    ];
    const devices = (name: string, key: string, value: string) =>
      overlay(name, { price: "1", capacity: { "x.com/gpu": "1" }, requirements: only(key, value) });
    const byType = [devices("a", TYPE, "small"), devices("b", TYPE, "large")];
    expect(judgeOverlays(two, byType).rejected.size).toBe(0);
    const byPool = [devices("a", "team", "web"), devices("b", "team", "batch")];
    expect(judgeOverlays(two, byPool).rejected.size).toBe(0);
  });

  it("in conflict have no effect, not even on offerings that only they match", () => {
    const inB = [{ key: ZONE, operator: "In" as const, values: ["b"] }];
    const everywhere = overlay("a", { price: "1", capacity: { "x.com/gpu": "1" } });
    expect(prices(everywhere, overlay("b", { price: "2", requirements: inB }))).toEqual([
      100_000, 2_000_000,
    ]);
  });

  it("may select a zone by its deprecated label", () => {
    const key = "failure-domain.beta.kubernetes.io/zone";
    const requirements = [{ key, operator: "In" as const, values: ["b"] }];
    expect(prices(overlay("x", { price: "1", requirements }))).toEqual([100_000, 1_000_000]);
  });

  it("with invalid values are rejected with a reason", () => {
    const { rejected } = judgeOverlays(pools, [
      overlay("both", { price: "1", priceAdjustment: "+1" }),
      overlay("cpu", { capacity: { cpu: "1" } }),
      overlay("share", { priceAdjustment: "-101%" }),
      overlay("text", { priceAdjustment: "10" }),
    ]);
    expect([...rejected.keys()].sort()).toEqual(["both", "cpu", "share", "text"]);
    expect(rejected.get("cpu")).toMatchObject({ reason: "RuntimeValidation" });
  });

  it("with an invalid structure are rejected with a reason, and the others still apply", () => {
    const broken = [
      { metadata: { name: "hollow" } },
      overlay("list", { requirements: "x" as never }),
      overlay("operator", { requirements: [{ key: TYPE, operator: "Near" as never }] }),
      overlay("amount", { capacity: { "example.com/fuse": "lots" } }),
    ] as NodeOverlay[];
    const { rejected } = judgeOverlays(pools, broken);
    expect([...rejected].map(([name, { message }]) => `${name}: ${message}`)).toEqual([
      "hollow: spec: is missing",
      "list: spec.requirements: is no list",
      expect.stringContaining(`operator: spec.requirements[0]: key ${TYPE} has an unsupported`),
      'amount: spec.capacity.example.com/fuse: "lots" is no quantity',
    ]);
    expect(prices(...broken, overlay("sound", { price: "1" }))[0]).toBe(1_000_000);
  });
});
