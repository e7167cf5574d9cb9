import { describe, expect, it } from "vitest";
import { customResourceDefinitions } from "../crds/all.ts";
import type { JsonSchema } from "../crds/schema.ts";
import type { KubeObject } from "../meta.ts";
import { type FieldNotActedOn, fieldsNotActedOn, NOT_ACTED_ON } from "./not-acted-on.ts";

/** A list for the tests, so that they do not depend on the present entries of NOT_ACTED_ON. */
const TABLE: readonly FieldNotActedOn[] = [
  { kind: "NodePool", path: "spec.replicas", note: "any value" },
  { kind: "NodePool", path: "spec.disruption.policy", value: "Balanced", note: "this value" },
  { kind: "NodePool", path: "spec.budgets[].reasons[]", value: "Drifted", note: "in lists" },
  { kind: "EC2NodeClass", path: "spec.role", note: "of another kind" },
];

function pathsIn(kind: string, spec: unknown, table?: readonly FieldNotActedOn[]) {
  const object = { kind, metadata: { name: "a" }, spec } as unknown as KubeObject;
  return fieldsNotActedOn(object, table).map((field) => field.path);
}

function schemaAt(kind: string, path: string): JsonSchema | undefined {
  const crd = customResourceDefinitions().find((one) => one.spec.names["kind"] === kind);
  let schema: JsonSchema | undefined = crd?.spec.versions[0]?.schema.openAPIV3Schema;
  for (const step of path.split(".")) {
    schema = schema?.properties?.[step.replace("[]", "")];
    if (step.endsWith("[]")) schema = schema?.items;
  }
  return schema;
}

describe("fields that are not acted on", () => {
  it.each([
    ["NodePool", { replicas: 0 }, ["spec.replicas"]],
    ["NodePool", {}, []],
    ["NodePool", undefined, []],
    ["EC2NodeClass", { replicas: 0 }, []],
    ["EC2NodeClass", { role: "r" }, ["spec.role"]],
    ["NodePool", { disruption: { policy: "Balanced" } }, ["spec.disruption.policy"]],
    ["NodePool", { disruption: { policy: "WhenEmpty" } }, []],
    ["NodePool", { disruption: "Balanced" }, []],
    ["NodePool", { budgets: [{ reasons: ["Empty"] }] }, []],
    [
      "NodePool",
      { budgets: [{}, { reasons: ["Empty", "Drifted"] }] },
      ["spec.budgets[].reasons[]"],
    ],
    ["NodePool", { budgets: { reasons: ["Drifted"] } }, []],
  ])("are found in a %s that uses them: %j", (kind, spec, paths) => {
    expect(pathsIn(kind, spec, TABLE)).toEqual(paths);
  });

  it("are found for each row of the table", () => {
    for (const { kind, path, value } of NOT_ACTED_ON) {
      const steps = path.split(".").slice(1);
      const used = steps.reduceRight<unknown>(
        (inner, step) => ({ [step.replace("[]", "")]: step.endsWith("[]") ? [inner] : inner }),
        value ?? 0,
      );
      expect(pathsIn(kind, used)).toContain(path);
    }
    expect(pathsIn("NodePool", { replicas: 0 })).toEqual(["spec.replicas"]);
  });

  it("are all fields of the CRD schemas", () => {
    for (const { kind, path } of [...NOT_ACTED_ON, { kind: "NodePool", path: "spec.replicas" }])
      expect(schemaAt(kind, path), `${kind} ${path}`).toBeDefined();
    expect(schemaAt("NodePool", "spec.disruption.budgets[].reasons[]")).toBeDefined();
    expect(schemaAt("NodePool", "spec.noSuch")).toBeUndefined();
  });
});
