import { BinaryReader } from "@bufbuild/protobuf/wire";
import { describe, expect, it } from "vitest";
import { discoveryResponse } from "../discovery/discovery.ts";
import { createRegistry } from "../registry/create-registry.ts";
import type { Raw } from "../registry/kind-rules.ts";
import { openapiResponse } from "./openapi.ts";

const registry = createRegistry({ kubernetesVersion: "1.34" });
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      description: "What is wanted.",
      nullable: true,
      properties: { size: { anyOf: [{ type: "integer" }], "x-kubernetes-int-or-string": true } },
    },
  },
};
registry.setCrds([
  {
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: {
        plural: "widgets",
        kind: "Widget",
        singular: "widget",
        shortNames: ["wd"],
        categories: ["all"],
      },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" },
          },
        },
      ],
    },
  } as Raw,
]);
const discover = (path: string, accept?: string): Raw => discoveryResponse(registry, path, accept);
const openapi = (path: string, accept?: string): Raw => openapiResponse(registry, path, accept);
const AGGREGATED =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

describe("discovery by the API server", () => {
  it("answers the aggregated form in the requested version", () => {
    const { headers, body } = discover("/apis", AGGREGATED);
    expect(headers["content-type"]).toBe(
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    );
    const group = body.items.find(({ metadata }: Raw) => metadata.name === "example.com");
    expect(group.versions[0].resources[0]).toMatchObject({
      resource: "widgets",
      scope: "Namespaced",
      singularResource: "widget",
      shortNames: ["wd"],
      categories: ["all"],
      subresources: [
        { subresource: "status" },
        { subresource: "scale", responseKind: { kind: "Scale" } },
      ],
    });
    const old = discover("/api", AGGREGATED.replace("v=v2", "v=v2beta1"));
    expect(old.body.apiVersion).toBe("apidiscovery.k8s.io/v2beta1");
    expect(old.body.items[0].versions[0].resources.map((r: Raw) => r.resource)).toContain("pods");
  });

  it("answers the plain lists, with subresources of other groups", () => {
    expect(discover("/api").body.versions).toEqual(["v1"]);
    expect(discover("/apis", "application/json").body.groups.map((g: Raw) => g.name)).toContain(
      "apps",
    );
    expect(discover("/apis/example.com").body.preferredVersion).toEqual({
      groupVersion: "example.com/v1",
      version: "v1",
    });
    const core = discover("/api/v1").body.resources;
    expect(core.find((r: Raw) => r.name === "pods/eviction")).toMatchObject({
      group: "policy",
      kind: "Eviction",
    });
    expect(
      discover("/apis/apps/v1").body.resources.find((r: Raw) => r.name === "deployments"),
    ).toMatchObject({
      shortNames: ["deploy"],
      categories: ["all"],
      namespaced: true,
      kind: "Deployment",
    });
  });

  it("does not answer other paths", () => {
    for (const path of ["/apis/none", "/apis/apps/v9", "/api/v1/pods", "/version"]) {
      expect(discover(path)).toBeUndefined();
    }
  });
});

describe("OpenAPI of the API server", () => {
  it("shows a custom kind with its descriptions, and the parameters by which kubectl trusts the server", () => {
    const index = openapi("/openapi/v3").body.paths;
    const { serverRelativeURL } = index["apis/example.com/v1"];
    const { body } = openapi(serverRelativeURL);
    const widget = body.components.schemas["com.example.v1.Widget"];
    expect(widget.properties.spec.description).toBe("What is wanted.");
    expect(widget.properties.metadata.$ref).toBe(
      "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    );
    const patch = body.paths["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"].patch;
    expect(patch["x-kubernetes-group-version-kind"]).toEqual({
      group: "example.com",
      kind: "Widget",
      version: "v1",
    });
    expect(patch.parameters.map((p: Raw) => p.name)).toContain("fieldValidation");
  });

  it("has every schema that a v3 document refers to", () => {
    for (const key of Object.keys(openapi("/openapi/v3").body.paths)) {
      const { components } = openapi(`/openapi/v3/${key}`).body;
      const refs = JSON.stringify(components).matchAll(
        /"\$ref":"#\/components\/schemas\/([^"]+)"/g,
      );
      for (const [, name] of refs) expect(components.schemas).toHaveProperty([name as string]);
    }
  });

  it("leaves out what OpenAPI v2 cannot express, in JSON and in protobuf", () => {
    const { body } = openapi("/openapi/v2");
    const spec = body.definitions["com.example.v1.Widget"].properties.spec;
    expect(spec).not.toHaveProperty("type");
    expect(JSON.stringify(spec)).not.toContain("anyOf");
    const bytes = openapi(
      "/openapi/v2",
      "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    ).body;
    const reader = new BinaryReader(bytes);
    const fields: number[] = [];
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      fields.push(field);
      reader.skip(type);
    }
    expect(fields).toEqual([1, 2, 8, 9]);
  });
});
