import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import { NodeLabels } from "./node-labels.ts";
import { normalizedKey, Requirements } from "./requirements.ts";

const KEYS = ["kubernetes.io/arch", "beta.kubernetes.io/arch", "size", "kubernetes.io/hostname"];
const value = fc.constantFrom("1", "2", "a");
const wanted: fc.Arbitrary<RequirementSpec> = fc.record({
  key: fc.constantFrom(...KEYS),
  operator: fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
  values: fc.array(value, { minLength: 1, maxLength: 2 }),
}) as fc.Arbitrary<RequirementSpec>;

describe("the labels of a node", () => {
  it("satisfy requirements like requirements made from these labels, also deprecated keys", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...KEYS), value),
        fc.array(wanted, { maxLength: 3 }),
        (labels, specs) => {
          const hostname = labels["kubernetes.io/hostname"] ?? "1";
          const node = new NodeLabels(labels, hostname);
          const all = Requirements.fromLabels({ ...labels, "kubernetes.io/hostname": hostname });
          const requirements = Requirements.fromSpecs(specs);
          expect(node.accept(requirements)).toBe(all.accepts(requirements, new Set()));
          for (const key of KEYS.filter((one) => normalizedKey(one) === one)) {
            expect(node.requirement(key)).toEqual(all.has(key) ? all.get(key) : undefined);
            expect(node.value(key)).toBe(all.has(key) ? all.get(key).values[0] : undefined);
          }
        },
      ),
      { seed: 7 },
    );
  });
});
