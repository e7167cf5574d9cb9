import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../../base/system-clock.ts";
import { bareApiServer } from "../../testing/bare-api-server.ts";
import { decodeProtobuf } from "../protobuf/decode.ts";
import { encodeProtobuf } from "../protobuf/encode.ts";
import { PROTOBUF } from "../protobuf/fields.ts";
import { type HttpsListener, startHttps } from "./https-server.ts";

const PODS = "/api/v1/namespaces/default/pods";
const LARGEST = "9223372036854775807";

let directory: string;
let listener: HttpsListener;
const api = bareApiServer({ clock: new SystemClock() });

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "apiserver-"));
  listener = await startHttps(api, { port: 0, directory });
});

afterAll(async () => {
  await listener.close();
  api.close();
  rmSync(directory, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
}

function call(
  [method, path]: readonly [string, string],
  headers: Readonly<Record<string, string>> = {},
  body = "",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const authorization = `Bearer ${listener.token}`;
    const options = { method, ca: listener.caPem, headers: { authorization, ...headers } };
    const outgoing = request(`${listener.url}${path}`, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, bytes: Buffer.concat(chunks) }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** The text of a pod with this grace period, which JSON and YAML share. */
function podText(name: string, seconds: string): string {
  const containers = '[{"name": "main", "image": "pause"}]';
  const spec = `{"terminationGracePeriodSeconds": ${seconds}, "containers": ${containers}}`;
  return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "${name}"}, "spec": ${spec}}`;
}

function graceIn(text: string): bigint {
  return BigInt(/"terminationGracePeriodSeconds": ?(-?[^,}]+)/.exec(text)?.[1] ?? "none");
}

function isInt64(integer: bigint): boolean {
  return BigInt.asIntN(64, integer) === integer;
}

describe("a pod whose grace period is the largest int64", () => {
  it.each([
    ["created in JSON", "POST", "", "application/json"],
    ["created in YAML", "POST", "", "application/yaml"],
    ["applied", "PATCH", "/applied?fieldManager=test&force=true", "application/apply-patch+yaml"],
  ])("%s keeps an int64, and lists in protobuf and JSON work", async (how, method, tail, type) => {
    const name = how === "applied" ? how : how.toLowerCase().replaceAll(" ", "-");
    const sent = await call(
      [method, PODS + tail],
      { "content-type": type },
      podText(name, LARGEST),
    );
    expect(sent.status).toBe(201);
    const grace = graceIn(sent.bytes.toString());
    expect(grace).toBeGreaterThan(9_223_372_036_854_000_000n);
    expect(isInt64(grace)).toBe(true);

    const list = await call(["GET", PODS], { accept: PROTOBUF });
    expect(list.status).toBe(200);
    const { items } = decodeProtobuf(list.bytes) as { items: { spec: object }[] };
    for (const { spec } of items)
      expect(spec).toMatchObject({ terminationGracePeriodSeconds: 2 ** 63 - 1024 });

    const deleted = await call(["DELETE", `${PODS}/${name}`]);
    expect(deleted.status).toBe(200);
  });

  it("may come from a patch", async () => {
    const at = "/apis/apps/v1/namespaces/default/deployments";
    const labels = '{"matchLabels": {"a": "b"}}';
    const pod = podText("p", "30").replace('"name": "p"', '"labels": {"a": "b"}');
    const spec = `{"selector": ${labels}, "template": ${pod}}`;
    const made = await call(
      ["POST", at],
      { "content-type": "application/json" },
      `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": ${spec}}`,
    );
    expect(made.status).toBe(201);
    const patched = await call(
      ["PATCH", `${at}/d`],
      { "content-type": "application/merge-patch+json" },
      `{"spec": {"template": {"spec": {"terminationGracePeriodSeconds": ${LARGEST}}}}}`,
    );
    expect(patched.status).toBe(200);
    expect(isInt64(graceIn(patched.bytes.toString()))).toBe(true);
    expect((await call(["GET", at], { accept: PROTOBUF })).status).toBe(200);
  });
});

it.each(["9223372036854775808", "-9223372036854775809", "1e30"])(
  "a pod with the integer %s is refused",
  async (seconds) => {
    const json = { "content-type": "application/json" };
    const { status, bytes } = await call(["POST", PODS], json, podText("beyond", seconds));
    expect(status).toBe(400);
    expect(bytes.toString()).toMatch(
      /cannot unmarshal number .* into Go struct field .*terminationGracePeriodSeconds of type int64/,
    );
  },
);

it("numbers beyond their type do not stop the protobuf encoder", () => {
  const spec = { terminationGracePeriodSeconds: 2 ** 63, priority: 2 ** 31 };
  const bytes = encodeProtobuf({ apiVersion: "v1", kind: "Pod", spec });
  expect(decodeProtobuf(bytes)).toMatchObject({
    spec: { terminationGracePeriodSeconds: 2 ** 63 - 1024, priority: 2 ** 31 - 1 },
  });
});

it.each([
  ["-000001-01-01T00:00:00Z", "-000001-01-01T00:00:00Z"],
  ["-0001-01-01T00:00:00Z", "-000001-01-01T00:00:00Z"],
  ["10000-01-01T00:00:00Z", "+010000-01-01T00:00:00Z"],
  ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"],
  ["no time", "1970-01-01T00:00:00Z"],
])("the time %s does not stop the protobuf encoder", (text, read) => {
  const metadata = { name: "odd", creationTimestamp: text };
  const bytes = encodeProtobuf({ apiVersion: "v1", kind: "Pod", metadata });
  const seen = decodeProtobuf(bytes) as { metadata: { creationTimestamp: string } };
  expect(Date.parse(seen.metadata.creationTimestamp)).toBe(Date.parse(read));
});
