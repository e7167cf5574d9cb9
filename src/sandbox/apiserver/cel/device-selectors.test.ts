import { describe, expect, it } from "vitest";
import type { Device } from "../../../apis/resource/kinds.ts";
import { deviceMatches, deviceSelectorProblem } from "./device-selectors.ts";

const GPU: Device = {
  name: "gpu-0",
  attributes: {
    type: { string: "gpu" },
    "other.example.com/slot": { int: 3 },
    driverVersion: { version: "535.104.5" },
    ecc: { bool: true },
  },
  capacity: { memory: { value: "40Gi" } },
};

const ask = (expression: string) => deviceMatches(expression, "gpu.example.com", GPU);

describe("CEL selectors of devices in the API server", () => {
  it.each([
    ['device.driver == "gpu.example.com"', true],
    ['device.attributes["gpu.example.com"].type == "gpu"', true],
    ['device.attributes["other.example.com"].slot > 3', false],
    ['device.attributes["gpu.example.com"].ecc', true],
    ['"slot" in device.attributes["gpu.example.com"]', false],
    ['"nobody.example.com" in device.attributes', false],
    ['"x" in device.attributes["nobody.example.com"]', false],
    ['has(device.attributes["gpu.example.com"].type)', true],
    ['has(device.attributes["gpu.example.com"].missing)', false],
    ['device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0', true],
    ['device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))', false],
    ['device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("535.2.0"))', true],
    ['device.attributes["gpu.example.com"].driverVersion.major() == 535', true],
    ['device.attributes["gpu.example.com"].type.matches("^g.u$")', true],
    ['device.attributes["gpu.example.com"].type. // matches\n matches ("^(?i)G.u$")', true],
    ["!device.allowMultipleAllocations", true],
  ])("%s", (expression, matches) => {
    expect(ask(expression)).toEqual({ matches });
  });

  it("have no result if an attribute is missing", () => {
    expect(ask('device.attributes["gpu.example.com"].missing == "x"')).toEqual({
      problem: expect.stringContaining("no such key: missing"),
    });
    expect(ask('device.attributes["nobody.example.com"].type == "x"')).toEqual({
      problem: expect.stringContaining("no such key: type"),
    });
  });

  it("are refused if they are invalid or not boolean", () => {
    expect(deviceSelectorProblem("device.driver ==")).toBeDefined();
    expect(deviceSelectorProblem("gadget.driver == 'x'")).toBeDefined();
    expect(deviceSelectorProblem("'text'")).toContain("must evaluate to bool");
    expect(deviceSelectorProblem("device.driver == 'x'")).toBeUndefined();
  });

  it.each([
    ["1.2.3", "1.2.4"],
    ["1.2.3-alpha.1", "1.2.3"],
    ["1.2.3-alpha.1", "1.2.3-alpha.beta"],
    ["1.2.3-alpha", "1.2.3-alpha.1"],
    ["1.9.0", "1.10.0"],
  ])("order version %s before %s", (older, newer) => {
    expect(ask(`semver("${older}").isLessThan(semver("${newer}"))`)).toEqual({ matches: true });
    expect(ask(`semver("${newer}").compareTo(semver("${older}")) == 1`)).toEqual({ matches: true });
  });
});
