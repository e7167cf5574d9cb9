import { describe, expect, it } from "vitest";
import type { Device, DeviceClaim } from "../../apis/resource/kinds.ts";
import { compileDeviceSelector } from "../../readers/device-selectors.ts";
import { deviceClaim, GPU_CLASS, gpus, templates } from "../../testing/devices.ts";
import { type ClaimSpec, claimSpec } from "./claim-specs.ts";
import { type AlikePods, holdsAll } from "./holds-all.ts";
import { Contents, DeviceKinds } from "./inventory.ts";
import { Matcher } from "./match.ts";
import { SelectorCache } from "./selectors.ts";

const reader = {
  classes: new Map([["gpu", GPU_CLASS]]),
  selectors: new SelectorCache(compileDeviceSelector),
};

function needsOf(claim: DeviceClaim): AlikePods["needs"] {
  const spec = claimSpec(claim, reader) as ClaimSpec;
  return { claims: [{ name: "c", key: undefined, claim: undefined, spec }] } as never;
}

/** Whether a node with these devices has enough for `count` pods that claim one device each. */
function suffices(count: number, ...kind: Parameters<typeof templates>): boolean {
  const { devices } = new DeviceKinds(new Contents()).of(templates(...kind));
  return holdsAll([{ needs: needsOf(deviceClaim()), count }], devices, new Matcher());
}

describe("enough devices for several equal pods", () => {
  it("are as many devices as pods", () => {
    expect([1, 2, 3].map((count) => suffices(count, gpus(2)))).toEqual([true, true, false]);
  });

  it("may not be there if one of several pods has a constraint on its devices", () => {
    const alike: DeviceClaim["constraints"] = [{ matchAttribute: "gpu.test/model" }];
    const two = (more: Partial<DeviceClaim> = {}) => needsOf(deviceClaim({ count: 2 }, more));
    const { devices } = new DeviceKinds(new Contents()).of(templates(gpus(4)));
    const suffice = (...all: readonly AlikePods["needs"][]) => {
      const pods = all.map((needs) => ({ needs, count: 1 }));
      return holdsAll(pods, devices, new Matcher());
    };
    expect(suffice(two(), two())).toBe(true);
    expect(suffice(two({ constraints: alike }), two())).toBe(false);
    expect(suffice(two(), two({ constraints: alike }))).toBe(false);
    // A pod alone takes its devices before any other pod.
    expect(suffice(two({ constraints: alike }))).toBe(true);
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
