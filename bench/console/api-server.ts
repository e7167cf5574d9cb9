/**
 * An API server that knows lists and watches alone, in a process of its own: `tsx api-server.ts NODES PODS_PER_NODE`.
 * Its first line says where it is. A line `EVENTS` on its standard input: so many pods change a second from then on.
 */
import { createServer, type ServerResponse } from "node:http";
import { drawObjects, podOf } from "./cluster.ts";

const [nodes = 5_000, podsPerNode = 10] = process.argv.slice(2).map(Number);
const objects = drawObjects(nodes, podsPerNode);
const watchers = new Map<string, Set<ServerResponse>>();
const pods = objects.get("/api/v1/pods") ?? [];
const bodies = new Map<string, string>();
let [version, at, rate] = [1_000, 0, 0];

createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  const items = objects.get(url.pathname);
  if (url.pathname === "/version") {
    response.end("{}");
    return undefined;
  }
  if (items === undefined && url.pathname.includes("karpenter-facts")) return missing(response);
  response.setHeader("content-type", "application/json");
  if (url.searchParams.has("watch")) {
    response.flushHeaders();
    const known = watchers.get(url.pathname) ?? new Set();
    watchers.set(url.pathname, known.add(response));
    response.on("close", () => known.delete(response));
    return undefined;
  }
  const limit = Number(url.searchParams.get("limit") ?? 0) || Number.POSITIVE_INFINITY;
  const from = Number(url.searchParams.get("continue") ?? 0);
  const some = (items ?? []).slice(from, from + limit);
  const rest = (items ?? []).length - from - some.length;
  const next = rest > 0 ? { continue: String(from + limit), remainingItemCount: rest } : {};
  const key = `${url.pathname} ${from} ${limit}`;
  const body =
    bodies.get(key) ??
    JSON.stringify({
      kind: "List",
      apiVersion: "v1",
      metadata: { resourceVersion: String(version), ...next },
      items: some,
    });
  if (rate === 0) bodies.set(key, body);
  response.end(body);
  return undefined;
}).listen(0, "127.0.0.1", function (this: { address(): unknown }) {
  console.log(`http://127.0.0.1:${(this.address() as { port: number }).port}`);
});

function missing(response: ServerResponse): void {
  response.writeHead(404, { "content-type": "application/json" });
  response.end(
    JSON.stringify({ kind: "Status", status: "Failure", reason: "NotFound", code: 404 }),
  );
}

const PER_TICK_MS = 20;
let owed = 0;
setInterval(() => {
  owed += (rate * PER_TICK_MS) / 1_000;
  for (; owed >= 1; owed--) {
    // A pod that moves to another node, as in a rollout.
    const index = (at * 7_919) % pods.length;
    const object = podOf(index, (index + at++) % nodes, ++version);
    pods[index] = object;
    const line = `${JSON.stringify({ type: "MODIFIED", object })}\n`;
    for (const response of watchers.get("/api/v1/pods") ?? []) response.write(line);
  }
}, PER_TICK_MS);

process.stdin.on("data", (text: Buffer) => {
  rate = Number(String(text).trim());
});
process.stdin.on("end", () => process.exit());
