import { describe, expect, it } from "vitest";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { createPodProjection } from "../../controllers/pod-projection.ts";
import { encodeProtobuf } from "../../sandbox/apiserver/protobuf/encode.ts";
import { createKubeClient } from "../client/kube-client.ts";
import { createPodFrameReader, createPodPageReader } from "../protobuf/pod-frames.ts";
import type { KubeRequest, KubeResponse, Transport } from "../transport/transport.ts";
import { LiveMirrors } from "./mirrors.ts";

const PODS = ["a", "b", "c"].map((name) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "x",
    uid: name,
    resourceVersion: "7",
    labels: { app: "web" },
    managedFields: [{ manager: "kubelet" }],
  },
  spec: { nodeName: `node-${name}`, containers: [{ name: "c", image: "web" }] },
  status: { phase: "Running" },
}));

/**
 * A server with pages of two pods. They are protobuf if the client accepts bytes and `isBroken` is false. Its watches
 * deliver nothing, or one bookmark if they ask for no version.
 */
function serving(isBroken = false) {
  const asked: string[] = [];
  const send = async ({ path, takesBytes }: KubeRequest): Promise<KubeResponse> => {
    const query = new URLSearchParams(path.split("?")[1]);
    if (query.has("watch")) {
      if (query.get("resourceVersion") === "") return { status: 200, headers: {}, stream: MARKED };
      asked.push(`watch ${query.get("resourceVersion")}`);
      const stream = { close: () => undefined, [Symbol.asyncIterator]: silence };
      return { status: 200, headers: {}, stream };
    }
    const from = Number(query.get("continue") ?? 0);
    asked.push(`list ${from} ${takesBytes === true ? "bytes" : "JSON"}`);
    const metadata = { resourceVersion: "9", ...(from === 0 ? { continue: "2" } : {}) };
    const list = { apiVersion: "v1", kind: "PodList", metadata, items: PODS.slice(from, from + 2) };
    if (takesBytes !== true) return { status: 200, headers: {}, body: list };
    const bytes = encodeProtobuf(list);
    return { status: 200, headers: {}, body: isBroken ? bytes.subarray(0, 60) : bytes };
  };
  return { asked, transport: { send, close: () => undefined } satisfies Transport };
}

const silence = (): AsyncIterator<unknown> => ({ next: () => new Promise(() => undefined) });

const MARKED = {
  close: () => undefined,
  async *[Symbol.asyncIterator]() {
    yield { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } } as never;
  },
};

async function mirrored({ transport, asked }: ReturnType<typeof serving>) {
  const clock = new VirtualClock();
  const project = createPodProjection();
  const mirrors = new LiveMirrors({
    client: createKubeClient(transport),
    clock,
    random: new Random(1),
    log: SILENT,
  });
  const mirror = mirrors.of(POD, {
    project,
    readFrame: createPodFrameReader(project),
    readPage: createPodPageReader(project),
  });
  await mirrors.synced(POD);
  await clock.settle();
  mirrors.close();
  return { list: mirror.list(), asked, projected: PODS.map((pod) => project(pod as never as Pod)) };
}

describe("an informer of a list in protobuf", () => {
  it("has the projected pods of all pages, and watches from the version of the list", async () => {
    const { list, asked, projected } = await mirrored(serving());
    expect(list).toEqual(projected);
    expect(list.map((pod) => Object.isFrozen(pod))).toEqual([true, true, true]);
    expect(asked).toEqual(["list 0 bytes", "list 2 bytes", "watch 9"]);
  });

  it("requests a page that it cannot read again in JSON, and has the same pods", async () => {
    const { list, asked, projected } = await mirrored(serving(true));
    expect(list).toEqual(projected);
    expect(asked).toEqual([
      "list 0 bytes",
      "list 0 JSON",
      "list 2 bytes",
      "list 2 JSON",
      "watch 9",
    ]);
  });
});
