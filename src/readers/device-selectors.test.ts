import { describe, expect, it } from "vitest";
import { compileDeviceSelector } from "./device-selectors.ts";

const DEVICE = {
  driver: "gpu.example.com",
  attributes: {
    model: { string: "A100" },
    "gpu.example.com/index": { int: 3 },
    driverVersion: { version: "535.104.5" },
    "other.com/fast": { bool: true },
  },
  capacity: { memory: { value: "40Gi" } },
};

function answer(expression: string, device = DEVICE): boolean | string {
  const program = compileDeviceSelector(expression);
  return typeof program === "string" ? `compile: ${program}` : program(device);
}

describe("a CEL selector of devices", () => {
  it.each([
    `device.driver == "gpu.example.com"`,
    `device.attributes["gpu.example.com"].model == "A100"`,
    `device.attributes["gpu.example.com"].index > 2`,
    `device.attributes["other.com"].fast`,
    `device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("535.0.0"))`,
    `device.attributes["gpu.example.com"].driverVersion.major() == 535`,
    `device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0`,
    `!device.allowMultipleAllocations`,
    `cel.bind(dra, device.attributes["gpu.example.com"], dra.model == "A100" && dra.index == 3)`,
    `device.attributes["gpu.example.com"].model.matches("^A1.0$")`,
    `!has(device.attributes["gpu.example.com"].missing)`,
    `has(device.attributes["gpu.example.com"].model)`,
    `!("model" in device.attributes["nobody.com"])`,
    `!("nobody.com" in device.attributes)`,
    `"gpu.example.com" in device.attributes && device.attributes["gpu.example.com"].index == 3`,
    `!has(device.attributes["nobody.com"].model)`,
    `device.attributes["gpu.example.com"].exists(key, key == "model")`,
  ])("matches: %s", (expression) => {
    expect(answer(expression)).toBe(true);
  });

  it("has no value for an attribute that the device lacks", () => {
    expect(answer(`device.attributes["gpu.example.com"].missing == "x"`)).toBe(
      "no such key: missing",
    );
    expect(answer(`device.attributes["nobody.com"].model == "x"`)).toBe("no such key: model");
  });

  it("is refused with a reason if it is invalid", () => {
    expect(answer(`device.colour == "red"`)).toContain("compile: No such key: colour");
    expect(answer(`device.driver`)).toBe("compile: it gives a string, not a bool");
    expect(answer(`device.driver ==`)).toContain("compile: ");
    expect(answer(`true${" ".repeat(11_000)}`)).toContain("compile: it is longer than");
    const loop = `device.attributes["a"].all(a, true)`;
    expect(answer(Array(4).fill(loop).join(" && "))).toContain("compile: it has 4 loops");
    // The count of loops does not depend on white space, and ignores text inside a string.
    for (const gap of [" ", "\n", " // all\n"]) {
      const spread = `device.attributes["a"].${gap}all${gap}(a, true)`;
      expect(answer(Array(4).fill(spread).join(" && "))).toContain("compile: it has 4 loops");
    }
    expect(answer(`device.driver != ".all(.all(.all(.all("`)).toBe(true);
    expect(answer(`quantity("lots").sign() > 0`)).toContain("is no quantity");
  });

  it("matches patterns in linear time, however the call is written", () => {
    const text = `"${"a".repeat(40)}b"`;
    for (const gap of ["", " ", "\n", " // matches\n"])
      expect(answer(`!${text}.${gap}matches${gap}("^(a+)+$")`)).toBe(true);
  });

  it("compares versions by the rules of semver", () => {
    const below = (a: string, b: string) => answer(`semver("${a}").isLessThan(semver("${b}"))`);
    expect(below("1.2.3", "1.10.0")).toBe(true);
    expect(below("1.0.0-alpha", "1.0.0")).toBe(true);
    expect(below("1.0.0-alpha.2", "1.0.0-alpha.10")).toBe(true);
    expect(below("1.0.0", "1.0.0")).toBe(false);
    expect(answer(`semver("v1.2", true).compareTo(semver("1.2.0")) == 0`)).toBe(true);
    expect(answer(`isSemver("1.2") || !isSemver("1.2.3")`)).toBe(false);
  });
});
