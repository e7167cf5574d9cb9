// Patches of an object that others changed after it was read.
import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../apis/core/node.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { isConflict } from "../errors.ts";
import { patchObject } from "./patch-object.ts";

const condition = (type: string) => ({ type, status: "True" as const });

/** A Node as this process read it. After the read, another program stored a condition. */
async function staleNode() {
  const api = fakeKube(new VirtualClock());
  const node = { metadata: { name: "a" }, status: { conditions: [condition("Ready")] } };
  const read = await api.create(NODE, node as Node);
  api.change(NODE, "a", { status: { conditions: [condition("Ready"), condition("Stored")] } });
  const now = () => api.all(NODE)[0] as Node;
  return { api, read, now };
}

describe("a patch of a stale object", () => {
  it("removes the last annotation and label that this process knows, and keeps those added since", async () => {
    const api = fakeKube(new VirtualClock());
    const metadata = { name: "a", annotations: { ours: "1" }, labels: { ours: "1" } };
    const read = await api.create(NODE, { metadata } as Node);
    api.change(NODE, "a", { metadata: { annotations: { other: "2" }, labels: { other: "2" } } });
    const { annotations: _, labels: __, ...rest } = read.metadata;
    await patchObject(api, NODE, read, { ...read, metadata: rest } as Node);
    const [now] = api.all(NODE);
    expect(now?.metadata.annotations).toEqual({ other: "2" });
    expect(now?.metadata.labels).toEqual({ other: "2" });
  });

  it("is a conflict if it would replace a changed list in the status, even after a metadata patch", async () => {
    const { api, read, now } = await staleNode();
    const after = {
      ...read,
      metadata: { ...read.metadata, labels: { team: "a" } },
      status: { conditions: [condition("Ready"), condition("Ours")] },
    };
    const error = await patchObject(api, NODE, read, after as Node).catch((why) => why);
    expect(isConflict(error)).toBe(true);
    expect(now().status?.conditions?.map(({ type }) => type)).toEqual(["Ready", "Stored"]);
    const again = await patchObject(api, NODE, now(), {
      ...now(),
      metadata: { ...now().metadata, labels: { team: "a" } },
      status: { conditions: [condition("Stored"), condition("Ours")] },
    } as Node);
    expect(again?.status?.conditions?.map(({ type }) => type)).toEqual(["Stored", "Ours"]);
    expect(again?.metadata.labels).toEqual({ team: "a" });
  });

  it("succeeds if it changes no list", async () => {
    const { api, read, now } = await staleNode();
    const after = { ...read, metadata: { ...read.metadata, labels: { team: "a" } } };
    await patchObject(api, NODE, read, after);
    expect(now().metadata.labels).toEqual({ team: "a" });
    expect(now().status?.conditions).toHaveLength(2);
  });
});
