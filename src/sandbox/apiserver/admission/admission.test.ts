import { describe, expect, it } from "vitest";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";
import type { WebhookCaller } from "../resource-definition.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
type Loose = any;

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const HOOKS = "/apis/admissionregistration.k8s.io/v1";

function start(webhooks: WebhookCaller) {
  const head = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
  const server = bareApiServer({
    webhooks: async (...asked) => ({ ...head, ...((await webhooks(...asked)) as object) }),
  });
  return (method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown) =>
    server.handle(
      { method, path, body },
      { name: "tester", groups: ["system:masters"] },
    ) as Promise<KubeResponse & { readonly body?: Loose }>;
}

function webhook(failurePolicy = "Fail") {
  return {
    metadata: { name: "hook" },
    webhooks: [
      {
        name: "check.example.com",
        clientConfig: { service: { namespace: "default", name: "svc", path: "/check" } },
        rules: [
          {
            operations: ["CREATE", "DELETE"],
            apiGroups: [""],
            apiVersions: ["v1"],
            resources: ["configmaps"],
          },
        ],
        failurePolicy,
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  };
}

describe("a mutating webhook", () => {
  it("changes the object before it is stored", async () => {
    const patch = Buffer.from(
      JSON.stringify([{ op: "add", path: "/data", value: { by: "webhook" } }]),
    ).toString("base64");
    const send = start(async (_config, review) => ({
      response: {
        uid: (review as Loose).request.uid,
        allowed: true,
        patchType: "JSONPatch",
        patch,
        warnings: ["be careful"],
      },
    }));
    await send("POST", `${HOOKS}/mutatingwebhookconfigurations`, webhook());
    const made = await send("POST", CONFIG_MAPS, { metadata: { name: "a" } });
    expect(made.body.data).toEqual({ by: "webhook" });
    expect(made.headers["warning"]).toContain("be careful");
  });

  it("sees a token request as the client sent it, and validating webhooks see the changed one", async () => {
    const seen: Loose[] = [];
    const change = [{ op: "replace", path: "/spec/expirationSeconds", value: 1_200 }];
    const patch = Buffer.from(JSON.stringify(change)).toString("base64");
    const send = start(async (config, review) => {
      const { uid, object } = (review as Loose).request;
      seen.push(object);
      const changed = { patchType: "JSONPatch", patch };
      return {
        response: { uid, allowed: true, ...(config.service?.path === "/m" ? changed : {}) },
      };
    });
    const [one] = webhook().webhooks;
    const rules = [{ ...one?.rules[0], resources: ["serviceaccounts/token"] }];
    for (const [kind, path] of [
      ["mutating", "/m"],
      ["validating", "/v"],
    ]) {
      const clientConfig = { service: { namespace: "default", name: "svc", path } };
      const hook = { ...webhook(), webhooks: [{ ...one, rules, clientConfig }] };
      await send("POST", `${HOOKS}/${kind}webhookconfigurations`, hook);
    }
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await send("POST", accounts, { metadata: { name: "robot" } });
    const made = await send("POST", `${accounts}/robot/token`, { spec: { audiences: [] } });
    const spec = { audiences: ["https://kubernetes.default.svc"], expirationSeconds: 1_200 };
    expect(made).toMatchObject({ status: 201, body: { spec } });
    expect(seen).toMatchObject([
      { metadata: { namespace: "default" }, spec: { audiences: [], expirationSeconds: 3_600 } },
      { metadata: { name: "robot", namespace: "default" }, spec },
    ]);
    expect(seen[0].metadata.name).toBeUndefined();
  });
});

describe("a validating webhook", () => {
  it("refuses a write with its own message and code, on create and on delete", async () => {
    const seen: string[] = [];
    const send = start(async (config, review) => {
      const { operation, uid, userInfo } = (review as Loose).request;
      seen.push(`${operation} by ${userInfo.username} at ${config.service?.path}`);
      const allowed = operation === "CREATE";
      return { response: { uid, allowed, status: { code: 403, message: "keep it" } } };
    });
    await send("POST", `${HOOKS}/validatingwebhookconfigurations`, webhook());
    await send("POST", CONFIG_MAPS, { metadata: { name: "a" } });
    const refused = await send("DELETE", `${CONFIG_MAPS}/a`);
    expect(refused.body).toMatchObject({
      code: 403,
      message: 'admission webhook "check.example.com" denied the request: keep it',
    });
    expect(seen).toEqual(["CREATE by tester at /check", "DELETE by tester at /check"]);
    expect((await send("GET", `${CONFIG_MAPS}/a`)).status).toBe(200);
  });

  it("with a namespace selector is called for a namespace by the labels that the namespace will have", async () => {
    const seen: string[] = [];
    const send = start(async (_config, review) => {
      const { uid, operation, name } = (review as Loose).request;
      seen.push(`${operation} ${name}`);
      return { response: { uid, allowed: true } };
    });
    const [one] = webhook().webhooks;
    const rules = [{ ...one?.rules[0], operations: ["*"], resources: ["namespaces"] }];
    const selector = { namespaceSelector: { matchLabels: { team: "a" } } };
    const hook = { ...webhook(), webhooks: [{ ...one, rules, ...selector }] };
    await send("POST", `${HOOKS}/validatingwebhookconfigurations`, hook);
    await send("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
    const labels = { team: "a" };
    await send("PUT", "/api/v1/namespaces/n", { metadata: { name: "n", labels } });
    await send("POST", "/api/v1/namespaces", { metadata: { name: "m", labels } });
    expect(seen).toEqual(["UPDATE n", "CREATE m"]);
  });

  it("that cannot be reached blocks the write or not, as failurePolicy says", async () => {
    for (const [policy, status] of [
      ["Fail", 500],
      ["Ignore", 201],
    ] as const) {
      const send = start(() => Promise.reject(new Error("connection refused")));
      await send("POST", `${HOOKS}/validatingwebhookconfigurations`, webhook(policy));
      const answer = await send("POST", CONFIG_MAPS, { metadata: { name: "a" } });
      expect(answer.status).toBe(status);
      if (status === 500) {
        expect(answer.body.message).toBe(
          'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: connection refused',
        );
      }
    }
  });
});

describe("a conversion webhook", () => {
  it("serves each version with its own fields, while one version is stored", async () => {
    const send = start(async (_config, review) => {
      const { uid, desiredAPIVersion, objects } = (review as Loose).request;
      const convertedObjects = objects.map(({ spec, ...rest }: Loose) => ({
        ...rest,
        apiVersion: desiredAPIVersion,
        spec: desiredAPIVersion.endsWith("v2")
          ? { many: [spec.one] }
          : { one: spec.many[0], unknownToV1: true },
      }));
      return { response: { uid, convertedObjects, result: { status: "Success" } } };
    });
    const schema = (spec: object) => ({
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: spec } },
      },
    });
    await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Cluster",
        names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
        conversion: {
          strategy: "Webhook",
          webhook: {
            conversionReviewVersions: ["v1"],
            clientConfig: { service: { namespace: "default", name: "svc" } },
          },
        },
        versions: [
          { name: "v1", served: true, storage: false, schema: schema({ one: { type: "string" } }) },
          {
            name: "v2",
            served: true,
            storage: true,
            schema: schema({ many: { type: "array", items: { type: "string" } } }),
          },
        ],
      },
    });
    const old = "/apis/example.com/v1/widgets";
    const made = await send("POST", old, {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "w" },
      spec: { one: "x" },
    });
    expect(made.body.spec).toEqual({ one: "x" });
    const next = await send("GET", "/apis/example.com/v2/widgets/w");
    expect(next.body).toMatchObject({ apiVersion: "example.com/v2", spec: { many: ["x"] } });
    const { body } = await send("GET", old);
    expect(body.items[0].spec).toEqual({ one: "x" });
  });
});
