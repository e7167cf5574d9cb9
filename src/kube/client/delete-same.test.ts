import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { node } from "../../testing/builders.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { deleteSame } from "./delete-same.ts";

describe("deleteSame", () => {
  it("leaves another object of that name", async () => {
    const api = fakeKube(new VirtualClock());
    const before = await api.create(NODE, node({ name: "a" }));
    api.vanish(NODE, "a");
    const other = node({ name: "a" });
    const metadata = { ...other.metadata, uid: "another" };
    const again = await api.create(NODE, { ...other, metadata });
    expect(await deleteSame(api, NODE, before)).toBe(false);
    expect(api.find(NODE, "a")?.metadata.uid).toBe(again.metadata.uid);
    expect(await deleteSame(api, NODE, again)).toBe(true);
    expect(await deleteSame(api, NODE, again)).toBe(false);
  });

  it("rejects an object without a UID", async () => {
    const api = fakeKube(new VirtualClock());
    const { uid: _, ...metadata } = node({ name: "a" }).metadata;
    await expect(deleteSame(api, NODE, { metadata })).rejects.toThrow("UID is not known");
  });
});
