/** ValidatingAdmissionPolicies and RuntimeClasses, as far as the sandbox enforces them. */
import { describe, expect, it } from "vitest";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
type Loose = any;

const POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const PODS = "/api/v1/namespaces/default/pods";

function start() {
  const server = bareApiServer({});
  return (method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown) =>
    server.handle(
      { method, path, body },
      { name: "tester", groups: ["system:masters"] },
    ) as Promise<KubeResponse & { readonly body?: Loose }>;
}

describe("a ValidatingAdmissionPolicy", () => {
  const rule = {
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["CREATE"],
    resources: ["configmaps"],
  };
  const policy = {
    metadata: { name: "short" },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: "not-exempt", expression: "object.metadata.name != 'exempt'" }],
      variables: [{ name: "count", expression: "has(object.data) ? object.data.size() : 0" }],
      validations: [
        {
          expression: "variables.count < 2",
          messageExpression: "'has ' + string(variables.count) + ' keys'",
        },
      ],
    },
  };
  const two = (name: string) => ({ metadata: { name }, data: { a: "1", b: "2" } });

  it("refuses a write if a binding denies it, with the message of its messageExpression", async () => {
    const send = start();
    expect((await send("POST", POLICIES, policy)).status).toBe(201);
    expect((await send("POST", CONFIG_MAPS, two("before"))).status).toBe(201);
    const binding = {
      metadata: { name: "short" },
      spec: { policyName: "short", validationActions: ["Deny"] },
    };
    expect((await send("POST", BINDINGS, binding)).status).toBe(201);
    const refused = await send("POST", CONFIG_MAPS, two("after"));
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain("has 2 keys");
    expect((await send("POST", CONFIG_MAPS, two("exempt"))).status).toBe(201);
    expect((await send("POST", CONFIG_MAPS, { metadata: { name: "small" } })).status).toBe(201);
    await send("DELETE", `${BINDINGS}/short`);
    expect((await send("POST", CONFIG_MAPS, two("after"))).status).toBe(201);
  });

  it("only warns if its binding says so", async () => {
    const send = start();
    await send("POST", POLICIES, policy);
    const spec = { policyName: "short", validationActions: ["Warn"] };
    await send("POST", BINDINGS, { metadata: { name: "short" }, spec });
    const made = await send("POST", CONFIG_MAPS, two("a"));
    expect(made.status).toBe(201);
    expect(made.headers["warning"]).toContain("has 2 keys");
  });
});

describe("a RuntimeClass", () => {
  const runtimeClass = {
    metadata: { name: "kata" },
    handler: "kata",
    overhead: { podFixed: { cpu: "250m", memory: "120Mi" } },
    scheduling: {
      nodeSelector: { sandboxed: "true" },
      tolerations: [{ key: "sandboxed", operator: "Exists", effect: "NoSchedule" }],
    },
  };
  const pod = (name: string, more: object = {}) => ({
    metadata: { name },
    spec: { runtimeClassName: "kata", containers: [{ name: "a", image: "a" }], ...more },
  });

  it("gives its pods overhead, node selector and tolerations", async () => {
    const send = start();
    await send("POST", "/apis/node.k8s.io/v1/runtimeclasses", runtimeClass);
    const made = await send("POST", PODS, pod("a", { nodeSelector: { disk: "fast" } }));
    expect(made.status).toBe(201);
    expect(made.body.spec.overhead).toEqual(runtimeClass.overhead.podFixed);
    expect(made.body.spec.nodeSelector).toEqual({ disk: "fast", sandboxed: "true" });
    expect(made.body.spec.tolerations).toContainEqual(runtimeClass.scheduling.tolerations[0]);
  });

  it("must exist, and must not contradict the pod", async () => {
    const send = start();
    const unknown = await send("POST", PODS, pod("a"));
    expect(unknown.status).toBe(403);
    expect(unknown.body.message).toContain("RuntimeClass");
    await send("POST", "/apis/node.k8s.io/v1/runtimeclasses", runtimeClass);
    const against = await send("POST", PODS, pod("a", { nodeSelector: { sandboxed: "false" } }));
    expect(against.status).toBe(403);
  });
});
