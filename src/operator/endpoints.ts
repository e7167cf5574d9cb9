/**
 * What probes and Prometheus ask: `/metrics` on one port, `/healthz` and `/readyz` on another, as
 * upstream has them. Metrics go out as they are made, as fast as they are taken, and leave others their turn.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../base/clock.ts";
import { turnIsOver } from "../base/steps.ts";
import { writeAsTaken } from "../kube/transport/write-as-taken.ts";
import { ConfigError } from "./settings/parse-options.ts";

export interface EndpointsOptions {
  /** 0 = none, as upstream has it; `any` = one that is free. */
  readonly metricsPort: number | "any";
  readonly healthProbePort: number | "any";
  /** Default: all interfaces, as a pod needs it. */
  readonly host?: string;
  readonly metrics: () => { readonly contentType: string; readonly parts: AsyncIterable<string> };
  readonly clock: Pick<Clock, "turnMs" | "sleep">;
  /** Caches are synced and the kinds are served. */
  readonly ready: () => boolean;
  /** What is waited for, a few words each: said to whoever asks and finds it not ready. */
  readonly waitsFor?: () => readonly string[];
}

export interface Endpoints {
  readonly metricsUrl: string | undefined;
  readonly healthUrl: string | undefined;
  close(): Promise<void>;
}

/** Rejects with ConfigError when a port is taken. */
export async function serveEndpoints(options: EndpointsOptions): Promise<Endpoints> {
  const metrics = await listen("metrics-port", options.metricsPort, options, (path) => {
    if (path !== "/metrics") return undefined;
    return { status: 200, ...options.metrics() };
  });
  const health = await listen("health-probe-port", options.healthProbePort, options, (path) => {
    if (path === "/healthz") return plain(200, "ok");
    if (path === "/readyz")
      return options.ready() ? plain(200, "ok") : plain(500, notReady(options));
    return undefined;
  }).catch(async (error: unknown) => {
    await close(metrics);
    throw error;
  });
  return {
    metricsUrl: metrics === undefined ? undefined : `${urlOf(metrics)}/metrics`,
    healthUrl: health === undefined ? undefined : urlOf(health),
    close: async () => {
      await close(metrics);
      await close(health);
    },
  };
}

function notReady({ waitsFor }: EndpointsOptions): string {
  const waits = waitsFor?.() ?? [];
  return waits.length === 0 ? "not ready" : `not ready, waiting for: ${waits.join("; ")}`;
}

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly parts: AsyncIterable<string> | Iterable<string>;
}

function plain(status: number, text: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", parts: [text] };
}

function listen(
  flag: string,
  port: number | "any",
  { host, clock }: Pick<EndpointsOptions, "host" | "clock">,
  answer: (path: string) => Answer | undefined,
): Promise<Server | undefined> {
  if (port === 0) return Promise.resolve(undefined);
  const server = createServer((request, response) => {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    send(response, answer(path) ?? plain(404, "not found"), clock).catch((error: unknown) => {
      // Of an answer that has begun a half must not look like the whole.
      if (response.headersSent) response.destroy();
      else void send(response, plain(500, String(error)), clock);
    });
  });
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "EADDRINUSE" ? "the port is in use" : error.message;
      reject(new ConfigError(`--${flag} ${port}: ${why}; choose another, or 0 for none`));
    });
    server.listen(port === "any" ? 0 : port, host, () => resolve(server));
  });
}

async function send(
  response: ServerResponse,
  { status, contentType, parts }: Answer,
  clock: EndpointsOptions["clock"],
): Promise<void> {
  for await (const part of parts) {
    // Whoever asked has gone, maybe while others had their turn.
    if (response.destroyed) return;
    if (!response.headersSent) response.writeHead(status, { "content-type": contentType });
    await writeAsTaken(response, part);
    if (turnIsOver(clock)) await clock.sleep(0);
  }
  if (!response.headersSent) response.writeHead(status, { "content-type": contentType });
  response.end();
}

function close(server: Server | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (server === undefined) return resolve();
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function urlOf(server: Server): string {
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}
