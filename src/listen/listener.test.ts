/** Tests with real sockets on loopback: what unknown clients can make a listener do, and what it never lets them do. */
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { generate } from "selfsigned";
import { afterEach, describe, expect, it } from "vitest";
import { type Logger, SILENT } from "../base/log.ts";
import { type Exchange, RequestRefusal } from "./exchange.ts";
import type { Limits } from "./limits.ts";
import {
  checkPort,
  type Listener,
  PortError,
  startListener,
  type TlsIdentity,
} from "./listener.ts";
import { shownUrl } from "./shown-url.ts";

const HOST = "127.0.0.1";
const KIB = 1_024;

const listeners: Listener[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

interface Served {
  readonly port: number;
  readonly lines: string[];
}

/** Serves the handler. All callers of a test have the same address, so by default one address may use everything. */
async function serve(
  handle: (exchange: Exchange) => Promise<void>,
  limits: Partial<Limits> = {},
  tls?: TlsIdentity,
): Promise<Served> {
  const lines: string[] = [];
  const say = (level: string) => (message: string, fields?: object) => {
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  };
  const log: Logger = { ...SILENT, warn: say("warn"), error: say("error") };
  const secured = tls === undefined ? {} : { tls };
  const options = { name: "test", port: 0, host: HOST, log, handle, ...secured };
  const listener = await startListener({ ...options, limits: { sharePercent: 100, ...limits } });
  listeners.push(listener);
  return { port: listener.port, lines };
}

/** Answers with the size of the body. */
async function measure(exchange: Exchange): Promise<void> {
  const body = await exchange.readBody();
  exchange.response.end(String(body.length));
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function ask(
  { port }: Served,
  options: RequestOptions & { readonly body?: Buffer | string } = {},
): Promise<Answer> {
  const { body, ...rest } = options;
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: HOST, port, agent: false, ...rest }, (incoming) =>
      textOf(incoming).then((text) => resolve({ status: incoming.statusCode ?? 0, text }), reject),
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of incoming) text += String(chunk);
  return text;
}

/** A raw connection, to which the test writes every byte itself. */
function open({ port }: Served, begin: string): { socket: Socket; closed: Promise<string> } {
  const socket = connect(port, HOST, () => socket.write(begin));
  sockets.push(socket);
  let text = "";
  socket.on("data", (chunk) => {
    text += String(chunk);
  });
  socket.on("error", () => undefined);
  return { socket, closed: new Promise((resolve) => socket.on("close", () => resolve(text))) };
}

const POST = { method: "POST" };
const head = (length: number, line = "POST / HTTP/1.1"): string =>
  `${line}\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n`;

describe("request bodies at a listener", () => {
  it("over the limit are refused, with or without a content length, and the next request is answered", async () => {
    const served = await serve(measure, { maxBodyBytes: 10 * KIB });
    expect((await ask(served, { ...POST, body: Buffer.alloc(10 * KIB) })).text).toBe("10240");
    const large = Buffer.alloc(10 * KIB + 1);
    const chunked = { ...POST, headers: { "transfer-encoding": "chunked" } };
    for (const options of [POST, chunked]) {
      const answer = await ask(served, { ...options, body: large });
      expect(answer).toEqual({ status: 413, text: "Request entity too large: limit is 10240\n" });
    }
    expect((await ask(served, { ...POST, body: "x" })).text).toBe("1");
  });

  it("of 60 MB take no memory, and the client is told that they are too large", async () => {
    let largest = 0;
    const served = await serve(async (exchange) => {
      const body = await exchange.readBody();
      largest = Math.max(largest, body.length);
    });
    const large = Buffer.alloc(60 * KIB * KIB);
    const headers = { "transfer-encoding": "chunked" };
    for (let i = 0; i < 3; i++)
      expect((await ask(served, { ...POST, headers, body: large })).status).toBe(413);
    expect(largest).toBe(0);
  });

  it("that stop half-way share one memory limit, are closed in time, and free their memory", async () => {
    const limits = { maxBodyBytes: 64 * KIB, maxHeldBytes: 256 * KIB, receiveMs: 600 };
    const served = await serve(measure, { ...limits, headerMs: 600 });
    const half = "x".repeat(64 * KIB - 1);
    const held = Array.from({ length: 12 }, () => open(served, head(64 * KIB) + half));
    const texts = await Promise.all(held.map(({ closed }) => closed));
    const told = texts.map((text) => text.slice(9, 12));
    expect(told.filter((status) => status === "429")).toHaveLength(8);
    expect(told.filter((status) => status === "408")).toHaveLength(4);
    expect((await ask(served, { ...POST, body: "x".repeat(64 * KIB) })).text).toBe("65536");
  });

  it("of one address leave room for bodies of other addresses", async () => {
    const limits = { maxBodyBytes: 4 * KIB, maxHeldBytes: 8 * KIB, sharePercent: 50 };
    const served = await serve(measure, limits);
    open(served, head(4 * KIB) + "x".repeat(4 * KIB - 1));
    await expect.poll(() => ask(served, { ...POST, body: "xx" })).toMatchObject({ status: 429 });
    const other = { ...POST, localAddress: "127.0.0.2", body: "xx" };
    expect((await ask(served, other)).text).toBe("2");
  });

  it("are neither read nor asked for before the handler wants them", async () => {
    const served = await serve(async () => {
      throw new RequestRefusal(403, "not you");
    });
    const expects =
      "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\nexpect: 100-continue\r\n";
    const { socket, closed } = open(served, `${expects}connection: close\r\n\r\n`);
    expect(await closed).toMatch(/^HTTP\/1\.1 403 .*not you\n/s);
    expect(socket.bytesWritten).toBeLessThan(200);
    const wanted = await serve(measure);
    expect(
      (await ask(wanted, { ...POST, headers: { expect: "100-continue" }, body: "abc" })).text,
    ).toBe("3");
  });

  it("whose sender disconnects end the handler without a log line", async () => {
    const ended: string[] = [];
    const served = await serve((exchange) =>
      exchange.readBody().then(
        () => undefined,
        (error: Error) => {
          ended.push(error.name);
          throw error;
        },
      ),
    );
    const { socket } = open(served, `${head(99)}x`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    await expect.poll(() => ended).toEqual(["CallerGone"]);
    expect(served.lines).toEqual([]);
  });
});

describe("time limits of a listener", () => {
  it("close connections that send nothing or send their headers slowly", async () => {
    const served = await serve(measure, { headerMs: 400, receiveMs: 400 });
    const silent = open(served, "");
    const slow = open(served, "GET / HTTP/1.1\r\nhost: localhost\r\nx-a: ");
    const drip = setInterval(() => slow.socket.write("a"), 50);
    expect(await slow.closed).toMatch(/^HTTP\/1\.1 408 /);
    expect(await silent.closed).toMatch(/^(HTTP\/1\.1 408 |$)/);
    clearInterval(drip);
  });

  it("close a connection that was never used without an answer and without a log line", async () => {
    const served = await serve(measure, { headerMs: 200, receiveMs: 200 });
    expect(await open(served, "").closed).toBe("");
    expect(served.lines).toEqual([]);
    expect(await open(served, "GET / HT").closed).toMatch(/^HTTP\/1\.1 408 /);
    expect(served.lines).toHaveLength(1);
  });

  it("count no time in which the process itself was busy", async () => {
    const served = await serve(measure, { headerMs: 400, receiveMs: 400 });
    const { socket, closed } = open(served, "");
    await new Promise((resolve) => setTimeout(resolve, 100));
    // Busy until the loop's timers, so that Node looks for late connections before it reads any.
    setImmediate(() => {
      socket.write("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
      const untilMs = Date.now() + 700;
      while (Date.now() < untilMs);
    });
    expect(await closed).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("end an answer that takes too long, but not a long-lasting one", async () => {
    const signals: AbortSignal[] = [];
    const served = await serve(
      async (exchange) => {
        signals.push(exchange.signal);
        if (exchange.path === "/watch") {
          exchange.lastsLong();
          exchange.response.write("begun ");
        } else if (exchange.path === "/begun") exchange.response.write("half");
        await new Promise((resolve) => setTimeout(resolve, 500));
        exchange.response.end("done");
      },
      { requestMs: 200, maxRequests: 1 },
    );
    const watch = ask(served, { path: "/watch" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    // The watch does not count as a running request, so this request is accepted.
    const late = await ask(served, { path: "/" });
    expect(late).toEqual({ status: 503, text: "the answer took longer than 0.2 seconds\n" });
    expect(signals.map((signal) => signal.aborted)).toEqual([false, true]);
    await expect(ask(served, { path: "/begun" })).rejects.toThrow();
    expect(await watch).toEqual({ status: 200, text: "begun done" });
  });
});

describe("connections and requests at a listener", () => {
  it("beyond the limit of connections are refused, and accepted again when others have ended", async () => {
    const served = await serve(measure, { maxConnections: 20 });
    const many = Array.from({ length: 300 }, () => open(served, ""));
    let gone = 0;
    for (const { closed } of many) void closed.then(() => gone++);
    await expect.poll(() => gone).toBe(280);
    expect(served.lines.length).toBeLessThan(12);
    for (const { socket } of many) socket.destroy();
    await expect.poll(() => ask(served).catch(() => undefined)).toMatchObject({ status: 200 });
  });

  it("of one address leave room for other addresses", async () => {
    const served = await serve(measure, { maxConnections: 10, sharePercent: 50 });
    const many = Array.from({ length: 30 }, () => open(served, ""));
    let gone = 0;
    for (const { closed } of many) void closed.then(() => gone++);
    await expect.poll(() => gone).toBe(25);
    await expect(ask(served)).rejects.toThrow();
    expect((await ask(served, { localAddress: "127.0.0.2" })).status).toBe(200);
  });

  it("beyond the limit of requests get 429", async () => {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const served = await serve(
      async (exchange) => {
        await ended;
        exchange.response.end("ok");
      },
      { maxRequests: 2 },
    );
    const first = [ask(served), ask(served)];
    await expect
      .poll(() => Promise.race([ask(served), new Promise((resolve) => setTimeout(resolve, 50))]))
      .toMatchObject({ status: 429 });
    end();
    expect((await Promise.all(first)).map(({ text }) => text)).toEqual(["ok", "ok"]);
    expect((await ask(served)).text).toBe("ok");
  });
});

describe("handlers of a listener", () => {
  it("that fail cause a 500 and one log line, and their error text does not reach the client", async () => {
    const served = await serve((exchange) => {
      if (exchange.path === "/throws") throw new Error("secret one");
      return Promise.reject(new Error("secret two"));
    });
    for (const path of ["/throws", "/rejects"])
      expect(await ask(served, { path })).toEqual({ status: 500, text: "Internal Server Error\n" });
    expect(served.lines.map((line) => JSON.parse(line.slice(line.indexOf("{"))))).toMatchObject([
      { method: "GET", url: "/throws", error: "secret one" },
      { method: "GET", url: "/rejects", error: "secret two" },
    ]);
  });

  it("that fail in the middle of an answer cut the connection, so that a part does not look complete", async () => {
    const served = await serve(async ({ response }) => {
      response.writeHead(200);
      response.write("half");
      throw new Error("broken");
    });
    await expect(ask(served)).rejects.toThrow();
    expect(served.lines).toHaveLength(1);
  });

  it("that write after the end of an answer do not disturb later requests", async () => {
    const served = await serve(async ({ response }) => {
      response.end("ok");
      response.write("more");
      response.writeHead(200);
    });
    expect((await ask(served)).text).toBe("ok");
    expect((await ask(served)).text).toBe("ok");
  });
});

describe("URLs and headers at a listener", () => {
  it("that are too long are refused, and 2,000 such requests write few log lines", async () => {
    const served = await serve(measure);
    const path = `/${"x".repeat(14_000)}`;
    for (let round = 0; round < 40; round++) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => ask(served, { path })));
      for (const { status } of answers) expect(status).toBe(414);
    }
    expect(served.lines.join("\n").length).toBeLessThan(3_000);
    await listeners[0]?.close();
    expect(served.lines.at(-1)).toContain("and 1995 more in the last minute");
  });

  it("that exceed the limit, or are not HTTP, are refused", async () => {
    const served = await serve(measure, { maxHeaderBytes: 4 * KIB });
    expect((await ask(served, { headers: { x: "x".repeat(5 * KIB) } })).status).toBe(431);
    expect(await open(served, "nonsense\r\n\r\n").closed).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("in the log are short and contain no control characters", async () => {
    const served = await serve(async () => {
      throw new RequestRefusal(404, "not found");
    });
    await ask(served, { path: `/${"y".repeat(300)}` });
    const [line = ""] = served.lines;
    expect(JSON.parse(line.slice(line.indexOf("{")))).toMatchObject({
      url: `/${"y".repeat(199)}…`,
    });
    // Node's HTTP parser refuses every control character.
    expect(await open(served, "GET /\x1b[31m HTTP/1.1\r\n\r\n").closed).toMatch(/^HTTP\/1\.1 400 /);
    expect(shownUrl("/\n\x1b[31m\u009b\u202e")).toBe(String.raw`/\n\u001b[31m\u009b\u202e`);
  });
});

describe("a plain HTTP listener on loopback", () => {
  it("accepts programs on this machine, and refuses pages of other sites", async () => {
    const served = await serve(measure);
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await ask(served, { headers })).status;
    for (const host of ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]:1", "a.localhost"])
      expect([host, await status({ host })]).toEqual([host, 200]);
    for (const host of [
      "evil.example",
      "127.0.0.1.evil.example",
      "localhost.evil",
      "a b",
      "10.0.0.1",
    ])
      expect([host, await status({ host })]).toEqual([host, 403]);
    expect(await open(served, "GET / HTTP/1.0\r\n\r\n").closed).toMatch(/^HTTP\/1\.1 403 /);
    expect(await status({ origin: "http://localhost:3000" })).toBe(200);
    for (const origin of ["https://evil.example", "null", "file://"])
      expect([origin, await status({ origin })]).toEqual([origin, 403]);
    expect(await status({ "sec-fetch-site": "cross-site" })).toBe(403);
  });
});

async function identity(name: string): Promise<TlsIdentity> {
  const made = await generate([{ name: "commonName", value: name }], { keyType: "ec" });
  return { certPem: made.cert, keyPem: made.private };
}

/** An open TLS connection, to which the test writes every byte itself. */
async function openTls({ port }: Served): Promise<{ socket: TLSSocket; closed: Promise<string> }> {
  const socket = connectTls({ port, host: HOST, rejectUnauthorized: false });
  sockets.push(socket);
  let text = "";
  socket.on("data", (chunk) => {
    text += String(chunk);
  });
  socket.on("error", () => undefined);
  const closed = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
  await new Promise((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
  });
  return { socket, closed };
}

const GET = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

describe("a listener with TLS", () => {
  it("closes clients that speak no TLS or stop in the handshake, with few log lines, and answers the next", async () => {
    const served = await serve(measure, { headerMs: 300, receiveMs: 300 }, await identity("a"));
    const plain = Array.from({ length: 40 }, () => open(served, GET).closed);
    // The beginning of a handshake that is never continued.
    const half = open(served, "\x16\x03\x01\x02\x00").closed;
    await Promise.all(plain);
    await half;
    expect(served.lines.length).toBeLessThan(10);
    const { socket, closed } = await openTls(served);
    socket.write(GET);
    expect(await closed).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("closes a connection that sends its headers slowly, and counts no time in which the process was busy", async () => {
    const served = await serve(measure, { headerMs: 400, receiveMs: 400 }, await identity("a"));
    const slow = await openTls(served);
    slow.socket.write("GET / HTTP/1.1\r\nhost: localhost\r\nx-a: ");
    expect(await slow.closed).toMatch(/^HTTP\/1\.1 408 /);
    const busy = await openTls(served);
    await new Promise((resolve) => setTimeout(resolve, 100));
    setImmediate(() => {
      busy.socket.write(GET);
      const untilMs = Date.now() + 700;
      while (Date.now() < untilMs);
    });
    expect(await busy.closed).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("uses another certificate for new connections once it is replaced", async () => {
    const served = await serve(measure, {}, await identity("a"));
    const nameOf = ({ socket }: { socket: TLSSocket }) => socket.getPeerCertificate().subject.CN;
    expect(nameOf(await openTls(served))).toBe("a");
    listeners.at(-1)?.use(await identity("b"));
    expect(nameOf(await openTls(served))).toBe("b");
  });
});

describe("the port of a listener", () => {
  it("that cannot be opened is named in the error", async () => {
    const { port } = await serve(measure);
    const again = startListener({ name: "test", port, host: HOST, handle: measure });
    const told = { name: "PortError", code: "EADDRINUSE" };
    await expect(again).rejects.toMatchObject(told);
    await expect(checkPort(port, HOST)).rejects.toThrow(`port ${port} on ${HOST} is in use`);
    await expect(checkPort(port, "203.0.113.1")).rejects.toThrow(PortError);
  });

  it("closes after running requests have had time to finish", async () => {
    let begun = false;
    const served = await serve(async (exchange) => {
      begun = true;
      await new Promise((resolve) => setTimeout(resolve, 150));
      exchange.response.end("late");
    });
    const answer = ask(served);
    await expect.poll(() => begun).toBe(true);
    await listeners.pop()?.close(5_000);
    expect((await answer).text).toBe("late");
  });
});
