/** The sandbox's API server, and the client's readers of an API server: requests, protobuf, watch frames. */
import { POD, type Pod } from "../../../src/apis/core/pod.ts";
import { Random } from "../../../src/base/random.ts";
import { VirtualClock } from "../../../src/base/virtual-clock.ts";
import { createPodProjection } from "../../../src/controllers/pod-projection.ts";
import { createKubeClient } from "../../../src/kube/client/kube-client.ts";
import { ConnectionError, KubeError, UnreadableFrame } from "../../../src/kube/errors.ts";
import { createPodFrameReader } from "../../../src/kube/protobuf/pod-frames.ts";
import type { KubeRequest, Transport } from "../../../src/kube/transport/transport.ts";
import { readJsonTexts } from "../../../src/readers/json.ts";
import { LIMITS } from "../../../src/readers/limits.ts";
import { ReadError } from "../../../src/readers/read-error.ts";
import { decodeProtobuf } from "../../../src/sandbox/apiserver/protobuf/decode.ts";
import {
  encodeProtobuf,
  encodeWatchFrame,
} from "../../../src/sandbox/apiserver/protobuf/encode.ts";
import { ApiError } from "../../../src/sandbox/apiserver/request/status.ts";
import { bareApiServer } from "../../../src/sandbox/testing/bare-api-server.ts";
import { mutateText, mutateValue } from "./mutate.ts";
import { CLUSTER, OBJECTS } from "./seeds.ts";
import type { Target } from "./target.ts";

const ADMIN = { name: "fuzz", groups: ["system:masters"] };
const PATHS = [
  "/api/v1/namespaces/default/pods",
  "/api/v1/namespaces/default/pods/web",
  "/api/v1/namespaces/default/configmaps?limit=5&continue=x",
  "/api/v1/nodes/node-1/status",
  "/api/v1/pods?fieldSelector=spec.nodeName%3Da&labelSelector=a%20in%20(b,c)",
  "/apis/apps/v1/namespaces/default/deployments",
  "/apis/apps/v1/namespaces/default/deployments/web/scale",
  "/api/v1/namespaces/default/pods/web/eviction",
  "/api/v1/namespaces/default/pods?dryRun=All&fieldManager=a&fieldValidation=Strict",
  "/openapi/v2",
  "/version",
];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const TYPES = [
  "application/json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/json-patch+json",
  "application/apply-patch+yaml",
];
const POD_OBJECT = CLUSTER.find(({ kind }) => kind === "Pod") as Record<string, unknown>;
const BODIES = [
  ...OBJECTS.filter(({ apiVersion }) => ["v1", "apps/v1"].includes(String(apiVersion))),
  POD_OBJECT,
  { spec: { replicas: 3 } },
  [
    { op: "add", path: "/metadata/labels/a", value: "b" },
    { op: "copy", from: "/spec", path: "/x" },
  ],
  { metadata: { labels: { a: null } }, spec: { containers: [{ name: "main", image: "y" }] } },
];

interface Call {
  readonly method?: unknown;
  readonly path?: unknown;
  readonly type?: unknown;
  readonly body?: unknown;
}

const asBytes = (input: string) => Buffer.from(input, "latin1");
const podBytes = Buffer.from(encodeProtobuf(POD_OBJECT));
const podFrame = Buffer.from(encodeWatchFrame("ADDED", podBytes));

/** A transport whose only answer is a stream of one frame. */
function streaming(frame: unknown): Transport {
  return {
    send: async (request: KubeRequest) => {
      if (!request.path.includes("watch=")) throw new ConnectionError("no such answer");
      const stream = {
        close: () => undefined,
        async *[Symbol.asyncIterator]() {
          yield frame;
        },
      };
      return { status: 200, headers: {}, stream };
    },
    close: () => undefined,
  };
}

async function watchFrame(frame: unknown): Promise<void> {
  const readFrame = createPodFrameReader(createPodProjection());
  const client = createKubeClient(streaming(frame));
  const watch = await client.watch<Pod>(POD, { resourceVersion: "1", readFrame });
  for await (const _ of watch);
}

export const apiTargets: readonly Target[] = [
  {
    name: "api-request",
    quick: 40,
    draw: (random) => {
      const path = random.pick(PATHS);
      const call: Call = {
        method: random.pick(METHODS),
        path: random.int(3) === 0 ? mutateText(path, random) : path,
        type: random.pick(TYPES),
        body: mutateValue<unknown>(random.pick(BODIES), random),
      };
      return JSON.stringify(call);
    },
    run: async (input) => {
      const [given] = readJsonTexts(input, { source: "call", limits: LIMITS.apiBody }) ?? [];
      const { method, path, type, body } = (given ?? {}) as Call;
      const server = bareApiServer({ clock: new VirtualClock(), random: new Random("fuzz") });
      try {
        const answer = await server.handle(
          {
            method: METHODS.find((one) => one === method) ?? "GET",
            path: typeof path === "string" ? path : "/",
            headers: { "content-type": TYPES.find((one) => one === type) ?? "application/json" },
            body,
          },
          ADMIN,
        );
        answer.stream?.close();
        // Kubernetes itself answers some patches with 500. Only "Internal error occurred" marks an error that the
        // server's code did not expect.
        const text = JSON.stringify(answer.body) ?? "";
        return answer.status >= 500 && text.includes("Internal error") ? text : undefined;
      } finally {
        server.close();
      }
    },
    // The listener limits nesting before the API server sees a body.
    expected: [ReadError],
  },
  {
    name: "protobuf",
    quick: 100,
    draw: (random) => mutateText(podBytes.toString("latin1"), random),
    run: (input) => void decodeProtobuf(asBytes(input)),
    expected: [ApiError],
  },
  {
    name: "watch-frame",
    quick: 100,
    draw: (random) => mutateText(podFrame.toString("latin1"), random),
    run: (input) => watchFrame(asBytes(input)),
    expected: [UnreadableFrame, KubeError, ConnectionError],
  },
];
