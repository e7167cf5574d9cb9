import { describe, expect, it } from "vitest";
import { customResourceDefinitions } from "../crds/all.ts";
import type { JsonSchema } from "../crds/schema.ts";
import type { KubeObject } from "../meta.ts";
import { fieldsNotActedOn, NOT_ACTED_ON } from "./not-acted-on.ts";

function paths(kind: string, spec: object): readonly string[] {
  const object = { kind, metadata: { name: "a" }, spec } as unknown as KubeObject;
  return fieldsNotActedOn(object).map((field) => field.path);
}

describe("fields that are not acted on", () => {
  it("are found where an object uses them, in lists as well", () => {
    expect(paths("NodePool", { replicas: 0 })).toEqual(["spec.replicas"]);
    expect(paths("NodePool", { disruption: { consolidationPolicy: "Balanced" } })).toHaveLength(0);
    expect(paths("NodePool", { disruption: { consolidationPolicy: "WhenEmpty" } })).toEqual([]);
    expect(paths("EC2NodeClass", { role: "r" })).toEqual([]);
  });

  it("are all fields of the schemas", () => {
    for (const { kind, path } of NOT_ACTED_ON) {
      const crd = customResourceDefinitions().find((one) => one.spec.names["kind"] === kind);
      let schema: JsonSchema | undefined = crd?.spec.versions[0]?.schema.openAPIV3Schema;
      for (const step of path.split(".")) {
        schema = schema?.properties?.[step.replace("[]", "")];
        if (step.endsWith("[]")) schema = schema?.items;
      }
      expect(schema, `${kind} ${path}`).toBeDefined();
    }
  });
});
