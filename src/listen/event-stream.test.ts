/** Streams that end while their client still reads. */
import { randomBytes } from "node:crypto";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createGunzip } from "node:zlib";
import { expect, it } from "vitest";
import { openLineStream } from "./event-stream.ts";
import type { Exchange } from "./exchange.ts";

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
