import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../apis/core/node.ts";
import { Informer } from "./informer.ts";

function node(name: string, version: number, uid = name, zone = "a"): Node {
  return {
    metadata: {
      name,
      uid,
      resourceVersion: String(version),
      labels: { zone },
      managedFields: [{}],
    },
  };
}

function informer() {
  const seen: string[] = [];
  const mirror = new Informer<Node>(NODE, {
    indexes: { zone: (object) => [object.metadata.labels?.["zone"] ?? ""] },
  });
  mirror.on((event, object) =>
    seen.push(`${event} ${object.metadata.name}@${object.metadata.resourceVersion}`),
  );
  return { mirror, seen };
}

describe("informer", () => {
  it("tells what a list added, changed and took away", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [node("b", 2), node("a", 1)], resourceVersion: "2" });
    mirror.replace({ items: [node("b", 3)], resourceVersion: "4" });
    expect(seen).toEqual(["added b@2", "added a@1", "removed a@1", "updated b@3"]);
    expect(mirror.list().map((item) => item.metadata.name)).toEqual(["b"]);
  });

  it("lets the newer version win over a late event", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [node("a", 5)], resourceVersion: "5" });
    mirror.take({ type: "MODIFIED", object: node("a", 4) });
    expect(seen).toEqual(["added a@5"]);
  });

  it("knows our own write at once, and does not bring back what the watch has removed", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [], resourceVersion: "1" });
    mirror.observe(node("a", 2));
    mirror.take({ type: "ADDED", object: node("a", 2) });
    mirror.take({ type: "DELETED", object: node("a", 4) });
    mirror.observe(node("a", 3));
    expect(seen).toEqual(["added a@2", "removed a@2"]);
    expect(mirror.size).toBe(0);
  });

  it("takes an object of the same name with another UID for another object", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [node("a", 1, "first")], resourceVersion: "1" });
    mirror.take({ type: "MODIFIED", object: node("a", 9, "second") });
    expect(seen).toEqual(["added a@1", "removed a@1", "added a@9"]);
  });

  it("finds objects by index in key order and forgets them when they move", () => {
    const { mirror } = informer();
    mirror.replace({ items: [node("b", 1), node("a", 2)], resourceVersion: "2" });
    expect(mirror.byIndex("zone", "a").map((item) => item.metadata.name)).toEqual(["a", "b"]);
    mirror.take({ type: "MODIFIED", object: node("a", 3, "a", "b") });
    expect(mirror.byIndex("zone", "a").map((item) => item.metadata.name)).toEqual(["b"]);
    expect(mirror.list()[0]?.metadata.managedFields).toBeUndefined();
  });
});
