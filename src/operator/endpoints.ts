/**
 * What probes and Prometheus ask: `/metrics` on one port, `/healthz` and `/readyz` on another, as
 * upstream has them.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigError } from "./settings/parse-options.ts";

export interface EndpointsOptions {
  /** 0 = none, as upstream has it; `any` = one that is free. */
  readonly metricsPort: number | "any";
  readonly healthProbePort: number | "any";
  /** Default: all interfaces, as a pod needs it. */
  readonly host?: string;
  readonly metrics: () => Promise<{ contentType: string; text: string }>;
  /** Caches are synced and the kinds are served. */
  readonly ready: () => boolean;
}

export interface Endpoints {
  readonly metricsUrl: string | undefined;
  readonly healthUrl: string | undefined;
  close(): Promise<void>;
}

/** Rejects with ConfigError when a port is taken. */
export async function serveEndpoints(options: EndpointsOptions): Promise<Endpoints> {
  const metrics = await listen("metrics-port", options.metricsPort, options.host, async (path) => {
    if (path !== "/metrics") return undefined;
    const { contentType, text } = await options.metrics();
    return { status: 200, contentType, text };
  });
  const health = await listen(
    "health-probe-port",
    options.healthProbePort,
    options.host,
    async (path) => {
      if (path === "/healthz") return plain(200, "ok");
      if (path === "/readyz") return options.ready() ? plain(200, "ok") : plain(500, "not ready");
      return undefined;
    },
  ).catch(async (error: unknown) => {
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

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

function plain(status: number, text: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", text };
}

function listen(
  flag: string,
  port: number | "any",
  host: string | undefined,
  answer: (path: string) => Promise<Answer | undefined>,
): Promise<Server | undefined> {
  if (port === 0) return Promise.resolve(undefined);
  const server = createServer((request, response) => {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    void answer(path)
      .catch((error: unknown) => plain(500, String(error)))
      .then((found = plain(404, "not found")) => {
        response.writeHead(found.status, { "content-type": found.contentType });
        response.end(found.text);
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
