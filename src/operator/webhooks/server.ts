/**
 * The HTTPS server that the API server calls: reviews in, reviews out. It can change its certificate while
 * it serves. What a review means is decided in apis/hub, for us and for the sandbox alike.
 */

import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { JsonLimitError, parseBoundedJson } from "../../base/bounded-json.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { ServingCertificate } from "./certificate.ts";

/** A list of the largest page with objects of a few kilobytes each stays far below. */
const BODY_LIMIT_BYTES = 64 * 1024 * 1024;
/** upstream: the webhooks' GracePeriod */
const GRACE_MS = 5_000;

export interface WebhookServerOptions {
  /** 0 = any free one. */
  readonly port: number;
  /** Default: all interfaces, as a pod needs it. */
  readonly host?: string | undefined;
  readonly certificate: ServingCertificate;
  /** The answered review; undefined when the path is none of ours. */
  readonly answer: (path: string, review: unknown) => unknown;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface WebhookServer {
  readonly port: number;
  /** From the next connection on. */
  use(certificate: ServingCertificate): void;
  close(): Promise<void>;
}

/** Rejects with the error of `listen` (EADDRINUSE, EACCES, …). */
export async function serveWebhooks(options: WebhookServerOptions): Promise<WebhookServer> {
  const server = createServer(contextOf(options.certificate), (request, response) => {
    void reply(request, options)
      .catch((error: unknown) => ({ status: 500, body: String(error) }))
      .then(({ status, body }) => {
        if (status >= 400) options.log.error("webhook call failed", { path: request.url, body });
        const text = typeof body === "string" ? body : JSON.stringify(body);
        const type = typeof body === "string" ? "text/plain; charset=utf-8" : "application/json";
        response.writeHead(status, { "content-type": type });
        response.end(text);
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.removeListener("error", reject);
      resolve();
    });
  });
  // A handshake that fails is its caller's trouble and told there.
  server.on("tlsClientError", () => undefined);
  return {
    port: (server.address() as AddressInfo).port,
    use: (certificate) => {
      server.setSecureContext(contextOf(certificate));
      // A kept connection has shown the old certificate: its caller comes again.
      server.closeIdleConnections();
    },
    close: () => close(server, options.clock),
  };
}

function contextOf({ certPem, keyPem }: ServingCertificate) {
  return { cert: certPem, key: keyPem, minVersion: "TLSv1.2" } as const;
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

async function reply(request: IncomingMessage, options: WebhookServerOptions): Promise<Reply> {
  const path = (request.url ?? "/").split("?")[0] ?? "/";
  if (request.method !== "POST") return { status: 405, body: "reviews are posted" };
  const text = await textOf(request);
  if (text === undefined) return { status: 413, body: `more than ${BODY_LIMIT_BYTES} bytes` };
  let review: unknown;
  try {
    review = parseBoundedJson(text);
  } catch (error) {
    if (error instanceof JsonLimitError) return { status: 413, body: error.message };
    return { status: 400, body: `not a review: ${(error as Error).message}` };
  }
  const answered = options.answer(path, review);
  return answered === undefined
    ? { status: 404, body: `no webhook at ${path}` }
    : { status: 200, body: answered };
}

async function textOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_LIMIT_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Calls that are under way are answered; those that take too long are cut. */
async function close(server: Server, clock: Clock): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const late = clock.after(GRACE_MS, () => server.closeAllConnections());
  await closed;
  late.cancel();
}
