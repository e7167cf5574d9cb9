import { describe, expect, it } from "vitest";
import { DRIVER, gpus, slice, templates } from "../../testing/devices.ts";
import { ClusterDevices, Contents, DeviceKinds, nameOf, publishedDrivers } from "./inventory.ts";

const read = (...slices: ReturnType<typeof slice>[]) => new ClusterDevices(slices, new Contents());
const at = (generation: number, resourceSliceCount = 1) => ({
  pool: { name: "p", generation, resourceSliceCount },
});

describe("device pools", () => {
  it("use only the slices of their highest generation", () => {
    const { pools, shared } = read(
      slice("p", gpus(3), { ...at(1), slice: "old" }),
      slice("p", gpus(1), { ...at(2), slice: "new" }),
    );
    expect(pools.map(({ isComplete }) => isComplete)).toEqual([true]);
    expect(shared.map(nameOf)).toEqual([`${DRIVER}/p/gpu-0`]);
  });

  it("are incomplete while ResourceSlices are missing", () => {
    const one = { ...at(1, 2), slice: "a" };
    expect(read(slice("p", gpus(1), one)).pools[0]?.isComplete).toBe(false);
    const other = slice("p", [{ name: "x" }], { ...at(1, 2), slice: "b" });
    expect(read(slice("p", gpus(1), one), other).pools[0]?.isComplete).toBe(true);
  });

  it("have a problem if a counter or a counter set is missing or repeated", () => {
    const counters = { memory: { value: "8" } };
    const consumesCounters = [{ counterSet: "s", counters: { cores: { value: "1" } } }];
    const device = gpus(1, () => ({ consumesCounters }));
    const problem = (sets: readonly string[]) =>
      read(slice("p", device, { sharedCounters: sets.map((name) => ({ name, counters })) }))
        .pools[0]?.problem;
    expect(problem([])).toBe("has no counter set s, which device gpu-0 consumes");
    expect(problem(["s"])).toBe("has no counter cores in set s, which device gpu-0 consumes");
    expect(problem(["t", "t"])).toBe("names counter set t twice");
  });

  it("belong to a node by nodeName, and are shared with a nodeSelector", () => {
    const nodeSelector = {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
    };
    const devices = read(
      slice("of-node", gpus(1), { nodeName: "n1" }),
      slice("by-zone", gpus(1), { nodeSelector }),
      slice(
        "each",
        gpus(2, (index) => (index === 0 ? { nodeName: "n2" } : {})),
        {
          perDeviceNodeSelection: true,
        },
      ),
    );
    expect(devices.onNode("n1").map(nameOf)).toEqual([`${DRIVER}/of-node/gpu-0`]);
    expect(devices.onNode("n2").map(nameOf)).toEqual([`${DRIVER}/each/gpu-0`]);
    // The second device of the last pool does not say which nodes can use it, so it is left out.
    expect(devices.shared.map(nameOf)).toEqual([`${DRIVER}/by-zone/gpu-0`]);
  });
});

describe("kinds of instance types", () => {
  it("gives equal devices the same kind, whatever their pools are called", () => {
    const kinds = new DeviceKinds(new Contents());
    const one = kinds.of(templates(gpus(2), { pool: "gpus-a" }));
    expect(kinds.of(templates(gpus(2), { pool: "gpus-b" })).kind).toBe(one.kind);
    expect(kinds.of(templates(gpus(3))).kind).not.toBe(one.kind);
    expect(kinds.of(undefined)).toEqual({ kind: 0, devices: [] });
  });

  it("joins bindings of one attribute that share a device", () => {
    const named = (...numbers: readonly number[]) =>
      numbers.map((n) => ({ driver: DRIVER, pool: "gpus", device: `gpu-${n}` }));
    const bindings = [named(0, 1), named(2, 3), named(1, 2)].map((devices) => ({
      attribute: "version",
      devices,
    }));
    const { devices } = new DeviceKinds(new Contents()).of(templates(gpus(5), { bindings }));
    const groups = devices.map(({ bound }) => bound?.get("version"));
    expect(new Set(groups.slice(0, 4)).size).toBe(1);
    expect(groups[4]).toBeUndefined();
  });
});

describe("publishedDrivers", () => {
  it("contains drivers with a complete pool for the node, by nodeName or owner", () => {
    const count = { pool: { name: "p", generation: 1, resourceSliceCount: 2 }, nodeName: "n1" };
    expect(publishedDrivers([slice("p", [], { ...count, slice: "a" })], "n1").size).toBe(0);
    expect([...publishedDrivers([slice("p", [], { nodeName: "n1" })], "n1")]).toEqual([DRIVER]);
    expect([...publishedDrivers([slice("p", [], { owner: "n1" })], "n1")]).toEqual([DRIVER]);
    expect(publishedDrivers([slice("p", [], { nodeName: "n2" })], "n1").size).toBe(0);
  });
});
