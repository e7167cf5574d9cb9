/**
 * One suite for the Kubernetes client, run with each transport: function calls to the sandbox's API server, and HTTPS
 * to the same server.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONFIG_MAP, type ConfigMap } from "../../src/apis/core/kinds.ts";
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { SILENT } from "../../src/base/log.ts";
import { PacedClock } from "../../src/base/paced-clock.ts";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { addFinalizer, removeFinalizer } from "../../src/kube/client/finalizer.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { patchObject } from "../../src/kube/client/patch-object.ts";
import {
  isAlreadyExists,
  isConflict,
  isNotFound,
  isTooOldResourceVersion,
} from "../../src/kube/errors.ts";
import { electLeader } from "../../src/kube/lease.ts";
import { LiveMirrors } from "../../src/kube/mirror/mirrors.ts";
import { createHttpTransport } from "../../src/kube/transport/http-transport.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import type { ApiServer } from "../../src/sandbox/apiserver/api-server.ts";
import { startHttps } from "../../src/sandbox/apiserver/https/https-server.ts";
import { bareApiServer } from "../../src/sandbox/testing/bare-api-server.ts";

const MASTER = { name: "admin", groups: ["system:masters"] };

function server(): ApiServer {
  return bareApiServer({
    clock: new SystemClock(),
    random: new Random(1),
  });
}

interface Way {
  readonly transport: Transport;
  close(): Promise<void>;
}

const ways: Readonly<Record<string, () => Promise<Way>>> = {
  "in process": async () => {
    const api = server();
    return { transport: api.transport(MASTER), close: async () => api.close() };
  },
  "over HTTPS": async () => {
    const api = server();
    const directory = mkdtempSync(join(tmpdir(), "karpenter-"));
    const https = await startHttps(api, { port: 0, directory });
    const transport = createHttpTransport({
      server: https.url,
      caPem: https.caPem,
      token: https.token,
      userAgent: "karpenter/test",
    });
    return {
      transport,
      close: async () => {
        transport.close();
        await https.close();
        api.close();
        rmSync(directory, { recursive: true });
      },
    };
  },
};

function configMap(name: string, data: Record<string, string> = {}): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
}

describe.each(Object.entries(ways))("kube client %s", (_, open) => {
  let way: Way;
  let client: KubeClient;

  beforeAll(async () => {
    way = await open();
    client = createKubeClient(way.transport);
  });
  afterAll(() => way.close());

  it("creates, reads, changes and deletes objects, and gives failures a kind of error", async () => {
    const created = await client.create(CONFIG_MAP, configMap("one", { a: "1" }));
    expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(Object.isFrozen(created.metadata)).toBe(true);
    await expect(client.create(CONFIG_MAP, configMap("one"))).rejects.toSatisfy(isAlreadyExists);

    const ref = { name: "one", namespace: "default" };
    const changed = await client.update(CONFIG_MAP, { ...created, data: { a: "2" } });
    await expect(client.update(CONFIG_MAP, { ...created, data: { a: "3" } })).rejects.toSatisfy(
      isConflict,
    );
    expect((await client.get(CONFIG_MAP, ref)).data).toEqual({ a: "2" });
    expect(Number(changed.metadata.resourceVersion)).toBeGreaterThan(
      Number(created.metadata.resourceVersion),
    );

    await client.delete(CONFIG_MAP, ref, {
      preconditions: { uid: created.metadata.uid as string },
    });
    await expect(client.get(CONFIG_MAP, ref)).rejects.toSatisfy(isNotFound);
  });

  it("sends each type of patch", async () => {
    await client.create(CONFIG_MAP, configMap("patched", { a: "1", b: "1" }));
    const ref = { name: "patched", namespace: "default" };
    await client.patch(CONFIG_MAP, ref, { type: "merge", body: { data: { a: null, c: "1" } } });
    await client.patch(CONFIG_MAP, ref, {
      type: "json",
      body: [{ op: "replace", path: "/data/b", value: "2" }],
    });
    await client.patch(CONFIG_MAP, ref, {
      type: "strategic",
      body: { metadata: { labels: { x: "y" } } },
    });
    const after = await client.patch(CONFIG_MAP, ref, {
      type: "apply",
      body: configMap("patched", { d: "1" }),
      fieldManager: "suite",
    });
    expect(after.data).toEqual({ b: "2", c: "1", d: "1" });
    expect(after.metadata.labels).toEqual({ x: "y" });
  });

  it("joins the pages of a list and sets each item's kind", async () => {
    for (let i = 0; i < 7; i++) await client.create(CONFIG_MAP, configMap(`page-${i}`));
    const list = await client.list(CONFIG_MAP, { namespace: "default", limit: 3 });
    const names = list.items
      .map((item) => item.metadata.name)
      .filter((name) => name.startsWith("page-"));
    expect(names).toHaveLength(7);
    expect(list.items[0]?.kind).toBe("ConfigMap");
    expect(Number(list.resourceVersion)).toBeGreaterThan(0);
  });

  it("watches from a version on: each change once, in order, until closed", async () => {
    const { resourceVersion } = await client.list(CONFIG_MAP, { namespace: "default" });
    const watch = await client.watch(CONFIG_MAP, { namespace: "default", resourceVersion });
    const created = await client.create(CONFIG_MAP, configMap("watched"));
    await client.update(CONFIG_MAP, { ...created, data: { a: "1" } });
    await client.delete(CONFIG_MAP, { name: "watched", namespace: "default" });
    const seen: string[] = [];
    for await (const event of watch) {
      if (event.type !== "BOOKMARK") seen.push(`${event.type} ${event.object.metadata.name}`);
      if (seen.length === 3) watch.close();
    }
    expect(seen).toEqual(["ADDED watched", "MODIFIED watched", "DELETED watched"]);
  });

  it("reports that a version is too old for the watch", async () => {
    const node = (await client.create(NODE, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "busy" },
    })) as Node;
    for (let i = 0; i < 1_200; i++) {
      await client.patch(
        NODE,
        { name: "busy" },
        { type: "merge", body: { metadata: { labels: { n: String(i) } } } },
      );
    }
    const follow = async () => {
      const watch = await client.watch(NODE, {
        resourceVersion: node.metadata.resourceVersion as string,
      });
      for await (const event of watch) {
        if (event.type === "ERROR") return event.object as unknown as { code: number };
        if (event.object.metadata.labels?.["n"] === "1199") watch.close();
      }
      return { code: 200 };
    };
    // Either the server still has that history, or it says 410. It never skips events.
    const outcome = await follow().catch((error: unknown) => {
      if (isTooOldResourceVersion(error)) return { code: 410 };
      throw error;
    });
    expect([200, 410]).toContain(outcome.code);
  });

  it("mirrors a kind, sees its own writes at once and those of other clients soon", async () => {
    const clock = new SystemClock();
    const mirrors = new LiveMirrors({ client, clock, random: new Random(2), log: SILENT });
    const maps = mirrors.of(CONFIG_MAP);
    await mirrors.synced();
    await mirrors.client.create(CONFIG_MAP, configMap("mine"));
    expect(maps.get("default/mine")).toBeDefined();
    await client.create(CONFIG_MAP, configMap("theirs"));
    await clock.sleep(100);
    expect(maps.get("default/theirs")).toBeDefined();
    await client.delete(CONFIG_MAP, { name: "mine", namespace: "default" });
    await clock.sleep(100);
    expect(maps.get("default/mine")).toBeUndefined();
    mirrors.close();
  });

  it("patches only differences, locks lists, and accepts that an object is already gone", async () => {
    const before = await client.create(NODE, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "patchy" },
    });
    const withTaint = {
      ...before,
      spec: { taints: [{ key: "a", effect: "NoSchedule" as const }] },
    };
    expect(await patchObject(client, NODE, before, before)).toBe(before);
    const after = await patchObject(client, NODE, before, withTaint);
    expect(after?.spec?.taints).toEqual([{ key: "a", effect: "NoSchedule" }]);
    const stale = { ...before, spec: { taints: [{ key: "b", effect: "NoSchedule" as const }] } };
    await expect(patchObject(client, NODE, before, stale)).rejects.toSatisfy(isConflict);
    await client.delete(NODE, { name: "patchy" });
    expect(await patchObject(client, NODE, before, stale)).toBeUndefined();
  });

  it("keeps an object until its finalizer is removed", async () => {
    const node = await client.create(NODE, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "held" },
    });
    await addFinalizer(client, NODE, node, "karpenter.sh/termination");
    await client.delete(NODE, { name: "held" });
    const held = await client.get(NODE, { name: "held" });
    expect(held.metadata.deletionTimestamp).toBeDefined();
    await removeFinalizer(client, NODE, held, "karpenter.sh/termination");
    await expect(client.get(NODE, { name: "held" })).rejects.toSatisfy(isNotFound);
  });

  it("elects one leader, and another when the first releases the lease", async () => {
    const deps = {
      client,
      clock: new PacedClock(20),
      log: SILENT,
      name: "leader",
      namespace: "default",
    };
    const first = electLeader({ ...deps, identity: "first" });
    await first.acquired;
    const second = electLeader({ ...deps, identity: "second" });
    let secondLeads = false;
    void second.acquired.then(() => {
      secondLeads = true;
    });
    await deps.clock.sleep(6_000);
    expect(secondLeads).toBe(false);
    await first.release();
    await second.acquired;
    await second.release();
    deps.clock.stop();
  });
});
