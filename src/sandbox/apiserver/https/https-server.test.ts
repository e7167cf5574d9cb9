import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../../base/system-clock.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { PortError } from "../../../listen/listener.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";
import type { ApiServer } from "../api-server.ts";
import { decodeProtobuf } from "../protobuf/decode.ts";
import { type HttpsListener, startHttps } from "./https-server.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

let directory: string;
let listener: HttpsListener;
const api = bareApiServer({
  clock: new SystemClock(),
});

/** Number of streams that the API server opened and that are not closed yet. */
let openStreams = 0;
const watched: ApiServer = {
  ...api,
  handle: async (request, user) => {
    const answer = await api.handle(request, user);
    const { stream } = answer;
    if (stream === undefined) return answer;
    openStreams++;
    let isOpen = true;
    const close = (): void => {
      if (isOpen) openStreams--;
      isOpen = false;
      stream.close();
    };
    return {
      ...answer,
      stream: { close, [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() },
    };
  },
};

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "apiserver-"));
  listener = await startHttps(watched, { port: 0, directory });
});

afterAll(async () => {
  await listener.close();
  api.close();
  rmSync(directory, { recursive: true });
});

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly type?: string;
  readonly token?: string;
  readonly onText?: (text: string, stop: () => void) => void;
}

function call(path: string, sent: Sent = {}): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${listener.url}${path}`,
      {
        method: sent.method ?? "GET",
        ca: listener.caPem,
        headers: {
          authorization: `Bearer ${sent.token ?? listener.token}`,
          "content-type": sent.type ?? "application/json",
        },
      },
      (response) => {
        let text = "";
        const finish = (): void => resolve({ status: response.statusCode ?? 0, text });
        response.on("data", (chunk: Buffer) => {
          text += chunk.toString();
          sent.onText?.(text, () => outgoing.destroy());
        });
        response.on("close", finish);
      },
    );
    outgoing.on("error", (error) => {
      if (!outgoing.destroyed) reject(error);
    });
    outgoing.end(sent.body);
  });
}

describe("the API server over HTTPS", () => {
  it("requires a valid token, except for health checks", async () => {
    expect((await call("/api/v1/pods", { token: "wrong" })).status).toBe(401);
    expect((await call("/readyz", { token: "" })).text).toBe("ok");
    expect((await call("/api/v1/pods")).status).toBe(200);
  });

  it("reads YAML, and refuses invalid JSON and bodies over the limit", async () => {
    const yaml = "metadata:\n  name: from-yaml\ndata: {a: b}\n";
    const made = await call(CONFIG_MAPS, { method: "POST", body: yaml, type: "application/yaml" });
    expect(made.status).toBe(201);
    const broken = await call(CONFIG_MAPS, { method: "POST", body: '{"a":' });
    expect(JSON.parse(broken.text)).toMatchObject({ code: 400, reason: "BadRequest" });
    const big = await call(CONFIG_MAPS, { method: "POST", body: "a".repeat(3_200_000) });
    expect(big.status).toBe(413);
  });

  it.each(["json", "merge-patch+json", "strategic-merge-patch+json", "json-patch+json"])(
    "refuses application/%s that is nested too deeply",
    async (type) => {
      const deep = `${"[".repeat(9_999)}${"]".repeat(9_999)}`;
      const one = type === "json" ? CONFIG_MAPS : `${CONFIG_MAPS}/any`;
      const method = type === "json" ? "POST" : "PATCH";
      const body = type === "json-patch+json" ? deep : `{"data":${deep}}`;
      const { status, text } = await call(one, { method, body, type: `application/${type}` });
      expect(JSON.parse(text)).toMatchObject({
        code: 400,
        message: expect.stringContaining("exceeded max depth"),
      });
      expect(status).toBe(400);
    },
  );

  it("refuses a user without rights before the body has arrived", async () => {
    const answerTo = (authorization: string) =>
      new Promise((resolve, reject) => {
        const headers = { authorization, "content-type": "application/yaml", "content-length": 99 };
        const sent = { method: "POST", ca: listener.caPem, headers };
        const outgoing = request(`${listener.url}${CONFIG_MAPS}`, sent, ({ statusCode }) => {
          outgoing.destroy();
          resolve(statusCode);
        });
        outgoing.on("error", reject);
        // Only the first byte of the body is sent.
        outgoing.write("{");
      });
    expect(await answerTo("Bearer wrong")).toBe(401);
    expect(await answerTo("")).toBe(403);
  });

  it("streams a watch line by line, and closes it when the reader disconnects", async () => {
    await call(CONFIG_MAPS, { method: "POST", body: '{"metadata":{"name":"seen"}}' });
    const { text } = await call(`${CONFIG_MAPS}?watch=true&fieldSelector=metadata.name=seen`, {
      onText: (soFar, stop) => {
        if (soFar.endsWith("\n")) stop();
      },
    });
    expect(JSON.parse(text)).toMatchObject({ type: "ADDED", object: { kind: "ConfigMap" } });
    await expect.poll(() => openStreams).toBe(0);
  });

  it("uses its certificates again after a restart, and names a port in use", async () => {
    const attempt = startHttps(api, { port: listener.port, directory });
    await expect(attempt).rejects.toThrow(PortError);
    const clock = new VirtualClock(Date.UTC(2031, 0, 1));
    const second = await startHttps(api, { port: 0, directory, clock });
    const told = await new Promise((resolve, reject) => {
      const ask = request(`${second.url}/readyz`, { ca: second.caPem }, ({ headers }) =>
        resolve(headers.date),
      );
      ask.on("error", reject).end();
    });
    // The Date header has the time of the simulated cluster.
    expect(told).toBe("Wed, 01 Jan 2031 00:00:00 GMT");
    expect(second.caPem).toBe(listener.caPem);
    expect(second.token).toBe(listener.token);
    expect(second.kubeconfig).toContain(`server: ${second.url}`);
    await second.close();
  });
});

describe("a protobuf body of a request", () => {
  it("is read as the same object in JSON would be", () => {
    // ConfigMap "x" with data a=b, as kubectl writes it.
    const field = (number: number, bytes: readonly number[]): number[] => [
      (number << 3) | 2,
      bytes.length,
      ...bytes,
    ];
    const text = (value: string): number[] => [...Buffer.from(value)];
    const type = [...field(1, text("v1")), ...field(2, text("ConfigMap"))];
    const metadata = [...field(1, text("x")), ...field(2, []), ...field(8, [])];
    const entry = [...field(1, text("a")), ...field(2, text("b"))];
    const raw = [...field(1, metadata), ...field(2, entry)];
    const body = Uint8Array.from([0x6b, 0x38, 0x73, 0, ...field(1, type), ...field(2, raw)]);
    expect(decodeProtobuf(body)).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "x" },
      data: { a: "b" },
    });
  });
});
