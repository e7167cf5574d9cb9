import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { SystemClock } from "../base/system-clock.ts";
import { type Endpoints, serveEndpoints } from "./endpoints.ts";

const HOST = "127.0.0.1";
let open: Endpoints | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

/** A port on which nothing listens now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function serve(state: { ready: boolean; fail?: boolean }): Promise<Endpoints> {
  open = await serveEndpoints({
    host: HOST,
    metricsPort: await freePort(),
    healthProbePort: await freePort(),
    clock: new SystemClock(),
    metrics: () => ({
      contentType: "text/plain; version=0.0.4",
      parts: state.fail === true ? failing() : only("karpenter_build_info 1\n"),
    }),
    ready: () => state.ready,
  });
  return open;
}

async function* only(text: string): AsyncIterable<string> {
  yield text;
}

// biome-ignore lint/correctness/useYield: it fails before it has anything.
async function* failing(): AsyncIterable<string> {
  throw new Error("no metrics today");
}

const status = async (url: string): Promise<number> => (await fetch(url)).status;

describe("endpoints", () => {
  it("serves metrics in Prometheus' format, and nothing else on the metrics port", async () => {
    const { metricsUrl } = await serve({ ready: true });
    const answer = await fetch(`${metricsUrl}?name[]=x`);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4");
    expect(await answer.text()).toBe("karpenter_build_info 1\n");
    expect(await status(new URL("/healthz", metricsUrl).href)).toBe(404);
  });

  it("answers /healthz at once and /readyz when the operator is ready", async () => {
    const state = { ready: false };
    const { healthUrl } = await serve(state);
    expect(await status(`${healthUrl}/healthz`)).toBe(200);
    expect(await status(`${healthUrl}/readyz`)).toBe(500);
    state.ready = true;
    expect(await status(`${healthUrl}/readyz`)).toBe(200);
    expect(await status(`${healthUrl}/metrics`)).toBe(404);
  });

  it("sends metrics in parts with pauses, and breaks the connection if rendering fails", async () => {
    let [turnMs, sleeps, fails] = [0, 0, false];
    async function* many(): AsyncIterable<string> {
      for (let part = 0; part < 100; part++) {
        turnMs += 3;
        yield `line ${part} ${"x".repeat(10_000)}\n`;
        if (fails && part === 50) throw new Error("in the middle");
      }
    }
    open = await serveEndpoints({
      host: HOST,
      metricsPort: "any",
      healthProbePort: 0,
      clock: {
        turnMs: () => turnMs,
        sleep: async () => {
          sleeps++;
          turnMs = 0;
        },
      },
      metrics: () => ({ contentType: "text/plain", parts: many() }),
      ready: () => true,
    });
    const text = await (await fetch(open.metricsUrl as string)).text();
    expect(text.split("\n").map((line) => line.split(" ")[1])).toEqual([
      ...Array.from({ length: 100 }, (_, part) => String(part)),
      undefined,
    ]);
    // The writer pauses once after every four parts.
    expect(sleeps).toBe(25);
    fails = true;
    await expect(fetch(open.metricsUrl as string).then((one) => one.text())).rejects.toThrow();
  });

  it("stops rendering metrics for a client that has disconnected", async () => {
    let ended = false;
    async function* many(): AsyncIterable<string> {
      try {
        for (;;) yield "x".repeat(1_000);
      } finally {
        ended = true;
      }
    }
    const asking = new AbortController();
    open = await serveEndpoints({
      host: HOST,
      metricsPort: "any",
      healthProbePort: 0,
      clock: {
        turnMs: () => 10,
        sleep: async () => {
          asking.abort();
          await new Promise((resolve) => setTimeout(resolve, 100));
        },
      },
      metrics: () => ({ contentType: "text/plain", parts: many() }),
      ready: () => true,
    });
    const url = open.metricsUrl as string;
    await fetch(url, { signal: asking.signal })
      .then((answer) => answer.text())
      .catch(() => undefined);
    for (let wait = 0; wait < 50 && !ended; wait++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(ended).toBe(true);
  });

  it("answers 500 when metrics cannot be rendered, and continues", async () => {
    const { metricsUrl, healthUrl } = await serve({ ready: true, fail: true });
    expect(await status(metricsUrl as string)).toBe(500);
    expect(await status(`${healthUrl}/healthz`)).toBe(200);
  });

  it("serves nothing on port 0", async () => {
    open = await serveEndpoints({
      metricsPort: 0,
      healthProbePort: 0,
      metrics: () => ({ contentType: "", parts: only("") }),
      clock: new SystemClock(),
      ready: () => true,
    });
    expect(open.metricsUrl).toBe(undefined);
    expect(open.healthUrl).toBe(undefined);
  });

  it("names the flag of a port that is in use, and closes the other port", async () => {
    const { metricsUrl } = await serve({ ready: true });
    const taken = Number(new URL(metricsUrl as string).port);
    const free = await freePort();
    const second = serveEndpoints({
      host: HOST,
      metricsPort: free,
      healthProbePort: taken,
      metrics: () => ({ contentType: "", parts: only("") }),
      clock: new SystemClock(),
      ready: () => true,
    });
    await expect(second).rejects.toThrow(
      `--health-probe-port ${taken}: port ${taken} on ${HOST} is in use; choose another, or 0 for none`,
    );
    // The endpoint that was already open is closed again.
    await expect(fetch(`http://${HOST}:${free}/metrics`)).rejects.toThrow();
  });
});
