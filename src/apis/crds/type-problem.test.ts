import { describe, expect, it } from "vitest";
import { typeProblem } from "./type-problem.ts";

const pool = (spec: unknown, metadata: unknown = { name: "p" }) => ({
  apiVersion: "karpenter.sh/v1",
  kind: "NodePool",
  metadata,
  spec,
});
const nodeClassRef = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "c" };
const template = (claim: object) => ({ template: { spec: { nodeClassRef, ...claim } } });

describe("the field types of an object", () => {
  it.each([
    [pool(template({ requirements: [] }))],
    [pool(template({ requirements: null, taints: null }))],
    [pool({ ...template({}), disruption: null, limits: { cpu: 4, memory: "8Gi" } })],
    [pool(template({}), { name: "p", annotations: null, labels: { a: "b" } })],
    [{ apiVersion: "v1", kind: "Pod", spec: 5 }],
  ])("are right: %j", (object) => {
    expect(typeProblem(object)).toBeUndefined();
  });

  it.each([
    [pool(5), "spec: wanted an object, got 5"],
    [pool({}), "spec.template: is missing"],
    [pool({ template: { spec: null } }), "spec.template.spec: is missing"],
    [pool({ template: [] }), "spec.template: wanted an object, got a list"],
    [pool(template({ requirements: {} })), "spec.template.spec.requirements: wanted a list"],
    [pool(template({ requirements: [null] })), "requirements[0]: wanted an object, got null"],
    [pool(template({ requirements: [{ key: "a" }] })), "requirements[0].operator: is missing"],
    [pool({ ...template({}), limits: { cpu: [] } }), "spec.limits.cpu: wanted a text or a number"],
    [{ ...pool(template({})), metadata: undefined }, "metadata: wanted an object, got nothing"],
    [pool(template({}), null), "metadata: wanted an object, got null"],
    [pool(template({}), { name: 5 }), "metadata.name: wanted a text, got 5"],
    [pool(template({}), { annotations: { a: 1 } }), "metadata.annotations.a: wanted a text, got 1"],
  ])("are wrong: %j", (object, problem) => {
    expect(typeProblem(object)).toContain(problem);
  });

  it("ignore fields named like those of a prototype", () => {
    const odd = JSON.parse('{"__proto__": 5, "constructor": 5, "toString": 5}') as object;
    expect(typeProblem(pool({ ...template({}), ...odd }))).toBeUndefined();
  });
});
