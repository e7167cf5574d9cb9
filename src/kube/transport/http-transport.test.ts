import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { encodeProtobuf, encodeWatchFrame } from "../../sandbox/apiserver/protobuf/encode.ts";
import { createHttpTransport } from "./http-transport.ts";
import type { Transport } from "./transport.ts";

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const WATCH = { method: "GET", path: "/api/v1/pods?watch=true" } as const;

/** A server with one answer for all requests, sent in pieces of this number of bytes. */
async function serve(status: number, type: string, body: Uint8Array, piece: number) {
  const accepted: (string | undefined)[] = [];
  const server: Server = createServer((request, response) => {
    accepted.push(request.headers.accept);
    response.writeHead(status, { "content-type": type });
    for (let at = 0; at < body.length; at += piece) response.write(body.subarray(at, at + piece));
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const transport = createHttpTransport({ server: `http://127.0.0.1:${port}`, userAgent: "test" });
  return { accepted, server, transport };
}

describe("a response over HTTP", () => {
  let open: { readonly server: Server; readonly transport: Transport } | undefined;
  afterEach(async () => {
    open?.transport.close();
    await new Promise((resolve) => open?.server.close(resolve));
  });

  it("gives protobuf frame by frame, however the bytes are split", async () => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } };
    const frames = [1, 2, 3].map(() => encodeWatchFrame("ADDED", encodeProtobuf(pod)));
    const body = Buffer.concat(frames);
    open = await serve(200, `${PROTOBUF};stream=watch`, body, 7);
    const { stream } = await open.transport.send({ ...WATCH, takesBytes: true });
    const found: unknown[] = [];
    for await (const frame of stream ?? []) found.push(frame);
    expect(found).toEqual(frames.map((frame) => Buffer.from(frame.subarray(4))));
  });

  it("accepts protobuf only if requested, and JSON in any case", async () => {
    const served = await serve(200, "application/json", Buffer.from('{"a":1}\n{"a":2}\n'), 5);
    open = served;
    for (const takesBytes of [true, false]) {
      const { stream } = await served.transport.send({ ...WATCH, takesBytes });
      const found: unknown[] = [];
      for await (const frame of stream ?? []) found.push(frame);
      expect(found).toEqual([{ a: 1 }, { a: 2 }]);
    }
    expect(served.accepted).toEqual([`${PROTOBUF},application/json`, "application/json"]);
  });

  it("has the Status of an error, in protobuf too", async () => {
    const status = { apiVersion: "v1", kind: "Status", code: 410, reason: "Expired" };
    open = await serve(410, PROTOBUF, encodeProtobuf(status), 9);
    const answer = await open.transport.send({ ...WATCH, takesBytes: true });
    expect(answer).toMatchObject({ status: 410, body: { code: 410, reason: "Expired" } });
  });

  it("gives a protobuf list as its bytes", async () => {
    const list = encodeProtobuf({ apiVersion: "v1", kind: "PodList", metadata: {}, items: [] });
    open = await serve(200, PROTOBUF, list, 5);
    const ask = { method: "GET", path: "/api/v1/pods?limit=500", takesBytes: true } as const;
    const { body } = await open.transport.send(ask);
    expect(Buffer.from(body as Uint8Array)).toEqual(Buffer.from(list));
  });
});
