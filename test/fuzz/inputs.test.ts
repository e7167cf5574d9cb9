import { afterAll, describe, expect, it } from "vitest";
import { faultOf, inputOf, shrunk } from "./inputs/check.ts";
import { removeFiles, TARGETS } from "./inputs/targets.ts";

afterAll(removeFiles);

describe("hostile texts as input", () => {
  it.each(TARGETS)("are accepted, or refused with a message: $name", async (target) => {
    for (let seed = 0; seed < target.quick; seed++) {
      const text = inputOf(target, seed);
      expect({ seed, fault: await faultOf(target, text) }).toEqual({ seed, fault: undefined });
    }
  });
});

describe("the check of input texts", () => {
  const target = (run: (text: string) => unknown) => ({
    name: "test",
    quick: 0,
    draw: () => "",
    run,
    expected: [SyntaxError],
  });

  it("finds an error that is not a refusal, and shrinks its input", async () => {
    const broken = target((text) => {
      if (text.includes("!!")) (undefined as unknown as string[]).push(text);
    });
    expect(await faultOf(broken, "a!!b")).toContain("TypeError");
    expect(await shrunk(broken, `${"x".repeat(500)}!${"y".repeat(0)}!${"z".repeat(300)}`)).toBe(
      "!!",
    );
  });

  it("finds a changed prototype", async () => {
    const pollutes = target(() => Object.assign(Object.prototype, { polluted: 1 }));
    try {
      expect(await faultOf(pollutes, "")).toContain("a prototype was changed: Object");
    } finally {
      Reflect.deleteProperty(Object.prototype, "polluted");
    }
  });

  it("accepts expected errors, and reports what a target finds wrong", async () => {
    expect(await faultOf(target(JSON.parse as () => unknown), "{")).toBeUndefined();
    expect(
      await faultOf(
        target(() => "is odd"),
        "",
      ),
    ).toBe("is odd");
  });

  it("creates the same input from the same seed", () => {
    for (const one of TARGETS) expect(inputOf(one, 5)).toBe(inputOf(one, 5));
  });
});
