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

describe("ResourceClaims", () => {
  it("ask for one device where they do not say how many", async () => {
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
  ])("are refused with %s", async (_, requests, more, text) => {
    const { status, body } = await start()("POST", CLAIMS, claim(requests, more));
    expect(status).toBe(422);
    expect(body.message).toContain(text);
  });

  it("keep their spec, and an allocation that is there", async () => {
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
  it("are found by node and by driver", async () => {
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
  ])("are refused with %s", async (_, body, text) => {
    const answer = await start()("POST", SLICES, body);
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain(text);
  });

  it("lose the fields of binding conditions, whose gate is off by default", async () => {
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

  it("stay with their driver, pool and node", async () => {
    const send = start();
    const { body } = await send("POST", SLICES, slice([]));
    const moved = { ...body, spec: { ...body.spec, nodeName: "n2" } };
    const { body: refused } = await send("PUT", `${SLICES}/n1-gpus`, moved);
    expect(refused.message).toContain("spec.nodeName: Invalid value");
  });
});

it("a DeviceClass keeps no extendedResourceName: nothing here would serve it", async () => {
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
