import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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

describe("the queue's connections", () => {
  it("that end in the middle of a call are made anew, and the call with them", async () => {
    const answer = await queueApi().getQueueUrl({ QueueName: "q" });
    expect(answer).toEqual({ QueueUrl: "https://sqs/1/q" });
    expect(calls).toEqual(["GetQueueUrl", "GetQueueUrl"]);
  });

  it("serve whoever gets credentials for it, also where questions stand in the address", async () => {
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

  it("are given up when whoever waits for messages stops", async () => {
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
