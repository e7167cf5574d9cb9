/**
 * An API server that answers only lists and watches, in a process of its own:
 * `tsx api-server.ts NODES PODS_PER_NODE [TROUBLE]`. TROUBLE is one of `troubles.ts`.
 * Like kube-apiserver, it sends pods in protobuf if the client accepts that. Its first line of output is its address.
 * After a line `EVENTS KIND` on its standard input, it sends that many events per second, of a kind of `pod-events.ts`.
 */
import { createServer, type ServerResponse } from "node:http";
import type { KubeObject } from "../../src/apis/meta.ts";
import { encodeProtobuf, encodeWatchFrame } from "../../src/sandbox/apiserver/protobuf/encode.ts";
import { PROTOBUF } from "../../src/sandbox/apiserver/protobuf/fields.ts";
import { drawObjects } from "./cluster.ts";
import { POD_EVENTS, type PodEvents } from "./pod-events.ts";
import { TROUBLES } from "./troubles.ts";

const PODS = "/api/v1/pods";
/** Number of objects in the pages that the console requests. */
const PAGE = 500;

const [nodes = 5_000, podsPerNode = 10] = process.argv.slice(2).map(Number);
const objects = drawObjects(nodes, podsPerNode);
TROUBLES[process.argv[4] ?? ""]?.(objects);
/** Open watches by path. The value says whether the client accepts protobuf. */
const watchers = new Map<string, Map<ServerResponse, boolean>>();
const pods = objects.get(PODS) ?? [];
const bodies = new Map<string, string | Uint8Array>();
let [version, rate] = [1_000, 0];
// All pages are encoded before the measurement. kube-apiserver encodes faster than this process, so encoding would
// distort it.
for (let from = 0; from < pods.length; from += PAGE)
  pageOf({ path: PODS, from, limit: PAGE, isBinary: true });

createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  const items = objects.get(url.pathname);
  if (url.pathname === "/version") {
    response.end("{}");
    return undefined;
  }
  if (items === undefined && url.pathname.includes("karpenter-facts")) return missing(response);
  const isBinary = url.pathname === PODS && `${request.headers.accept}`.includes(PROTOBUF);
  response.setHeader("content-type", isBinary ? PROTOBUF : "application/json");
  if (url.searchParams.has("watch")) {
    response.flushHeaders();
    if (!url.searchParams.get("resourceVersion")) response.write(stateOf(items ?? []));
    const known = watchers.get(url.pathname) ?? new Map();
    watchers.set(url.pathname, known.set(response, isBinary));
    response.on("close", () => known.delete(response));
    return undefined;
  }
  const limit = Number(url.searchParams.get("limit") ?? 0) || Number.POSITIVE_INFINITY;
  const from = Number(url.searchParams.get("continue") ?? 0);
  response.end(pageOf({ path: url.pathname, from, limit, isBinary }));
  return undefined;
}).listen(0, "127.0.0.1", function (this: { address(): unknown }) {
  console.log(`http://127.0.0.1:${(this.address() as { port: number }).port}`);
});

/** What a watch without a version begins with: each object, and a bookmark that marks their end. As JSON. */
function stateOf(items: readonly KubeObject[]): string {
  const metadata = {
    resourceVersion: String(version),
    annotations: { "k8s.io/initial-events-end": "true" },
  };
  const events = [
    ...items.map((object) => ({ type: "ADDED", object })),
    { type: "BOOKMARK", object: { metadata } },
  ];
  return events.map((one) => `${JSON.stringify(one)}\n`).join("");
}

interface Page {
  readonly path: string;
  readonly from: number;
  readonly limit: number;
  readonly isBinary: boolean;
}

function pageOf({ path, from, limit, isBinary }: Page): string | Uint8Array {
  const key = `${path} ${from} ${limit} ${isBinary}`;
  const known = bodies.get(key);
  if (known !== undefined) return known;
  const items: readonly KubeObject[] = objects.get(path) ?? [];
  const some = items.slice(from, from + limit);
  const rest = items.length - from - some.length;
  const next = rest > 0 ? { continue: String(from + limit), remainingItemCount: rest } : {};
  const metadata = { resourceVersion: String(version), ...next };
  const list = { kind: isBinary ? "PodList" : "List", apiVersion: "v1", metadata, items: some };
  const body = isBinary ? encodeProtobuf(list) : JSON.stringify(list);
  if (rate === 0) bodies.set(key, body);
  return body;
}

function missing(response: ServerResponse): void {
  response.writeHead(404, { "content-type": "application/json" });
  response.end(
    JSON.stringify({ kind: "Status", status: "Failure", reason: "NotFound", code: 404 }),
  );
}

const PER_TICK_MS = 20;
let owed = 0;
let events: PodEvents | undefined;
setInterval(() => {
  owed += (rate * PER_TICK_MS) / 1_000;
  const count = Math.floor(owed);
  owed -= count;
  for (const { type, object } of events?.(count) ?? []) {
    const line = `${JSON.stringify({ type, object })}\n`;
    const frame = encodeWatchFrame(type, encodeProtobuf({ ...object }));
    for (const [response, isBinary] of watchers.get(PODS) ?? [])
      response.write(isBinary ? frame : line);
  }
}, PER_TICK_MS);

process.stdin.on("data", (text: Buffer) => {
  const [wanted, kind = ""] = String(text).trim().split(" ");
  rate = Number(wanted);
  events = POD_EVENTS[kind]?.({ pods, nodes, tickMs: PER_TICK_MS, nextVersion: () => ++version });
});
process.stdin.on("end", () => process.exit());
