import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import {
  allows,
  allowsAbsence,
  anyValue,
  forbidsAll,
  intersect,
  intersects,
  type Requirement,
  toRequirement,
  toSpecs,
} from "./requirement.ts";
import { Requirements } from "./requirements.ts";

const VALUES = ["0", "1", "2", "3", "4", "5", "a", "b"];
const KEYS = ["k", "l", "m"];

const value = fc.constantFrom(...VALUES);
const bound = fc.integer({ min: 0, max: 6 }).map(String);

function spec(key: fc.Arbitrary<string> = fc.constant("k")): fc.Arbitrary<RequirementSpec> {
  const minValues = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });
  const shape = fc.oneof(
    fc.record({
      operator: fc.constantFrom("In" as const, "NotIn" as const),
      values: fc.array(value, { minLength: 1, maxLength: 5 }),
    }),
    fc.record({
      operator: fc.constantFrom("Exists" as const, "DoesNotExist" as const),
      values: fc.constant([] as string[]),
    }),
    fc.record({
      operator: fc.constantFrom("Gt" as const, "Lt" as const, "Gte" as const, "Lte" as const),
      values: bound.map((one) => [one]),
    }),
  );
  return fc.tuple(key, shape, minValues).map(([name, rest, least]) => ({
    key: name,
    ...rest,
    ...(least === undefined ? {} : { minValues: least }),
  }));
}

const one = spec().map(toRequirement);
/** Requirements as intersections produce them: bounds with exclusions, two bounds, or no allowed value. */
const requirement = fc
  .array(one, { minLength: 1, maxLength: 3 })
  .map((parts) => parts.reduce(intersect));
const requirements = fc
  .array(spec(fc.constantFrom(...KEYS)), { maxLength: 4 })
  .map((specs) => Requirements.fromSpecs(specs));

/** Which values the requirement allows, among all values of this test and some other integers. */
function allowed(of: Requirement): string[] {
  return [...VALUES, "6", "7", "-1", "zz"].filter((candidate) => allows(of, candidate));
}

/** The seed is fixed, so that a failure can be repeated. */
const RUNS = { seed: 1, numRuns: 300 };

describe("the algebra of requirements", () => {
  it("allow exactly the values that the definition of the operator allows", () => {
    fc.assert(
      fc.property(spec(), value, (written, candidate) => {
        const { operator, values = [] } = written;
        const [listed, number] = [values.includes(candidate), Number(candidate)];
        const limit = Number(values[0]);
        const expected = {
          In: listed,
          NotIn: !listed,
          Exists: true,
          DoesNotExist: false,
          Gt: number > limit,
          Lt: number < limit,
          Gte: number >= limit,
          Lte: number <= limit,
        }[operator];
        expect(allows(toRequirement(written), candidate)).toBe(expected);
      }),
      RUNS,
    );
  });

  it("intersect to exactly the values that both requirements allow", () => {
    fc.assert(
      fc.property(requirement, requirement, (a, b) => {
        const both = allowed(a).filter((candidate) => allows(b, candidate));
        expect(allowed(intersect(a, b))).toEqual(both);
      }),
      RUNS,
    );
  });

  it("intersect in any order and grouping, and idempotently", () => {
    fc.assert(
      fc.property(requirement, requirement, requirement, (a, b, c) => {
        expect(intersect(a, b)).toEqual(intersect(b, a));
        expect(intersect(a, a)).toEqual(a);
        expect(allowed(intersect(intersect(a, b), c))).toEqual(
          allowed(intersect(a, intersect(b, c))),
        );
      }),
      RUNS,
    );
  });

  it("report an intersection exactly if a value is left", () => {
    fc.assert(
      fc.property(requirement, requirement, (a, b) => {
        expect(intersects(a, b)).toBe(intersects(b, a));
        if (allowed(intersect(a, b)).length > 0) expect(intersects(a, b)).toBe(true);
        if (forbidsAll(intersect(a, b))) expect(intersects(a, b)).toBe(false);
      }),
      RUNS,
    );
  });

  it("survive conversion to specs and back, with exclusions within bounds", () => {
    fc.assert(
      fc.property(requirement, (before) => {
        const after = toSpecs(before).map(toRequirement).reduce(intersect);
        expect(after).toEqual(before);
      }),
      RUNS,
    );
  });

  it("suggest only an allowed value, and none only if no value is allowed", () => {
    fc.assert(
      fc.property(requirement, (any) => {
        const offered = anyValue(any);
        if (offered === undefined) expect(allowed(any).filter((one) => one !== "-1")).toEqual([]);
        else expect(allows(any, offered)).toBe(true);
      }),
      RUNS,
    );
  });

  it("accept labels exactly if each label is allowed or may be absent", () => {
    const labels = fc.dictionary(fc.constantFrom(...KEYS), value);
    fc.assert(
      fc.property(labels, requirements, (own, wanted) => {
        const expected = [...wanted.all()].every((each) => {
          const has = own[each.key];
          return has === undefined ? allowsAbsence(each) : allows(each, has);
        });
        expect(Requirements.fromLabels(own).accepts(wanted, new Set())).toBe(expected);
      }),
      RUNS,
    );
  });

  it("report conflicts exactly if they do not accept", () => {
    const undefinedKeys = fc.subarray(KEYS).map((keys) => new Set(keys));
    fc.assert(
      fc.property(requirements, requirements, undefinedKeys, (own, wanted, mayBeUndefined) => {
        const reasons = own.conflicts(wanted, mayBeUndefined);
        expect(own.accepts(wanted, mayBeUndefined)).toBe(reasons.length === 0);
      }),
      RUNS,
    );
  });

  it("give equal sets the same id, however they were built", () => {
    fc.assert(
      fc.property(requirements, requirements, (a, b) => {
        expect(a.and(b).id).toBe(b.and(a).id);
        expect(Requirements.fromSpecs(a.specs()).id).toBe(a.id);
      }),
      RUNS,
    );
  });
});
