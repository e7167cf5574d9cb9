// If others wrote meanwhile, the change is repeated on their version, but never on another object of the same name.
import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../apis/core/node.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { node } from "../../testing/builders.ts";
import { type FakeKube, fakeKube } from "../../testing/fake-kube.ts";
import { changeObject } from "./change-object.ts";

const CLOSED = { key: "example.com/closed", effect: "NoSchedule" } as const;

/** Adds a taint. The patch has the whole list, so it is refused if somebody else changed the object. */
const closed = (one: Node): Node => ({
  ...one,
  spec: { ...one.spec, taints: [...(one.spec?.taints ?? []), CLOSED] },
});

describe("changeObject", () => {
  it("repeats a change on the version that another client wrote meanwhile", async () => {
    const { api, before } = await withNode();
    const other = { key: "example.com/other", effect: "NoSchedule" } as const;
    api.change(NODE, "a", { spec: { taints: [other] } });
    const after = await changeObject(api, NODE, before, closed);
    expect(after?.spec?.taints).toEqual([other, CLOSED]);
  });

  it("does not change another object of the same name", async () => {
    const { api, before } = await withNode();
    await makeAnew(api);
    expect(await changeObject(api, NODE, before, closed)).toBeUndefined();
    expect(api.find(NODE, "a")?.spec?.taints).toBeUndefined();
  });

  it("returns undefined if the object is gone", async () => {
    const { api, before } = await withNode();
    api.vanish(NODE, "a");
    expect(await changeObject(api, NODE, before, closed)).toBeUndefined();
  });

  it("rejects after the third write conflict", async () => {
    const { api, before } = await withNode();
    let tries = 0;
    const change = (latest: Node): Node => {
      api.change(NODE, "a", { metadata: { annotations: { written: String(++tries) } } });
      return closed(latest);
    };
    await expect(changeObject(api, NODE, before, change)).rejects.toThrow("has changed");
    expect(tries).toBe(3);
  });
});

async function withNode(): Promise<{ readonly api: FakeKube; readonly before: Node }> {
  const api = fakeKube(new VirtualClock());
  return { api, before: await api.create(NODE, node({ name: "a" })) };
}

async function makeAnew(api: FakeKube): Promise<void> {
  api.vanish(NODE, "a");
  const other = node({ name: "a" });
  await api.create(NODE, { ...other, metadata: { ...other.metadata, uid: "another" } });
}
