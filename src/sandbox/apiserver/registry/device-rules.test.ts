import { describe, expect, it } from "vitest";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
type Answer = KubeResponse & { readonly body?: any };

const GROUP = "/apis/resource.k8s.io/v1";
const CLAIMS = `${GROUP}/namespaces/default/resourceclaims`;
const SLICES = `${GROUP}/resourceslices`;

function start() {
  const server = bareApiServer();
  return (method: "GET" | "POST" | "PUT", path: string, body?: unknown, accept?: string) =>
    server.handle(
      {
        method,
        path,
        ...(body === undefined ? {} : { body }),
        ...(accept && { headers: { accept } }),
      },
      { name: "tester", groups: ["system:masters"] },
    ) as Promise<Answer>;
}

function claim(requests: readonly object[], more: object = {}): object {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: "gpu" },
    spec: { devices: { requests, ...more } },
  };
}

const ONE_GPU = { name: "gpu", exactly: { deviceClassName: "gpu.example.com" } };

function slice(devices: readonly object[], more: object = {}): object {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: "n1-gpus" },
    spec: {
      driver: "gpu.example.com",
      pool: { name: "n1", generation: 1, resourceSliceCount: 1 },
      nodeName: "n1",
      devices,
      ...more,
    },
  };
}

function shared(requestPolicy: object): object {
  const capacity = { slots: { value: "8", requestPolicy } };
  return { name: "a", allowMultipleAllocations: true, capacity };
}

describe("ResourceClaims", () => {
  it("request one device if they give no number", async () => {
    const send = start();
    const { status, body } = await send("POST", CLAIMS, claim([ONE_GPU]));
    expect(status).toBe(201);
    expect(body.spec.devices.requests[0].exactly).toEqual({
      deviceClassName: "gpu.example.com",
      allocationMode: "ExactCount",
      count: 1,
    });
    expect(body.status).toEqual({});
  });

  it.each<[string, readonly object[], object, string]>([
    [
      "neither way",
      [{ name: "a" }],
      {},
      "exactly one of `exactly` or `firstAvailable` is required",
    ],
    [
      "a name twice",
      [ONE_GPU, ONE_GPU],
      {},
      'spec.devices.requests[1].name: Duplicate value: "gpu"',
    ],
    [
      "no class",
      [{ name: "a", exactly: {} }],
      {},
      "spec.devices.requests[0].exactly.deviceClassName: Required value",
    ],
    [
      "a count of all",
      [{ name: "a", exactly: { deviceClassName: "x", allocationMode: "All", count: 2 } }],
      {},
      "must not be specified when allocationMode is 'All'",
    ],
    [
      "a selector that cannot be read",
      [
        {
          name: "a",
          exactly: { deviceClassName: "x", selectors: [{ cel: { expression: "a =" } }] },
        },
      ],
      {},
      "spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value",
    ],
    [
      "a constraint on nobody's request",
      [ONE_GPU],
      { constraints: [{ requests: ["other"], matchAttribute: "gpu.example.com/model" }] },
      "spec.devices.constraints[0].requests[0]: Invalid value",
    ],
    [
      "an attribute without a domain",
      [ONE_GPU],
      { constraints: [{ matchAttribute: "model" }] },
      'spec.devices.constraints[0].matchAttribute: Invalid value: "model": must include a domain',
    ],
    [
      "a request named twice in a constraint",
      [ONE_GPU],
      { constraints: [{ requests: ["gpu", "gpu"], matchAttribute: "gpu.example.com/model" }] },
      'spec.devices.constraints[0].requests[1]: Duplicate value: "gpu"',
    ],
    [
      "parameters that are too long",
      [ONE_GPU],
      {
        config: [{ opaque: { driver: "gpu.example.com", parameters: { a: "x".repeat(10_240) } } }],
      },
      "spec.devices.config[0].opaque.parameters: Too long",
    ],
  ])("with %s are refused", async (_, requests, more, text) => {
    const { status, body } = await start()("POST", CLAIMS, claim(requests, more));
    expect(status).toBe(422);
    expect(body.message).toContain(text);
  });

  it("may use admin access only in namespaces with the label for it", async () => {
    const send = start();
    const ADMIN = { name: "watch", exactly: { ...ONE_GPU.exactly, adminAccess: true } };
    const template = {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaimTemplate",
      metadata: { name: "watch" },
      spec: { spec: { devices: { requests: [ONE_GPU, ADMIN] } } },
    };
    const text = (at: number) =>
      `spec.devices.requests[${at}].adminAccess: Forbidden: admin access to devices requires the ` +
      "`resource.kubernetes.io/admin-access: true` label on the containing namespace";
    const templates = CLAIMS.replace("resourceclaims", "resourceclaimtemplates");
    const refused = await send("POST", CLAIMS, claim([ADMIN]));
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain(text(0));
    expect((await send("POST", templates, template)).body.message).toContain(text(1));
    expect((await send("POST", CLAIMS, claim([ONE_GPU]))).status).toBe(201);

    const result = { request: "gpu", driver: "gpu.example.com", pool: "n1", device: "gpu-0" };
    const results = [{ ...result, adminAccess: true }];
    const { body } = await send("GET", `${CLAIMS}/gpu`);
    const allocated = { ...body, status: { allocation: { devices: { results } } } };
    expect((await send("PUT", `${CLAIMS}/gpu/status`, allocated)).body.message).toContain(
      "status.allocation.devices.results[0].adminAccess: Forbidden",
    );

    const { body: namespace } = await send("GET", "/api/v1/namespaces/default");
    const labels = { ...namespace.metadata.labels, "resource.kubernetes.io/admin-access": "true" };
    const labelled = { ...namespace, metadata: { ...namespace.metadata, labels } };
    expect((await send("PUT", "/api/v1/namespaces/default", labelled)).status).toBe(200);
    const watching = { ...claim([ADMIN]), metadata: { name: "watch" } };
    expect((await send("POST", CLAIMS, watching)).status).toBe(201);
    expect((await send("POST", templates, template)).status).toBe(201);
    expect((await send("PUT", `${CLAIMS}/gpu/status`, allocated)).status).toBe(200);
    // A namespace that loses the label keeps the access that its claims already have.
    expect((await send("PUT", "/api/v1/namespaces/default", namespace)).status).toBe(409);
    const { body: now } = await send("GET", "/api/v1/namespaces/default");
    await send("PUT", "/api/v1/namespaces/default", {
      ...now,
      metadata: { ...now.metadata, labels: namespace.metadata.labels },
    });
    const { body: held } = await send("GET", `${CLAIMS}/gpu`);
    const reserved = [{ resource: "pods", name: "p", uid: "1" }];
    const used = { ...held, status: { ...held.status, reservedFor: reserved } };
    expect((await send("PUT", `${CLAIMS}/gpu/status`, used)).status).toBe(200);
  });

  it("may have allocations only for their own requests, and reports only about their own devices", async () => {
    const send = start();
    const { body } = await send("POST", CLAIMS, claim([ONE_GPU]));
    const put = async (status: object): Promise<Answer> =>
      send("PUT", `${CLAIMS}/gpu/status`, { ...body, status });
    const result = { request: "gpu", driver: "gpu.example.com", pool: "n1", device: "gpu-0" };
    const allocate = (one: object) => ({ allocation: { devices: { results: [one] } } });
    for (const [one, text] of [
      [{ ...result, request: "other" }, "results[0].request: Invalid value"],
      [{ ...result, device: "GPU_0" }, "results[0].device: Invalid value"],
      [{ ...result, pool: "" }, "results[0].pool: Required value"],
      [{ ...result, shareID: "7" }, "results[0].shareID: Invalid value"],
    ] as const)
      expect((await put(allocate(one))).body.message).toContain(
        `status.allocation.devices.${text}`,
      );
    const report = { driver: "gpu.example.com", pool: "n1", device: "gpu-0" };
    const other = { ...report, device: "gpu-1" };
    expect((await put({ ...allocate(result), devices: [other] })).body.message).toContain(
      "must be an allocated device in the claim",
    );
    const { body: held } = await put({ ...allocate(result), devices: [report] });
    expect(held.status.devices).toEqual([report]);
    const freed = { ...held, status: { devices: [report] } };
    const { body: free } = await send("PUT", `${CLAIMS}/gpu/status`, freed);
    expect(free.status).toEqual({});
  });

  it("cannot change their spec or an existing allocation", async () => {
    const send = start();
    const { body } = await send("POST", CLAIMS, claim([ONE_GPU]));
    const other = { ...body, spec: { devices: { requests: [{ ...ONE_GPU, name: "other" }] } } };
    const refused = await send("PUT", `${CLAIMS}/gpu`, other);
    expect(refused.body.message).toContain("spec: Invalid value");
    expect(refused.body.message).toContain("field is immutable");
    const result = { request: "gpu", driver: "gpu.example.com", pool: "n1", device: "gpu-0" };
    const allocation = { devices: { results: [result] } };
    const consumer = { resource: "pods", name: "p", uid: "1" };
    const early = { ...body, status: { reservedFor: [consumer] } };
    expect((await send("PUT", `${CLAIMS}/gpu/status`, early)).body.message).toContain(
      "status.reservedFor: Forbidden",
    );
    const status = { allocation, reservedFor: [consumer] };
    const { body: allocated } = await send("PUT", `${CLAIMS}/gpu/status`, { ...body, status });
    expect(allocated.status).toEqual(status);
    const moved = { devices: { results: [{ ...result, device: "gpu-1" }] } };
    const again = { ...allocated, status: { ...status, allocation: moved } };
    expect((await send("PUT", `${CLAIMS}/gpu/status`, again)).body.message).toContain(
      "status.allocation: Invalid value",
    );
    const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const { body: rows } = await send("GET", CLAIMS, undefined, table);
    expect(rows.rows[0].cells.slice(0, 2)).toEqual(["gpu", "allocated,reserved"]);
  });
});

describe("ResourceSlices", () => {
  it("are selected by node and by driver", async () => {
    const send = start();
    const made = await send("POST", SLICES, slice([{ name: "gpu-0" }]));
    expect(made.status).toBe(201);
    const names = async (selector: string): Promise<string[]> => {
      const { body } = await send("GET", `${SLICES}?fieldSelector=${selector}`);
      return body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    };
    expect(await names("spec.nodeName=n1,spec.driver=gpu.example.com")).toEqual(["n1-gpus"]);
    expect(await names("spec.nodeName=n2")).toEqual([]);
  });

  it.each<[string, object, string]>([
    ["no way to nodes", slice([], { nodeName: undefined }), "spec: Required value: exactly one of"],
    ["two ways", slice([], { allNodes: true }), "but multiple fields are set"],
    [
      "an attribute of two types",
      slice([{ name: "a", attributes: { x: { int: 1, bool: true } } }]),
      "exactly one value must be specified",
    ],
    [
      "a version that is none",
      slice([{ name: "a", attributes: { v: { version: "1.2" } } }]),
      "must be a string compatible with semver.org spec 2.0.0",
    ],
    [
      "counters of no set",
      slice([
        { name: "a", consumesCounters: [{ counterSet: "s", counters: { x: { value: "1" } } }] },
      ]),
      "must reference a counterSet defined in the ResourceSlice sharedCounters",
    ],
    [
      "a policy for a device of one claim",
      slice([{ name: "a", capacity: { memory: { value: "1", requestPolicy: { default: "1" } } } }]),
      "allowMultipleAllocations must be true",
    ],
    ["an empty driver", slice([], { driver: "" }), "spec.driver: Required value"],
    [
      "a node that cannot be",
      slice([], { nodeName: "No_1" }),
      'spec.nodeName: Invalid value: "No_1"',
    ],
    [
      "a taint of a wrong effect",
      slice([{ name: "a", taints: [{ key: "x", effect: "PreferNoSchedule" }] }]),
      'effect: Unsupported value: "PreferNoSchedule": supported values: "NoExecute", "NoSchedule"',
    ],
    [
      "a counter's bad name",
      slice([], { sharedCounters: [{ name: "s", counters: { Memory: { value: "1" } } }] }),
      "spec.sharedCounters[0].counters[Memory]: Invalid value",
    ],
    [
      "values in a wrong order",
      slice([shared({ default: "1", validValues: ["2", "1"] })]),
      'validValues[1]: Invalid value: "1": values must be sorted in ascending order',
    ],
    [
      "a value above the capacity",
      slice([shared({ default: "1", validValues: ["1", "16"] })]),
      "option is larger than capacity value: 8",
    ],
    [
      "a step above the capacity",
      slice([shared({ default: "4", validRange: { min: "4", step: "8" } })]),
      'step: Invalid value: "8": one step 12 is larger than capacity value: 8',
    ],
    [
      "a device that no node reaches",
      slice([{ name: "a", allNodes: false }], {
        nodeName: undefined,
        perDeviceNodeSelection: true,
      }),
      "spec.devices[0].allNodes: Invalid value: false: must be either unset or set to true",
    ],
  ])("with %s are refused", async (_, body, text) => {
    const answer = await start()("POST", SLICES, body);
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain(text);
  });

  it("lose the fields of binding conditions, whose feature gate is off by default", async () => {
    const ask = start();
    const device = {
      name: "gpu-0",
      bindsToNode: true,
      bindingConditions: ["example.com/attached"],
      bindingFailureConditions: ["example.com/failed"],
    };
    const made = await ask("POST", SLICES, slice([device]));
    expect([made.status, made.body.spec.devices]).toEqual([201, [{ name: "gpu-0" }]]);
    const changed = { ...made.body, spec: { ...made.body.spec, devices: [device] } };
    const { body } = await ask("PUT", `${SLICES}/n1-gpus`, changed);
    expect(body.spec.devices).toEqual([{ name: "gpu-0" }]);
  });

  it("cannot change their driver, pool and node", async () => {
    const send = start();
    const { body } = await send("POST", SLICES, slice([]));
    const moved = { ...body, spec: { ...body.spec, nodeName: "n2" } };
    const { body: refused } = await send("PUT", `${SLICES}/n1-gpus`, moved);
    expect(refused.message).toContain("spec.nodeName: Invalid value");
  });
});

it("a DeviceClass loses extendedResourceName, because nothing here would serve it", async () => {
  const send = start();
  const { status, body } = await send("POST", `${GROUP}/deviceclasses`, {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceClass",
    metadata: { name: "gpu" },
    spec: { extendedResourceName: "example.com/gpu", selectors: [] },
  });
  expect(status).toBe(201);
  expect(body.spec).not.toHaveProperty("extendedResourceName");
});
