import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import type { KubeRequest, KubeResponse } from "../../../kube/transport/transport.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
type Answer = KubeResponse & { readonly body?: any };

function start() {
  const clock = new VirtualClock();
  const server = bareApiServer({
    clock,
  });
  const transport = server.transport({ name: "tester", groups: ["system:masters"] });
  const send = (method: KubeRequest["method"], path: string, body?: unknown, type?: string) =>
    transport.send({
      method,
      path,
      body,
      ...(type === undefined ? {} : { headers: { "content-type": type } }),
    }) as Promise<Answer>;
  const names = async (path: string): Promise<readonly string[]> =>
    (await send("GET", path)).body.items.map(
      (item: { metadata: { name: string } }) => item.metadata.name,
    );
  return { clock, send, names };
}

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const MERGE = "application/merge-patch+json";

function owned(name: string, owner?: { name: string; uid: string }, blocks = false) {
  const ownerReferences = owner && [
    { apiVersion: "v1", kind: "ConfigMap", blockOwnerDeletion: blocks, ...owner },
  ];
  return { metadata: { name, ...(owner === undefined ? {} : { ownerReferences }) } };
}

async function family(blocks = false) {
  const world = start();
  const { send } = world;
  const top = (await send("POST", CONFIG_MAPS, owned("top"))).body.metadata;
  const uid = { name: "top", uid: top.uid };
  const middle = (await send("POST", CONFIG_MAPS, owned("middle", uid, blocks))).body.metadata;
  await send("POST", CONFIG_MAPS, owned("low", { name: "middle", uid: middle.uid }, blocks));
  return world;
}

describe("garbage collection", () => {
  it("deletes the objects of a deleted owner, level by level", async () => {
    const { clock, names, send } = await family();
    await clock.advance(1_000);
    expect(await names(CONFIG_MAPS)).toEqual(["low", "middle", "top"]);
    await send("DELETE", `${CONFIG_MAPS}/top`, { propagationPolicy: "Background" });
    expect(await names(CONFIG_MAPS)).toEqual(["low", "middle"]);
    await clock.advance(1_000);
    expect(await names(CONFIG_MAPS)).toEqual([]);
  });

  it("keeps an owner that is deleted in the foreground until all objects that block it are gone", async () => {
    const { clock, names, send } = await family(true);
    const hold = { metadata: { finalizers: ["example.com/hold"] } };
    await send("PATCH", `${CONFIG_MAPS}/low`, hold, MERGE);
    await send("DELETE", `${CONFIG_MAPS}/top`, { propagationPolicy: "Foreground" });
    await clock.advance(1_000);
    expect(await names(CONFIG_MAPS)).toEqual(["low", "middle", "top"]);
    await send("PATCH", `${CONFIG_MAPS}/low`, { metadata: { finalizers: null } }, MERGE);
    await clock.advance(1_000);
    expect(await names(CONFIG_MAPS)).toEqual([]);
  });

  it("removes owner references from dependents if the owner is orphaned", async () => {
    const { clock, names, send } = await family();
    await send("DELETE", `${CONFIG_MAPS}/top`, { propagationPolicy: "Orphan" });
    await clock.advance(1_000);
    expect(await names(CONFIG_MAPS)).toEqual(["low", "middle"]);
    const middle = await send("GET", `${CONFIG_MAPS}/middle`);
    expect(middle.body.metadata.ownerReferences).toBeUndefined();
  });

  it("deletes an object whose owner never existed", async () => {
    const { clock, names, send } = start();
    await send("POST", CONFIG_MAPS, owned("lost", { name: "nobody", uid: "no-such-uid" }));
    await clock.advance(1_000);
    expect(await names(CONFIG_MAPS)).toEqual([]);
  });
});

describe("a deleted namespace", () => {
  it("is removed with its objects after their finalizers, and accepts no new objects", async () => {
    const { clock, names, send } = start();
    await send("POST", "/api/v1/namespaces", { metadata: { name: "team" } });
    const inside = "/api/v1/namespaces/team/configmaps";
    await send("POST", inside, { metadata: { name: "a", finalizers: ["example.com/hold"] } });
    await send("POST", inside, { metadata: { name: "b" } });
    const marked = await send("DELETE", "/api/v1/namespaces/team");
    expect(marked.body.status.phase).toBe("Terminating");
    const late = await send("POST", inside, { metadata: { name: "late" } });
    expect(late.body).toMatchObject({
      code: 403,
      message:
        'configmaps "late" is forbidden: unable to create new content in namespace team because it is being terminated',
    });
    await clock.advance(2_000);
    expect(await names(inside)).toEqual(["a"]);
    await send("PATCH", `${inside}/a`, { metadata: { finalizers: null } }, MERGE);
    await clock.advance(2_000);
    expect((await send("GET", "/api/v1/namespaces/team")).status).toBe(404);
  });
});

describe("a CustomResourceDefinition", () => {
  it("serves its kind at once, and its objects are deleted with it", async () => {
    const { clock, send } = start();
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const schema = {
      type: "object",
      properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
    };
    await send("POST", crds, {
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Cluster",
        names: { plural: "widgets", kind: "Widget", singular: "widget", listKind: "WidgetList" },
        versions: [
          { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } },
        ],
      },
    });
    const widgets = "/apis/example.com/v1/widgets";
    const made = await send("POST", widgets, {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "w" },
      spec: { size: 3 },
    });
    expect(made.status).toBe(201);
    const grown = await send("PATCH", `${widgets}/w`, { spec: { size: 4 } }, MERGE);
    expect(grown.body.metadata.generation).toBe(2);
    await send("DELETE", `${crds}/widgets.example.com`);
    await clock.advance(2_000);
    expect((await send("GET", widgets)).status).toBe(404);
    expect((await send("GET", `${crds}/widgets.example.com`)).status).toBe(404);
  });
});

describe("an Event", () => {
  it("is deleted an hour after its last write", async () => {
    const { clock, names, send } = start();
    const events = "/api/v1/namespaces/default/events";
    const event = (name: string) => ({
      metadata: { name },
      involvedObject: { kind: "Pod", name: "p", namespace: "default" },
      reason: "Testing",
      type: "Normal",
    });
    await send("POST", events, event("quiet"));
    await send("POST", events, event("busy"));
    await clock.advance(1_800_000);
    await send("PATCH", `${events}/busy`, { count: 2 }, MERGE);
    await clock.advance(1_800_000);
    expect(await names(events)).toEqual(["busy"]);
    const again = await send("GET", "/apis/events.k8s.io/v1/namespaces/default/events/busy");
    expect(again.body).toMatchObject({ regarding: { name: "p" }, deprecatedCount: 2 });
    await clock.advance(1_800_000);
    expect(await names(events)).toEqual([]);
  });
});
