/**
 * The HTTPS listener of a live sandbox against malformed clients: broken bodies, odd methods and paths, clients
 * that disappear, and very many clients. After each of them the next request is answered.
 */
import type { IncomingHttpHeaders } from "node:http";
import { request } from "node:https";
import { createConnection } from "node:net";
import { connect } from "node:tls";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LiveSandbox, startLiveSandbox } from "./live-sandbox.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

let sandbox: LiveSandbox;

beforeAll(async () => {
  sandbox = await startLiveSandbox();
  await call(CONFIG_MAPS, { method: "POST", body: configMap("one") });
});

afterAll(() => sandbox.close());

interface Sent {
  readonly method?: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
  readonly json: any;
}

function call(path: string, sent: Sent = {}): Promise<Answer> {
  const { url, caPem, token } = sandbox.https;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}${path}`,
      {
        method: sent.method ?? "GET",
        ca: caPem,
        headers: {
          authorization: `Bearer ${token}`,
          ...(sent.body === undefined ? {} : { "content-type": "application/json" }),
          ...sent.headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const bytes = Buffer.concat(chunks);
          const isJson = response.headers["content-type"] === "application/json";
          const isPlain = response.headers["content-encoding"] === undefined;
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes,
            json: isJson && isPlain && bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined,
          });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(sent.body);
  });
}

interface Watch {
  text(): string;
  stop(): void;
}

/** Opens a watch; resolves when the server has sent its headers. */
function watch(path: string): Promise<Watch> {
  const { url, caPem, token } = sandbox.https;
  return new Promise((resolve, reject) => {
    let text = "";
    const outgoing = request(
      `${url}${path}`,
      { ca: caPem, headers: { authorization: `Bearer ${token}` }, agent: false },
      (response) => {
        response.on("data", (chunk: Buffer) => {
          text += chunk.toString();
        });
        response.on("error", () => undefined);
        resolve({ text: () => text, stop: () => outgoing.destroy() });
      },
    );
    outgoing.on("error", reject);
    outgoing.end();
  });
}

function configMap(name: string, data: Readonly<Record<string, string>> = {}): string {
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
}

describe("bad requests over HTTPS", () => {
  it.each([
    ["POST", CONFIG_MAPS, '{"metadata":', 400, /unrecognized.*json parse error/],
    ["POST", CONFIG_MAPS, "[]", 400, /./],
    ["POST", CONFIG_MAPS, '"text"', 400, /./],
    ["POST", CONFIG_MAPS, "", 400, /./],
    ["POST", CONFIG_MAPS, '{"kind":"Pod","apiVersion":"v1"}', 400, /./],
    ["PUT", `${CONFIG_MAPS}/one`, "null", 400, /./],
    ["PATCH", `${CONFIG_MAPS}/one`, "{}", 415, /Unsupported Media Type|unknown format/],
    [
      "DELETE",
      CONFIG_MAPS.replace("configmaps", "nothings"),
      "",
      404,
      /could not find the requested/,
    ],
    ["GET", "/api/v1/pods?labelSelector=((", undefined, 400, /./],
    ["GET", "/api/v1/pods?limit=many", undefined, 400, /./],
    ["GET", "/api/v1/pods?continue=nonsense", undefined, 400, /./],
    ["GET", "/api/v1/pods?fieldSelector=spec.nope=1", undefined, 400, /field label not supported/],
    ["OPTIONS", "/api/v1/pods", undefined, 405, /OPTIONS/],
    ["TRACE", "/api/v1/pods", undefined, 405, /TRACE/],
    ["POST", "/api/v1/nodes/x/status", "{}", 405, /./],
  ])("%s %s %s get a Status with code %i", async (method, path, body, status, message) => {
    const answer = await call(path, { method, ...(body === undefined ? {} : { body }) });
    expect(answer.json).toMatchObject({ kind: "Status", status: "Failure", code: status });
    expect(answer.status).toBe(status);
    expect(answer.json.message).toMatch(message);
  });

  it("with wrong tokens, oversized bodies or incomplete bodies are refused", async () => {
    const stranger = await call("/api/v1/pods", { headers: { authorization: "Bearer nobody" } });
    expect(stranger.json).toMatchObject({ code: 401, reason: "Unauthorized" });
    const body = configMap("big", { a: "x".repeat(4_000_000) });
    const big = await call(CONFIG_MAPS, { method: "POST", body });
    expect(big.json).toMatchObject({ code: 413, reason: "RequestEntityTooLarge" });
    const { port, caPem, token } = sandbox.https;
    await new Promise<void>((resolve) => {
      const socket = connect({ port, host: "127.0.0.1", ca: caPem }, () => {
        socket.write(
          `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 900\r\n\r\n{`,
          () => socket.destroy(),
        );
      });
      socket.on("close", () => resolve());
    });
    await expect.poll(async () => (await call("/readyz")).bytes.toString()).toBe("ok");
  });

  it("for a group that is not served are refused", async () => {
    const answer = await call("/apis/nowhere.example.com/v1/things");
    expect(answer.status).toBe(404);
    expect(answer.bytes.toString()).toMatch(/404 page not found|could not find the requested/);
  });

  it("that are not HTTP do not end the server", async () => {
    const { port } = sandbox.https;
    await new Promise<void>((resolve) => {
      const socket = createConnection({ port, host: "127.0.0.1" }, () => {
        socket.write("GET / HTTP/1.1\r\n\r\n");
      });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
    });
    expect((await call("/readyz")).status).toBe(200);
  });

  it("with unknown fields in any script get a warning, of limited length", async () => {
    const fields = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`field${i}`, 1]));
    const many = JSON.stringify({ metadata: { name: "many" }, ...fields });
    expect((await call(CONFIG_MAPS, { method: "POST", body: many })).status).toBe(201);
    const body = JSON.stringify({ metadata: { name: "script" }, поле: 1, "a\nb": 1 });
    const answer = await call(CONFIG_MAPS, { method: "POST", body });
    expect(answer.status).toBe(201);
    const warning = Buffer.from(String(answer.headers["warning"]), "latin1").toString();
    expect(warning).toBe('299 - "unknown field \\"поле\\""');
  });
});

describe("good requests over HTTPS", () => {
  it("get answers to HEAD without a body, and long answers compressed if they ask", async () => {
    const head = await call("/api/v1/nodes", { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, bytes: Buffer.alloc(0) });
    expect(Number(head.headers["content-length"])).toBeGreaterThan(1_000);
    const plain = await call("/openapi/v2");
    const packed = await call("/openapi/v2", { headers: { "accept-encoding": "gzip" } });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 4);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
  });

  it("can open two hundred watches at once, which are released when their clients leave", async () => {
    const before = sandbox.openStreams();
    const path = `${CONFIG_MAPS}?watch=true&resourceVersion=0&fieldSelector=metadata.name=shared`;
    const watches = await Promise.all(Array.from({ length: 200 }, () => watch(path)));
    expect(sandbox.openStreams()).toBe(before + 200);
    await call(CONFIG_MAPS, { method: "POST", body: configMap("shared") });
    await expect
      .poll(() => watches.filter(({ text }) => text().includes('"ADDED"')).length)
      .toBe(200);
    for (const { stop } of watches.slice(0, 150)) stop();
    await expect.poll(() => sandbox.openStreams()).toBe(before + 50);
    await call(`${CONFIG_MAPS}/shared`, { method: "DELETE" });
    await expect
      .poll(() => watches.slice(150).filter(({ text }) => text().includes('"DELETED"')).length)
      .toBe(50);
    for (const { stop } of watches.slice(150)) stop();
    await expect.poll(() => sandbox.openStreams()).toBe(before);
  });
});
