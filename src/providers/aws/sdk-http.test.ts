import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSdkApi } from "./sdk.ts";
import { createSdkHttpHandler } from "./sdk-http.ts";

/** Ends the connection of each first call, holds receiving calls, and answers all others. */
let server: Server;
let calls: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const action = String(request.headers["x-amz-target"]).split(".").at(-1) ?? "";
    calls.push(action);
    if (action === "ReceiveMessage") return;
    if (calls.length === 1) request.socket.destroy();
    else response.end(JSON.stringify({ QueueUrl: "https://sqs/1/q" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function queueApi() {
  calls = [];
  const { port } = server.address() as AddressInfo;
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const options = { region: "us-east-1", endpoint: `http://127.0.0.1:${port}`, credentials };
  return createSdkApi(options).sqs;
}

describe("HTTP connections to AWS", () => {
  it("that end in the middle of a call are opened again, and the call is repeated", async () => {
    const answer = await queueApi().getQueueUrl({ QueueName: "q" });
    expect(answer).toEqual({ QueueUrl: "https://sqs/1/q" });
    expect(calls).toEqual(["GetQueueUrl", "GetQueueUrl"]);
  });

  it("serve the clients that get credentials, also for addresses with a query", async () => {
    const paths: (string | undefined)[] = [];
    server.once("request", ({ url }) => void paths.push(url));
    calls = ["before"];
    const handler = createSdkHttpHandler({ requestTimeoutMs: 1_000, connectionTimeoutMs: 1_000 });
    const { port } = server.address() as AddressInfo;
    const query = { role: "a b", account: ["1", "2"], plain: null };
    const request = { protocol: "http:", hostname: "127.0.0.1", method: "GET", path: "/x", port };
    const { response } = await handler.handle({ ...request, query, headers: {} });
    handler.destroy();
    expect(response.statusCode).toBe(200);
    expect(paths).toEqual(["/x?account=1&account=2&plain&role=a%20b"]);
  });

  it("use the named proxy, except for excluded hosts and this machine", async () => {
    calls = ["before"];
    const { port } = server.address() as AddressInfo;
    const asked: (string | undefined)[] = [];
    const proxy = createServer().on("connect", ({ url }, socket) => {
      asked.push(url);
      const onward = connect(port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        onward.pipe(socket).pipe(onward);
      });
      onward.on("error", () => socket.destroy());
      socket.on("error", () => onward.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const http = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const handler = createSdkHttpHandler(
      { requestTimeoutMs: 1_000, connectionTimeoutMs: 1_000 },
      { http, except: "127.0.0.2" },
    );
    const ask = (hostname: string, port?: number) =>
      handler.handle({
        protocol: "http:",
        hostname,
        ...(port === undefined ? {} : { port }),
        method: "GET",
        path: "/",
        headers: {},
      });
    expect((await ask("aws.invalid")).response.statusCode).toBe(200);
    expect((await ask("127.0.0.1", port)).response.statusCode).toBe(200);
    // Nothing listens at this address, and it is called without a proxy.
    await expect(ask("127.0.0.2", port)).rejects.toThrow();
    expect(asked).toEqual(["aws.invalid:80"]);
    handler.destroy();
    proxy.closeAllConnections();
    proxy.close();
  });

  it("return complete answers, and an answer that breaks off is an error", async () => {
    const handler = createSdkHttpHandler({ requestTimeoutMs: 1_000, connectionTimeoutMs: 1_000 });
    const { port } = server.address() as AddressInfo;
    const request = { protocol: "http:", hostname: "127.0.0.1", port, method: "GET", path: "/" };
    const pieces: ((response: ServerResponse) => void)[] = [
      (response) => void response.write("one, ", () => response.end("two")),
      (response) => void response.write("one, ", () => response.destroy()),
    ];
    const answers = pieces.map(async (write) => {
      const own = createServer((_, response) => write(response)).listen(0, "127.0.0.1");
      await new Promise<void>((resolve) => own.once("listening", () => resolve()));
      const at = { ...request, port: (own.address() as AddressInfo).port, headers: {} };
      return handler.handle(at).finally(() => own.close());
    });
    const [whole, broken] = await Promise.allSettled(answers);
    expect(whole).toMatchObject({ status: "fulfilled" });
    const { response } = (whole as PromiseFulfilledResult<{ response: { body: Uint8Array } }>)
      .value;
    expect(Buffer.from(response.body).toString()).toBe("one, two");
    expect(broken).toMatchObject({ status: "rejected", reason: { name: "TimeoutError" } });
    const late = handler.handle({ ...request, headers: {} }, { abortSignal: AbortSignal.abort() });
    await expect(late).rejects.toThrow(/abort/i);
    handler.destroy();
  });

  it("that wait for messages are closed when the controller stops", async () => {
    const stopping = new AbortController();
    const input = {
      QueueUrl: "https://sqs/1/q",
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: 20,
      VisibilityTimeout: 20,
      MessageSystemAttributeNames: ["SentTimestamp"],
      MessageAttributeNames: ["All"],
    };
    const waiting = queueApi().receiveMessage(input, { signal: stopping.signal });
    await new Promise<void>((resolve) => server.once("request", () => resolve()));
    stopping.abort();
    await expect(waiting).rejects.toThrow(/abort/i);
    expect(calls).toEqual(["ReceiveMessage"]);
  });
});
