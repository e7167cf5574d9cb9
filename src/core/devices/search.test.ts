import { describe, expect, it } from "vitest";
import type { Device, DeviceClaim, ExactDeviceRequest } from "../../apis/resource/kinds.ts";
import { compileDeviceSelector } from "../../readers/device-selectors.ts";
import {
  cel,
  DRIVER,
  deviceClaim,
  GPU_CLASS,
  gpus,
  slice,
  templates,
} from "../../testing/devices.ts";
import { claimSpec } from "./claim-specs.ts";
import { deviceList } from "./device-list.ts";
import { ClusterDevices, Contents, DeviceKinds, type PooledDevice } from "./inventory.ts";
import { DeviceLedger } from "./ledger.ts";
import { Matcher } from "./match.ts";
import { isFound, search, type Use } from "./search.ts";
import { seedOf } from "./seed.ts";
import { SelectorCache } from "./selectors.ts";
import { deviceRefusalOf } from "./verdict.ts";

const NODE = { holder: "node" };
const NOTHING = { held: new Set<PooledDevice>(), consumed: new Map() };
const classes = new Map([["gpu", GPU_CLASS]]);
const kindOf = (...args: Parameters<typeof templates>) =>
  new DeviceKinds(new Contents()).of(templates(...args)).devices;

interface Asking {
  readonly ledger?: DeviceLedger;
  readonly seed?: ReturnType<typeof seedOf>;
  readonly steps?: number;
}

/** The names of the devices for each claim, or the reason why none were found. */
function find(
  devices: readonly PooledDevice[],
  claims: readonly DeviceClaim[],
  asking: Asking = {},
) {
  const reader = { classes, selectors: new SelectorCache(compileDeviceSelector) };
  const specs = claims.map((one) => claimSpec(one, reader));
  const problem = specs.find((one) => typeof one === "string");
  if (typeof problem === "string") return problem;
  const { ledger = new DeviceLedger(), seed = NOTHING, steps = 1_000 } = asking;
  const question = {
    claims: specs as never,
    list: deviceList(devices),
    taken: ledger.taken(NODE, { kind: 0, seed }),
    nodes: { from: 0, ways: () => [0] },
    matcher: new Matcher(),
    budget: { steps },
  };
  const answer = search(question);
  if (isFound(answer)) return answer.uses.map((own) => own.map(({ device }) => device.device.name));
  const needs = specs.map((spec, at) => ({ name: `c${at}`, spec })) as never;
  return deviceRefusalOf(question, needs, answer).text;
}

const exactly = (name: string, more: Partial<ExactDeviceRequest> = {}) => ({
  name,
  exactly: { deviceClassName: "gpu", ...more },
});

describe("a device request", () => {
  it("takes the requested number of devices in order", () => {
    const four = kindOf(gpus(4));
    expect(find(four, [deviceClaim()])).toEqual([["gpu-0"]]);
    expect(find(four, [deviceClaim({ count: 3 })])).toEqual([["gpu-0", "gpu-1", "gpu-2"]]);
    expect(find(four, [deviceClaim({ count: 3 }), deviceClaim()])).toEqual([
      ["gpu-0", "gpu-1", "gpu-2"],
      ["gpu-3"],
    ]);
  });

  it("is refused with the numbers of wanted and available devices if too few match", () => {
    expect(find(kindOf(gpus(2)), [deviceClaim({ count: 3 })])).toBe(
      "claim c0, request gpu wants 3 devices of class gpu: there is room for 2 among 2",
    );
    expect(find([], [deviceClaim()])).toBe(
      "claim c0, request gpu wants 1 device of class gpu, and there are none",
    );
    const other = kindOf(gpus(2), { driver: "nic.test" });
    expect(find(other, [deviceClaim()])).toContain(
      "there is room for 0 among 2 (2 not of the class)",
    );
  });

  it("with allocation mode All takes every matching device, and fails if there is none", () => {
    const even = kindOf(gpus(4, (index) => ({ attributes: { even: { bool: index % 2 === 0 } } })));
    const selectors = [cel(`device.attributes["${DRIVER}"].even`)];
    const all = { allocationMode: "All" as const, selectors };
    expect(find(even, [deviceClaim(all)])).toEqual([["gpu-0", "gpu-2"]]);
    expect(find([], [deviceClaim(all)])).toContain("wants all devices");
    // The first claim uses one device, so the request for all devices fails.
    expect(find(even, [deviceClaim({ selectors }), deviceClaim(all)])).toContain(
      "not for all together",
    );
  });

  it("takes the first alternative of firstAvailable that can be allocated", () => {
    const request = (name: string, count: number) => ({ name, deviceClassName: "gpu", count });
    const claim = {
      requests: [{ name: "r", firstAvailable: [request("big", 4), request("small", 2)] }],
    };
    expect(find(kindOf(gpus(4)), [claim])).toEqual([["gpu-0", "gpu-1", "gpu-2", "gpu-3"]]);
    expect(find(kindOf(gpus(3)), [claim])).toEqual([["gpu-0", "gpu-1"]]);
    // Only two of the four devices are used, because later requests may need the others.
    expect(find(kindOf(gpus(4)), [claim, deviceClaim()])).toEqual([["gpu-0", "gpu-1"], ["gpu-2"]]);
  });

  it("is invalid if its DeviceClass is missing, its selector is wrong or its count is too large", () => {
    const one = kindOf(gpus(1));
    expect(find(one, [deviceClaim({ deviceClassName: "tpu" })])).toBe(
      "request gpu: DeviceClass tpu does not exist",
    );
    expect(find(one, [deviceClaim({ selectors: [cel("device.x")] })])).toContain(
      'request gpu: selector "device.x" is not valid: ',
    );
    expect(find(one, [deviceClaim({ count: 33 })])).toContain("at most 32");
    const allocationMode = "Some" as never;
    expect(find(one, [deviceClaim({ allocationMode })])).toBe(
      "request gpu: allocation mode Some is not supported",
    );
    expect(find(one, [{ requests: [{ name: "r" }] }])).toBe(
      "request r has neither exactly nor firstAvailable",
    );
    const constraints = [{ matchAttribute: "a/b", distinctAttribute: "a/c" }, {}];
    for (const constraint of constraints)
      expect(find(one, [deviceClaim({}, { constraints: [constraint] })])).toContain(
        "neither matchAttribute nor distinctAttribute alone",
      );
    const all = { requests: [exactly("a", { allocationMode: "All" }), exactly("b", { count: 4 })] };
    expect(find(kindOf(gpus(33)), [all])).toContain("not for all together");
  });

  it("fails if its selector reads an attribute that a candidate device lacks", () => {
    const some = kindOf(
      gpus(2, (index) => (index === 1 ? {} : { attributes: { fast: { bool: true } } })),
    );
    const selectors = [cel(`device.attributes["${DRIVER}"].fast`)];
    expect(find(some, [deviceClaim({ selectors })])).toEqual([["gpu-0"]]);
    expect(find(some, [deviceClaim({ selectors, count: 2 })])).toContain("no such key: fast");
    expect(find(some, [deviceClaim({ selectors, allocationMode: "All" })])).toContain(
      "no such key",
    );
  });

  it("with adminAccess shares allocated devices and uses none up", () => {
    const one = kindOf(gpus(1));
    const watch = deviceClaim({ adminAccess: true });
    expect(find(one, [deviceClaim(), watch, watch])).toEqual([["gpu-0"], ["gpu-0"], ["gpu-0"]]);
    expect(find(one, [watch, deviceClaim()])).toEqual([["gpu-0"], ["gpu-0"]]);
  });

  it("skips tainted devices that it does not tolerate", () => {
    const taints = [{ key: "broken", value: "yes", effect: "NoSchedule" as const }];
    const some = kindOf(gpus(2, (index) => (index === 0 ? { taints } : {})));
    expect(find(some, [deviceClaim()])).toEqual([["gpu-1"]]);
    const tolerations = [{ key: "broken", operator: "Exists" as const }];
    expect(find(some, [deviceClaim({ tolerations, count: 2 })])).toEqual([["gpu-0", "gpu-1"]]);
    expect(find(some, [deviceClaim({ count: 2 })])).toContain("taint broken=yes:NoSchedule");
    const wrong = [{ key: "broken", value: "no" }];
    expect(find(some, [deviceClaim({ tolerations: wrong })])).toEqual([["gpu-1"]]);
  });
});

describe("device constraints", () => {
  const root = (value: string) => ({ attributes: { root: { string: value } } });
  const matchAttribute = `${DRIVER}/root`;

  it("are met by backtracking over the devices", () => {
    const some = kindOf(gpus(4, (index) => root("abbc"[index] as string)));
    const claim = deviceClaim({ count: 2 }, { constraints: [{ matchAttribute }] });
    expect(find(some, [claim])).toEqual([["gpu-1", "gpu-2"]]);
    expect(find(kindOf(gpus(2, (index) => root("ab"[index] as string))), [claim])).toBe(
      `there are devices for each request, but not for all together: claim c0 wants devices that agree in ${matchAttribute}`,
    );
  });

  it("hold across the requests of a claim", () => {
    const some = kindOf([
      ...gpus(3, (index) => root("abb"[index] as string)),
      { name: "nic", attributes: { root: { string: "b" }, nic: { bool: true } } },
    ]);
    const isNic = `has(device.attributes["${DRIVER}"].nic)`;
    const requests = [
      exactly("gpu", { selectors: [cel(`!${isNic}`)] }),
      exactly("nic", { selectors: [cel(isNic)] }),
    ];
    expect(find(some, [{ requests, constraints: [{ matchAttribute }] }])).toEqual([
      ["gpu-1", "nic"],
    ]);
  });

  it("with distinctAttribute skip devices with an equal value", () => {
    const some = kindOf(gpus(3, (index) => root("aab"[index] as string)));
    const constraints = [{ distinctAttribute: matchAttribute }];
    expect(find(some, [deviceClaim({ count: 2 }, { constraints })])).toEqual([["gpu-0", "gpu-2"]]);
  });
});

describe("device pools", () => {
  const read = (...slices: ReturnType<typeof slice>[]) =>
    new ClusterDevices(slices, new Contents()).shared;

  it("that are incomplete offer no device, and fail a request with allocation mode All", () => {
    const pool = { name: "p", generation: 1, resourceSliceCount: 2 };
    const half = read(slice("p", gpus(1), { pool }));
    expect(find(half, [deviceClaim()])).toContain("1 in a pool that offers nothing now");
    const all = deviceClaim({ allocationMode: "All" });
    expect(find(half, [all])).toContain("pool p of gpu.test is not complete yet");
    const whole = read(slice("q", gpus(1)));
    expect(find([...half, ...whole], [deviceClaim()])).toEqual([["gpu-0"]]);
  });

  it("that contain a device name twice offer no device", () => {
    const twice = read(slice("p", [...gpus(1), ...gpus(1)]));
    expect(find(twice, [deviceClaim()])).toContain("has device gpu-0 twice");
  });
});

describe("partitionable devices", () => {
  const uses = (set: string, value: string) => [
    { counterSet: set, counters: { memory: { value } } },
  ];
  const sharedCounters = ["a", "b"].map((name) => ({
    name,
    counters: { memory: { value: "40Gi" } },
  }));
  const parts: Device[] = [
    { name: "whole-a", consumesCounters: uses("a", "40Gi") },
    { name: "half-a0", consumesCounters: uses("a", "20Gi") },
    { name: "half-a1", consumesCounters: uses("a", "20Gi") },
    { name: "whole-b", consumesCounters: uses("b", "40Gi") },
  ];

  it("never consume more of a shared counter than there is", () => {
    const some = kindOf(parts, { sharedCounters });
    // The first whole device uses up counter set a, so the next one is from set b.
    expect(find(some, [deviceClaim({ count: 2 })])).toEqual([["whole-a", "whole-b"]]);
    expect(find(some, [deviceClaim({ count: 3 })])).toEqual([["half-a0", "half-a1", "whole-b"]]);
    expect(find(some, [deviceClaim({ count: 4 })])).toContain("not for all together");
  });

  it("count what allocated claims of the cluster consume", () => {
    const cluster = new ClusterDevices([slice("p", parts, { sharedCounters })], new Contents());
    const results = [{ request: "gpu", driver: DRIVER, pool: "p", device: "half-a0" }];
    const status = { allocation: { devices: { results } } };
    const claim = { metadata: { name: "c" }, spec: {}, status } as never;
    const seed = seedOf([claim], cluster, new Set());
    expect(find(cluster.shared, [deviceClaim()], { seed })).toEqual([["half-a1"]]);
    expect(find(cluster.shared, [deviceClaim({ count: 3 })], { seed })).toContain("1 in use");
  });
});

describe("shared devices that consume counters", () => {
  const slots = (value: string) => ({ slots: { value } });
  const consumesCounters = [{ counterSet: "set", counters: slots("1") }];
  const memory = { value: "40Gi", requestPolicy: { default: "10Gi" } };
  const device = () => ({ allowMultipleAllocations: true, capacity: { memory }, consumesCounters });
  const sharedCounters = [{ name: "set", counters: slots("2") }];
  const cluster = new ClusterDevices(
    [slice("p", gpus(1, device), { sharedCounters })],
    new Contents(),
  );
  const some = cluster.shared;

  it("are charged for each share within one pod, as kube-scheduler does", () => {
    expect(find(some, [deviceClaim({ count: 2 })])).toEqual([["gpu-0", "gpu-0"]]);
    expect(find(some, [deviceClaim({ count: 3 })])).not.toBeInstanceOf(Array);
    expect(find(some, [deviceClaim({ count: 2 }), deviceClaim()])).not.toBeInstanceOf(Array);
  });

  it("are charged once for the shares of allocated claims", () => {
    const part = { request: "gpu", driver: DRIVER, pool: "p", device: "gpu-0", shareID: "1" };
    const results = [{ ...part, consumedCapacity: { memory: "10Gi" } }];
    const status = { allocation: { devices: { results } } };
    const seed = seedOf(
      [{ metadata: { name: "c" }, spec: {}, status } as never],
      cluster,
      new Set(),
    );
    expect(find(some, [deviceClaim({ count: 2 })], { seed })).toEqual([["gpu-0", "gpu-0"]]);
    expect(find(some, [deviceClaim({ count: 3 })], { seed })).not.toBeInstanceOf(Array);
  });
});

describe("devices with allowMultipleAllocations", () => {
  const memory = { value: "40Gi", requestPolicy: { default: "10Gi" } };
  const shared = gpus(2, () => ({ allowMultipleAllocations: true, capacity: { memory } }));

  it("serve claims until their capacity is used up, one claim also several times", () => {
    const one = kindOf(shared.slice(0, 1));
    expect(find(one, [deviceClaim({ count: 4 })])).toEqual([Array(4).fill("gpu-0")]);
    expect(find(one, [deviceClaim({ count: 5 })])).not.toBeInstanceOf(Array);
    const asks = (amount: string) => deviceClaim({ capacity: { requests: { memory: amount } } });
    expect(find(kindOf(shared), [asks("30Gi"), asks("20Gi"), asks("10Gi")])).toEqual([
      ["gpu-0"],
      ["gpu-1"],
      ["gpu-0"],
    ]);
  });

  it("count every allocation result of a claim on one device", () => {
    const cluster = new ClusterDevices([slice("p", shared.slice(0, 1))], new Contents());
    const result = {
      request: "gpu",
      driver: DRIVER,
      pool: "p",
      device: "gpu-0",
      consumedCapacity: { memory: "15Gi" },
    };
    const status = { allocation: { devices: { results: [result, result] } } };
    const seed = seedOf(
      [{ metadata: { name: "c" }, spec: {}, status } as never],
      cluster,
      new Set(),
    );
    expect(find(cluster.shared, [deviceClaim()], { seed })).toEqual([["gpu-0"]]);
    expect(find(cluster.shared, [deviceClaim({ count: 2 })], { seed })).toContain(
      "there is room for 1 among 1",
    );
  });
});

describe("the device search", () => {
  it("tries only one of several equal devices, and stops after its number of steps", () => {
    const root = (index: number) => ({ attributes: { n: { int: index } } });
    const constraints = [{ matchAttribute: `${DRIVER}/n` }];
    const claim = deviceClaim({ count: 2 }, { constraints });
    expect(find(kindOf(gpus(30, root)), [claim], { steps: 20 })).toBe(
      "no devices were found in the steps that one search may take",
    );
    // Without treating equal devices as one, there would be half a million combinations.
    const equal = kindOf(gpus(24, (index) => root(index % 2)));
    const many = deviceClaim({ count: 13 }, { constraints });
    expect(find(equal, [many], { steps: 400 })).toContain("not for all together");
  });

  it("counts devices that the ledger has already given to other pods of the node", () => {
    const four = kindOf(gpus(4));
    const ledger = new DeviceLedger();
    const use = (device: PooledDevice): Use => ({
      device,
      request: "gpu",
      consumes: new Map(),
      adminAccess: false,
    });
    ledger.setUses(NODE, new Map([[0, four.slice(0, 2).map(use)]]));
    const moment = ledger.now();
    ledger.setUses(NODE, new Map([[0, four.slice(0, 3).map(use)]]));
    expect(find(four, [deviceClaim()], { ledger })).toEqual([["gpu-3"]]);
    ledger.backTo(moment);
    expect(find(four, [deviceClaim({ count: 2 })], { ledger })).toEqual([["gpu-2", "gpu-3"]]);
    ledger.backTo(0);
    expect(find(four, [deviceClaim({ count: 4 })], { ledger })).toHaveLength(1);
  });
});
