import { describe, expect, it } from "vitest";
import type { CapacityRequestPolicy } from "../../apis/resource/kinds.ts";
import { consumedBy, requestedOf, shortDimension } from "./capacity.ts";

const GI = 2n ** 30n * 1_000_000_000n;

function taken(requestPolicy: CapacityRequestPolicy | undefined, asked?: string) {
  const device = {
    name: "gpu",
    allowMultipleAllocations: true,
    capacity: { memory: { value: "40Gi", ...(requestPolicy ? { requestPolicy } : {}) } },
  };
  const consumed = consumedBy(
    device,
    "d",
    requestedOf(asked === undefined ? {} : { memory: asked }),
  );
  return typeof consumed === "string" ? consumed : Number((consumed.get("memory") ?? 0n) / GI);
}

describe("the consumed capacity of a shared device", () => {
  it("is the whole capacity or the policy's default if nothing is requested", () => {
    expect(taken(undefined)).toBe(40);
    expect(taken({ default: "5Gi", validValues: ["10Gi"] })).toBe(5);
    expect(taken(undefined, "3Gi")).toBe(3);
  });

  it("is rounded up to the step of validRange", () => {
    const policy = { validRange: { min: "4Gi", step: "4Gi", max: "20Gi" } };
    expect(taken(policy, "1Gi")).toBe(4);
    expect(taken(policy, "4Gi")).toBe(4);
    expect(taken(policy, "9Gi")).toBe(12);
    expect(taken(policy, "21Gi")).toBe("its policy allows no such share of memory");
  });

  it("is the smallest of validValues that is at least the request", () => {
    const policy = { validValues: ["5Gi", "10Gi", "20Gi"] };
    expect(taken(policy, "6Gi")).toBe(10);
    expect(taken(policy, "21Gi")).toBe("its policy allows no such share of memory");
    // The device's policy does not allow a request for the whole capacity.
    expect(taken(policy)).toBe("its policy allows no such share of memory");
  });

  it("is refused if more than the whole, or of an unknown capacity, is requested", () => {
    expect(taken(undefined, "41Gi")).toBe("it has less memory");
    const device = { name: "gpu", allowMultipleAllocations: true };
    expect(consumedBy(device, "d", requestedOf({ memory: "1" }))).toBe("it has no capacity memory");
  });

  it("accepts capacity names with the driver's domain", () => {
    const device = {
      name: "gpu",
      allowMultipleAllocations: true,
      capacity: { memory: { value: "2" } },
    };
    expect(consumedBy(device, "d", requestedOf({ "d/memory": "1" }))).toEqual(
      new Map([["memory", 1_000_000_000n]]),
    );
  });

  it("is checked against the whole capacity if the device is not shared", () => {
    const device = { name: "gpu", capacity: { memory: { value: "40Gi" } } };
    expect(consumedBy(device, "d", requestedOf({ memory: "40Gi" }))).toEqual(new Map());
    expect(consumedBy(device, "d", requestedOf({ memory: "41Gi" }))).toBe("it has less memory");
  });

  it("fits beside what other claims consume", () => {
    const whole = new Map([["m", 10n]]);
    expect(shortDimension(whole, [new Map([["m", 6n]]), undefined], new Map([["m", 4n]]))).toBe(
      undefined,
    );
    expect(shortDimension(whole, [new Map([["m", 7n]])], new Map([["m", 4n]]))).toBe("m");
  });
});
