/**
 * The HTTPS server in front of the API server, for kubectl and all other clients outside of this process. It
 * only parses requests and serializes answers; the API server behind it decides what to answer. A state of an
 * object is serialized once, and all watches that show it share the text.
 */

import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Clock } from "../../../base/clock.ts";
import { errorText } from "../../../base/error-text.ts";
import type { Logger } from "../../../base/log.ts";
import type { KubeRequest, KubeStream } from "../../../kube/transport/transport.ts";
import { writeAsTaken } from "../../../kube/transport/write-as-taken.ts";
import { CallerGone, type Exchange, RequestRefusal } from "../../../listen/exchange.ts";
import type { Limits } from "../../../listen/limits.ts";
import { startListener } from "../../../listen/listener.ts";
import { LIMITS } from "../../../readers/limits.ts";
import { writeYaml } from "../../../readers/write-yaml.ts";
import { readYamlValue } from "../../../readers/yaml.ts";
import { bearerOf } from "../access/bearer.ts";
import type { ApiServer, User } from "../api-server.ts";
import { decodeProtobuf } from "../protobuf/decode.ts";
import { encodeProtobuf, isEncodable } from "../protobuf/encode.ts";
import { PROTOBUF } from "../protobuf/fields.ts";
import { goJson } from "../request/go-json.ts";
import { refusalType, YAML_TYPE } from "../request/negotiation.ts";
import { ApiError, badRequest } from "../request/status.ts";
import { identityIn } from "./certificates.ts";
import { kubeconfigText } from "./kubeconfig.ts";
import { forwardPorts } from "./port-forward.ts";
import { type WatchFrame, WatchFrames } from "./watch-frames.ts";

/** Port and folder of the served API. */
export interface HttpsOptions {
  /** The port to listen on. 0 means any free port. */
  readonly port: number;
  /** Directory of the certificates and the token. */
  readonly directory: string;
  /** Address to listen on. Default 127.0.0.1: only programs on this machine can connect. */
  readonly host?: string;
  /** The clock of the `Date` headers. Absent: the machine's clock. */
  readonly clock?: Clock;
  /** Receives refused and failed requests of the listener. Default: no log. */
  readonly log?: Logger;
}

/** The served API, and how to reach it. */
export interface HttpsListener {
  readonly url: string;
  readonly port: number;
  readonly caPem: string;
  readonly token: string;
  /** Text of a kubeconfig for this server. */
  readonly kubeconfig: string;
  /** Ends all watches and connections; resolves when the port is free. */
  close(): Promise<void>;
}

const LOOPBACK = "127.0.0.1";
const MIB = 1_024 * 1_024;
/**
 * The limits of bodies, of concurrent requests and of the duration of a request are kube-apiserver's defaults
 * (400 reads and 200 writes in parallel). Watches and followed logs have no limit, as upstream. All callers are
 * on this machine, so one address may use every slot.
 */
export const API_SERVER_LIMITS: Partial<Limits> = {
  maxBodyBytes: 3 * MIB,
  maxHeldBytes: 64 * MIB,
  // Clients of kube-apiserver may send 1 MiB of headers; long label selectors are the largest in use.
  maxHeaderBytes: 64 * 1_024,
  maxUrlLength: 32 * 1_024,
  maxConnections: 2_000,
  maxRequests: 600,
  sharePercent: 100,
  receiveMs: 30_000,
  requestMs: 60_000,
  idleMs: 60_000,
};
const GZIP_FROM_BYTES = 128 * 1_024;
const ADMIN: User = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
/** A caller without credentials. RBAC gives such a caller few rights. */
const ANONYMOUS: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };
const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

const compress = promisify(gzip);

/** Starts the server. Rejects with PortError if the port cannot be used. */
export async function startHttps(api: ApiServer, options: HttpsOptions): Promise<HttpsListener> {
  const { keyPem, certificatePem: certPem, caPem, token } = await identityIn(options.directory);
  const { port: wanted, host = LOOPBACK, clock, log } = options;
  const frames = new WatchFrames();
  const listener = await startListener({
    name: "API server",
    port: wanted,
    host,
    tls: { keyPem, certPem },
    limits: API_SERVER_LIMITS,
    upgrades: true,
    handle: (exchange) => {
      if (clock !== undefined)
        exchange.response.setHeader("date", new Date(clock.now()).toUTCString());
      return serve(api, token, frames, exchange);
    },
    ...(log === undefined ? {} : { log }),
  });
  const { port } = listener;
  const url = `https://${host}:${port}`;
  return {
    url,
    port,
    caPem,
    token,
    kubeconfig: kubeconfigText({ url, caPem, token }),
    close: () => listener.close(),
  };
}

async function serve(
  api: ApiServer,
  token: string,
  frames: WatchFrames,
  exchange: Exchange,
): Promise<void> {
  const { request, response, url: path } = exchange;
  try {
    const user = userOf(request, token, api);
    const method = exchange.method === "HEAD" ? "GET" : exchange.method;
    if (!METHODS.has(method)) {
      throw new ApiError(405, "MethodNotAllowed", `method ${method} is not known here`);
    }
    const headers = headersOf(request);
    const readBody = () => bodyOf(exchange, headers["content-type"] ?? "");
    const answer = await api.handle(
      {
        method: method as KubeRequest["method"],
        path,
        headers,
        // After an upgrade request, the bytes on the connection belong to the new protocol and are
        // no body.
        ...(method === "GET" || exchange.isUpgrade ? {} : { readBody }),
      },
      user,
    );
    if (answer.connect !== undefined && exchange.isUpgrade) {
      const { socket, before } = exchange.takeOver();
      await forwardPorts(socket, before, answer.connect);
    } else if (answer.stream !== undefined) {
      exchange.lastsLong();
      await sendStream(response, answer.headers, answer.stream, frames);
    } else await sendBody(request, response, answer.status, answer.headers, answer.body);
  } catch (error) {
    // A response that has started cannot become a Status. The listener logs unexpected errors.
    if (response.headersSent || response.destroyed || !(error instanceof ApiError)) throw error;
    const type = { "content-type": refusalType(request.headers.accept) };
    await sendBody(request, response, error.status.code ?? 500, type, error.status);
  }
}

function userOf(request: IncomingMessage, adminToken: string, api: ApiServer): User {
  const token = bearerOf(request.headers.authorization);
  if (token === undefined) return ANONYMOUS;
  const sent = Buffer.from(token);
  const wanted = Buffer.from(adminToken);
  if (sent.length === wanted.length && timingSafeEqual(sent, wanted)) return ADMIN;
  const account = api.authenticate(token);
  if (account !== undefined) return account;
  throw new ApiError(401, "Unauthorized", "Unauthorized");
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}

/** The body of a request, decoded. Rejects with ApiError. */
async function bodyOf(exchange: Exchange, contentType: string): Promise<unknown> {
  const bytes = await exchange.readBody().catch(asApiError);
  if (bytes.length === 0) return undefined;
  if (contentType.startsWith(PROTOBUF)) return decodeProtobuf(bytes);
  return contentType.includes("yaml")
    ? readYaml(bytes.toString("utf8"))
    : readJson(bytes, contentType);
}

function asApiError(error: unknown): never {
  if (error instanceof CallerGone) throw badRequest(error.message);
  if (!(error instanceof RequestRefusal)) throw error;
  const reason = error.status === 413 ? "RequestEntityTooLarge" : "TooManyRequests";
  throw new ApiError(error.status, reason, error.message);
}

function readJson(bytes: Buffer, contentType: string): unknown {
  const read = goJson(bytes);
  if ("value" in read) return read.value;
  // A body without a content type may be JSON or YAML, as for kube-apiserver. It is JSON if it begins with
  // `{`.
  const text = bytes.toString("utf8");
  if (contentType === "" && !text.trimStart().startsWith("{")) return readYaml(text);
  const { problem } = read;
  if (contentType.includes("strategic-merge-patch")) throw badRequest(problem);
  if (contentType.includes("patch")) throw badRequest(`error decoding patch: ${problem}`);
  throw badRequest(
    `the object provided is unrecognized (must be JSON): couldn't get version/kind; json parse error: ${problem}`,
  );
}

function readYaml(text: string): unknown {
  try {
    const limits = LIMITS.apiBody;
    return readYamlValue(text, { source: "the body", limits, repeatedKeys: "refused" });
  } catch (error) {
    throw badRequest(`the object provided is unrecognized (must be YAML): ${errorText(error)}`);
  }
}

async function sendBody(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<void> {
  const { type, bytes: plain } = serialised(body, headers["content-type"], request.headers.accept);
  let bytes = plain;
  const sent: Record<string, string> = {
    "cache-control": "no-cache, private",
    ...onTheWire(headers),
    "content-type": type,
  };
  const accepted = String(request.headers["accept-encoding"] ?? "");
  if (bytes.length >= GZIP_FROM_BYTES && accepted.includes("gzip")) {
    bytes = await compress(bytes, { level: 1 });
    sent["content-encoding"] = "gzip";
    sent["vary"] = "Accept-Encoding";
  }
  sent["content-length"] = String(bytes.length);
  response.writeHead(status, sent);
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/** The body in the negotiated content type, or else in the type that the client prefers. */
function serialised(
  body: unknown,
  type: string | undefined,
  accept: string | undefined,
): { type: string; bytes: Buffer } {
  if (typeof body === "string" || body instanceof Uint8Array)
    return { type: type ?? "text/plain; charset=utf-8", bytes: Buffer.from(body as string) };
  if (body === undefined) return { type: type ?? "application/json", bytes: Buffer.alloc(0) };
  const agreed = type === undefined || type === "application/json" ? refusalType(accept) : type;
  const { apiVersion = "", kind = "" } = body as { apiVersion?: string; kind?: string };
  if (agreed === PROTOBUF && isEncodable(apiVersion, kind))
    return { type: agreed, bytes: Buffer.from(encodeProtobuf(body as Record<string, unknown>)) };
  if (agreed === YAML_TYPE) return { type: agreed, bytes: Buffer.from(writeYaml(body)) };
  const isJson = type?.startsWith("application/json") === true;
  return {
    type: isJson ? type : "application/json",
    bytes: Buffer.from(`${JSON.stringify(body)}\n`),
  };
}

/**
 * Encodes header values as UTF-8: warnings quote user text in any script, but Node writes one byte per
 * character.
 */
function onTheWire(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString("latin1")]),
  );
}

async function sendStream(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  stream: KubeStream,
  frames: WatchFrames,
): Promise<void> {
  response.writeHead(200, { "cache-control": "no-cache, private", ...headers });
  response.flushHeaders();
  response.on("close", () => stream.close());
  const isProtobuf = headers["content-type"]?.startsWith(PROTOBUF) === true;
  for await (const frame of stream) {
    if (response.destroyed) break;
    if (typeof frame === "string") await writeAsTaken(response, `${frame}\n`);
    else await frames.send(response, frame as WatchFrame, isProtobuf ? "protobuf" : "json");
  }
  response.end();
}
