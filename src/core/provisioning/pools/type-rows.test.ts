/** Tests of offerings that differ in capacity or overhead, and of what pods can request on them. */
import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import type { Offering } from "../../cloudprovider/instance-type.ts";
import { solve } from "../solve.ts";
import { mergedRows, typeRows } from "./type-rows.ts";

const GPU = { "x.com/gpu": 1 };

const offering = (zone: string, priceMicroUsd: number, own: Partial<Offering> = {}): Offering => ({
  zone,
  capacityType: "on-demand",
  priceMicroUsd,
  available: true,
  ...own,
});

/** The zone of the cheapest offering of a four-cpu type on which the pod fits. Undefined: it fits on none. */
function zoneFor(cpu: string, offerings: readonly Offering[], requests = {}): string | undefined {
  const pools = [poolInput({}, [instanceType({ cpu: 4, offerings })])];
  const { newClaims } = solve(schedulingInput({ pods: [pod({ cpu, requests })], pools }));
  return newClaims[0]?.cheapest.zone;
}

describe("the overhead override of an offering", () => {
  it("applies to the type's capacity if the offering has no capacity override", () => {
    const offerings = [offering("zone-a", 1, { overheadOverride: { cpu: 1_000 } })];
    expect(zoneFor("3", offerings)).toBe("zone-a");
    expect(zoneFor("3500m", offerings)).toBe(undefined);
    expect(zoneFor("3500m", [...offerings, offering("zone-b", 9)])).toBe("zone-b");
  });

  it("distinguishes offerings with the same capacity override", () => {
    const offerings = [1_000, 100].map((cpu, index) =>
      offering(index === 0 ? "zone-a" : "zone-b", 1 + index, {
        capacityOverride: GPU,
        overheadOverride: { cpu },
      }),
    );
    const gpu = { "x.com/gpu": "1" };
    for (const order of [offerings, offerings.toReversed()]) {
      expect(zoneFor("3", order, gpu)).toBe("zone-a");
      expect(zoneFor("3500m", order, gpu)).toBe("zone-b");
      expect(zoneFor("3950m", order, gpu)).toBe(undefined);
    }
  });
});

describe("the rows of an instance type", () => {
  it("are one for each capacity and overhead, and merge into the same type again", () => {
    const offerings = [
      offering("zone-a", 1),
      offering("zone-b", 1, { capacityOverride: GPU }),
      offering("zone-c", 1, { capacityOverride: GPU }),
      offering("zone-d", 1, { overheadOverride: { cpu: 1 } }),
    ];
    const type = instanceType({ cpu: 4, overhead: { memory: 5 }, offerings });
    const rows = typeRows([type]);
    expect(rows.map((one) => one.offerings.map(({ zone }) => zone).join(" "))).toEqual([
      "zone-a",
      "zone-b zone-c",
      "zone-d",
    ]);
    expect(rows.map(({ capacity }) => capacity["x.com/gpu"])).toEqual([undefined, 1, undefined]);
    expect(rows.map(({ overhead }) => overhead)).toEqual([
      { memory: 5 },
      { memory: 5 },
      { memory: 5, cpu: 1 },
    ]);
    expect(mergedRows(rows)).toEqual([type]);
  });
});
