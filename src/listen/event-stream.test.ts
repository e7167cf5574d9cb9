/** Streams that end while their client still reads. */
import { randomBytes } from "node:crypto";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createGunzip, gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { SystemClock } from "../base/system-clock.ts";
import { openEventStream, openLineStream } from "./event-stream.ts";
import type { Exchange } from "./exchange.ts";
import { startListener } from "./listener.ts";

it("a sign of life that is due after the end does not cut off what the client has not read", async () => {
  const line = randomBytes(64 * 1_024).toString("base64");
  const beats = new Set<() => void>();
  const clock = {
    after: (_: number, run: () => void) => {
      beats.add(run);
      return { cancel: () => beats.delete(run) };
    },
  };
  const server = createServer((request, response) => {
    const exchange = { request, response, lastsLong: () => undefined } as unknown as Exchange;
    const lines = openLineStream(exchange, { clock, headers: {}, over: () => undefined });
    lines.send("answer", line);
    lines.end();
    // Nothing is compressed or sent yet.
    for (const beat of [...beats]) beat();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const headers = { "accept-encoding": "gzip" };
    const incoming = await new Promise<IncomingMessage>((resolve, reject) =>
      get({ host: "127.0.0.1", port, headers, agent: false }, resolve).on("error", reject),
    );
    const gunzip = createGunzip();
    incoming.on("error", (error) => gunzip.destroy(error));
    let length = 0;
    for await (const chunk of incoming.pipe(gunzip)) length += (chunk as Buffer).length;
    expect(length).toBe(line.length + 2);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it.each([
  ["events", openEventStream, "gzip"],
  ["events", openEventStream, "identity"],
  ["lines", openLineStream, "gzip"],
] as const)("a stream of %s is complete when its listener closes", async (_, open, encoding) => {
  const clock = new SystemClock();
  const sent = randomBytes(64 * 1_024).toString("base64");
  let isOver = false;
  const listener = await startListener({
    name: "test",
    port: 0,
    host: "127.0.0.1",
    handle: async (exchange) => {
      const over = () => {
        isOver = true;
      };
      const stream = open(exchange, { clock, headers: {}, over });
      stream.send("map", sent);
      setTimeout(() => {
        void listener.close(5_000).then(() => expect(isOver).toBe(true));
        expect(stream.isReady).toBe(false);
        stream.send("map", "this is dropped");
        stream.end();
      });
    },
  });
  const headers = { "accept-encoding": encoding };
  const incoming = await new Promise<IncomingMessage>((resolve, reject) =>
    get({ host: "127.0.0.1", port: listener.port, headers }, resolve).on("error", reject),
  );
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  expect(incoming.complete).toBe(true);
  const bytes = Buffer.concat(chunks);
  const text = String(encoding === "gzip" ? gunzipSync(bytes) : bytes);
  expect(text).toContain(sent);
  expect(text).not.toContain("dropped");
  await expect.poll(() => isOver).toBe(true);
});
