/** The cost of expressions in the units of cel-go, and the end of expressions that reach their limit. */
import { describe, expect, it } from "vitest";
import { compile, type Program, run, toCel } from "./engine.ts";
import { type Budget, EXPRESSION_LIMIT } from "./meter.ts";

function costOf(source: string, self: unknown = null): number {
  const program = compile(source);
  if (typeof program === "string") throw new Error(program);
  const budget: Budget = { left: 0 };
  run(program, { self: toCel({}, self) }, budget);
  return 0 - budget.left;
}

describe("the cost of a CEL expression", () => {
  // Figures follow from cel-go's interpreter/runtimecost.go and Kubernetes' pkg/cel/library/cost.go.
  it.each([
    ["true", null, 0],
    ["self", true, 1],
    ["self.a.b", { a: { b: 1 } }, 3],
    ["self == 1", 1, 2],
    ["self == 'x'", "x".repeat(100), 2],
    ["self == self", "x".repeat(100), 12],
    ["self + self == 'y'", "x".repeat(100), 23],
    ["self.contains('never')", "x".repeat(1_000), 101],
    ["self.matches('a+b+c+d+')", "x".repeat(999), 201],
    ["self.startsWith('x')", "x".repeat(50), 6],
    ["[1, 2, 3].all(i, i > 0)", null, 16],
    ["[1, 2, 3].exists(i, i > 2)", null, 19],
    ["[1, self].size() == 2", 1, 13],
    ["3 in self", [1, 2, 3, 4], 5],
    ["self.map(i, i).size() == 2", [1, 2], 30],
  ] as const)("%s", (source, self, cost) => {
    expect(costOf(source, self)).toBe(cost);
  });
});

describe("a CEL expression that costs too much", () => {
  const all = (depth: number): string =>
    depth === 0 ? "true" : `[0,1,2,3,4,5,6,7,8,9].all(x${depth}, ${all(depth - 1)})`;
  const programOf = (source: string): Program => {
    const program = compile(source);
    if (typeof program === "string") throw new Error(program);
    return program;
  };

  it.each([
    all(8),
    `${all(8)} || true`,
    `self.exists(x, ${all(8)})`,
    "cel.bind(a, [1,1,1,1,1,1,1,1], cel.bind(b, a+a+a+a+a+a+a+a+a+a, cel.bind(c, b+b+b+b+b+b+b+b+b+b, cel.bind(d, c+c+c+c+c+c+c+c+c+c, cel.bind(e, d+d+d+d+d+d+d+d+d+d, cel.bind(f, e+e+e+e+e+e+e+e+e+e, cel.bind(g, f+f+f+f+f+f+f+f+f+f, g.size() > 0)))))))",
  ])("is stopped: %s", (source) => {
    const budget = { left: 0 };
    const outcome = run(programOf(source), { self: [1n, 2n, 3n] }, budget);
    expect(outcome).toEqual({
      problem: "operation cancelled: actual cost limit exceeded",
      isTooCostly: true,
    });
    expect(-budget.left).toBeLessThan(2 * EXPRESSION_LIMIT);
  });

  it("does not influence the cost of the next one", () => {
    run(programOf(all(8)), { self: 1n }, { left: 0 });
    expect(costOf("self == 1", 1)).toBe(2);
  });
});
