import { describe, expect, it } from "vitest";
import { createRegistry } from "../registry/create-registry.ts";

const registry = createRegistry({ kubernetesVersion: "1.34" });
const deployments = registry.find("apps", "v1", "deployments")!;
const read = (fields: object) => deployments.prune({ metadata: { name: "web" }, ...fields });

describe("decoding a body as a built-in kind", () => {
  it("distinguishes an empty list of scaling policies from a missing one", () => {
    const autoscalers = registry.find("autoscaling", "v2", "horizontalpodautoscalers")!;
    const refused = (scaleUp: object) => {
      const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
      const spec = { maxReplicas: 3, scaleTargetRef, behavior: { scaleUp } };
      const { value } = autoscalers.prune({
        metadata: { name: "web", namespace: "a" },
        spec,
      } as never);
      const errors = autoscalers.validate(autoscalers.applyDefaults(value), undefined);
      return errors.map(({ field }) => field);
    };
    expect(refused({})).toEqual([]);
    expect(refused({ policies: [] })).toEqual(["spec.behavior.scaleUp.policies"]);
  });

  it("refuses an annotation that is not a text, with Go's error (S3-87)", () => {
    const metadata = { name: "x", annotations: { "karpenter.sh/do-not-disrupt": true } };
    expect(read({ metadata }).malformed).toBe(
      "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.annotations of type string",
    );
  });

  it.each([
    [{ replicas: "2" }, "string into Go struct field DeploymentSpec.spec.replicas of type int32"],
    [
      { replicas: 1.5 },
      "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
    ],
    [
      { template: { spec: { containers: {} } } },
      "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
    ],
    [
      { template: [] },
      "array into Go struct field DeploymentSpec.spec.template of type v1.PodTemplateSpec",
    ],
    // Converting this value to text would throw, because its `toString` is not a function.
    [
      { replicas: [{ toString: 1 }] },
      "array into Go struct field DeploymentSpec.spec.replicas of type int32",
    ],
    [
      { template: { spec: { containers: [{ name: 5 }] } } },
      "number into Go struct field Container.spec.template.spec.containers.name of type string",
    ],
  ])("names struct, field and type in the error for %j", (spec, text) => {
    expect(read({ spec }).malformed).toContain(`json: cannot unmarshal ${text}`);
  });

  it("refuses invalid quantities", () => {
    const containers = [{ name: "a", resources: { requests: { cpu: "two" } } }];
    expect(read({ spec: { template: { spec: { containers } } } }).malformed).toContain(
      "quantities must match the regular expression",
    );
  });

  it("drops unknown fields, nulls and empty maps, and reports the unknown fields by path", () => {
    const template = { spec: { containers: [{ name: "a", imagee: "b" }], nodeSelector: {} } };
    const { value, unknown } = read({
      metadata: { name: "x", labels: null },
      spec: { template, replica: 1 },
    });
    expect(unknown).toEqual(["spec.template.spec.containers[0].imagee", "spec.replica"]);
    expect(value).toEqual({
      metadata: { name: "x" },
      spec: { template: { spec: { containers: [{ name: "a" }] } } },
    });
  });

  it("keeps empty structs, because they have a meaning", () => {
    const volumes = [{ name: "tmp", emptyDir: {} }];
    const { value } = read({ spec: { template: { spec: { volumes } } } });
    expect(value).toMatchObject({ spec: { template: { spec: { volumes } } } });
  });

  it("returns maps and lists that need no change as they are, so that a write shares them with the stored object", () => {
    const kept = { name: "a", image: "x", resources: { requests: { cpu: "1" } } };
    const changed = { name: "b", image: "x", resources: { requests: { cpu: "1000m" } } };
    const labels = { app: "web" };
    const template = { metadata: { labels }, spec: { containers: [kept, changed] } };
    const { spec } = read({ spec: { template } }).value as unknown as {
      spec: { template: typeof template };
    };
    expect(spec.template.metadata).toBe(template.metadata);
    expect(spec.template.spec.containers[0]).toBe(kept);
    expect(spec.template.spec.containers[1]?.resources.requests.cpu).toBe("1");
    expect(changed.resources.requests.cpu).toBe("1000m");
  });
});
