import { describe, expect, it } from "vitest";
import { applySchemaDefaults } from "./defaults.ts";
import { printFieldError } from "./field-error.ts";
import { prune } from "./prune.ts";
import type { FieldError, Schema } from "./schema.ts";
import { validateSchema } from "./validate.ts";

function complaints(schema: Schema, value: unknown): string[] {
  const errors: FieldError[] = [];
  const root: Schema = { type: "object", properties: { spec: schema } };
  validateSchema(root, { spec: value }, "", errors);
  return errors.map(printFieldError);
}

describe("validation by a structural schema", () => {
  const map: Schema = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["key"],
    items: { type: "object", properties: { key: { type: "string" } } },
  };
  const one = "spec: Invalid value: 5: spec in body should be";
  it.each<[string, Schema, unknown, string]>([
    [
      "type",
      { type: "string" },
      1,
      'spec: Invalid value: "integer": spec in body must be of type string: "integer"',
    ],
    [
      "null",
      { type: "string" },
      null,
      'spec: Invalid value: "null": spec in body must be of type string: "null"',
    ],
    [
      "int-or-string",
      { "x-kubernetes-int-or-string": true },
      true,
      'spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean"',
    ],
    ["required", { type: "object", required: ["a"] }, {}, "spec.a: Required value"],
    [
      "enum",
      { type: "string", enum: ["a", "b"] },
      "x",
      'spec: Unsupported value: "x": supported values: "a", "b"',
    ],
    [
      "pattern",
      { type: "string", pattern: "^a$" },
      "b",
      `spec: Invalid value: "b": spec in body should match '^a$'`,
    ],
    ["minimum", { type: "integer", minimum: 6 }, 5, `${one} greater than or equal to 6`],
    ["maximum", { type: "integer", maximum: 4 }, 5, `${one} less than or equal to 4`],
    [
      "maxLength",
      { type: "string", maxLength: 2 },
      "abc",
      "spec: Too long: may not be more than 2 bytes",
    ],
    [
      "maxItems",
      { type: "array", maxItems: 1 },
      [1, 2],
      "spec: Too many: 2: must have at most 1 item",
    ],
    [
      "minItems",
      { type: "array", minItems: 1 },
      [],
      "spec: Invalid value: 0: spec in body should have at least 1 items",
    ],
    ["map keys", map, [{ key: "a" }, { key: "a" }], 'spec[1]: Duplicate value: {"key":"a"}'],
    [
      "set",
      { type: "array", "x-kubernetes-list-type": "set" },
      ["a", "a"],
      'spec[1]: Duplicate value: "a"',
    ],
    [
      "oneOf",
      { oneOf: [{ type: "string" }, { type: "boolean" }] },
      1,
      '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid',
    ],
  ])("reports %s as kube-apiserver does", (_what, schema, value, text) => {
    expect(complaints(schema, value)).toEqual([text]);
  });

  it("accepts null, whole numbers and either form of int-or-string where they are allowed", () => {
    expect(complaints({ type: "string", nullable: true }, null)).toEqual([]);
    expect(complaints({ type: "number" }, 3)).toEqual([]);
    expect(complaints({ "x-kubernetes-int-or-string": true, pattern: "^\\d+%?$" }, "10%")).toEqual(
      [],
    );
    expect(complaints({ "x-kubernetes-int-or-string": true }, 10)).toEqual([]);
  });
});

describe("pruning and defaults by a structural schema", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      a: { type: "object", default: {}, properties: { b: { type: "integer", default: 3 } } },
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      list: {
        type: "array",
        items: { type: "object", properties: { c: { type: "string", default: "x" } } },
      },
    },
  };

  it("drop unknown fields by path, and keep fields that are to be preserved", () => {
    const unknown: string[] = [];
    const value = prune(schema, { list: [{ d: 1 }], free: { any: 1 }, z: 1, a: null }, "", unknown);
    // The null in `a` stays, because `a` has a default: defaulting replaces the null later.
    expect(value).toEqual({ list: [{}], free: { any: 1 }, a: null });
    expect(prune(schema, { free: null }, "", unknown)).toEqual({});
    expect(unknown).toEqual(["list[0].d", "z"]);
  });

  it("fill in defaults inside defaults, in list items, and instead of null", () => {
    const input = Object.freeze({ list: Object.freeze([Object.freeze({ c: null })]) });
    expect(applySchemaDefaults(schema, input)).toEqual({ a: { b: 3 }, list: [{ c: "x" }] });
  });

  it("return the same object if nothing is missing", () => {
    const input = { a: { b: 1 }, list: [{ c: "y" }] };
    expect(applySchemaDefaults(schema, input)).toBe(input);
  });
});
