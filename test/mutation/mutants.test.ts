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

describe("the mutants of a file", () => {
  it("change operators, conditions, numbers and calls", () => {
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

  it("leave types, assertions and the lengths of steps as they are", () => {
    expect(mutated("type A = 1 | 2; interface B { readonly c: 3 }")).toEqual({});
    expect(mutated("const PODS_PER_STEP = 64;")).toEqual({});
    expect(mutated('assert(a > 0, "b");')).toEqual({ "left out": ";" });
  });

  it("are drawn without return, and the same for one seed", () => {
    const all = mutationsOf("a.ts", "a(1); b(2); c(3);");
    const some = drawn(all, 4, new Random(7));
    expect(new Set(some).size).toBe(4);
    expect(drawn(all, 4, new Random(7))).toEqual(some);
    expect(drawn(all, 100, new Random(7))).toHaveLength(all.length);
  });
});
