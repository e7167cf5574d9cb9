import { describe, expect, it } from "vitest";
import { type Facts, factsData, factsOf } from "./facts.ts";

const FACTS: Facts = {
  settings: { "disruption-budgets": '[{nodes: "1"}]\n', "feature-gates": "NodeRepair=true" },
  prices: {
    region: "us-west-2",
    readAtMs: Date.UTC(2026, 0, 31, 8),
    onDemand: new Map([
      ["m5.large", 96_000],
      ["c5.large", 85_000],
    ]),
    spot: new Map([
      ["m5.large/us-west-2b", 31_000],
      ["m5.large/us-west-2a", 30_100],
    ]),
  },
};

describe("the ConfigMap karpenter-facts", () => {
  it("has one readable line of prices for each instance type", () => {
    expect(factsData(FACTS)).toEqual({
      settings: '{"disruption-budgets":"[{nodes: \\"1\\"}]\\n","feature-gates":"NodeRepair=true"}',
      region: "us-west-2",
      pricesReadAt: "2026-01-31T08:00:00Z",
      pricesMicroUsdPerHour:
        "c5.large on-demand=85000\nm5.large on-demand=96000 us-west-2a=30100 us-west-2b=31000\n",
    });
  });

  it("has the free instances of capacity reservations, if they are known", () => {
    const reserved = new Map([
      ["cr-2", 0],
      ["cr-1", 3],
    ]);
    const facts = { ...FACTS, prices: { ...FACTS.prices, reserved } as never };
    const data = factsData(facts);
    expect(data.reservedInstances).toBe("cr-1=3\ncr-2=0\n");
    expect(factsOf({ metadata: { name: "any" }, data })).toEqual(facts);
    const none = { ...FACTS, prices: { ...FACTS.prices, reserved: new Map() } as never };
    expect(factsOf({ metadata: { name: "any" }, data: factsData(none) })).toEqual(none);
  });

  it("has the used part of the account's quotas, if they are known", () => {
    const quotas = [
      {
        code: "L-1216C47A",
        name: "Running On-Demand Standard (A, C) instances",
        allowed: 32,
        used: 30,
      },
      { code: "L-34B43A08", name: "Spot", allowed: 5, used: 0 },
    ];
    const facts = { ...FACTS, prices: { ...FACTS.prices, quotas } as never };
    expect(factsOf({ metadata: { name: "any" }, data: factsData(facts) })).toEqual(facts);
  });

  it("is read back as it was written, with prices, without, or with prices not read yet", () => {
    const read = (facts: Facts) => factsOf({ metadata: { name: "any" }, data: factsData(facts) });
    expect(read(FACTS)).toEqual(FACTS);
    expect(read({ settings: {} })).toEqual({ settings: {} });
    const early = { ...FACTS.prices, readAtMs: undefined, spot: new Map() };
    expect(read({ settings: {}, prices: early as never })?.prices).toEqual(early);
  });

  it("gives no facts from malformed data", () => {
    const of = (data: Record<string, string>) => factsOf({ metadata: { name: "any" }, data });
    expect(of({})).toBeUndefined();
    expect(of({ settings: "[1]" })).toBeUndefined();
    expect(of({ settings: '{"a":1}' })).toBeUndefined();
    const wrong = { settings: "{}", region: "us-west-2", pricesMicroUsdPerHour: "m5.large a=dear" };
    expect(of(wrong)).toEqual({ settings: {} });
  });
});
