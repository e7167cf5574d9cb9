import { describe, expect, it } from "vitest";
import { amountOf, amountsOf, demandOf, isWithin, seenResources, without } from "./amounts.ts";

describe("resource amounts by position", () => {
  it("are compared and subtracted by resource name", () => {
    const there = amountsOf({ cpu: 4_000, memory: 8_000, "example.com/amounts-a": 2 });
    const wanted = demandOf({ memory: 3_000, "example.com/amounts-a": 1 });
    expect(isWithin(wanted, there)).toBe(true);
    const left = without(there, wanted);
    expect(["cpu", "memory", "example.com/amounts-a"].map((name) => amountOf(left, name))).toEqual([
      4_000, 5_000, 1,
    ]);
    expect(isWithin(wanted, without(left, wanted))).toBe(false);
    expect(isWithin(demandOf({ memory: 8_001 }), there)).toBe(false);
  });

  it("do not record a resource that only pods request, until a node has it", () => {
    const there = amountsOf({ cpu: 1_000 });
    const before = seenResources();
    const asked = Array.from({ length: 100 }, (_, index) => `example.com/made-up-${index}`);
    const wanted = asked.map((name) => demandOf({ cpu: 1, [name]: 1 }));
    expect(wanted.filter((one) => isWithin(one, there))).toEqual([]);
    // If a pod is bound without a check, the free amount of a node can become negative.
    expect(
      amountOf(amountsOf({ cpu: 1, "example.com/made-up-0": -1 }), "example.com/made-up-0"),
    ).toBe(0);
    expect(seenResources()).toBe(before);

    const device = amountsOf({ cpu: 1_000, "example.com/made-up-7": 3 });
    expect(seenResources()).toBe(before + 1);
    const [, , , , , , , seventh = demandOf({}), eighth = demandOf({})] = wanted;
    expect(isWithin(seventh, device)).toBe(true);
    expect(amountOf(without(device, seventh), "example.com/made-up-7")).toBe(2);
    expect(isWithin(eighth, device)).toBe(false);
  });
});
