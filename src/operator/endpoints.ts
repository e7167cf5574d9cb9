/**
 * The endpoints for probes and Prometheus: `/metrics` on one port, `/healthz` and `/readyz` on another, as in upstream.
 * Metrics are written part by part, as fast as the client reads them, so that other work can run in between.
 */
import type { Clock } from "../base/clock.ts";
import { type Logger, SILENT } from "../base/log.ts";
import { turnIsOver } from "../base/steps.ts";
import { writeAsTaken } from "../kube/transport/write-as-taken.ts";
import { type Exchange, RequestRefusal } from "../listen/exchange.ts";
import { type Listener, PortError, startListener } from "../listen/listener.ts";
import { PROFILES_PATH } from "./profiling/profiling.ts";
import { ConfigError } from "./settings/parse-options.ts";

/** The ports of the endpoints, and the functions that answer requests. */
export interface EndpointsOptions {
  /** The port of the metrics. 0: there is no endpoint, as in upstream. `any`: a free port. */
  readonly metricsPort: number | "any";
  readonly healthProbePort: number | "any";
  /** The address to listen on. Absent: all interfaces, which a pod needs. */
  readonly host?: string;
  readonly metrics: () => { readonly contentType: string; readonly parts: AsyncIterable<string> };
  readonly clock: Pick<Clock, "turnMs" | "sleep">;
  /** Whether mirrors are synced and all kinds are served. */
  readonly ready: () => boolean;
  /** What the process waits for, in a few words each. It is the answer of `/readyz`. */
  readonly waitsFor?: () => readonly string[];
  /** Whether the process could not start, or exits because of a bug. Absent: never. */
  readonly failed?: () => boolean;
  /** Answers requests below `/debug/pprof/` of the metrics port. Absent: there are no profiles. */
  readonly profiles?: (exchange: Exchange) => Promise<void>;
  readonly log?: Logger;
}

/** The open endpoints. An undefined URL: the endpoint is switched off. */
export interface Endpoints {
  readonly metricsUrl: string | undefined;
  readonly healthUrl: string | undefined;
  close(): Promise<void>;
}

/** Opens the endpoints. Rejects with ConfigError if a port is in use. */
export async function serveEndpoints(options: EndpointsOptions): Promise<Endpoints> {
  const { metricsPort, healthProbePort } = options;
  const metrics = await listen("metrics-port", metricsPort, options, (path) => {
    if (path !== "/metrics") return undefined;
    return { status: 200, ...options.metrics() };
  });
  const health = await listen("health-probe-port", healthProbePort, options, (path) => {
    if (path === "/healthz") return options.failed?.() ? plain(500, "failed") : plain(200, "ok");
    if (path === "/readyz")
      return options.ready() ? plain(200, "ok") : plain(500, notReady(options));
    return undefined;
  }).catch(async (error: unknown) => {
    await metrics?.close();
    throw error;
  });
  return {
    metricsUrl: metrics === undefined ? undefined : `${urlOf(metrics)}/metrics`,
    healthUrl: health === undefined ? undefined : urlOf(health),
    close: async () => {
      await metrics?.close();
      await health?.close();
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

async function listen(
  flag: "metrics-port" | "health-probe-port",
  port: number | "any",
  { host, clock, log = SILENT, profiles }: EndpointsOptions,
  answer: (path: string) => Answer | undefined,
): Promise<Listener | undefined> {
  if (port === 0) return undefined;
  try {
    return await startListener({
      name: flag === "metrics-port" ? "metrics" : "health",
      port: port === "any" ? 0 : port,
      host,
      handle: (exchange) =>
        flag === "metrics-port" && exchange.path.startsWith(PROFILES_PATH) && profiles !== undefined
          ? profiles(exchange)
          : send(exchange, answer(exchange.path), clock),
      log,
    });
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    throw new ConfigError(`--${flag} ${port}: ${error.message}; choose another, or 0 for none`);
  }
}

async function send(
  { response }: Exchange,
  answer: Answer | undefined,
  clock: EndpointsOptions["clock"],
): Promise<void> {
  if (answer === undefined) throw new RequestRefusal(404, "not found");
  const { status, contentType, parts } = answer;
  for await (const part of parts) {
    // The client has disconnected.
    if (response.destroyed) return;
    if (!response.headersSent) response.writeHead(status, { "content-type": contentType });
    await writeAsTaken(response, part);
    if (turnIsOver(clock)) await clock.sleep(0);
  }
  if (!response.headersSent) response.writeHead(status, { "content-type": contentType });
  response.end();
}

function urlOf({ port }: Listener): string {
  return `http://127.0.0.1:${port}`;
}
