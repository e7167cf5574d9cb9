/**
 * Traces of a real run in the sandbox, as a collector receives them over OTLP, and what happens without a
 * collector.
 */

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Pod } from "../src/apis/core/pod.ts";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { type Logger, SILENT } from "../src/base/log.ts";
import { SystemClock } from "../src/base/system-clock.ts";
import { spanIdOf, traceIdOf } from "../src/core/spans/span.ts";
import { openSpans } from "../src/operator/spans/open-spans.ts";
import { ROOT, readSources } from "./tidy/sources.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

type Value = Readonly<Record<string, unknown>>;
interface Received {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Value }[];
  readonly status: { readonly code?: number; readonly message?: string };
  readonly links?: readonly { readonly traceId: string }[];
}

let closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
  vi.unstubAllEnvs();
});

/** A logger that keeps its lines. */
function collectLog() {
  const lines: string[] = [];
  const say = (message: string, fields: unknown = {}): void => {
    lines.push(`${message} ${Object.values(fields as object).join(" ")}`);
  };
  const log: Logger = { ...SILENT, info: say, warn: say, error: say };
  return { log, lines };
}

/** A collector that keeps what it receives. */
async function collector() {
  const spans: Received[] = [];
  const resources: Record<string, unknown>[] = [];
  const headers: unknown[] = [];
  const server: Server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const raw = Buffer.concat(parts);
    const text = request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw;
    headers.push({ url: request.url, ...request.headers });
    for (const { resource, scopeSpans } of JSON.parse(String(text)).resourceSpans) {
      resources.push(valuesOf(resource.attributes));
      for (const scope of scopeSpans) spans.push(...scope.spans);
    }
    response.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    resources,
    headers,
  };
}

function valuesOf(attributes: Received["attributes"]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

const PODS = 9;

async function busyWorld(options: Parameters<typeof openWorld>[0] = {}): Promise<TestWorld> {
  const world = await openWorld({ sells: isUsual, ...options });
  closing.push(() => world.close());
  for (const file of ["v1/nodepool.yaml", "inflate.yaml"])
    await world.apply(readFileSync(join(ROOT, "examples", file), "utf8"));
  await world.scale("inflate", PODS);
  await world.until("all pods run", async () => {
    const pods = await world.list<Pod>("Pod", "v1", "app=inflate");
    return pods.filter(({ status }) => status?.phase === "Running").length === PODS;
  });
  return world;
}

/** OpenTelemetry packages loaded in this process. prom-client loads the API alone. */
function loaded(): readonly string[] {
  const { cache } = createRequire(import.meta.url);
  const names = Object.keys(cache).map((path) => /@opentelemetry\/[^/]+/.exec(path)?.[0] ?? "");
  return [...new Set(names)].filter((name) => name !== "" && name !== "@opentelemetry/api");
}

describe("without OpenTelemetry's variables", () => {
  it("no OpenTelemetry module is loaded, and no spans are recorded", async () => {
    const { log } = collectLog();
    const doors = { clock: new SystemClock(), log, version: "1" };
    expect(await openSpans({}, doors)).toBeUndefined();
    for (const off of [{ OTEL_SDK_DISABLED: "true" }, { OTEL_TRACES_EXPORTER: "none" }])
      expect(
        await openSpans({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", ...off }, doors),
      ).toBeUndefined();
    await busyWorld();
    expect(loaded()).toEqual([]);
  });

  it("only one file imports OpenTelemetry's SDK, and only when it is needed", () => {
    const files = readSources("src").filter(({ isTest }) => !isTest);
    const naming = files.filter(({ packages }) =>
      packages.some((name) => name.startsWith("@opentelemetry/")),
    );
    expect(naming.map(({ path }) => path)).toEqual(["src/operator/spans/otlp.ts"]);
    const importing = files.filter(({ text }) => /from "[^"]*\/otlp\.ts"/.test(text));
    expect(importing).toEqual([]);
  });
});

async function exportTo(endpoint: string, more: Readonly<Record<string, string>> = {}) {
  const given = {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    ...more,
  };
  for (const [name, value] of Object.entries(given)) vi.stubEnv(name, value);
  const { log, lines } = collectLog();
  const spans = await openSpans(process.env, { clock: new SystemClock(), log, version: "1.2.3" });
  if (spans === undefined) throw new Error(lines.join("\n"));
  return { spans, lines };
}

describe("traces of a run in the sandbox", () => {
  it("follow pods to a new node, and show the command that removes it", async () => {
    const received = await collector();
    const { spans } = await exportTo(received.endpoint, {
      OTEL_SERVICE_NAME: "ours",
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=secret",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    });
    const world = await busyWorld({ spans });
    const claims = await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
    await world.scale("inflate", 0);
    await world.until(
      "the node is gone",
      async () => (await world.list("NodeClaim", "karpenter.sh/v1")).length === 0,
      600_000,
    );
    await spans.close();
    expect(received.resources[0]).toMatchObject({
      "service.name": "ours",
      "service.version": "1.2.3",
    });
    expect(received.headers[0]).toMatchObject({
      url: "/v1/traces",
      "x-key": "secret",
      "content-encoding": "gzip",
    });
    const pods = claims.map((claim) => checkClaim(received.spans, claim));
    // The other pods fit on the nodes that the sandbox starts with.
    expect(pods.flat().length).toBeGreaterThan(PODS / 2);
    checkCommand(received.spans, claims);
  });
});

function inOrder(spans: readonly Received[]): void {
  for (const { startTimeUnixNano, endTimeUnixNano } of spans)
    expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano));
}

/** Checks the trace of a claim; returns the spans of its pods. */
function checkClaim(all: readonly Received[], { metadata, status }: NodeClaim): Received[] {
  const traceId = traceIdOf(metadata.uid ?? "");
  expect(traceId).toBe(metadata.uid?.replaceAll("-", ""));
  const spans = all.filter((span) => span.traceId === traceId);
  inOrder(spans);
  const [root, ...parts] = spans;
  expect(root).toMatchObject({ name: "provision node", spanId: spanIdOf(traceId, "") });
  expect(root?.parentSpanId ?? "").toBe("");
  expect(valuesOf(root?.attributes ?? [])).toMatchObject({
    "karpenter.nodeclaim.name": metadata.name,
    "karpenter.nodepool.name": metadata.labels?.["karpenter.sh/nodepool"],
    "host.type": metadata.labels?.["node.kubernetes.io/instance-type"],
    "k8s.node.name": status?.nodeName,
    "karpenter.pods": parts.length - 6,
    "karpenter.pods.bound": parts.length - 6,
  });
  const steps = ["batch", "plan", "create claim", "launch", "register", "initialize"];
  expect(parts.slice(0, 6).map(({ name }) => name)).toEqual(steps);
  const pods = parts.slice(6);
  expect(new Set(pods.map(({ name }) => name))).toEqual(new Set(["bind pod"]));
  expect(new Set(parts.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([root?.spanId]));
  // Each step begins when the one before ends.
  for (const [before, after] of parts.slice(0, 6).map((one, at) => [one, parts[at + 1]] as const))
    if (after !== undefined && after.name !== "bind pod")
      expect(after.startTimeUnixNano).toBe(before.endTimeUnixNano);
  for (const pod of pods)
    expect(valuesOf(pod.attributes)).toMatchObject({
      "k8s.namespace.name": "default",
      "k8s.node.name": status?.nodeName,
      "karpenter.pod.as_planned": true,
    });
  expect(spans.filter(({ status: { code } }) => code === 2)).toEqual([]);
  return pods;
}

function checkCommand(all: readonly Received[], claims: readonly NodeClaim[]): void {
  const roots = all.filter(({ name }) => name === "disrupt nodes");
  const ended = roots.flatMap((root) => {
    const attributes = valuesOf(root.attributes);
    expect(attributes).toMatchObject({
      "karpenter.command.reason": "Empty",
      "karpenter.command.decision": "delete",
    });
    expect(root.traceId).toBe(traceIdOf(attributes["karpenter.command.id"] as string));
    const spans = all.filter(({ traceId }) => traceId === root.traceId);
    inOrder(spans);
    const ends = spans.filter(({ name }) => name === "end node");
    expect(attributes["karpenter.command.nodes"]).toBe(ends.length);
    for (const end of ends) {
      expect(end.parentSpanId).toBe(root.spanId);
      const below = spans.filter(({ parentSpanId }) => parentSpanId === end.spanId);
      expect(below.map(({ name }) => name)).toEqual(["drain", "detach volumes", "end instance"]);
    }
    return ends.map(({ attributes: own }) => valuesOf(own)["karpenter.nodeclaim.name"]);
  });
  expect(ended.sort()).toEqual(claims.map(({ metadata }) => metadata.name).sort());
}

describe("an OpenTelemetry collector that fails", () => {
  it("causes one log line a minute, and delays nothing", async () => {
    const { spans, lines } = await exportTo("http://127.0.0.1:9", {
      OTEL_BSP_MAX_QUEUE_SIZE: "10",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "5",
      OTEL_BSP_SCHEDULE_DELAY: "1",
      OTEL_EXPORTER_OTLP_TIMEOUT: "50",
    });
    const traceId = traceIdOf("x");
    const span = { traceId, name: "x", startMs: 1, endMs: 2, attributes: {}, links: [] };
    const begunMs = performance.now();
    for (let at = 0; at < 200; at++) spans.send([{ ...span, spanId: spanIdOf(traceId, `${at}`) }]);
    expect(performance.now() - begunMs).toBeLessThan(200);
    await vi.waitFor(() => expect(lines.join("\n")).toContain("traces could not be exported"));
    await spans.close();
    expect(lines.filter((line) => line.includes("could not be exported")).length).toBeLessThan(3);
  });

  it("or whose protocol is not supported is logged, with the value to set", async () => {
    const { log, lines } = collectLog();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://x:4317",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    };
    const doors = { clock: new SystemClock(), log, version: "1" };
    expect(await openSpans(env, doors)).toBeUndefined();
    expect(lines.join()).toContain('"grpc" is not supported; set http/protobuf or http/json');
  });
});
