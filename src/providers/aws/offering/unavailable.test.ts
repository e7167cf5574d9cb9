import { describe, expect, it } from "vitest";
import { SILENT } from "../../../base/log.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { UnavailableOfferings } from "./unavailable.ts";

const M5 = { capacityType: "spot", instanceType: "m5.large", zone: "a" } as const;

describe("an offering without capacity", () => {
  it("S4-21 is avoided for three minutes, then offered again", async () => {
    const clock = new VirtualClock();
    const offerings = new UnavailableOfferings(clock, SILENT);
    offerings.mark("UnfulfillableCapacity", M5);
    const marked = offerings.version;
    expect(offerings.has(M5)).toBe(true);
    expect(offerings.has({ ...M5, zone: "b" })).toBe(false);
    await clock.advance(179_999);
    expect(offerings.has(M5)).toBe(true);
    await clock.advance(1);
    expect(offerings.has(M5)).toBe(false);
    expect(offerings.version).not.toBe(marked);
  });

  it("is every spot offering if the account may not use spot", () => {
    const offerings = new UnavailableOfferings(new VirtualClock(), SILENT);
    offerings.markCapacityType("spot");
    expect(offerings.has(M5)).toBe(true);
    expect(offerings.has({ ...M5, capacityType: "on-demand" })).toBe(false);
  });
});
