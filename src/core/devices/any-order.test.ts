import { describe, expect, it } from "vitest";
import type { DeviceClaim } from "../../apis/resource/kinds.ts";
import { compileDeviceSelector } from "../../readers/device-selectors.ts";
import { cel, DRIVER, deviceClaim, GPU_CLASS, gpus, templates } from "../../testing/devices.ts";
import { inAnyOrder, type NodeAsk, type PodClaims } from "./any-order.ts";
import { type ClaimSpec, claimSpec } from "./claim-specs.ts";
import { deviceList } from "./device-list.ts";
import { Contents, DeviceKinds, type PooledDevice } from "./inventory.ts";
import { DeviceLedger } from "./ledger.ts";
import { Matcher } from "./match.ts";
import { isFound } from "./search.ts";
import { SelectorCache } from "./selectors.ts";

const NODE = { holder: "node" };
const SEED = { held: new Set<PooledDevice>(), consumed: new Map() };
const SIZE = `device.attributes["${DRIVER}"].size`;
const reader = {
  classes: new Map([["gpu", GPU_CLASS]]),
  selectors: new SelectorCache(compileDeviceSelector),
};

const specOf = (claim: DeviceClaim) => claimSpec(claim, reader) as ClaimSpec;
const sized = (size: string) => [cel(`${SIZE} == "${size}"`)];
/** A claim for a large device, or else for a small one. */
const EITHER = specOf({
  requests: [
    {
      name: "gpu",
      firstAvailable: ["large", "small"].map((size) => ({
        name: size,
        deviceClassName: "gpu",
        selectors: sized(size),
      })),
    },
  ],
});
const LARGE = specOf(deviceClaim({ selectors: sized("large") }));

/** Whether the last pod can be planned on a node with devices of these sizes, after the other pods. */
function isPlanned(sizes: readonly string[], pods: readonly PodClaims[]): boolean {
  const devices = gpus(sizes.length, (at) => ({
    attributes: { size: { string: sizes[at] as string } },
  }));
  const list = deviceList(new DeviceKinds(new Contents()).of(templates(devices)).devices);
  const ask: NodeAsk<number> = (claims, uses) => ({
    claims,
    list,
    taken: new DeviceLedger().taken(NODE, { kind: 0, seed: SEED, uses }),
    nodes: { from: 0, ways: () => [0] },
    matcher: new Matcher(),
    budget: { steps: 1_000 },
  });
  return isFound(inAnyOrder(pods, ask, 0));
}

describe("pods with ResourceClaims on one node", () => {
  const sizes = ["large", "small", "small"];

  it("are refused if one order of binding would leave a pod without devices", () => {
    // If the pod with only EITHER is bound first, it takes the large device, which the other pod needs.
    expect(isPlanned(sizes, [[EITHER], [EITHER, LARGE]])).toBe(false);
    expect(isPlanned(sizes, [[EITHER, LARGE], [EITHER]])).toBe(false);
  });

  it("are planned if every order of binding leaves enough devices", () => {
    expect(isPlanned(["large", ...sizes], [[EITHER, LARGE], [EITHER]])).toBe(true);
    expect(isPlanned(sizes, [[EITHER], [EITHER]])).toBe(true);
  });
});
