import { describe, expect, it } from "vitest";
import type { Device } from "../../apis/resource/kinds.ts";
import { templates } from "../../testing/devices.ts";
import { ConstraintState } from "./constraints.ts";
import { Contents, DeviceKinds, type PooledDevice } from "./inventory.ts";

const ROOT = "resource.kubernetes.io/pcieRoot";

function devices(...attributes: readonly Device["attributes"][]): readonly PooledDevice[] {
  const all = attributes.map((own, at) => ({
    name: `gpu-${at}`,
    ...(own ? { attributes: own } : {}),
  }));
  const bindings = [
    {
      attribute: "gpu.test/driverVersion",
      devices: [0, 1].map((at) => ({ driver: "gpu.test", pool: "gpus", device: `gpu-${at}` })),
    },
  ];
  return new DeviceKinds(new Contents()).of(templates(all, { bindings })).devices;
}

function takes(
  constraint: { matchAttribute?: string; distinctAttribute?: string; requests?: string[] },
  some: readonly PooledDevice[],
  requests: readonly string[] = [],
) {
  const state = new ConstraintState([constraint]);
  return some.map((one, at) => state.take(requests[at] ?? "gpu", one) === undefined);
}

describe("matchAttribute", () => {
  const [a, alsoA, b, none] = devices(
    { [ROOT]: { string: "a" } },
    { [ROOT]: { string: "a" } },
    { [ROOT]: { string: "b" } },
    {},
  ) as [PooledDevice, PooledDevice, PooledDevice, PooledDevice];

  it("requires the same value of the same type", () => {
    expect(takes({ matchAttribute: ROOT }, [a, alsoA, b, none])).toEqual([
      true,
      true,
      false,
      false,
    ]);
    const [one, two] = devices({ n: { int: 1 } }, { n: { string: "1" } });
    expect(
      takes({ matchAttribute: "gpu.test/n" }, [one as PooledDevice, two as PooledDevice]),
    ).toEqual([true, false]);
  });

  it("resolves an attribute without domain to the driver's domain", () => {
    const [one, two] = devices({ n: { int: 1 } }, { "gpu.test/n": { int: 1 } });
    expect(takes({ matchAttribute: "gpu.test/n" }, [one, two] as PooledDevice[])).toEqual([
      true,
      true,
    ]);
    expect(takes({ matchAttribute: "other/n" }, [one as PooledDevice])).toEqual([false]);
  });

  it("applies to the named requests, with all their alternatives", () => {
    const requests = ["gpu"];
    const constraint = { matchAttribute: ROOT, requests };
    expect(takes(constraint, [a, b, b], ["gpu/big", "nic", "gpu/small"])).toEqual([
      true,
      true,
      false,
    ]);
    expect(
      takes({ ...constraint, requests: ["gpu/big"] }, [a, b], ["gpu/big", "gpu/small"]),
    ).toEqual([true, true]);
  });

  it("treats devices bound to one unknown value as equal", () => {
    const constraint = { matchAttribute: "gpu.test/driverVersion" };
    expect(takes(constraint, [a, alsoA, b])).toEqual([true, true, false]);
  });

  it("never mixes known values and bindings", () => {
    const [bound, valued] = devices({}, { driverVersion: { version: "1.0.0" } });
    const constraint = { matchAttribute: "gpu.test/driverVersion" };
    expect(takes(constraint, [bound, valued] as PooledDevice[])).toEqual([true, false]);
    expect(takes(constraint, [valued, bound] as PooledDevice[])).toEqual([true, false]);
  });

  it("no longer counts a device that is given back", () => {
    const state = new ConstraintState([{ matchAttribute: ROOT }]);
    state.take("gpu", a);
    state.giveBack("gpu");
    expect(state.take("gpu", b)).toBeUndefined();
    expect(state.take("gpu", a)).toBe(ROOT);
  });
});

it("distinctAttribute requires different values, and rejects a device without the attribute", () => {
  const some = devices(
    { [ROOT]: { string: "a" } },
    { [ROOT]: { string: "b" } },
    { [ROOT]: { string: "a" } },
    {},
  );
  expect(takes({ distinctAttribute: ROOT }, some)).toEqual([true, true, false, false]);
});
