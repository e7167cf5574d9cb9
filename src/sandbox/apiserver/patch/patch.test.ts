import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";
import { applyStrategicPatch } from "./strategic.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
type Answer = KubeResponse & { readonly body?: any };

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";

function start() {
  const clock = new VirtualClock();
  const server = bareApiServer({
    clock,
  });
  const send = (
    method: "GET" | "POST" | "PATCH",
    path: string,
    body?: unknown,
    type = "application/json",
    agent = "tester",
  ) =>
    server.handle(
      { method, path, body, headers: { "content-type": type, "user-agent": `${agent}/1` } },
      { name: agent, groups: ["system:masters"] },
    ) as Promise<Answer>;
  const apply = (manager: string, body: unknown, options = "") =>
    send(
      "PATCH",
      `${DEPLOYMENTS}/web?fieldManager=${manager}${options}`,
      body,
      "application/apply-patch+yaml",
    );
  return { clock, send, apply };
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
function deployment(spec: Record<string, any> = {}, labels?: Record<string, string>) {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", ...(labels === undefined ? {} : { labels }) },
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "main", image: "v1" }] },
      },
      ...spec,
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
function owners(body: any): Record<string, any> {
  return Object.fromEntries(
    // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
    body.metadata.managedFields.map((entry: any) => [
      `${entry.manager} ${entry.operation}${entry.subresource ? ` ${entry.subresource}` : ""}`,
      entry.fieldsV1,
    ]),
  );
}

describe("a strategic merge patch", () => {
  const item = { type: "object", properties: { name: { type: "string" } } } as const;
  const schema = {
    type: "object",
    properties: {
      list: {
        type: "array",
        items: item,
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
      },
      words: { type: "array", items: { type: "string" }, "x-kubernetes-patch-strategy": "merge" },
      plain: { type: "array", items: { type: "string" } },
    },
  } as const;
  const target = {
    list: [
      { name: "a", x: 1 },
      { name: "b", x: 2 },
    ],
    words: ["p", "q"],
    plain: ["1", "2"],
  };
  const cases: readonly [string, unknown, unknown][] = [
    [
      "merges items of a list by key",
      { list: [{ name: "b", y: 3 }] },
      {
        list: [
          { name: "a", x: 1 },
          { name: "b", x: 2, y: 3 },
        ],
      },
    ],
    [
      "deletes an item of a list",
      { list: [{ name: "a", $patch: "delete" }] },
      { list: [{ name: "b", x: 2 }] },
    ],
    [
      "replaces a list if asked",
      { list: [{ $patch: "replace" }, { name: "c" }] },
      { list: [{ name: "c" }] },
    ],
    [
      "joins lists of texts with the merge strategy",
      { words: ["r", "p"] },
      { words: ["p", "q", "r"] },
    ],
    [
      "deletes texts from such a list",
      { "$deleteFromPrimitiveList/words": ["p"] },
      { words: ["q"] },
    ],
    ["replaces lists without a merge strategy", { plain: ["9"] }, { plain: ["9"] }],
    [
      "keeps only the keys that it names",
      { $retainKeys: ["plain"], plain: ["9"] },
      { list: undefined, words: undefined, plain: ["9"] },
    ],
    [
      "orders the items of a list",
      { "$setElementOrder/list": [{ name: "b" }, { name: "a" }], list: [{ name: "a", x: 5 }] },
      {
        list: [
          { name: "b", x: 2 },
          { name: "a", x: 5 },
        ],
      },
    ],
    ["removes a field with null", { plain: null }, { plain: undefined }],
  ];
  it.each(cases)("%s", (_title, patch, expected) => {
    const result = applyStrategicPatch(target, patch, schema) as Record<string, unknown>;
    for (const [key, value] of Object.entries(expected as object)) {
      expect(result[key]).toEqual(value);
    }
  });
});

describe("a JSON patch", () => {
  it.each([
    ["something that is no operation", [7], 400, "cannot unmarshal number into Go value of type"],
    ["a list for an operation", [[]], 400, "cannot unmarshal array into Go value of type"],
    ["nothing for an operation", [null], 422, "error in our request"],
  ])("with %s is refused", async (_, body, status, words) => {
    const { send } = start();
    await send("POST", DEPLOYMENTS, deployment());
    const type = "application/json-patch+json";
    const refused = await send("PATCH", `${DEPLOYMENTS}/web`, body, type);
    expect(refused).toMatchObject({ status, body: { message: expect.stringContaining(words) } });
  });
});

describe("server-side apply", () => {
  it("creates an object, and a second equal apply changes nothing", async () => {
    const { apply } = start();
    const first = await apply("ci", deployment());
    expect(first.status).toBe(201);
    const fields = owners(first.body)["ci Apply"];
    const containers = fields["f:spec"]["f:template"]["f:spec"]["f:containers"];
    expect(containers).toEqual({ 'k:{"name":"main"}': { ".": {}, "f:image": {}, "f:name": {} } });
    const again = await apply("ci", deployment());
    expect(again.status).toBe(200);
    expect(again.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  });

  it("names the owner of a field in a conflict, and takes the field if forced", async () => {
    const { apply, send } = start();
    await apply("ci", deployment({ replicas: 2 }));
    const clash = await apply("ops", deployment({ replicas: 5 }));
    expect(clash.body).toMatchObject({
      code: 409,
      reason: "Conflict",
      message: 'Apply failed with 1 conflict: conflict with "ci": .spec.replicas',
      details: {
        causes: [
          {
            reason: "FieldManagerConflict",
            message: 'conflict with "ci"',
            field: ".spec.replicas",
          },
        ],
      },
    });
    const forced = await apply("ops", deployment({ replicas: 5 }), "&force=true");
    expect(forced.body.spec.replicas).toBe(5);
    expect(owners(forced.body)["ci Apply"]["f:spec"]["f:replicas"]).toBeUndefined();
    await send(
      "PATCH",
      `${DEPLOYMENTS}/web`,
      { spec: { replicas: 7 } },
      "application/merge-patch+json",
      "hand",
    );
    const late = await apply("ops", deployment({ replicas: 5 }));
    expect(late.body.message).toMatch(/conflict with "hand" using apps\/v1: \.spec\.replicas/);
  });

  it("removes a field that the applier no longer sends, unless another manager owns it", async () => {
    const { apply } = start();
    await apply("ci", deployment({ paused: true }, { mine: "1", ours: "1" }));
    await apply("ops", { ...deployment(), metadata: { name: "web", labels: { ours: "1" } } });
    const containers = [
      { name: "main", image: "v1" },
      { name: "side", image: "v1" },
    ];
    const template = { ...deployment().spec.template, spec: { containers } };
    const grown = await apply("ci", deployment({ template }, { ours: "1" }));
    expect(grown.body.metadata.labels).toEqual({ ours: "1" });
    expect(grown.body.spec.paused).toBeUndefined();
    expect(grown.body.spec.template.spec.containers).toHaveLength(2);
    const shrunk = await apply("ci", deployment());
    expect(shrunk.body.metadata.labels).toEqual({ ours: "1" });
    // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
    expect(shrunk.body.spec.template.spec.containers.map((one: any) => one.name)).toEqual(["main"]);
  });

  it("keeps the annotation last-applied-configuration of kubectl until it is too long", async () => {
    const { send, apply } = start();
    const note = "kubectl.kubernetes.io/last-applied-configuration";
    const noted = deployment({ replicas: 1 });
    const annotations = { [note]: JSON.stringify(noted), kept: "yes" };
    await send("POST", DEPLOYMENTS, { ...noted, metadata: { name: "web", annotations } });
    const short = await apply("kubectl", deployment({ replicas: 2 }));
    expect(JSON.parse(short.body.metadata.annotations[note]).spec.replicas).toBe(2);
    const env = [{ name: "LONG", value: "x".repeat(262_144) }];
    const containers = [{ name: "main", image: "v1", env }];
    const template = { metadata: { labels: { app: "web" } }, spec: { containers } };
    const long = await apply("kubectl", deployment({ replicas: 3, template }));
    expect(long).toMatchObject({ status: 200, body: { spec: { replicas: 3 } } });
    expect(long.body.metadata.annotations).toEqual({ kept: "yes" });
  });

  it("needs no metadata in the body, because the URL has the name", async () => {
    const { send, apply } = start();
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}" };
    await send("POST", DEPLOYMENTS, { ...deployment(), metadata: { name: "web", annotations } });
    for (const metadata of [undefined, null, { annotations: null }]) {
      const applied = await apply("kubectl", { ...deployment(), metadata });
      expect(applied).toMatchObject({ status: 200, body: { metadata: { name: "web" } } });
    }
  });

  it("requires a fieldManager", async () => {
    const { send } = start();
    const answer = await send(
      "PATCH",
      `${DEPLOYMENTS}/web`,
      deployment(),
      "application/apply-patch+yaml",
    );
    expect(answer.body).toMatchObject({ code: 422, reason: "Invalid" });
    expect(answer.body.message).toContain(
      "fieldManager: Required value: is required for apply patch",
    );
  });
});

describe("managedFields of ordinary writes", () => {
  it("record the manager with its name, operation and subresource", async () => {
    const { send } = start();
    await send("POST", DEPLOYMENTS, deployment({ replicas: 1 }), undefined, "maker");
    const status = { status: { observedGeneration: 1 } };
    const merge = "application/merge-patch+json";
    await send("PATCH", `${DEPLOYMENTS}/web/status`, status, merge, "controller");
    const scaled = await send(
      "PATCH",
      `${DEPLOYMENTS}/web`,
      { spec: { replicas: 2 } },
      merge,
      "hand",
    );
    const all = owners(scaled.body);
    expect(all["controller Update status"]).toEqual({ "f:status": { "f:observedGeneration": {} } });
    expect(all["hand Update"]).toEqual({ "f:spec": { "f:replicas": {} } });
    expect(all["maker Update"]["f:spec"]["f:replicas"]).toBeUndefined();
  });
});

describe("managedFields that a client rewrites", () => {
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
  const owners = (body: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
    body.metadata.managedFields.map((entry: any) => `${entry.manager} ${entry.operation}`);
  const JSON_PATCH = "application/json-patch+json";
  const path = "/metadata/managedFields";

  it("are accepted, as kubectl moves client-side ownership to server-side apply", async () => {
    const { send, apply } = start();
    await send("POST", DEPLOYMENTS, deployment(), undefined, "kubectl-client-side-apply");
    const { body } = await apply("kubectl", deployment());
    expect(owners(body)).toEqual(["kubectl Apply", "kubectl-client-side-apply Update"]);
    const value = [body.metadata.managedFields[0]];
    const moved = await send(
      "PATCH",
      `${DEPLOYMENTS}/web`,
      [{ op: "replace", path, value }],
      JSON_PATCH,
    );
    expect(owners(moved.body)).toEqual(["kubectl Apply"]);
    expect(moved.body.metadata.generation).toBe(1);
  });

  it("are removed by one empty entry, and invalid entries are ignored", async () => {
    const { send } = start();
    await send("POST", DEPLOYMENTS, deployment());
    const odd = [{ op: "replace", path, value: [{ manager: "x", fieldsV1: {} }] }];
    const kept = await send("PATCH", `${DEPLOYMENTS}/web`, odd, JSON_PATCH);
    expect(owners(kept.body)).toEqual(["tester Update"]);
    const none = [{ op: "replace", path, value: [{}] }];
    const reset = await send("PATCH", `${DEPLOYMENTS}/web`, none, JSON_PATCH);
    expect(reset.body.metadata.managedFields).toBeUndefined();
  });
});

describe("a patch with an invalid result", () => {
  const STRATEGIC = "application/strategic-merge-patch+json";
  const MERGE = "application/merge-patch+json";

  it.each([
    [
      STRATEGIC,
      { spec: { replicaz: 2 } },
      ' "" is invalid: patch: Invalid value: "map[spec:map[replicaz:2]]": strict decoding error: unknown field "spec.replicaz"',
    ],
    [
      STRATEGIC,
      { spec: { replicas: "two" } },
      ' "" is invalid: patch: Invalid value: "map[spec:map[replicas:two]]": unrecognized type: int32',
    ],
    [
      STRATEGIC,
      { metadata: { annotations: "x" } },
      ' "" is invalid: patch: Invalid value: "map[metadata:map[annotations:x]]": cannot restore map from string',
    ],
  ])(
    "is refused, and the error shows the patch as Go prints it (%s, %j)",
    async (type, body, message) => {
      const { send } = start();
      await send("POST", DEPLOYMENTS, deployment());
      const path = `${DEPLOYMENTS}/web?fieldValidation=Strict`;
      expect((await send("PATCH", path, body, type)).body).toMatchObject({ code: 422, message });
    },
  );

  it("that is a merge patch: the error shows the patched object", async () => {
    const { send } = start();
    await send("POST", DEPLOYMENTS, deployment());
    const path = `${DEPLOYMENTS}/web?fieldValidation=Strict`;
    const { body } = await send("PATCH", path, { spec: { replicas: "two" } }, MERGE);
    expect(body).toMatchObject({ code: 422, reason: "Invalid" });
    expect(body.message).toMatch(/^ "" is invalid: patch: Invalid value: "\{\\"apiVersion\\"/);
    expect(body.message).toMatch(/json: cannot unmarshal string into .* of type int32$/);
  });

  it("that is an applied configuration: the error names the path in the typed object", async () => {
    const { apply } = start();
    const template = {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "main", imagee: "v1" }] },
    };
    const odd = await apply("one", deployment({ replicaz: 2, template }));
    expect(odd.body).toMatchObject({
      code: 500,
      message:
        "failed to create typed patch object (/web; apps/v1, Kind=Deployment): errors:\n" +
        '  .spec.template.spec.containers[name="main"].imagee: field not declared in schema\n' +
        "  .spec.replicaz: field not declared in schema",
    });
    const wrong = await apply("one", deployment({ replicas: "two" }));
    expect(wrong.body.message).toMatch(
      /: \.spec\.replicas: expected numeric \(int or float\), got string$/,
    );
  });
});
