/** Small things that clients of Kubernetes read: stored versions in discovery, times of tokens, names in CRDs. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { KubeResponse } from "../../kube/transport/transport.ts";
import { bareApiServer } from "../testing/bare-api-server.ts";
import { readToken } from "./access/identity.ts";
import { type Claims, TokenSigner } from "./access/tokens.ts";
import type { Engine } from "./engine.ts";
import { Store } from "./store/store.ts";

function start() {
  const server = bareApiServer({ clock: new VirtualClock() });
  const transport = server.transport({ name: "tester", groups: ["system:masters"] });
  return async (method: "GET" | "POST", path: string, body?: object) =>
    // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
    (await transport.send({ method, path, body })) as KubeResponse & { body: any };
}

const version = (name: string, storage: boolean, metadata?: object) => ({
  name,
  served: true,
  storage,
  schema: {
    openAPIV3Schema: {
      type: "object",
      ...(metadata === undefined ? {} : { properties: { metadata } }),
    },
  },
});

function crd(versions: readonly object[]) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions,
    },
  };
}

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

describe("the hash of the stored version in discovery", () => {
  it.each([
    // The hashes that kube-apiserver answers.
    ["/api/v1", "pods", "xPOwRZ+Yhw8="],
    ["/api/v1", "events", "r2yiGXH7wu8="],
    ["/apis/events.k8s.io/v1", "events", "r2yiGXH7wu8="],
    ["/apis/autoscaling/v1", "horizontalpodautoscalers", "qwQve8ut294="],
    ["/apis/autoscaling/v2", "horizontalpodautoscalers", "qwQve8ut294="],
    ["/api/v1", "componentstatuses", undefined],
    ["/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews", undefined],
  ])("%s %s: %s", async (path, name, hash) => {
    const { body } = await start()("GET", path);
    const found = body.resources.find((one: { name: string }) => one.name === name);
    expect([found?.name, found?.storageVersionHash]).toEqual([name, hash]);
  });

  it("is that of one version in each served version of a custom kind", async () => {
    const send = start();
    await send("POST", CRDS, crd([version("v1", true), version("v1beta1", false)]));
    const hashes = await Promise.all(
      ["v1", "v1beta1"].map(async (one) => {
        const { body } = await send("GET", `/apis/example.com/${one}`);
        return body.resources[0].storageVersionHash;
      }),
    );
    expect(hashes).toEqual([hashes[0], hashes[0]]);
    expect(hashes[0]).toMatch(/=$/);
  });
});

describe("names in a CRD's schema", () => {
  it.each(["name", "generateName"])("%s is validated", async (field) => {
    const send = start();
    const metadata = {
      type: "object",
      properties: { [field]: { type: "string", pattern: "^ok-" } },
    };
    await send("POST", CRDS, crd([version("v1", true, metadata)]));
    const widget = (text: string) =>
      send("POST", "/apis/example.com/v1/widgets", {
        apiVersion: "example.com/v1",
        kind: "Widget",
        metadata: { [field]: text },
      });
    expect((await widget("ok-a")).status).toBe(201);
    const refused = await widget("no-a");
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain(`metadata.${field}: Invalid value: "no-a"`);
  });
});

describe("times of a token", () => {
  const SIGNER = new TokenSigner();
  const clock = new VirtualClock();
  const nowS = Math.floor(clock.now() / 1_000);

  function problemOf(times: Pick<Claims, "exp" | "nbf">): string | undefined {
    const token = SIGNER.sign({
      aud: ["us"],
      iat: nowS,
      iss: "",
      jti: "1",
      sub: "",
      "kubernetes.io": { namespace: "default", serviceaccount: { name: "none", uid: "1" } },
      ...times,
    });
    const engine = { clock, tokens: SIGNER, store: new Store() } as unknown as Engine;
    const answer = readToken(engine, token, ["us"]);
    return answer.user === undefined ? answer.problem : undefined;
  }

  it.each([
    ["valid for now", { nbf: nowS, exp: nowS + 600 }, "not found"],
    ["a clock that is a minute ahead", { nbf: nowS + 60, exp: nowS + 600 }, "not found"],
    ["more than a minute ahead", { nbf: nowS + 61, exp: nowS + 600 }, "is not valid yet"],
    ["a minute past its end", { nbf: nowS, exp: nowS - 60 }, "not found"],
    ["more than a minute past its end", { nbf: nowS, exp: nowS - 61 }, "has expired"],
  ])("%s", (_what, times, problem) => {
    expect(problemOf(times)).toContain(problem);
  });
});
