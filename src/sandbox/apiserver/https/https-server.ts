/**
 * HTTPS in front of the API server, for kubectl and everything else that is not in this process. It
 * only turns bytes into requests and answers into bytes; what a request means is decided behind it.
 * A state of an object is serialised once and shared by all watches that show it.
 */

import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Clock } from "../../../base/clock.ts";
import { errorText } from "../../../base/error-text.ts";
import type { KubeRequest, KubeStream } from "../../../kube/transport/transport.ts";
import { writeAsTaken } from "../../../kube/transport/write-as-taken.ts";
import { LIMITS } from "../../../readers/limits.ts";
import { writeYaml } from "../../../readers/write-yaml.ts";
import { readYamlValue } from "../../../readers/yaml.ts";
import type { ApiServer, User } from "../api-server.ts";
import { decodeProtobuf } from "../protobuf/decode.ts";
import { encodeProtobuf, encodeWatchFrame, isEncodable } from "../protobuf/encode.ts";
import { PROTOBUF } from "../protobuf/fields.ts";
import { jsonProblem } from "../request/go-json.ts";
import { refusalType, YAML_TYPE } from "../request/negotiation.ts";
import { ApiError, badRequest, failure, type Status } from "../request/status.ts";
import { type Identity, identityIn } from "./certificates.ts";
import { kubeconfigText } from "./kubeconfig.ts";

export interface HttpsOptions {
  /** 0 = any free port. */
  readonly port: number;
  /** Where certificates and the token are kept. */
  readonly directory: string;
  /** Default 127.0.0.1: nobody else gets in. */
  readonly host?: string;
  /** What `date` headers go by; absent: the machine's. */
  readonly clock?: Clock;
}

export interface HttpsListener {
  readonly url: string;
  readonly port: number;
  readonly caPem: string;
  readonly token: string;
  /** Text of a kubeconfig for this listener. */
  readonly kubeconfig: string;
  /** Ends all watches and connections; resolves when the port is free. */
  close(): Promise<void>;
}

/** The port cannot be had. */
export class PortBusyError extends Error {
  override readonly name = "PortBusyError";
}

const LOOPBACK = "127.0.0.1";
/** As kube-apiserver. */
const MAX_BODY_BYTES = 3 * 1_024 * 1_024;
/** A body that goes on beyond this is cut off. */
const MAX_DISCARDED_BYTES = 64 * 1_024 * 1_024;
const GZIP_FROM_BYTES = 128 * 1_024;
/** Serialised states kept for the watches that have not shown them yet. */
const MAX_SHARED_TEXTS = 512;
const ADMIN: User = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
/** Whoever says nothing about who they are; roles let them see little. */
const ANONYMOUS: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };
const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

const compress = promisify(gzip);

export async function startHttps(api: ApiServer, options: HttpsOptions): Promise<HttpsListener> {
  const identity = await identityIn(options.directory);
  const host = options.host ?? LOOPBACK;
  const texts = new SharedTexts();
  const { clock } = options;
  const server = createServer(
    { key: identity.keyPem, cert: identity.certificatePem },
    (request, response) => {
      if (clock !== undefined) response.setHeader("date", new Date(clock.now()).toUTCString());
      void serve(api, identity, texts, request, response);
    },
  );
  // Watches are quiet for a minute and longer.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 60_000;
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await listen(server, options.port, host);
  const { port } = server.address() as AddressInfo;
  const url = `https://${host}:${port}`;
  const { caPem, token } = identity;
  return {
    url,
    port,
    caPem,
    token,
    kubeconfig: kubeconfigText({ url, caPem, token }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Throws PortBusyError when the port cannot be had: to be asked before a long start. */
export async function checkPort(port: number, host = LOOPBACK): Promise<void> {
  const server = createServer();
  await listen(server, port, host);
  await new Promise((resolve) => server.close(resolve));
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") reject(error);
      else {
        const message = `port ${port} on ${host} is in use: stop what listens there or choose another port`;
        reject(new PortBusyError(message, { cause: error }));
      }
    });
    server.listen(port, host, resolve);
  });
}

async function serve(
  api: ApiServer,
  identity: Identity,
  texts: SharedTexts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const path = request.url ?? "/";
    const user = userOf(request, identity, api);
    const method = request.method === "HEAD" ? "GET" : (request.method ?? "GET");
    if (!METHODS.has(method)) {
      throw new ApiError(405, "MethodNotAllowed", `method ${method} is not known here`);
    }
    const headers = headersOf(request);
    const readBody = () => bodyOf(request, headers["content-type"] ?? "");
    const answer = await api.handle(
      {
        method: method as KubeRequest["method"],
        path,
        headers,
        ...(method === "GET" ? {} : { readBody }),
      },
      user,
    );
    if (answer.stream !== undefined) {
      await sendStream(response, answer.headers, answer.stream, texts);
    } else await sendBody(request, response, answer.status, answer.headers, answer.body);
  } catch (error) {
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    const status =
      error instanceof ApiError
        ? error.status
        : failure(500, "InternalError", `Internal error occurred: ${String(error)}`);
    const type = { "content-type": refusalType(request.headers.accept) };
    await sendBody(request, response, status.code ?? 500, type, status);
  }
}

function userOf(request: IncomingMessage, identity: Identity, api: ApiServer): User {
  const sent = Buffer.from((request.headers.authorization ?? "").replace(/^Bearer\s*/i, ""));
  const wanted = Buffer.from(identity.token);
  if (sent.length === wanted.length && timingSafeEqual(sent, wanted)) return ADMIN;
  if (sent.length === 0) return ANONYMOUS;
  const account = api.authenticate(sent.toString("utf8"));
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

async function bodyOf(request: IncomingMessage, contentType: string): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Read to the end even so: a client that is still sending would miss the answer.
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    else if (size > MAX_DISCARDED_BYTES) request.destroy();
  }
  if (size > MAX_BODY_BYTES) {
    throw new ApiError(
      413,
      "RequestEntityTooLarge",
      `Request entity too large: limit is ${MAX_BODY_BYTES}`,
    );
  }
  if (size === 0) return undefined;
  const bytes = Buffer.concat(chunks);
  if (contentType.startsWith(PROTOBUF)) return decodeProtobuf(bytes);
  const text = bytes.toString("utf8");
  return contentType.includes("yaml") ? readYaml(text) : readJson(text, contentType);
}

function readJson(text: string, contentType: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // A body without a type may be YAML, as kube-apiserver recognises it; what begins like JSON is taken for it.
    if (contentType === "" && !text.trimStart().startsWith("{")) return readYaml(text);
    const problem = jsonProblem(Buffer.from(text)) ?? String(error);
    if (contentType.includes("strategic-merge-patch")) throw badRequest(problem);
    if (contentType.includes("patch")) throw badRequest(`error decoding patch: ${problem}`);
    throw badRequest(
      `the object provided is unrecognized (must be JSON): couldn't get version/kind; json parse error: ${problem}`,
    );
  }
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

/** A body in the type that was agreed on. What was made without asking is written as the client reads best. */
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

/** Warnings quote what users wrote, in any script: UTF-8, where Node takes a character for a byte. */
function onTheWire(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString("latin1")]),
  );
}

async function sendStream(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  stream: KubeStream,
  texts: SharedTexts,
): Promise<void> {
  response.writeHead(200, { "cache-control": "no-cache, private", ...headers });
  response.flushHeaders();
  response.on("close", () => stream.close());
  const isProtobuf = headers["content-type"]?.startsWith(PROTOBUF) === true;
  for await (const frame of stream) {
    if (response.destroyed) break;
    const sent =
      typeof frame === "string"
        ? `${frame}\n`
        : isProtobuf
          ? texts.protobufFrame(frame)
          : `${texts.frame(frame)}\n`;
    await writeAsTaken(response, sent);
  }
  response.end();
}

/** The JSON and the protobuf of the last states that watches showed, by identity of the state. */
class SharedTexts {
  readonly #texts = new Map<object, string>();
  readonly #bytes = new Map<object, Uint8Array>();

  frame(frame: unknown): string {
    const { type, object } = frame as { type: string; object: object | Status };
    const text = kept(this.#texts, object, JSON.stringify);
    return `{"type":${JSON.stringify(type)},"object":${text}}`;
  }

  protobufFrame(frame: unknown): Uint8Array {
    const { type, object } = frame as { type: string; object: object | Status };
    const encode = (value: object): Uint8Array => encodeProtobuf(value as Record<string, unknown>);
    return encodeWatchFrame(type, kept(this.#bytes, object, encode));
  }
}

function kept<T>(made: Map<object, T>, object: object, make: (object: object) => T): T {
  const known = made.get(object);
  if (known !== undefined) return known;
  const result = make(object);
  if (made.size >= MAX_SHARED_TEXTS) {
    const [oldest] = made.keys();
    if (oldest !== undefined) made.delete(oldest);
  }
  made.set(object, result);
  return result;
}
