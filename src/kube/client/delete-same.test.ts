import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { node } from "../../testing/builders.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { deleteSame, NotDeletedError } from "./delete-same.ts";

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

  it.each([
    ["a Status", { kind: "Status", status: "Success" }],
    ["nothing", undefined],
    ["another object that is being deleted", { metadata: { uid: "b", deletionTimestamp: "now" } }],
  ])("rejects if the server answers %s and the object stays as it was", async (_, answer) => {
    const api = fakeKube(new VirtualClock());
    const stays = await api.create(NODE, node({ name: "a" }));
    const idle = { get: api.get, delete: async () => answer };
    await expect(deleteSame(idle, NODE, stays)).rejects.toThrow(NotDeletedError);
    expect(await deleteSame(api, NODE, stays)).toBe(true);
  });

  it("reads nothing if the answer is the object that is being deleted", async () => {
    const object = node({ name: "a" });
    const metadata = { ...object.metadata, uid: "a", deletionTimestamp: "2026-01-05T08:00:00Z" };
    const answering = { get: () => Promise.reject(new Error("read")), delete: async () => going };
    const going = { ...object, metadata };
    expect(await deleteSame(answering, NODE, going)).toBe(true);
  });

  it("rejects an object without a UID", async () => {
    const api = fakeKube(new VirtualClock());
    const { uid: _, ...metadata } = node({ name: "a" }).metadata;
    await expect(deleteSame(api, NODE, { metadata })).rejects.toThrow("UID is not known");
  });
});
