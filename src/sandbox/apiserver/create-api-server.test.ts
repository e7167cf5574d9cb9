import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { KubeRequest, KubeResponse } from "../../kube/transport/transport.ts";
import { bareApiServer } from "../testing/bare-api-server.ts";
import { Store } from "./store/store.ts";

interface Answer extends KubeResponse {
  // Test bodies are read freely.
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
  readonly body?: any;
}

function start(store?: Store) {
  const clock = new VirtualClock();
  const server = bareApiServer({
    clock,
    ...(store === undefined ? {} : { store }),
  });
  const transport = server.transport({ name: "tester", groups: ["system:masters"] });
  const send = (method: KubeRequest["method"], path: string, body?: unknown, type?: string) =>
    transport.send({
      method,
      path,
      body,
      ...(type === undefined ? {} : { headers: { "content-type": type } }),
    }) as Promise<Answer>;
  return { clock, server, send };
}

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const PODS = "/api/v1/namespaces/default/pods";
const MERGE = "application/merge-patch+json";

function configMap(name: string, data: Record<string, string> = { a: "1" }): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data } as KubeObject;
}

function pod(name: string, extra: Record<string, unknown> = {}): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: { containers: [{ name: "main", image: "pause" }], ...extra },
  } as KubeObject;
}

describe("an object in the API server", () => {
  it("is created with an identity, read, listed, changed and removed", async () => {
    const { send } = start();
    const created = await send("POST", CONFIG_MAPS, configMap("one"));
    expect(created.status).toBe(201);
    expect(created.body.metadata).toMatchObject({
      name: "one",
      namespace: "default",
      creationTimestamp: "2026-01-05T08:00:00Z",
    });
    expect(created.body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    const read = await send("GET", `${CONFIG_MAPS}/one`);
    expect(read.body).toEqual(created.body);
    const patched = await send("PATCH", `${CONFIG_MAPS}/one`, { data: { b: "2" } }, MERGE);
    expect(patched.body.data).toEqual({ a: "1", b: "2" });
    expect(Number(patched.body.metadata.resourceVersion)).toBeGreaterThan(
      Number(created.body.metadata.resourceVersion),
    );
    const list = await send("GET", "/api/v1/configmaps");
    expect(list.body.kind).toBe("ConfigMapList");
    expect(list.body.items).toHaveLength(1);
    const deleted = await send("DELETE", `${CONFIG_MAPS}/one`);
    expect(deleted.body).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "one", kind: "configmaps", uid: created.body.metadata.uid },
    });
    const gone = await send("GET", `${CONFIG_MAPS}/one`);
    expect(gone.status).toBe(404);
    expect(gone.body).toMatchObject({
      message: 'configmaps "one" not found',
      reason: "NotFound",
      code: 404,
    });
  });

  it("is refused if the name exists, the namespace is missing or the version is stale", async () => {
    const { send } = start();
    const first = await send("POST", CONFIG_MAPS, configMap("one"));
    const second = await send("POST", CONFIG_MAPS, configMap("one"));
    expect(second.body).toMatchObject({
      code: 409,
      reason: "AlreadyExists",
      message: 'configmaps "one" already exists',
    });
    const nowhere = await send("POST", "/api/v1/namespaces/nowhere/configmaps", configMap("x"));
    expect(nowhere.body).toMatchObject({ code: 404, message: 'namespaces "nowhere" not found' });
    const next = { ...first.body, data: { a: "2" } };
    expect((await send("PUT", `${CONFIG_MAPS}/one`, next)).status).toBe(200);
    const stale = await send("PUT", `${CONFIG_MAPS}/one`, { ...next, data: { a: "3" } });
    expect(stale.body).toMatchObject({
      code: 409,
      reason: "Conflict",
      message:
        'Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again',
    });
    const { resourceVersion } = first.body.metadata;
    const lock = { metadata: { resourceVersion }, data: { a: "4" } };
    expect((await send("PATCH", `${CONFIG_MAPS}/one`, lock, MERGE)).status).toBe(409);
  });

  it("keeps its version if a write changes nothing", async () => {
    const { send } = start();
    const first = await send("POST", CONFIG_MAPS, configMap("one"));
    const same = await send("PATCH", `${CONFIG_MAPS}/one`, { data: { a: "1" } }, MERGE);
    expect(same.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  });

  it("gets an error that names an unknown field", async () => {
    const { send } = start();
    const odd = { ...configMap("one"), dota: { a: "1" } };
    const strict = await send("POST", `${CONFIG_MAPS}?fieldValidation=Strict`, odd);
    expect(strict.body).toMatchObject({
      code: 400,
      message:
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dota"',
    });
    const warned = await send("POST", CONFIG_MAPS, odd);
    expect(warned.status).toBe(201);
    expect(warned.headers["warning"]).toBe('299 - "unknown field \\"dota\\""');
  });

  it("that is an immutable ConfigMap keeps its data and the mark", async () => {
    const { send } = start();
    await send("POST", CONFIG_MAPS, {
      ...configMap("a"),
      binaryData: { b: "AA==" },
      immutable: true,
    });
    const change = { data: { a: "2" }, binaryData: { b: "AQ==" }, immutable: false };
    const { status, body } = await send("PATCH", `${CONFIG_MAPS}/a`, change, MERGE);
    expect(status).toBe(422);
    expect(body.details.causes.map(({ field }: { field: string }) => field)).toEqual([
      "immutable",
      "data",
      "binaryData",
    ]);
  });

  it("that is being deleted waits for its finalizers and accepts no new ones", async () => {
    const { send } = start();
    const object = configMap("held");
    await send("POST", CONFIG_MAPS, {
      ...object,
      metadata: { ...object.metadata, finalizers: ["example.com/hold"] },
    });
    const marked = await send("DELETE", `${CONFIG_MAPS}/held`);
    expect(marked.body.metadata.deletionTimestamp).toBe("2026-01-05T08:00:00Z");
    const more = { metadata: { finalizers: ["example.com/hold", "example.com/more"] } };
    const refused = await send("PATCH", `${CONFIG_MAPS}/held`, more, MERGE);
    expect(refused.status).toBe(422);
    await send("PATCH", `${CONFIG_MAPS}/held`, { metadata: { finalizers: null } }, MERGE);
    expect((await send("GET", `${CONFIG_MAPS}/held`)).status).toBe(404);
  });
});

describe("pods in the API server", () => {
  it("get a grace period if they are bound, and otherwise are removed at once", async () => {
    const { send } = start();
    await send("POST", PODS, pod("loose"));
    expect((await send("DELETE", `${PODS}/loose`)).status).toBe(200);
    expect((await send("GET", `${PODS}/loose`)).status).toBe(404);
    await send("POST", PODS, pod("bound", { nodeName: "n1" }));
    const marked = await send("DELETE", `${PODS}/bound`);
    expect(marked.body.metadata).toMatchObject({
      deletionGracePeriodSeconds: 30,
      deletionTimestamp: "2026-01-05T08:00:30Z",
    });
    await send("DELETE", `${PODS}/bound`, { gracePeriodSeconds: 0 });
    expect((await send("GET", `${PODS}/bound`)).status).toBe(404);
  });

  it("with a shorter grace period end that long after the first deletion request", async () => {
    const { send, clock } = start();
    await send("POST", PODS, pod("bound", { nodeName: "n1" }));
    await send("DELETE", `${PODS}/bound`);
    await clock.advance(4_000);
    const sooner = await send("DELETE", `${PODS}/bound`, { gracePeriodSeconds: 10 });
    expect(sooner.body.metadata).toMatchObject({
      deletionGracePeriodSeconds: 10,
      deletionTimestamp: "2026-01-05T08:00:10Z",
    });
  });

  it.each([
    ["9223372036854775808", "value out of range"],
    ["-9223372036854775809", "value out of range"],
    ["1e3", "invalid syntax"],
    ["", "invalid syntax"],
  ])("are not deleted with the grace period %j in the query", async (seconds, why) => {
    const { send } = start();
    await send("POST", PODS, pod("bound", { nodeName: "n1" }));
    const { status, body } = await send("DELETE", `${PODS}/bound?gracePeriodSeconds=${seconds}`);
    expect([status, (body as unknown as { message: string }).message]).toEqual([
      400,
      `strconv.ParseInt: parsing "${seconds}": ${why}`,
    ]);
    expect((await send("GET", `${PODS}/bound`)).status).toBe(200);
  });

  it("are marked with a time that clients can read, however long the grace period is", async () => {
    for (const seconds of ["9223372036854775807", "1000000000000"]) {
      const { send } = start();
      await send("POST", PODS, pod("bound", { nodeName: "n1" }));
      const marked = await send("DELETE", `${PODS}/bound?gracePeriodSeconds=${seconds}`);
      expect(marked.status).toBe(200);
      expect(marked.body.metadata.deletionTimestamp).toMatch(/^\d{4}-\d\d-\d\dT/);
    }
  });

  it("get priority, tolerations and a service account by admission", async () => {
    const { send } = start();
    const made = await send(
      "POST",
      PODS,
      pod("vip", { priorityClassName: "system-node-critical" }),
    );
    expect(made.body.spec).toMatchObject({
      priority: 2_000_001_000,
      serviceAccountName: "default",
    });
    expect(made.body.spec.tolerations).toHaveLength(2);
    const unknown = await send("POST", PODS, pod("x", { priorityClassName: "nope" }));
    expect(unknown.body).toMatchObject({
      code: 403,
      message: 'pods "x" is forbidden: no PriorityClass with name nope was found',
    });
  });

  it("change their status only through the status subresource", async () => {
    const { send } = start();
    await send("POST", PODS, pod("p"));
    const status = { status: { phase: "Running" } };
    const main = await send("PATCH", `${PODS}/p`, status, MERGE);
    expect(main.body.status.phase).not.toBe("Running");
    const sub = await send(
      "PATCH",
      `${PODS}/p/status`,
      { ...status, spec: { nodeName: "n" } },
      MERGE,
    );
    expect(sub.body.status.phase).toBe("Running");
    expect(sub.body.spec.nodeName).toBeUndefined();
  });
});

describe("a watch of the API server", () => {
  it("starts at a version, adds and removes objects by label, and sends bookmarks", async () => {
    const { clock, send } = start();
    const list = await send("GET", PODS);
    const from = list.body.metadata.resourceVersion;
    await send("POST", PODS, pod("a"));
    const opened = await send(
      "GET",
      `${PODS}?watch=true&allowWatchBookmarks=true&labelSelector=app=a&resourceVersion=${from}`,
    );
    const seen: string[] = [];
    const reading = (async () => {
      // biome-ignore lint/suspicious/noExplicitAny: frames of many shapes
      for await (const frame of opened.stream as AsyncIterable<any>) {
        seen.push(`${frame.type} ${frame.object.metadata.name ?? ""}`.trim());
      }
    })();
    await send("POST", PODS, pod("b"));
    await send("PATCH", `${PODS}/a`, { metadata: { labels: { app: "z" } } }, MERGE);
    await send("PATCH", `${PODS}/b`, { metadata: { labels: { app: "a" } } }, MERGE);
    await clock.advance(60_000);
    opened.stream?.close();
    await reading;
    expect(seen).toEqual(["ADDED a", "DELETED a", "ADDED b", "BOOKMARK"]);
  });
});

describe("versions that the API server has dropped", () => {
  it("end a watch whose reader has not read them", async () => {
    const { send } = start(new Store(3));
    const { body } = await send("GET", CONFIG_MAPS);
    const from = body.metadata.resourceVersion;
    const opened = await send("GET", `${CONFIG_MAPS}?watch=true&resourceVersion=${from}`);
    for (let i = 0; i < 12; i++) await send("POST", CONFIG_MAPS, configMap(`c${i}`));
    const frames: unknown[] = [];
    for await (const frame of opened.stream ?? []) frames.push(frame);
    expect(frames).toEqual([]);
  });

  it("end a watch with 410, and versions in the future are refused", async () => {
    const { send } = start(new Store(3));
    for (let i = 0; i < 12; i++) await send("POST", CONFIG_MAPS, configMap(`c${i}`));
    const opened = await send("GET", `${CONFIG_MAPS}?watch=true&resourceVersion=2`);
    const frames: unknown[] = [];
    for await (const frame of opened.stream ?? []) frames.push(frame);
    expect(frames).toEqual([
      {
        type: "ERROR",
        object: expect.objectContaining({
          code: 410,
          reason: "Expired",
          message: expect.stringMatching(/^too old resource version: 2 \(\d+\)$/),
        }),
      },
    ]);
    const future = await send("GET", `${CONFIG_MAPS}?resourceVersion=99999`);
    expect(future.body).toMatchObject({ code: 504, reason: "Timeout" });
    const exact = await send("GET", `${CONFIG_MAPS}?resourceVersion=2&resourceVersionMatch=Exact`);
    expect(exact.status).toBe(410);
  });
});

describe("a table of the API server", () => {
  it("is sent to clients that ask for it, in lists and in watches", async () => {
    const { send, server } = start();
    await send("POST", CONFIG_MAPS, configMap("one"));
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };
    const user = { name: "tester", groups: ["system:masters"] };
    const list: Answer = await server.handle({ method: "GET", path: CONFIG_MAPS, headers }, user);
    expect(list.body.kind).toBe("Table");
    expect(list.body.rows[0].cells[0]).toBe("one");
    expect(list.body.rows[0].object.kind).toBe("PartialObjectMetadata");
    const path = `${CONFIG_MAPS}?watch=true`;
    const { stream } = await server.handle({ method: "GET", path, headers }, user);
    // biome-ignore lint/suspicious/noExplicitAny: frames of many shapes
    for await (const frame of (stream ?? []) as AsyncIterable<any>) {
      expect(frame.object.rows[0].cells[0]).toBe("one");
      stream?.close();
    }
    const xml = { accept: "application/xml" };
    const refused = await server.handle({ method: "GET", path: CONFIG_MAPS, headers: xml }, user);
    expect(refused.status).toBe(406);
  });
});

describe("a list of the API server", () => {
  it("has pages of one consistent version", async () => {
    const { send } = start();
    for (const name of ["a", "b", "c"]) await send("POST", CONFIG_MAPS, configMap(name));
    const first = await send("GET", `${CONFIG_MAPS}?limit=2`);
    expect(first.body.metadata.remainingItemCount).toBe(1);
    await send("DELETE", `${CONFIG_MAPS}/c`);
    await send("POST", CONFIG_MAPS, configMap("d"));
    const token = first.body.metadata.continue;
    const second = await send("GET", `${CONFIG_MAPS}?limit=2&continue=${token}`);
    expect(second.body.items.map((item: KubeObject) => item.metadata.name)).toEqual(["c"]);
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  });

  it("refuses field selectors that the kind does not have", async () => {
    const { send } = start();
    const good = await send("GET", `${PODS}?fieldSelector=spec.nodeName=n1,status.phase!=Failed`);
    expect(good.status).toBe(200);
    const bad = await send("GET", `${PODS}?fieldSelector=spec.foo=1`);
    expect(bad.body.message).toContain("field label not supported: spec.foo");
  });
});

describe("an API server", () => {
  it("ignores empty impersonation headers, and escapes the URL in an error about incomplete ones", async () => {
    const { server } = start();
    const transport = server.transport({ name: "tester", groups: ["system:masters"] });
    const get = (headers: Record<string, string>) =>
      transport.send({ method: "GET", path: `${CONFIG_MAPS}?limit=1&continue=<>`, headers });
    expect(await get({ "impersonate-group": "some" })).toMatchObject({
      status: 500,
      body: `Internal Server Error: "${CONFIG_MAPS}?limit=1&amp;continue=&lt;&gt;": requested [{Group  some    }] without impersonating a user\n`,
    });
    const path = CONFIG_MAPS;
    const headers = { "impersonate-user": "", "impersonate-uid": "" };
    expect((await transport.send({ method: "GET", path, headers })).status).toBe(200);
  });

  it("reports each health check, and lists its paths", async () => {
    const { send } = start();
    expect((await send("GET", "/livez")).body).toBe("ok");
    expect((await send("GET", "/readyz/ping")).body).toBe("ok");
    expect((await send("GET", "/livez/nothing")).status).toBe(404);
    const { body } = await send("GET", "/readyz?verbose&exclude=etcd");
    expect(body).toContain("[+]ping ok\n");
    expect(body).toContain("[+]etcd excluded: ok\n");
    expect(body).toMatch(/readyz check passed\n$/);
    const { paths } = (await send("GET", "/")).body;
    expect(paths).toContain("/apis/apps/v1");
    for (const path of paths) expect((await send("GET", path)).status, path).toBe(200);
  });
});
