import { describe, expect, it } from "vitest";
import { customResourceDefinitions } from "../../apis/crds/all.ts";
import type { JsonSchema } from "../../apis/crds/schema.ts";
import { verticalPodAutoscalerDefinition } from "../../apis/crds/vertical-pod-autoscalers.ts";
import { fieldErrorText } from "./field-words.ts";
import { exampleOf } from "./pattern-examples.ts";

function patternsIn(schema: JsonSchema | undefined): readonly string[] {
  if (schema === undefined) return [];
  const parts = [schema.items, schema.additionalProperties];
  return [
    ...(schema.pattern === undefined ? [] : [schema.pattern]),
    ...[...parts, ...Object.values(schema.properties ?? {})].flatMap(patternsIn),
  ];
}

const PATTERNS = [...customResourceDefinitions(), verticalPodAutoscalerDefinition()].flatMap(
  ({ spec }) =>
    spec.versions.flatMap(({ schema }) => patternsIn(schema.openAPIV3Schema as JsonSchema)),
);

describe("the error for a value that does not match a pattern", () => {
  it("has an example that matches, for each pattern of the CRDs", () => {
    expect(PATTERNS.length).toBeGreaterThan(20);
    for (const pattern of new Set(PATTERNS)) {
      const example = exampleOf(pattern);
      expect(example, pattern).toBeDefined();
      expect(example).toMatch(new RegExp(pattern));
      const message = `Invalid value: "?": spec.a in body should match '${pattern}'`;
      const told = fieldErrorText(
        { field: "spec.a", reason: "FieldValueInvalid", message },
        { spec: { a: "?" } },
      );
      expect(told).toBe(`spec.a: ${message}; write for example ${JSON.stringify(example)}`);
    }
  });
});
