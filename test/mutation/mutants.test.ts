import { describe, expect, it } from "vitest";
import { Random } from "../../src/base/random.ts";
import { drawn, mutationsOf } from "./mutants.ts";

/** The kinds of mutants of a piece of code, and the code that each makes of it. */
function mutated(source: string): Record<string, string> {
  return Object.fromEntries(
    mutationsOf("a.ts", source).map(({ kind, start, end, text }) => [
      kind,
      source.slice(0, start) + text + source.slice(end),
    ]),
  );
}

describe("the generator of mutants of a file", () => {
  it("changes operators, conditions, numbers and calls", () => {
    expect(mutated("a = b < 2;")).toEqual({
      "left out": ";",
      "< to <=": "a = b <= 2;",
      "number + 1": "a = b < (2 + 1);",
    });
    expect(mutated("if (!a) throw b;")).toEqual({
      "condition negated": "if (!(!a)) throw b;",
      never: "if ((false as boolean)) throw b;",
      "without !": "if (a) throw b;",
    });
    expect(mutated("const a = b.some(c) ?? true;")).toEqual({
      "left of ??": "const a = b.some(c);",
      "some to every": "const a = b.every(c) ?? true;",
      "true to false": "const a = b.some(c) ?? false;",
    });
  });

  it("leaves types, assertions and step sizes unchanged", () => {
    expect(mutated("type A = 1 | 2; interface B { readonly c: 3 }")).toEqual({});
    expect(mutated("const PODS_PER_STEP = 64;")).toEqual({});
    expect(mutated('assert(a > 0, "b");')).toEqual({ "left out": ";" });
  });

  it("marks mutants that can change no result", () => {
    const harmless = (source: string) =>
      mutationsOf("a.ts", source).flatMap((one) =>
        one.harmless ? [[one.harmless, one.kind]] : [],
      );
    expect(harmless("a < b ? -1 : 1;")).toEqual([
      ["sign", "number + 1"],
      ["sign", "number + 1"],
    ]);
    expect(harmless("a < 1 ? -1 : 2;")).toEqual([]);
    const pause = ["condition negated", "never", "=== to !==", "number + 1"];
    const steps = (code: string) => harmless(`function* f() { ${code} }`);
    expect(steps("if (a() === 0) yield; b(1);")).toEqual(pause.map((kind) => ["pause", kind]));
    expect([steps("if (a) yield b(1);"), steps("if (a) yield; else b(1);")]).toEqual([[], []]);
    const shortcut = "if (a.length === 0) b();";
    expect(harmless(`// Speed only: the loop does nothing.\n${shortcut}`)).toEqual([
      ["speed", "never"],
    ]);
    expect(harmless(`// Speed only:\n${shortcut}`)).toEqual([]);
  });

  it("draws each mutant at most once, and the same ones for one seed", () => {
    const all = mutationsOf("a.ts", "a(1); b(2); c(3);");
    const some = drawn(all, 4, new Random(7));
    expect(new Set(some).size).toBe(4);
    expect(drawn(all, 4, new Random(7))).toEqual(some);
    expect(drawn(all, 100, new Random(7))).toHaveLength(all.length);
  });
});
