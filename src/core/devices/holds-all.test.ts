import { describe, expect, it } from "vitest";
import type { Device } from "../../apis/resource/kinds.ts";
import { compileDeviceSelector } from "../../readers/device-selectors.ts";
import { deviceClaim, GPU_CLASS, gpus, templates } from "../../testing/devices.ts";
import { type ClaimSpec, claimSpec } from "./claim-specs.ts";
import { holdsAll } from "./holds-all.ts";
import { Contents, DeviceKinds } from "./inventory.ts";
import { Matcher } from "./match.ts";
import { SelectorCache } from "./selectors.ts";

const reader = {
  classes: new Map([["gpu", GPU_CLASS]]),
  selectors: new SelectorCache(compileDeviceSelector),
};

/** Whether a node with these devices has enough for `count` pods that claim one device each. */
function suffices(count: number, ...kind: Parameters<typeof templates>): boolean {
  const { devices } = new DeviceKinds(new Contents()).of(templates(...kind));
  const spec = claimSpec(deviceClaim(), reader) as ClaimSpec;
  const needs = { claims: [{ name: "c", key: undefined, claim: undefined, spec }] } as never;
  return holdsAll([{ needs, count }], devices, new Matcher());
}

describe("enough devices for several equal pods", () => {
  it("are as many devices as pods", () => {
    expect([1, 2, 3].map((count) => suffices(count, gpus(2)))).toEqual([true, true, false]);
  });

  it("are not there if one pod could take a device that uses all shared counters", () => {
    const uses = (value: string) => [{ counterSet: "a", counters: { memory: { value } } }];
    const parts: Device[] = [
      { name: "whole", consumesCounters: uses("40Gi") },
      { name: "half-0", consumesCounters: uses("20Gi") },
      { name: "half-1", consumesCounters: uses("20Gi") },
    ];
    const sharedCounters = [{ name: "a", counters: { memory: { value: "40Gi" } } }];
    expect(suffices(1, parts, { sharedCounters })).toBe(true);
    expect(suffices(2, parts, { sharedCounters })).toBe(false);
  });
});
