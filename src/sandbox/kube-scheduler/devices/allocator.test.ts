import { describe, expect, it } from "vitest";
import type { Device, ResourceClaim, ResourceSlice } from "../../../apis/resource/kinds.ts";
import { allocate } from "./allocator.ts";
import { quantityOf } from "./capacity.ts";
import { devicesInUse } from "./in-use.ts";
import { poolsFor } from "./pools.ts";

const SHARED: Device = {
  name: "gpu-0",
  allowMultipleAllocations: true,
  capacity: {
    memory: {
      value: "40Gi",
      requestPolicy: { default: "10Gi", validRange: { min: "5Gi", step: "5Gi", max: "40Gi" } },
    },
  },
};

const SLICE = {
  metadata: { name: "s" },
  spec: {
    driver: "d.example.com",
    pool: { name: "p", generation: 1, resourceSliceCount: 1 },
    allNodes: true,
    devices: [SHARED],
  },
} as ResourceSlice;

function claimOf(memory?: string, count = 1): ResourceClaim {
  const capacity = memory === undefined ? {} : { capacity: { requests: { memory } } };
  const exactly = { deviceClassName: "c", count, ...capacity };
  return { metadata: { name: "x" }, spec: { devices: { requests: [{ name: "r", exactly }] } } };
}

function holding(memory: string): ResourceClaim {
  const part = { request: "r", driver: "d.example.com", pool: "p", device: "gpu-0", shareID: "1" };
  const results = [{ ...part, consumedCapacity: { memory } }];
  return { ...claimOf(), status: { allocation: { devices: { results } } } };
}

/** The memory in GiB that each request got, or the kind of the answer if nothing was allocated. */
function parts(
  asked: readonly ResourceClaim[],
  others: readonly ResourceClaim[] = [],
  slice = SLICE,
) {
  const answer = allocate({
    claims: asked,
    pools: poolsFor([slice], { name: "n", labels: {} }),
    inUse: devicesInUse(others),
    deviceClass: (name) => ({ metadata: { name }, spec: {} }),
  });
  if (answer.kind !== "found") return answer.kind;
  const gib = 1024 ** 3;
  return answer.byClaim
    .flat()
    .map(({ consumed }) => Number(quantityOf(consumed?.get("memory") ?? 0n)) / gib);
}

describe("a device that several claims share", () => {
  it("gives each claim its requested amount, rounded up to a step, or the default", () => {
    expect(parts([claimOf("12Gi")])).toEqual([15]);
    expect(parts([claimOf("1Gi")])).toEqual([5]);
    expect(parts([claimOf()])).toEqual([10]);
    expect(parts([claimOf("45Gi")])).toBe("none");
  });

  it("is full if a claim requests more than the others left", () => {
    expect(parts([claimOf("20Gi")], [holding("20Gi")])).toEqual([20]);
    expect(parts([claimOf("20Gi")], [holding("25Gi")])).toBe("none");
    expect(parts([claimOf("20Gi"), claimOf("20Gi")])).toEqual([20, 20]);
    expect(parts([claimOf("20Gi"), claimOf("25Gi")])).toBe("none");
    expect(parts([claimOf("10Gi", 4)])).toEqual([10, 10, 10, 10]);
    expect(parts([claimOf("10Gi", 5)])).toBe("none");
  });

  it("takes counters for each share of one pod, and none for shares of other pods", () => {
    const counters = (value: string) => ({ slots: { value } });
    const consumesCounters = [{ counterSet: "set", counters: counters("1") }];
    const { spec } = SLICE;
    const slice = {
      ...SLICE,
      spec: {
        ...spec,
        devices: [{ ...SHARED, consumesCounters }],
        sharedCounters: [{ name: "set", counters: counters("2") }],
      },
    };
    expect(parts([claimOf("10Gi", 2)], [], slice)).toEqual([10, 10]);
    expect(parts([claimOf("10Gi", 3)], [], slice)).toBe("none");
    expect(parts([claimOf("10Gi", 2)], [holding("10Gi")], slice)).toEqual([10, 10]);
  });
});
