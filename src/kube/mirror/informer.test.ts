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
  it("tells handlers what a list added, updated and removed", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [node("b", 2), node("a", 1)], resourceVersion: "2" });
    mirror.replace({ items: [node("b", 3)], resourceVersion: "4" });
    expect(seen).toEqual(["added b@2", "added a@1", "removed a@1", "updated b@3"]);
    expect(mirror.list().map((item) => item.metadata.name)).toEqual(["b"]);
  });

  it("ignores an event that is older than its object", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [node("a", 5)], resourceVersion: "5" });
    mirror.take({ type: "MODIFIED", object: node("a", 4) });
    expect(seen).toEqual(["added a@5"]);
  });

  it("has our own write at once, and does not restore an object that the watch has deleted", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [], resourceVersion: "1" });
    mirror.observe(node("a", 2));
    mirror.take({ type: "ADDED", object: node("a", 2) });
    mirror.take({ type: "DELETED", object: node("a", 4) });
    mirror.observe(node("a", 3));
    expect(seen).toEqual(["added a@2", "removed a@2"]);
    expect(mirror.size).toBe(0);
  });

  it("takes older objects of a restored store, and events after them", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [node("a", 20), node("b", 3)], resourceVersion: "20" });
    const restored = { items: [node("a", 5), node("b", 3)], resourceVersion: "6" };
    for (const _ of mirror.replaceInSteps(restored, true));
    mirror.take({ type: "MODIFIED", object: node("a", 7) });
    mirror.observe(node("c", 8));
    expect(seen.slice(2)).toEqual(["removed a@20", "added a@5", "updated a@7", "added c@8"]);
  });

  it("treats an object of the same name with another UID as another object", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [node("a", 1, "first")], resourceVersion: "1" });
    mirror.take({ type: "MODIFIED", object: node("a", 9, "second") });
    expect(seen).toEqual(["added a@1", "removed a@1", "added a@9"]);
  });

  it("finds objects by index in key order, and not under a former index value", () => {
    const { mirror } = informer();
    mirror.replace({ items: [node("b", 1), node("a", 2)], resourceVersion: "2" });
    expect(mirror.byIndex("zone", "a").map((item) => item.metadata.name)).toEqual(["a", "b"]);
    mirror.take({ type: "MODIFIED", object: node("a", 3, "a", "b") });
    expect(mirror.byIndex("zone", "a").map((item) => item.metadata.name)).toEqual(["b"]);
    expect(mirror.list()[0]?.metadata.managedFields).toBeUndefined();
  });

  it("tells a new handler its objects in steps, each once and with its current version", () => {
    const { mirror } = informer();
    const names = Array.from({ length: 1_000 }, (_, index) => `n${String(index).padStart(4, "0")}`);
    mirror.replace({ items: names.map((name) => node(name, 1)), resourceVersion: "1" });
    const seen: string[] = [];
    const { feeding, stop } = mirror.onInSteps((event, { metadata }, before) =>
      seen.push(
        `${event} ${metadata.name}@${metadata.resourceVersion} ${before?.metadata.resourceVersion}`,
      ),
    );
    expect(feeding.next().done).toBe(false);
    const told = seen.length;
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThanOrEqual(64);
    // Changes of objects that the handler has received (n0000), of some that it has not received yet, and of a new one.
    mirror.take({ type: "MODIFIED", object: node("n0000", 2) });
    mirror.take({ type: "MODIFIED", object: node("n0999", 3) });
    mirror.take({ type: "DELETED", object: node("n0998", 4) });
    mirror.take({ type: "DELETED", object: node("n0997", 5) });
    mirror.take({ type: "ADDED", object: node("n0997", 6, "another") });
    mirror.take({ type: "ADDED", object: node("n0500a", 7) });
    expect(seen.slice(told)).toEqual(["updated n0000@2 1", "added n0500a@7 undefined"]);
    let steps = 0;
    while (feeding.next().done !== true) steps++;
    expect(steps).toBeGreaterThanOrEqual(Math.floor(900 / 64));
    const added = seen.filter((one) => one.startsWith("added")).map((one) => one.split(" ")[1]);
    expect(added.length).toBe(new Set(added).size);
    expect(added.filter((one) => one !== "n0500a@7")).toEqual(
      names
        .filter((name) => name !== "n0998")
        .map((name) => `${name}@${{ n0999: 3, n0997: 6 }[name] ?? 1}`),
    );
    mirror.take({ type: "MODIFIED", object: node("n0999", 8) });
    expect(seen.at(-1)).toBe("updated n0999@8 3");
    stop();
    mirror.take({ type: "MODIFIED", object: node("n0999", 9) });
    expect(seen.at(-1)).toBe("updated n0999@8 3");
  });

  it("applies a list in steps of at most 65 objects, and keeps our own writes meanwhile", () => {
    const { mirror, seen } = informer();
    const items = Array.from({ length: 1_000 }, (_, index) => node(`n${1_000 + index}`, 1));
    mirror.replace({ items, resourceVersion: "1" });
    seen.length = 0;
    const steps = mirror.replaceInSteps({
      items: items.slice(0, 500).map(({ metadata }) => node(metadata.name, 2)),
      resourceVersion: "5",
    });
    let most = 0;
    for (let done = false; !done; ) {
      const before = seen.length;
      done = steps.next().done === true;
      most = Math.max(most, seen.length - before);
      if (before === 0) mirror.observe(node("ours", 6));
    }
    expect(most).toBeLessThanOrEqual(65);
    expect(seen.filter((one) => one.startsWith("removed")).length).toBe(500);
    expect(seen.filter((one) => one.startsWith("updated")).length).toBe(500);
    expect(mirror.get("ours")?.metadata.resourceVersion).toBe("6");
    expect(mirror.size).toBe(501);
  });

  it("keeps our own write that an earlier list lacks", () => {
    const { mirror, seen } = informer();
    mirror.replace({ items: [node("a", 1), node("old", 2)], resourceVersion: "10" });
    mirror.observe(node("ours", 25));
    seen.length = 0;
    mirror.replace({ items: [node("a", 1)], resourceVersion: "20" });
    expect(seen).toEqual(["removed old@2"]);
    // The watch begins at the version of the list, so it delivers this process's own write again.
    mirror.take({ type: "ADDED", object: node("ours", 25) });
    expect(seen).toEqual(["removed old@2"]);
    mirror.take({ type: "DELETED", object: node("ours", 30) });
    expect(seen).toEqual(["removed old@2", "removed ours@25"]);
  });

  it("keeps our own writes before and during a list that is applied in steps", () => {
    const { mirror, seen } = informer();
    const items = Array.from({ length: 200 }, (_, index) => node(`n${1_000 + index}`, 1));
    mirror.replace({ items, resourceVersion: "1" });
    mirror.observe(node("n0999", 25));
    seen.length = 0;
    const steps = mirror.replaceInSteps({ items: [], resourceVersion: "20" });
    while (seen.length === 0) steps.next();
    // This object was in the mirror before the list. This process creates it again before the step that would remove
    // it.
    mirror.observe(node("n1199", 26, "another"));
    while (steps.next().done !== true);
    expect(mirror.list().map(({ metadata }) => metadata.name)).toEqual(["n0999", "n1199"]);
    expect(seen).not.toContain("removed n1199@26");
  });

  it("adopts a list older than its objects, because the server's store was set back", () => {
    const { mirror } = informer();
    mirror.replace({ items: [node("a", 90)], resourceVersion: "90" });
    mirror.take({ type: "ADDED", object: node("b", 100) });
    mirror.observe(node("ours", 101));
    mirror.replace({ items: [node("c", 40)], resourceVersion: "50" });
    expect(mirror.list().map(({ metadata }) => metadata.name)).toEqual(["c"]);
  });

  it("keeps no object that a list without a comparable version lacks", () => {
    for (const resourceVersion of ["", "seven"]) {
      const { mirror } = informer();
      mirror.replace({ items: [node("a", 1)], resourceVersion: "1" });
      mirror.observe(node("ours", 25));
      mirror.replace({ items: [], resourceVersion });
      expect(mirror.size).toBe(0);
    }
  });
});
