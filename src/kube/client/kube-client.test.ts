import { describe, expect, it } from "vitest";
import { POD, type Pod } from "../../apis/core/pod.ts";
import type { KubeRequest, KubeStream, Transport } from "../transport/transport.ts";
import type { ReadPage, TakeFrame } from "./client.ts";
import { createKubeClient } from "./kube-client.ts";

/** A client whose server answers each request with the next of these bodies. */
function answering(...bodies: readonly unknown[]) {
  const asked: KubeRequest[] = [];
  const left = [...bodies];
  const send = async (request: KubeRequest) => {
    asked.push(request);
    return { status: 200, headers: {}, body: left.shift() };
  };
  return { asked, client: createKubeClient({ send, close: () => {} } as Transport) };
}

const named = (name: string) => ({ metadata: { name, namespace: "a" }, spec: { containers: [] } });
const BYTES = new Uint8Array([1]);

describe("a list read in protobuf", () => {
  const readPage: ReadPage<Pod> = () => ({
    items: [named("bytes")],
    metadata: { resourceVersion: "5", continue: "more" },
  });
  const keep = (pod: Pod): Pod => Object.freeze({ ...pod, kind: "kept" });

  it("is joined from pages in protobuf or JSON", async () => {
    const json = { metadata: { resourceVersion: "5" }, items: [named("json")] };
    const { asked, client } = answering(BYTES, json);
    const { items, resourceVersion } = await client.list(POD, { keep, readPage });
    expect(items).toEqual([named("bytes"), { apiVersion: "v1", ...named("json"), kind: "kept" }]);
    expect(resourceVersion).toBe("5");
    expect(asked.map(({ takesBytes }) => takesBytes)).toEqual([true, true]);
    expect(asked[1]?.path).toContain("continue=more");
  });

  it("is requested again in JSON if its protobuf cannot be read", async () => {
    const fails: ReadPage<Pod> = () => {
      throw new Error("no message");
    };
    const { asked, client } = answering(BYTES, { metadata: {}, items: [named("json")] });
    const { items } = await client.list(POD, { keep, readPage: fails });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["json"]);
    expect(asked.map(({ takesBytes }) => takesBytes)).toEqual([true, undefined]);
  });
});

describe("an incomplete list", () => {
  it.each([
    [
      "with remainingItemCount on its last page",
      { items: [named("a")], metadata: { remainingItemCount: 2 } },
    ],
    ["no list", { kind: "Pod", metadata: {} }],
    ["an HTML page of a proxy", "<html></html>"],
  ])("%s rejects", async (_, body) => {
    const first = { metadata: { resourceVersion: "5", continue: "more" }, items: [named("b")] };
    await expect(answering(body).client.list(POD)).rejects.toThrow("listing pods");
    await expect(answering(first, body).client.list(POD)).rejects.toThrow("listing pods");
  });

  it("is complete and empty if its items are null", async () => {
    const { items } = await answering({ items: null, metadata: {} }).client.list(POD);
    expect(items).toEqual([]);
  });
});

describe("a response that is not the requested object", () => {
  it.each([
    ["nothing", undefined],
    ["an empty object", {}],
    ["another object", named("b")],
    ["an HTML page of a proxy", "<html></html>"],
  ])("%s rejects, and does not count as 404", async (_, body) => {
    const ref = { name: "a", namespace: "a" };
    const { client } = answering(body, body, body, body);
    await expect(client.get(POD, ref)).rejects.toThrow("the answer is");
    await expect(client.patch(POD, ref, { type: "merge", body: {} })).rejects.toThrow("the answer");
    await expect(client.update(POD, named("a"))).rejects.toThrow("the answer is");
    await expect(client.create(POD, named("a"))).rejects.toThrow("the answer is");
  });
});

describe("a watch read in protobuf", () => {
  it("closes its stream after a frame that cannot be read", async () => {
    let isClosed = false;
    async function* frames() {
      yield { type: "ADDED", object: named("json") };
      yield BYTES;
    }
    const stream = {
      close: () => {
        isClosed = true;
      },
      [Symbol.asyncIterator]: frames,
    };
    const send = async () => ({ status: 200, headers: {}, stream });
    const client = createKubeClient({ send, close: () => {} } as Transport);
    const readFrame = () => {
      throw new Error("no message");
    };
    const watch = await client.watch(POD, { resourceVersion: "1", readFrame });
    const found: unknown[] = [];
    const reading = async () => {
      for await (const { object } of watch) found.push(object.metadata.name);
    };
    await expect(reading()).rejects.toThrow("a frame of 1 bytes");
    expect(found).toEqual(["json"]);
    expect(isClosed).toBe(true);
  });

  it("goes on with the next frame after one that the reader kept", async () => {
    const [kept, rest] = [[1, 2, 4], [3]];
    const given = [[1], [2, 3], [4]];
    const frameOf = (frame: number) => Uint8Array.of(frame);
    let arrived: number[] = [];
    const frames = () => ({
      next: async () => {
        const [first, ...more] = arrived.length > 0 ? arrived : (given.shift() ?? []);
        arrived = more;
        return first === undefined
          ? { done: true, value: undefined }
          : { done: false, value: frameOf(first) };
      },
      arrived: () => {
        const frame = arrived.shift();
        return frame === undefined ? undefined : frameOf(frame);
      },
    });
    const stream = { close: () => {}, [Symbol.asyncIterator]: frames } as KubeStream;
    const send = async () => ({ status: 200, headers: {}, stream });
    const client = createKubeClient({ send, close: () => {} } as Transport);
    const seen: number[] = [];
    const readFrame: TakeFrame<Pod> = ([frame = 0]) => {
      seen.push(frame);
      if (kept.includes(frame)) return undefined;
      return { type: "ADDED", object: { metadata: { name: `p${frame}` } } as Pod };
    };
    const watch = await client.watch(POD, { resourceVersion: "1", readFrame });
    const found: string[] = [];
    for await (const { object } of watch) found.push(object.metadata.name);
    expect(found).toEqual(rest.map((frame) => `p${frame}`));
    expect(seen).toEqual([1, 2, 3, 4]);
  });
});
