import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../apis/meta.ts";
import { Store, type StoreEvent } from "./store.ts";

function object(name: string, namespace = "default", x = 0): KubeObject {
  return { apiVersion: "v1", kind: "Thing", metadata: { name, namespace }, x } as KubeObject;
}

function names(objects: readonly KubeObject[]): readonly string[] {
  return objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}

describe("the store of the API server", () => {
  it("lists objects by namespace and name, and for one namespace none of a namespace with a similar name", () => {
    const store = new Store();
    for (const [name, namespace] of [
      ["b", "a-b"],
      ["a", "a"],
      ["c", "a0"],
      ["b", "a"],
    ] as const) {
      store.put("things", object(name, namespace));
    }
    expect(names(store.list("things").objects)).toEqual(["a-b/b", "a/a", "a/b", "a0/c"]);
    expect(names(store.list("things", "a").objects)).toEqual(["a/a", "a/b"]);
  });

  it("gives every write a new version, and freezes the object", () => {
    const store = new Store();
    const first = store.put("things", object("a"));
    const second = store.put("others", object("a"));
    expect(Number(second.metadata.resourceVersion)).toBe(
      Number(first.metadata.resourceVersion) + 1,
    );
    expect(Object.isFrozen(first.metadata)).toBe(true);
  });

  it("returns a list as it was at an earlier version", () => {
    const store = new Store();
    store.put("things", object("a"));
    store.put("things", object("b", "default", 1));
    const then = store.revision;
    store.put("things", object("b", "default", 2));
    store.put("things", object("c"));
    store.remove("things", "default", "a");
    const { objects } = store.listAt("things", undefined, then) ?? { objects: [] };
    expect(names(objects)).toEqual(["default/a", "default/b"]);
    expect(objects[1]).toMatchObject({ x: 1 });
  });

  it("drops old versions, and reports that", () => {
    const store = new Store(5);
    for (let x = 0; x < 30; x++) store.put("things", object("a", "default", x));
    expect(store.since("things", 2)).toBeUndefined();
    expect(store.listAt("things", undefined, 2)).toBeUndefined();
    expect(store.since("things", store.revision - 3)).toHaveLength(3);
    expect(store.oldestRevision("things")).toBeGreaterThan(2);
  });

  it("makes deferred writes before a read or another write of their resource, and before no other", () => {
    const store = new Store();
    store.put("things", object("a"));
    const late: { readonly x: number; readonly revision: number }[] = [];
    store.defer("things", () => {
      for (const { x, revision } of late.splice(0))
        store.put("things", object("a", "default", x), revision);
    });
    const reads: readonly (() => unknown)[] = [
      () => store.get("things", "default", "a"),
      () => store.list("things"),
      () => store.since("things", 0),
      () => store.listAt("things", undefined, store.revision),
      () => store.put("things", object("b")),
      () => store.remove("things", "default", "b"),
    ];
    for (const [x, read] of reads.entries()) {
      const revision = store.reserve();
      late.push({ x, revision });
      const other = store.put("others", object("o"));
      store.list("others");
      expect(Number(other.metadata.resourceVersion)).toBe(revision + 1);
      expect(late).toHaveLength(1);
      read();
      expect(late).toHaveLength(0);
      expect(store.peek("things", "default", "a")).toMatchObject({
        metadata: { resourceVersion: String(revision) },
        x,
      });
      expect(store.since("things", revision - 1)?.[0]?.revision).toBe(revision);
    }
    const versions = (store.since("things", 0) ?? []).map(({ revision }) => revision);
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  });

  it("calls all listeners for a write before any for the write that it caused", () => {
    const store = new Store();
    const heard: string[] = [];
    store.subscribe("things", ({ object: { metadata } }: StoreEvent) => {
      heard.push(`first ${metadata.name}`);
      if (metadata.name === "a") store.put("things", object("b"));
    });
    store.subscribeAll(({ object: { metadata } }) => heard.push(`second ${metadata.name}`));
    store.put("things", object("a"));
    expect(heard).toEqual(["first a", "second a", "first b", "second b"]);
  });
});

describe("the history of the API server's store", () => {
  const big = (name: string, at: number): KubeObject =>
    ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "a" },
      data: { text: `${at}`.padEnd(100_000, "x") },
    }) as KubeObject;

  it("is limited in bytes, and the resource that takes most loses its history first", () => {
    const store = new Store(20_000, 2_000_000);
    store.put("secrets", big("s", 0));
    const { revision } = store;
    for (let at = 0; at < 100; at++) store.put("configmaps", big("c", at));
    const kept = store.since("configmaps", store.oldestRevision("configmaps")) ?? [];
    expect(kept.length).toBeGreaterThan(5);
    expect(kept.length).toBeLessThan(20);
    expect(store.since("configmaps", revision)).toBeUndefined();
    expect(store.since("secrets", 0)).toHaveLength(1);
  });

  it("counts only the memory that a write adds", () => {
    const store = new Store(20_000, 2_000_000);
    let object = store.put("configmaps", big("c", 0));
    for (let at = 0; at < 1_000; at++) {
      const labels = { at: String(at) };
      object = store.put("configmaps", { ...object, metadata: { ...object.metadata, labels } });
    }
    expect(store.since("configmaps", 0)).toHaveLength(1_001);
  });

  it("excludes an object that is too large for etcd, which is refused and not stored", () => {
    const store = new Store();
    const large = { ...big("c", 0), data: { text: "x".repeat(1_600_000) } } as KubeObject;
    const { revision } = store;
    expect(() => store.put("configmaps", large)).toThrow("etcdserver: request is too large");
    expect(store.get("configmaps", "a", "c")).toBeUndefined();
    expect(store.revision).toBe(revision);
  });
});
