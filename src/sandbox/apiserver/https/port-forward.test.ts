import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect as connectTcp, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { constants, createDeflate } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SystemClock } from "../../../base/system-clock.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";
import { type HttpsListener, startHttps } from "./https-server.ts";

const PODS = "/api/v1/namespaces/default/pods";
const ADMIN = { name: "system:admin", groups: ["system:masters"] };
const FIN = 1;

let directory: string;
let listener: HttpsListener;
let echo: Server;
const api = bareApiServer({ clock: new SystemClock() });
/** The pod and port of each connection that the server asked for. */
const asked: unknown[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "port-forward-"));
  listener = await startHttps(api, { port: 0, directory });
  echo = createServer((socket) => {
    socket.on("data", (bytes) => socket.end(`heard ${String(bytes)}`));
  }).listen(0, "127.0.0.1");
  await once(echo, "listening");
  const spec = { nodeName: "n", containers: [{ name: "main", image: "pause" }] };
  for (const [path, body] of [
    [PODS, { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec }],
  ] as const)
    expect((await api.handle({ method: "POST", path, body }, ADMIN)).status).toBe(201);
});

afterAll(async () => {
  await listener.close();
  echo.close();
  api.close();
  rmSync(directory, { recursive: true });
});

/** A connection after its upgrade request, and the head of the server's answer. */
async function upgraded(name: string, token = listener.token, protocol = "SPDY/3.1") {
  const { port, caPem } = listener;
  const socket = connectTls({ host: "127.0.0.1", port, ca: caPem });
  socket.write(
    [
      `POST ${PODS}/${name}/portforward HTTP/1.1`,
      "Host: 127.0.0.1",
      `Authorization: Bearer ${token}`,
      "Connection: Upgrade",
      `Upgrade: ${protocol}`,
      "Content-Length: 0",
      "\r\n",
    ].join("\r\n"),
  );
  const [bytes] = (await once(socket, "data")) as [Buffer];
  return { socket, head: bytes.toString() };
}

/** Frames as a client writes them; headers are compressed without the dictionary, which the protocol allows. */
function client(socket: TLSSocket) {
  const deflate = createDeflate();
  const control = (type: number, flags: number, body: Buffer): void => {
    socket.write(Buffer.concat([Buffer.from([0x80, 3, 0, type, flags, 0, 0, body.length]), body]));
  };
  return {
    open: async (id: number, headers: Readonly<Record<string, string>>) => {
      const texts = Object.entries(headers).flat();
      const block = [
        word(texts.length / 2),
        ...texts.flatMap((text) => [word(text.length), Buffer.from(text)]),
      ];
      deflate.write(Buffer.concat(block));
      await new Promise<void>((done) => deflate.flush(constants.Z_SYNC_FLUSH, done));
      const packed = deflate.read() as Buffer;
      control(1, 0, Buffer.concat([word(id), word(0), Buffer.from([0, 0]), packed]));
    },
    send: (id: number, text: string, flags = 0) =>
      socket.write(
        Buffer.concat([word(id), Buffer.from([flags, 0, 0, text.length]), Buffer.from(text)]),
      ),
    ping: () => control(6, 0, word(1)),
    goAway: () => control(7, 0, Buffer.concat([word(0), word(0)])),
  };
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The whole frames, as `kind id flags text`. */
function framesIn(bytes: Buffer): readonly string[] {
  const frames: string[] = [];
  for (let at = 0; at + 8 <= bytes.length; ) {
    const [isControl, flags] = [(bytes[at] as number) >= 0x80, bytes[at + 4]];
    const end = at + 8 + (bytes.readUInt32BE(at + 4) & 0xff_ff_ff);
    if (end > bytes.length) break;
    const body = bytes.subarray(at + 8, end);
    const id = isControl ? body.readUInt32BE(0) : bytes.readUInt32BE(at);
    const said = isControl ? body.subarray(4).toString("hex") : body.toString();
    frames.push(
      [isControl ? `control-${bytes.readUInt16BE(at + 2)}` : "data", id, flags, said].join(" "),
    );
    at = end;
  }
  return frames;
}

/** Sends "hello" through one forwarded connection. Returns the frames of the server. */
async function askThrough(port: string): Promise<readonly string[]> {
  const { socket, head } = await upgraded("p");
  expect(head).toMatch(
    /^HTTP\/1.1 101 [\s\S]*Upgrade: SPDY\/3.1[\s\S]*portforward.k8s.io\r\n\r\n$/,
  );
  const { open, send, ping, goAway } = client(socket);
  await open(1, { streamtype: "error", port, requestid: "0" });
  send(1, "", FIN);
  await open(3, { streamtype: "data", port, requestid: "0" });
  send(3, "hello");
  ping();
  // The end of the error stream is the last frame that the server sends.
  let said = Buffer.alloc(0);
  socket.on("data", (bytes) => {
    said = Buffer.concat([said, bytes]);
    if (framesIn(said).includes("data 1 1 ")) goAway();
  });
  await once(socket, "end");
  return framesIn(said);
}

it("a port-forward connects the client with a port of the pod's process", async () => {
  api.setPodConnect((pod, port) => {
    asked.push([pod, port]);
    return Promise.resolve(connectTcp((echo.address() as { port: number }).port, "127.0.0.1"));
  });
  const frames = await askThrough("8080");
  expect(asked).toEqual([["default/p", 8080]]);
  // The reply to the first stream names the dictionary of SPDY/3 by its checksum.
  expect(frames[0]).toMatch(/^control-2 1 0 78..e3c6a7c2/);
  expect(frames).toContainEqual(expect.stringMatching(/^control-2 3 0 /));
  expect(frames).toContain("control-6 1 0 ");
  expect(frames.filter((one) => one.startsWith("data 3"))).toEqual([
    "data 3 0 heard hello",
    "data 3 1 ",
  ]);
});

it("a port-forward reports a port that does not answer on the error stream", async () => {
  api.setPodConnect(() => Promise.reject(new Error("nobody listens")));
  const frames = await askThrough("8080");
  expect(frames).toContain("data 1 0 nobody listens");
  expect(frames).toContainEqual(expect.stringMatching(/^control-3 3 0 /));
  expect(await askThrough("0")).toContain('data 1 0 port "0": it is a number from 1 to 65535');
});

it("a port-forward ends a connection whose headers decompress to far more bytes", async () => {
  const { socket } = await upgraded("p");
  await client(socket).open(1, { streamtype: "error", port: "1".repeat(100_000) });
  await once(socket.resume(), "close", { signal: AbortSignal.timeout(60_000) });
});

it("a port-forward refuses other protocols, unknown pods and unknown users in HTTP", async () => {
  expect((await upgraded("p", listener.token, "websocket")).head).toMatch(
    /^HTTP\/1.1 400 [\s\S]*Upgrade request required/,
  );
  expect((await upgraded("none")).head).toMatch(/^HTTP\/1.1 404 /);
  expect((await upgraded("p", "wrong")).head).toMatch(/^HTTP\/1.1 401 /);
});
