import { describe, expect, it } from "vitest";
import { OddPrices, onDemandPrices, Prices, spotPrices } from "./pricing.ts";

function product(instanceType: string, usd: string): string {
  return JSON.stringify({
    product: { attributes: { instanceType } },
    terms: { OnDemand: { a: { priceDimensions: { b: { pricePerUnit: { USD: usd } } } } } },
  });
}

describe("prices read from AWS", () => {
  it("are whole micro-dollars, and products without a price are left out", () => {
    const documents = [product("m5.large", "0.0960000000"), product("x", "0"), "no json", "{}"];
    expect([...onDemandPrices(documents, "USD")]).toEqual([["m5.large", 96_000]]);
  });

  it.each([
    ["-0.1", "-0.1"],
    ["1e30", "1e30"],
    ["Infinity", "Infinity"],
    ["free", "free"],
  ])("of %s are reported and ignored, for on-demand and spot", (written, told) => {
    const odd = new OddPrices();
    expect([...onDemandPrices([product("m5.large", written)], "USD", odd)]).toEqual([]);
    const entry = {
      InstanceType: "m5.large",
      AvailabilityZone: "a",
      ProductDescription: "Linux/UNIX",
      SpotPrice: written,
      Timestamp: "2026-01-01T00:00:00Z",
    };
    expect([...spotPrices([entry], odd)]).toEqual([]);
    expect(odd.told).toEqual({ count: 2, prices: `m5.large: ${told}, m5.large/a: ${told}` });
  });

  it("of zero are reported for spot only, because many products of the Pricing API cost nothing", () => {
    const odd = new OddPrices();
    onDemandPrices([product("m5.large", "0.0000000000")], "USD", odd);
    expect(odd.told).toBeUndefined();
  });

  it("are the newest of each type and zone", () => {
    const entry = (SpotPrice: string, Timestamp: string) => ({
      InstanceType: "m5.large",
      AvailabilityZone: "a",
      ProductDescription: "Linux/UNIX",
      SpotPrice,
      Timestamp,
    });
    const history = [
      entry("0.03", "2026-01-01T00:00:00Z"),
      entry("0.04", "2026-01-02T00:00:00Z"),
      entry("0.02", "2025-01-01T00:00:00Z"),
    ];
    expect([...spotPrices(history)]).toEqual([["m5.large/a", 40_000]]);
  });

  it("on-demand stand in for spot until spot prices are known; after that, a zone without one has no price", () => {
    const prices = new Prices([["m5.large", 96_000]]);
    expect(prices.spot("m5.large", "a")).toBe(96_000);
    const before = prices.version;
    expect(prices.setSpot(new Map([["m5.large/a", 30_000]]))).toBe(1);
    expect(prices.version).toBeGreaterThan(before);
    expect(prices.spot("m5.large", "a")).toBe(30_000);
    expect(prices.spot("m5.large", "b")).toBeUndefined();
  });

  it("keep their version while nothing changes", () => {
    const prices = new Prices([["m5.large", 96_000]]);
    prices.setOnDemand(new Map([["m5.large", 96_000]]));
    expect(prices.version).toBe(0);
  });
});
