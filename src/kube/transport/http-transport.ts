/**
 * Requests over HTTPS with undici. Short calls share connections; each watch has its own. Frames of a watch
 * are split as they arrive: JSON by lines, protobuf by the length before each frame.
 */
import type { Dispatcher } from "undici";
import { ConnectionError } from "../errors.ts";
import { PROTOBUF, readStatusBody } from "../protobuf/envelope.ts";
import { type ConnectionOptions, ConnectionsByCertificate } from "./connections.ts";
import { type Credential, type Credentials, fixedCredentials } from "./credentials.ts";
import type { KubeRequest, KubeResponse, KubeStream, Transport } from "./transport.ts";

/** Longest wait for the headers of an answer, and for the body of a short one. */
const TIMEOUT_MS = 60_000;
/** Bytes of the length before each protobuf frame. */
const LENGTH_BYTES = 4;

/** The server's address, its authority and the credentials. */
export interface HttpTransportOptions extends Omit<ConnectionOptions, "timeoutMs"> {
  /**
   * Such as `https://127.0.0.1:6443`. A path in it, as behind a gateway, is put before the path of each
   * request.
   */
  readonly server: string;
  readonly token?: string;
  /** Credentials that may change. Default: `token`. */
  readonly credentials?: Credentials;
  /** Headers of every request. A header with several values is sent several times. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Such as `karpenter/1.2.3`. */
  readonly userAgent: string;
  /** Longest wait for the headers of an answer. Default 60 s. */
  readonly timeoutMs?: number;
}

/** Requests over HTTPS with keep-alive. A 401 makes it ask for fresh credentials once. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const connections = new ConnectionsByCertificate({ ...options, timeoutMs });
  const { origin, pathname } = new URL(options.server);
  const prefix = pathname.replace(/\/$/, "");
  const credentials =
    options.credentials ??
    fixedCredentials(options.token === undefined ? {} : { token: options.token });

  async function send(request: KubeRequest): Promise<KubeResponse> {
    const used = await credentialFor(request);
    const answer = await sendAs(request, used);
    if (answer.status !== 401) return answer;
    credentials.refused(used);
    const next = await credentialFor(request);
    return next === used ? answer : sendAs(request, next);
  }

  async function credentialFor(request: KubeRequest): Promise<Credential> {
    try {
      return await credentials.current();
    } catch (error) {
      throw new ConnectionError(`${request.method} ${request.path}`, { cause: error });
    }
  }

  async function sendAs(request: KubeRequest, credential: Credential): Promise<KubeResponse> {
    const abort = new AbortController();
    let answer: Dispatcher.ResponseData;
    try {
      answer = await connections.of(credential).request({
        origin,
        path: `${prefix}${request.path}`,
        method: request.method,
        headers: headersOf(request, options, credential),
        body: bodyOf(request),
        signal: abort.signal,
        // A watch may be quiet, and its reader decides how long. A short answer must arrive in time.
        bodyTimeout: isStream(request) ? 0 : timeoutMs,
        headersTimeout: timeoutMs,
      });
    } catch (error) {
      throw new ConnectionError(`${request.method} ${request.path}`, { cause: error });
    }
    const headers = flatten(answer.headers);
    if (isStream(request) && answer.statusCode < 400) {
      const frames = framesOf(answer.body, request, headers["content-type"] ?? "");
      const stream = streamOf(frames, request, abort);
      return { status: answer.statusCode, headers, stream };
    }
    return { status: answer.statusCode, headers, body: await read(answer, headers, request) };
  }

  return { send, close: () => connections.close() };
}

function headersOf(
  request: KubeRequest,
  options: HttpTransportOptions,
  credential: Credential,
): Record<string, string | string[]> {
  const authorization = authorizationOf(credential);
  return {
    accept: request.takesBytes === true ? `${PROTOBUF},application/json` : "application/json",
    "user-agent": options.userAgent,
    ...options.headers,
    ...(authorization === undefined ? {} : { authorization }),
    ...(request.body === undefined ? {} : { "content-type": "application/json" }),
    ...request.headers,
  };
}

function authorizationOf({ token, basic }: Credential): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (basic === undefined) return undefined;
  return `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString("base64")}`;
}

function bodyOf({ body }: KubeRequest): string | Uint8Array | null {
  if (body === undefined) return null;
  return body instanceof Uint8Array ? body : JSON.stringify(body);
}

function isStream(request: KubeRequest): boolean {
  return /[?&](watch|follow)=(true|1)(&|$)/.test(request.path);
}

function flatten(headers: Dispatcher.ResponseData["headers"]): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined)
      result[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return result;
}

async function read(
  answer: Dispatcher.ResponseData,
  headers: Readonly<Record<string, string>>,
  request: KubeRequest,
): Promise<unknown> {
  try {
    if (headers["content-type"]?.startsWith(PROTOBUF) === true) {
      const bytes = await answer.body.bytes();
      return answer.statusCode < 400 ? bytes : readStatusBody(bytes);
    }
    const text = await answer.body.text();
    return headers["content-type"]?.includes("json") === true && text !== ""
      ? JSON.parse(text)
      : text;
  } catch (error) {
    throw new ConnectionError(`${request.method} ${request.path}: reading answer`, {
      cause: error,
    });
  }
}

function streamOf(
  frames: AsyncIterable<unknown>,
  request: KubeRequest,
  abort: AbortController,
): KubeStream {
  let closed = false;
  return {
    close: () => {
      closed = true;
      abort.abort();
    },
    async *[Symbol.asyncIterator]() {
      try {
        yield* frames;
      } catch (error) {
        // It is no failure if this side closed the stream.
        if (!closed) throw new ConnectionError(`watching ${request.path}`, { cause: error });
      }
    },
  };
}

function framesOf(
  body: AsyncIterable<Uint8Array>,
  request: KubeRequest,
  contentType: string,
): AsyncIterable<unknown> {
  if (contentType.startsWith(PROTOBUF)) return lengthDelimited(body);
  return request.path.includes("watch=") ? jsonLines(body) : linesOf(body);
}

async function* jsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  for await (const line of linesOf(body)) yield JSON.parse(line);
}

/** Splits protobuf frames. Each has its length in the four bytes before it. */
async function* lengthDelimited(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    let at = 0;
    while (rest.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + rest.readUInt32BE(at);
      if (end > rest.length) break;
      yield rest.subarray(at + LENGTH_BYTES, end);
      at = end;
    }
    rest = rest.subarray(at);
  }
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) if (line !== "") yield line;
  }
  if (rest !== "") yield rest;
}
